import type { HostLogger, HostNotification } from '../../../host.js';
import type { JobChanges, JobRecord } from '../job-record.js';
import { fullJobRights, jobDocument } from '../job-document.js';
import { jobStatus } from '../job-status.js';

const messageLifetimeMs = 30_000;
const progressLifetimeMs = 3_600_000;

/** Sends messages about a job to its owner. A message that cannot be sent is only logged. */
export class JobNotifications {
  constructor(
    private readonly notify: ((notification: HostNotification) => Promise<void>) | undefined,
    private readonly logger: HostLogger | undefined,
  ) {}

  /** Sends `job_created`. */
  async notifyCreated(job: JobRecord): Promise<void> {
    await this.#send(job, 'job_created', documentForOwner(job), messageLifetimeMs);
  }

  /**
   * Sends `job_log` for new log entries, `job_status` for a new status, and `progress` for new progress. A new status also changes the
   * `state` of the progress.
   */
  async notifyChanged(jobBefore: JobRecord, jobAfter: JobRecord, changes: JobChanges): Promise<void> {
    const { log = [] } = changes;
    if (log.length > 0) {
      const data = { _id: jobAfter.id, overwrite: changes.overwrite ?? false, text: log.join('') };
      await this.#send(jobAfter, 'job_log', data, messageLifetimeMs);
    }
    const hasNewStatus = jobBefore.status !== jobAfter.status;
    if (hasNewStatus) await this.#send(jobAfter, 'job_status', documentForOwner(jobAfter), messageLifetimeMs);
    if (changes.progress !== undefined || (hasNewStatus && jobAfter.progress !== null)) {
      await this.#send(jobAfter, 'progress', progressData(jobAfter), progressLifetimeMs);
    }
  }

  async #send(job: JobRecord, type: string, data: Record<string, unknown>, lifetimeMs: number): Promise<void> {
    if (this.notify === undefined || job.userId === null) return;
    try {
      await this.notify({ userId: job.userId, type, data, expires: new Date(Date.now() + lifetimeMs) });
    } catch (err) {
      this.logger?.warn({ err, jobId: job.id, type }, 'Job:NotificationFailed');
    }
  }
}

function documentForOwner(job: JobRecord): Record<string, unknown> {
  return jobDocument(job, { id: job.userId, admin: false, scopes: [] }, fullJobRights);
}

/** Data of a `progress` message. Clients show a total of 0 or below as unknown. */
export function progressData(job: JobRecord): Record<string, unknown> {
  return {
    title: job.title,
    total: job.progress?.total ?? 0,
    current: job.progress?.current ?? 0,
    state: progressState(job.status),
    message: job.progress?.message ?? '',
    estimateTime: true,
    resource: { _id: job.id, type: job.type },
    resourceName: 'job',
  };
}

function progressState(status: number): 'queued' | 'active' | 'success' | 'error' {
  if (status === jobStatus.inactive || status === jobStatus.queued) return 'queued';
  if (status === jobStatus.success) return 'success';
  return status === jobStatus.error || status === jobStatus.canceled ? 'error' : 'active';
}
