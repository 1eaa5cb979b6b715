import { AccessDeniedError, BadParameterError, InvalidError, LargeImageError } from '../../errors.js';
import { requireUser } from '../../http/require-user.js';
import type { Caller, HostDirectory } from '../../host.js';
import { jobSortFields, type JobFilter } from './job-record.js';
import { fullJobRights, jobDocument, jobRightsOf } from './job-document.js';
import type { JobUpdate } from './job-update.js';
import type { JobStore, VisibleJob } from './jobs.js';
import { hasScope } from '../../http/authentication.js';
import { boolean, id, integer, json, number, oneOf, paging, required, text, withDefault } from '../../http/parameters.js';
import { Reply } from '../../http/reply.js';
import { routeDefiner } from '../../http/route.js';
import { replyWithJobEvents } from './events/event-stream.js';
import { toWire } from '../../core/wire.js';
import { jobListSchema, jobSchema } from './schema.js';

/** The context of the job routes. */
interface JobRouteContext {
  jobs: JobStore;
  /** Users and groups of the host; absent if the host does not provide them. */
  directory?: HostDirectory | undefined;
}

const defineRoute = routeDefiner<JobRouteContext>();

const jobId = { id: required(id({ description: 'Id of the job.' })) };
const listScope = 'jobs.rest.list_job';
const createScope = 'jobs.rest.create_job';

/** Whether a token was made for this job. Such a token has the scope `jobs.job_<id>`. */
function isJobToken(verified: Caller | null, job: string): boolean {
  return verified?.scopes.includes(`jobs.job_${job}`) === true;
}

/** The user of a token that represents its user; `null` for all other tokens. */
function userOf(verified: Caller | null): Caller | null {
  return verified !== null && verified.id !== null && hasScope(verified, 'core.user_auth') ? verified : null;
}

/** The error for a token without the scope. Without a user, its status is 401, as for every refusal. */
function missingScopeError(scope: string, user: Caller | null): LargeImageError {
  const message = `Invalid token scope, required: ${scope}.`;
  return user === null ? new LargeImageError('login-required', message) : new AccessDeniedError(message);
}

function checkList<T>(
  name: string,
  values: unknown[] | undefined,
  kind: string,
  isAllowed: (value: unknown) => value is T,
): T[] | undefined {
  const invalidValue = values?.find((value) => !isAllowed(value));
  if (invalidValue !== undefined) {
    throw new BadParameterError(
      `Parameter ${name} must be a JSON array of ${kind}; it contains ${JSON.stringify(invalidValue)}.`,
    );
  }
  return values as T[] | undefined;
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);

const filterParameters = {
  types: json({ kind: 'array', description: 'Only these types: a JSON list of strings.' }),
  statuses: json({ kind: 'array', description: 'Only these statuses: a JSON list of numbers.' }),
  handlers: json({ kind: 'array', description: 'Only these handlers: a JSON list of strings.' }),
};

const listParameters = {
  ...paging('created', -1),
  sort: withDefault<(typeof jobSortFields)[number]>(oneOf(jobSortFields, { description: 'Field to sort by.' }), 'created'),
};

interface ListQuery {
  types: unknown[] | undefined;
  statuses: unknown[] | undefined;
  handlers: unknown[] | undefined;
}

function toFilter(query: ListQuery, baseFilter: JobFilter = {}): JobFilter {
  const types = checkList('types', query.types, 'strings', isText);
  const statuses = checkList('statuses', query.statuses, 'whole numbers', isInteger);
  const handlers = checkList('handlers', query.handlers, 'strings', isText);
  return {
    ...baseFilter,
    ...(types && { types }),
    ...(statuses && { statuses }),
    ...(handlers && { handlers }),
  };
}

type Paging = { limit: number; offset: number; sort: (typeof jobSortFields)[number]; sortdir: 1 | -1 };

/** Longer lists, and those without a limit, are streamed. */
const maxBufferedJobs = 1000;

