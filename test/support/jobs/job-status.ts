import type { Client } from '../hosts/reference-host.js';
import { until } from '../run/until.js';

/** A job in the form that GET returns to an administrator. */
export interface ShownJob {
  _id: string;
  status: number;
  log: string[];
  progress: { total: number; current: number } | null;
}

/** Resolves with the job as soon as it has ended. */
export async function endedJob(client: Client, id: string): Promise<ShownJob> {
  return until(`job ${id} has ended`, async () => {
    const job = (await client.ok('GET', `/job/${id}`)) as unknown as ShownJob;
    return [3, 4, 5].includes(job.status) && job;
  });
}
