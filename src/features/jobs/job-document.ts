import type { Caller } from '../../host.js';
import type { JobRecord } from './job-record.js';

/** A caller's permissions on a job, and how much of the job they see. */
export interface JobRights {
  /** -1: no access; 0: see; 1: change; 2: remove. */
  level: number;
  /** The level that clients are shown. A signed-in user without rights is shown -1 on a public job, which they may read nevertheless. */
  shownLevel: number;
  /**
   * Whether the caller sees log and progress. Log and progress name and count items, so they are hidden from callers who see a job only
   * because it is public.
   */
  seesDetails: boolean;
}

/** All rights on a job. */
export const fullJobRights: JobRights = { level: 2, shownLevel: 2, seesDetails: true };

/**
 * The rights of a caller on a job. A `null` caller is anonymous. Entries for groups in the access list have no effect, because groups
 * belong to the host.
 *
 * @param mayReadItem whether the caller may read the item that the job is about
 */
export function jobRightsOf(job: Pick<JobRecord, 'public' | 'access'>, caller: Caller | null, mayReadItem: boolean): JobRights {
  if (caller?.admin === true) return fullJobRights;
  const grantedLevel = Math.max(mayReadItem ? 0 : -1, accessListLevel(job, caller));
  const level = job.public ? Math.max(0, grantedLevel) : grantedLevel;
  const isAnonymous = caller === null || caller.id === null;
  return { level, shownLevel: isAnonymous ? level : grantedLevel, seesDetails: grantedLevel >= 0 };
}

/** The level that a job's access list gives a caller. */
export function accessListLevel(job: Pick<JobRecord, 'access'>, caller: Caller | null): number {
  const levels = (job.access.users ?? []).filter(({ id }) => id === caller?.id).map(({ level }) => level);
  return Math.max(-1, ...levels);
}

/** A job as callers see it: without owner and access list, with arguments for site administrators only, and with the log if the log was read. */
export function jobDocument(job: JobRecord, caller: Caller | null, rights: JobRights): Record<string, unknown> {
  return {
    ...commonFields(job),
    ...(!rights.seesDetails && { progress: null }),
    ...(caller?.admin === true && { args: job.args, kwargs: job.kwargs }),
    ...(job.log !== undefined && { log: rights.seesDetails ? job.log : [] }),
    _accessLevel: rights.shownLevel,
    _modelType: 'job',
  };
}

/** A job with all stored fields, as some administration routes return it. */
export function unfilteredJobDocument(job: JobRecord): Record<string, unknown> {
  return {
    ...job.other,
    ...commonFields(job),
    args: job.args,
    kwargs: job.kwargs,
    log: job.log ?? [],
    userId: job.userId,
    access: job.access,
    module: 'express-large-image',
    function: job.run?.task ?? null,
    ...(job.results !== null && { results: job.results }),
  };
}

function commonFields(job: JobRecord): Record<string, unknown> {
  return {
    _id: job.id,
    title: job.title,
    type: job.type,
    status: job.status,
    created: job.created,
    updated: job.updated,
    when: job.when,
    interval: job.interval,
    progress: job.progress,
    meta: job.meta,
    public: job.public,
    parentId: job.parentId,
    asynchronous: job.asynchronous,
    timestamps: job.timestamps,
    handler: job.handler,
  };
}
