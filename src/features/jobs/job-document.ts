import type { Caller } from '../../host.js';
import type { JobRecord } from './job-record.js';

/**
 * What a caller may do with a job: -1 nothing, 0 see, 1 change, 2 remove. `null`: an anonymous caller.
 * Groups are the host's: entries for groups in a stored list are kept, and grant nothing here.
 */
export function jobLevel(job: Pick<JobRecord, 'public' | 'access'>, caller: Caller | null): number {
  if (caller?.admin === true) return 2;
  const granted = jobEntryLevel(job, caller);
  return job.public ? Math.max(0, granted) : granted;
}

function jobEntryLevel(job: Pick<JobRecord, 'access'>, caller: Caller | null): number {
  const levels = (job.access.users ?? []).filter(({ id }) => id === caller?.id).map(({ level }) => level);
  return Math.max(-1, ...levels);
}

/** `_accessLevel` as clients know it: a signed-in stranger gets -1 on a public job, which is readable all the same. */
function shownLevel(job: JobRecord, caller: Caller | null): number {
  if (caller === null || caller.id === null) return job.public ? 0 : -1;
  return caller.admin ? 2 : jobEntryLevel(job, caller);
}

/** A job as callers see it: without owner and access list; arguments for site administrators only; the log where it was read. */
export function jobDocument(job: JobRecord, caller: Caller | null): Record<string, unknown> {
  return {
    ...shared(job),
    ...(caller?.admin === true && { args: job.args, kwargs: job.kwargs }),
    ...(job.log !== undefined && { log: job.log }),
    _accessLevel: shownLevel(job, caller),
    _modelType: 'job',
  };
}

/** A job with everything that is stored, as some administration routes answer it. */
export function unfilteredJobDocument(job: JobRecord): Record<string, unknown> {
  return {
    ...job.other,
    ...shared(job),
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

function shared(job: JobRecord): Record<string, unknown> {
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