async function replyWithList(jobs: JobStore, filter: JobFilter, order: Paging, caller: Caller | null): Promise<Reply> {
  const { limit, offset, sort, sortdir } = order;
  const visibleJobs = jobs.list(filter, caller, { limit, offset, sort, direction: sortdir });
  if (limit > 0 && limit <= maxBufferedJobs) {
    const documents: Record<string, unknown>[] = [];
    for await (const { job, rights } of visibleJobs) documents.push(jobDocument(job, caller, rights));
    return Reply.json(documents);
  }
  return Reply.stream(formatJsonArray(visibleJobs, caller), 'application/json');
}

async function* formatJsonArray(visibleJobs: AsyncIterable<VisibleJob>, caller: Caller | null): AsyncGenerator<string> {
  let separator = '[';
  for await (const { job, rights } of visibleJobs) {
    yield separator + JSON.stringify(toWire(jobDocument(job, caller, rights)));
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

const jobGet = defineRoute({
  method: 'get',
  path: '/job/:id',
  summary: 'Get a job with its log.',
  description:
    'For the user who started it, users who can read its item, site administrators (who also get `args` and `kwargs`), and tokens with ' +
    'the scope `jobs.job_<id>`. Everybody can read public jobs, without log and progress.',
  access: 'public',
  params: jobId,
  returns: { schema: jobSchema },
  errors: ['unknown-id', 'access-denied'],
  async handle({ params, caller, verified }, { jobs }) {
    const { job, rights } = await loadVisible(jobs, { params, caller, verified }, { log: true });
    return jobDocument(job, caller, rights);
  },
});

/** Loads a job for callers who can see it, and for tokens that were made for it. */
async function loadVisible(
  jobs: JobStore,
  { params, caller, verified }: { params: { id: string }; caller: Caller | null; verified: Caller | null },
  options: { log?: boolean } = {},
): Promise<VisibleJob> {
  if (!isJobToken(verified, params.id)) return jobs.load(params.id, caller, 0, options);
  const { job } = await jobs.load(params.id, adminCaller, 0, options);
  return { job, rights: { ...fullJobRights, shownLevel: job.public ? 0 : -1 } };
}

/** A caller who can see every job. It stands for a token that was made for the job. */
const adminCaller: Caller = { id: null, admin: true, scopes: [] };

const jobEvents = defineRoute({
  method: 'get',
  path: '/job/:id/events',
  summary: 'Get the changes of a job as server-sent events.',
  description:
    'Sends the log so far, the progress and the document immediately, then each change within half a second, no matter in which process it ' +
    'happens. Each event is `data: {"type": …, "data": …}` with the types of notifications: `job_log` (`_id`, `overwrite`, `text`), ' +
    '`progress`, `job_status` (the document), and `job_removed`. The stream ends after the `job_status` that finished the job: close ' +
    'the EventSource then. An EventSource that reconnects continues where it stopped; if no more events will follow, it gets 204. ' +
    'Access as for GET /job/:id; a token in the cookie or the parameter `token` is accepted.',
  access: 'public',
  cookie: true,
  params: jobId,
  returns: { types: ['text/event-stream'] },
  errors: ['unknown-id', 'access-denied'],
  authorize: (request, { jobs }) => loadVisible(jobs, request),
  handle({ authorized: { job, rights }, caller, headers, signal }, { jobs }) {
    const lastEventId = headers['last-event-id'];
    const after = typeof lastEventId === 'string' ? lastEventId : undefined;
    return replyWithJobEvents(jobs, job, { caller, rights, after, signal });
  },
});

const jobList = defineRoute({
  method: 'get',
  path: '/job',
  summary: 'List the jobs of a user, newest first.',
  access: 'public',
  scope: listScope,
  query: {
    userId: text({ description: 'Id of the owner of the jobs; `None` for jobs without an owner. Default: the caller.' }),
    parentId: id({ description: 'Only jobs that this job started.' }),
    ...filterParameters,
    ...listParameters,
  },
  returns: { schema: jobListSchema },
  errors: ['invalid', 'unknown-id', 'access-denied'],
  async handle({ query, caller }, { jobs, directory }) {
    const { userId, parentId } = query;
    if (parentId !== undefined) await requireParent(jobs, parentId, caller);
    const ownerId =
      userId === undefined || userId === '' ? (caller?.id ?? null) : userId.toLowerCase() === 'none' ? null : userId;
    if (ownerId !== null && ownerId !== caller?.id) await requireUser(directory, ownerId, caller);
    const filter = toFilter(query, { userId: ownerId, ...(parentId !== undefined && { parentId }) });
    return replyWithList(jobs, filter, query, caller);
  },
});

const jobListAll = defineRoute({
  method: 'get',
  path: '/job/all',
  summary: 'List all jobs that you can see, newest first.',
  access: 'user',
  query: { ...filterParameters, ...listParameters },
  returns: { schema: jobListSchema },
  handle({ query, caller }, { jobs }) {
    return replyWithList(jobs, toFilter(query), query, caller);
  },
});

const typesAndStatusesSchema = {
  type: 'object',
  properties: {
    types: { type: 'array', items: { type: 'string' } },
    statuses: { type: 'array', items: { type: 'integer' } },
  },
};

const typesAndStatuses = defineRoute({
  method: 'get',
  path: '/job/typeandstatus',
  summary: 'List the types and statuses of your jobs.',
  access: 'user',
  returns: { schema: typesAndStatusesSchema },
  handle: ({ caller }, { jobs }) => jobs.findTypesAndStatuses({ userId: caller?.id ?? null }, caller),
});

const allTypesAndStatuses = defineRoute({
  method: 'get',
  path: '/job/typeandstatus/all',
  summary: 'List the types and statuses of all jobs that you can see.',
  access: 'user',
  returns: { schema: typesAndStatusesSchema },
  handle: ({ caller }, { jobs }) => jobs.findTypesAndStatuses({}, caller),
});

const jobCancel = defineRoute({
  method: 'put',
  path: '/job/:id/cancel',
  summary: 'Cancel a job.',
  description:
    'A local job is CANCELED immediately and its work stops within a second; a job of a worker is CANCELING until the worker has stopped.',
  access: 'user',
  params: jobId,
  returns: { schema: jobSchema },
  errors: ['unknown-id', 'access-denied', 'invalid'],
  async handle({ params, caller }, { jobs }) {
    const { job, rights } = await jobs.load(params.id, caller, 1);
    return jobDocument((await jobs.cancel(job.id)) ?? job, caller, rights);
  },
});

const jobUpdate = defineRoute({
  method: 'put',
  path: '/job/:id',
  summary: 'Change the log, the status or the progress of a job.',
  description: 'For users with WRITE on the job, and for tokens with the scope `jobs.job_<id>`.',
  access: 'token',
  params: jobId,
  query: {
    log: text({ description: 'Text to append to the log.' }),
    overwrite: withDefault(boolean({ description: 'Whether the text replaces the log.' }), false),
    status: integer({ description: 'New status.' }),
    progressTotal: number({ description: 'Total of the progress.' }),
    progressCurrent: number({ description: 'Current progress.' }),
    progressMessage: text({ description: 'Message about the current work.' }),
    notify: withDefault(boolean({ description: 'Whether to notify the owner.' }), true),
  },
  returns: { schema: jobSchema },
  errors: ['unknown-id', 'access-denied', 'login-required', 'invalid'],
  async handle({ params, query, verified }, { jobs }) {
    const user = userOf(verified);
    const isOwnToken = isJobToken(verified, params.id);
    if (!isOwnToken && user === null) throw missingScopeError(`jobs.job_${params.id}`, user);
    const { job, rights } = isOwnToken
      ? await loadVisible(jobs, { params, caller: user, verified })
      : await jobs.load(params.id, user, 1);
    return jobDocument((await jobs.update(job.id, toUpdate(query))) ?? job, user, rights);
  },
});

function toUpdate(query: {
  log: string | undefined;
  overwrite: boolean;
  status: number | undefined;
  progressTotal: number | undefined;
  progressCurrent: number | undefined;
  progressMessage: string | undefined;
  notify: boolean;
}): JobUpdate {
  const progress = {
    ...(query.progressTotal !== undefined && { total: query.progressTotal }),
    ...(query.progressCurrent !== undefined && { current: query.progressCurrent }),
    ...(query.progressMessage !== undefined && { message: query.progressMessage }),
  };
  return {
    ...(query.log !== undefined && { log: query.log, overwrite: query.overwrite }),
    ...(query.status !== undefined && { status: query.status }),
    ...(Object.keys(progress).length > 0 && { progress }),
    notify: query.notify,
  };
}

const jobCreate = defineRoute({
  method: 'post',
  path: '/job',
  summary: 'Create a job record, for work done elsewhere.',
  description: `Needs a token with the scope \`${createScope}\`. The program that does the work reports with PUT /job/:id.`,
  access: 'token',
  query: {
    title: required(text({ description: 'Title for users.' })),
    type: required(text({ description: 'Kind of job.' })),
    public: withDefault(boolean({ description: 'Whether everybody can see it.' }), false),
    handler: text({ description: 'Handler that runs it.' }),
    args: json({ kind: 'array', description: 'Arguments: a JSON list.' }),
    kwargs: json({ kind: 'object', description: 'Named arguments: a JSON object.' }),
    otherFields: json({ kind: 'object', description: 'Further fields to store, such as `meta`: a JSON object.' }),
    parentId: id({ description: 'The parent of this job.' }),
  },
  returns: { schema: jobSchema },
  errors: ['login-required', 'access-denied', 'invalid', 'bad-parameter'],
  async handle({ query, verified }, { jobs }) {
    if (verified?.scopes.includes(createScope) !== true) throw missingScopeError(createScope, userOf(verified));
    const { meta = {}, ...other } = query.otherFields ?? {};
    if (typeof meta !== 'object' || meta === null || Array.isArray(meta)) {
      throw new BadParameterError('Member meta of parameter otherFields must be a JSON object.');
    }
    checkStorable(meta, 'otherFields.meta');
    for (const name of ['_id', 'access', 'status', 'userId', 'run', 'log', 'timestamps']) {
      if (name in other) throw new BadParameterError(`Parameter otherFields must not contain "${name}".`);
    }
    if (query.parentId !== undefined) await requireParent(jobs, query.parentId, verified);
    const job = await jobs.create({
      title: query.title,
      type: query.type,
      userId: verified.id,
      public: query.public,
      handler: query.handler ?? null,
      ...(query.args && { args: query.args }),
      ...(query.kwargs && { kwargs: query.kwargs }),
      meta: meta as Record<string, unknown>,
      other,
      parentId: query.parentId ?? null,
    });
    return jobDocument(job, verified, jobRightsOf(job, verified, false));
  },
});

/** Refuses names that the database would interpret. `meta` is stored as an object, not as JSON text, so that it can be queried. */
function checkStorable(value: unknown, path: string): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    if (name.startsWith('$') || name.includes('.') || name === '__proto__') {
      throw new BadParameterError(
        `"${name}" in ${path} cannot be the name of a member: it must not begin with "$" or contain ".".`,
      );
    }
    checkStorable(member, `${path}.${name}`);
  }
}

async function requireParent(jobs: JobStore, parentId: string, caller: Caller | null): Promise<void> {
  const parent = await jobs.find(parentId);
  if (parent === null) throw new InvalidError(`No such job: ${parentId}`, 'id');
  await jobs.requireLevel(parent, caller, 0);
}

const jobDelete = defineRoute({
  method: 'delete',
  path: '/job/:id',
  summary: 'Remove a job; its work stops.',
  access: 'user',
  params: jobId,
  returns: { schema: { type: 'null' } },
  errors: ['unknown-id', 'access-denied'],
  async handle({ params, caller }, { jobs }) {
    const { job } = await jobs.load(params.id, caller, 2);
    await jobs.remove(job.id);
    return null;
  },
});

/** All routes for jobs. */
export const jobRoutes = [
  jobGet,
  jobEvents,
  jobList,
  jobListAll,
  typesAndStatuses,
  allTypesAndStatuses,
  jobCancel,
  jobUpdate,
  jobCreate,
  jobDelete,
];
