import type { ReferenceHost } from './create.js';
import type { ReferenceHostOptions } from './options.js';
import { requirePackages } from './packages.js';

export { startDatabase } from './database/start-database.js';
export { DatabaseUnavailableError, type Database, type DatabaseOptions, type Progress } from './database/database-options.js';
export type { ReferenceHost } from './create.js';
export type { ReferenceHostOptions } from './options.js';

/**
 * Makes a small data-management server with the plugin installed on it. It shares nothing with other hosts in the process and does
 * not change the process.
 *
 * @throws Error that names all missing packages that only this server needs.
 */
export async function createReferenceHost(options: ReferenceHostOptions): Promise<ReferenceHost> {
  requirePackages();
  const host = await import('./create.js');
  return host.createReferenceHost(options);
}
