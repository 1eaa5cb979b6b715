import type { WorkerHost } from './host.js';
import { requireHost } from './core/host/check-host.js';
import { assemble } from './install.js';
import type { InstallOptions } from './installation.js';
import type { Settings } from './features/settings/settings.js';
import type { JobStore } from './features/jobs/jobs.js';

/** A process that runs jobs. */
export interface Worker {
  settings: Settings;
  /** Job records and their changes. */
  jobs: JobStore;
  /** Takes up no more jobs; the running ones go back into the queue, and are begun anew by another process. */
  close(): Promise<void>;
}

/**
 * Runs the plugin's jobs in this process, without any routes: on the database of a server on which `install` was called, in any
 * number of processes. Each job is run by one of them. Starts the host's Agenda if it does not run yet, and stops it then on close.
 *
 * @param options those that were given to `install`; further tile sources must be the same.
 */
export async function startWorker(host: WorkerHost, options: InstallOptions = {}): Promise<Worker> {
  requireHost(host);
  const installation = await assemble(host, options, null);
  try {
    await installation.runner.startProcessing();
  } catch (error) {
    await installation.close();
    throw error;
  }
  const { settings, jobs } = installation;
  return { settings, jobs, close: () => installation.close() };
}
