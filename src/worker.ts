import type { WorkerHost } from './host.js';
import { requireHost } from './core/host/check-host.js';
import { openInstallation } from './install.js';
import type { InstallOptions } from './installation.js';
import type { Settings } from './features/settings/settings.js';
import type { JobStore } from './features/jobs/jobs.js';

/** A process that runs jobs. */
export interface Worker {
  settings: Settings;
  /** Job records and their changes. */
  jobs: JobStore;
  /** Stops starting jobs. Running jobs return to the queue, and another process starts them again. */
  close(): Promise<void>;
}

/**
 * Runs the plugin's jobs in this process, which serves no routes. The database must be that of a server on which `install` was
 * called. Any number of processes can run workers, and each job is run by one of them. If the host's Agenda is not running, it is
 * started here, and stopped on close.
 *
 * @param options those passed to `install`; further tile sources must be the same.
 */
export async function startWorker(host: WorkerHost, options: InstallOptions = {}): Promise<Worker> {
  requireHost(host);
  const installation = await openInstallation(host, options, null);
  try {
    await installation.runner.startProcessing();
  } catch (error) {
    await installation.close();
    throw error;
  }
  const { settings, jobs } = installation;
  return { settings, jobs, close: () => installation.close() };
}
