import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** Optional peer dependencies of the package. A server that only installs the plugin does not need them. */
const needed = ['@agendajs/mongo-backend', '@node-rs/argon2', 'client-zip', 'rate-limiter-flexible'];

/** Whether this module can import a package. */
export function isInstalled(name: string): boolean {
  try {
    require.resolve(name);
    return true;
  } catch (error) {
    // An installed package may have no entry for `require`, only one for `import`.
    return (error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND';
  }
}

/** The command `npm install …` for packages, in the versions that this package supports. */
export function installCommand(names: readonly string[]): string {
  const { peerDependencies } = require('express-large-image/package.json') as { peerDependencies: Record<string, string> };
  const majorOf = (name: string) => /\d+/.exec(peerDependencies[name] ?? '')?.[0] ?? 'latest';
  return `npm install ${names.map((name) => `${name}@${majorOf(name)}`).join(' ')}`;
}

/** Thrown if packages of the reference host are missing. The message names them, and the command that installs them. */
export class MissingPackagesError extends Error {
  override name = 'MissingPackagesError';
}

/** @throws MissingPackagesError that names all missing packages of the reference host. */
export function requirePackages(): void {
  const missing = needed.filter((name) => !isInstalled(name));
  if (missing.length === 0) return;
  throw new MissingPackagesError(
    `express-large-image/reference-host needs packages that are not installed: ${missing.join(', ')}. ` +
      `Install them: ${installCommand(missing)}`,
  );
}
