import type { JobRecord } from '../job-record.js';
import type { NewJob } from '../jobs.js';

/** A job for {@link JobStarter.create}; title and type come from its definition. */
export type NewDefinedJob = Omit<NewJob, 'title' | 'type' | 'run' | 'args'> & { title?: string };

/** The part of the job runner that routes and services use. */
export interface JobStarter {
  /** Stores a job of a defined kind. It runs after {@link JobStarter.start}. @throws if the kind is unknown. */
  create(name: string, job: NewDefinedJob): Promise<JobRecord>;
  /** Queues a job. @returns the queued job; `null` if it no longer exists. */
  start(job: JobRecord): Promise<JobRecord | null>;
}
