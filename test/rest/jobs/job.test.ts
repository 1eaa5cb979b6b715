import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { Mongoose } from 'mongoose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Caller, HostNotification } from '../../../src/host.js';
import { JobModel } from '../../../src/features/jobs/job.model.js';
import { OwnCollections } from '../../../src/core/database/own-collections.js';
import { jobRoutes } from '../../../src/features/jobs/jobs.routes.js';
import { mountRoutes } from '../../../src/http/serving/mount.js';
import { fullJobRights } from '../../../src/features/jobs/job-document.js';
import { followJob } from '../../../src/features/jobs/events/job-events.js';
import { JobStore } from '../../../src/features/jobs/jobs.js';
import { startTestDatabase } from '../../support/hosts/database.js';
import { until } from '../../support/run/until.js';

const users = {
  admin: { id: 'aaaaaaaaaaaaaaaaaaaaaaaa', admin: true, scopes: ['core.user_auth'] },
  owner: { id: 'bbbbbbbbbbbbbbbbbbbbbbbb', admin: false, scopes: ['core.user_auth'] },
  stranger: { id: 'cccccccccccccccccccccccc', admin: false, scopes: ['core.user_auth'] },
  reading: { id: 'bbbbbbbbbbbbbbbbbbbbbbbb', admin: false, scopes: ['core.data.read'] },
  listing: { id: 'bbbbbbbbbbbbbbbbbbbbbbbb', admin: false, scopes: ['jobs.rest.list_job'] },
  creating: { id: 'bbbbbbbbbbbbbbbbbbbbbbbb', admin: false, scopes: ['jobs.rest.create_job'] },
  session: { id: null, admin: false, scopes: ['core.anonymous_session'] },
} satisfies Record<string, Caller>;

const mongoose = new Mongoose();
const tokens = new Map<string, Caller>(Object.entries(users));
const notifications: HostNotification[] = [];
let model: JobModel;
let store: JobStore;
/**
 * A store that shares no listeners with the store of the routes. Like one in another process, it is only visible through the
 * database.
 */
let elsewhere: JobStore;
let base: string;
let server: Server;
let stop: () => Promise<void>;

beforeAll(async () => {
  const database = await startTestDatabase();
  const connection = await mongoose.createConnection(database.uri).asPromise();
  model = new JobModel(new OwnCollections(connection));
  await model.createIndexes();
  store = new JobStore({
    model,
    notify: (notification) => {
      notifications.push(notification);
      return Promise.resolve();
    },
  });
  elsewhere = new JobStore({ model });
  const app = express();
  app.use(
    '/api/v1',
    mountRoutes(jobRoutes, {
      context: { jobs: store },
      authenticate: (token) => tokens.get(token) ?? null,
      tokenLocations: { cookieName: 'girderToken', headerName: 'Girder-Token' },
    }),
  );
  server = app.listen(0, '127.0.0.1');
  await until('listening', () => server.listening);
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`;
  stop = async () => {
    server.closeAllConnections();
    server.close();
    await connection.close();
    await database.stop();
  };
});
afterAll(() => stop());
beforeEach(() => {
  notifications.length = 0;
});

type User = keyof typeof users | null | (string & {});

async function call(method: string, path: string, user: User = null, parameters: Record<string, string> = {}) {
  const url = new URL(base + path);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  const response = await fetch(url, { method, headers: user === null ? {} : { 'Girder-Token': user } });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> & unknown[] };
}

function createJob(options: Partial<Parameters<JobStore['create']>[0]> = {}) {
  return store.create({ title: 'A job', type: 'test', userId: users.owner.id, kwargs: { 'a.b': { $where: 1 } }, ...options });
}

function jobToken(id: string): string {
  tokens.set(`job-${id}`, { id: null, admin: false, scopes: [`jobs.job_${id}`] });
  return `job-${id}`;
}

const unknownId = '000000000000000000000000';

describe('GET /job/:id', () => {
  it('answers the document of the contract, with the log, and arguments for administrators only', async () => {
    const job = await createJob({ public: true });
    await store.appendLog(job.id, ['one\n', 'two\n']);
    const answer = await call('GET', `/job/${job.id}`, 'owner');
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      _id: job.id,
      title: 'A job',
      type: 'test',
      status: 0,
      created: expect.stringMatching(/\+00:00$/),
      updated: expect.stringMatching(/\+00:00$/),
      when: expect.stringMatching(/\+00:00$/),
      interval: 0,
      progress: null,
      meta: {},
      public: true,
      parentId: null,
      asynchronous: false,
      timestamps: [],
      handler: 'jobs._local',
      log: ['one\n', 'two\n'],
      _accessLevel: 2,
      _modelType: 'job',
    });
    const full = await call('GET', `/job/${job.id}`, 'admin');
    expect(full.body).toMatchObject({ args: [], kwargs: { 'a.b': { $where: 1 } }, _accessLevel: 2 });
    expect(full.body).not.toHaveProperty('userId');
    expect((await call('GET', `/job/${job.id}`)).body._accessLevel).toBe(0);
    expect((await call('GET', `/job/${job.id}`, 'stranger')).body._accessLevel).toBe(-1);
  });

  it('names an unknown and a malformed id', async () => {
    const unknown = await call('GET', `/job/${unknownId}`, 'owner');
    expect(unknown).toMatchObject({ status: 400, body: { message: `Invalid job id (${unknownId}).`, type: 'rest' } });
    const malformed = await call('GET', '/job/zzz', 'owner');
    expect(malformed).toMatchObject({ status: 400, body: { message: 'Invalid ObjectId: zzz', type: 'validation', field: 'id' } });
  });
});

describe('permissions', () => {
  const allowed = 200;
  const table: [string, string, boolean, Record<string, number>][] = [
    ['GET', '', true, { admin: 200, owner: 200, stranger: 200, none: 200, session: 200, reading: 200, job: 200 }],
    ['GET', '', false, { admin: 200, owner: 200, stranger: 403, none: 401, session: 401, reading: 401, job: 200 }],
    ['PUT', '/cancel', true, { admin: 200, owner: 200, stranger: 403, none: 401, session: 401, reading: 401, job: 401 }],
    ['PUT', '', true, { admin: 200, owner: 200, stranger: 403, none: 401, session: 401, reading: 401, job: 200, other: 401 }],
    ['DELETE', '', true, { admin: 200, owner: 200, stranger: 403, none: 401, session: 401, reading: 401, job: 401 }],
    ['GET', '/events', false, { stranger: 403, none: 401, session: 401, reading: 401, other: 401 }],
  ];
  for (const [method, suffix, isPublic, expected] of table) {
    for (const [user, status] of Object.entries(expected)) {
      it(`${method} /job/:id${suffix} of a ${isPublic ? 'public' : 'private'} job by ${user}: ${status}`, async () => {
        const job = await createJob({ public: isPublic });
        const token = user === 'none' ? null : user === 'job' ? jobToken(job.id) : user === 'other' ? jobToken(unknownId) : user;
        const answer = await call(method, `/job/${job.id}${suffix}`, token);
        expect(answer.status).toBe(status);
        if (status !== allowed) expect(answer.body.type).toBe('access');
      });
    }
  }

  it('says which permission is missing', async () => {
    const job = await createJob();
    const { id } = users.stranger;
    expect((await call('GET', `/job/${job.id}`)).body.message).toBe(`Read access denied for job ${job.id} (user None).`);
    const cancel = await call('PUT', `/job/${job.id}/cancel`, 'stranger');
    expect(cancel.body.message).toBe(`Write access denied for job ${job.id} (user ${id}).`);
    const remove = await call('DELETE', `/job/${job.id}`, 'stranger');
    expect(remove.body.message).toBe(`Admin access denied for job ${job.id} (user ${id}).`);
    const update = await call('PUT', `/job/${job.id}`, 'session');
    expect(update).toMatchObject({
      status: 401,
      body: { message: `Invalid token scope, required: jobs.job_${job.id}.`, type: 'access' },
    });
    expect((await call('PUT', `/job/${job.id}`)).body.message).toBe('You must be logged in or have a valid auth token.');
    expect((await call('PUT', `/job/${job.id}/cancel`)).body.message).toBe('You must be logged in.');
  });
});

describe('PUT /job/:id', () => {
  it('appends, replaces, sets progress and status, and answers without the log', async () => {
    const job = await createJob();
    const first = await call('PUT', `/job/${job.id}`, jobToken(job.id), {
      log: 'hello',
      status: '2',
      progressTotal: '10',
      progressCurrent: '0',
      progressMessage: 'begun',
    });
    expect(first.body).toMatchObject({ status: 2, progress: { total: 10, current: 0, message: 'begun' } });
    expect(first.body).not.toHaveProperty('log');
    await call('PUT', `/job/${job.id}`, 'owner', { progressCurrent: '5' });
    await call('PUT', `/job/${job.id}`, 'owner', { log: ' there' });
    const after = await call('GET', `/job/${job.id}`, 'owner');
    expect(after.body).toMatchObject({ log: ['hello', ' there'], progress: { total: 10, current: 5, message: 'begun' } });
    expect(after.body.timestamps).toEqual([{ status: 2, time: expect.any(String) }]);
    await call('PUT', `/job/${job.id}`, 'owner', { log: 'anew', overwrite: 'true' });
    expect((await call('GET', `/job/${job.id}`, 'owner')).body.log).toEqual(['anew']);
  });

  it('refuses invalid statuses with the messages of the contract, and accepts an unchanged status', async () => {
    const job = await createJob();
    const put = (status: string) => call('PUT', `/job/${job.id}`, 'owner', { status });
    expect((await put('2')).status).toBe(200);
    expect((await put('3')).status).toBe(200);
    expect((await put('3')).status).toBe(200);
    const refusal = (message: string) => ({ status: 400, body: { message, type: 'validation', field: 'status' } });
    expect(await put('99')).toMatchObject(refusal('Invalid job status 99.'));
    expect(await put('2')).toMatchObject(refusal("Invalid state transition to '2', Current state is '3'."));
    expect(await put('0')).toMatchObject(refusal("No valid state transition to '0'. Current state is '3'."));
    expect((await put('x')).body.message).toBe('Invalid value for integer parameter status: x.');
    const cancel = await call('PUT', `/job/${job.id}/cancel`, 'owner');
    expect(cancel).toMatchObject(refusal("Invalid state transition to '5', Current state is '3'."));
  });

  it('tells the owner, unless notify is false', async () => {
    const job = await createJob();
    await call('PUT', `/job/${job.id}`, 'owner', { log: 'x', status: '2', progressCurrent: '1' });
    await call('PUT', `/job/${job.id}`, 'owner', { log: 'y', notify: 'false' });
    expect(notifications.map(({ type }) => type)).toEqual(['job_created', 'job_log', 'job_status', 'progress']);
    expect(notifications[1]).toMatchObject({ userId: users.owner.id, data: { _id: job.id, overwrite: false, text: 'x' } });
    expect(notifications[2]!.data).toMatchObject({ _id: job.id, status: 2 });
    expect(notifications[2]!.data).not.toHaveProperty('kwargs');
    expect(notifications[3]!.data).toMatchObject({ title: 'A job', current: 1, state: 'active' });
  });
});

describe('canceling a worker-run job', () => {
  it('cancels unscheduled jobs immediately, and asks the worker for others', async () => {
    const fresh = await createJob({ handler: 'worker_handler' });
    expect((await call('PUT', `/job/${fresh.id}/cancel`, 'owner')).body.status).toBe(5);
    const running = await createJob({ handler: 'worker_handler' });
    await store.updateStatus(running.id, 2);
    expect((await call('PUT', `/job/${running.id}/cancel`, 'owner')).body.status).toBe(824);
    await store.updateStatus(running.id, 5);
    const secondAnswer = await call('PUT', `/job/${running.id}/cancel`, 'owner');
    expect(secondAnswer.status).toBe(200);
    const finished = await createJob({ handler: 'worker_handler' });
    await store.updateStatus(finished.id, 2);
    await store.updateStatus(finished.id, 3);
    expect((await call('PUT', `/job/${finished.id}/cancel`, 'owner')).body.message).toBe(
      "Invalid state transition to '5', Current state is '3'.",
    );
  });
});

describe('lists', () => {
  it('answer own jobs newest first, filtered, paged, and never those of others that are private', async () => {
    const type = `list-${Date.now()}`;
    const mine: string[] = [];
    for (const title of ['a', 'b', 'c']) mine.unshift((await createJob({ title, type })).id);
    const publicJob = await createJob({ type, public: true, userId: users.stranger.id });
    const ownerless = await createJob({ type, public: true, userId: null });
    const types = JSON.stringify([type]);
    const ids = async (path: string, user: User, parameters: Record<string, string> = {}) =>
      (await call('GET', path, user, { types, ...parameters })).body.map((job) => (job as { _id: string })._id);
    expect(await ids('/job', 'owner')).toEqual(mine);
    expect(await ids('/job', 'listing')).toEqual(mine);
    expect(await ids('/job', 'reading')).toEqual([ownerless.id]);
    expect(await ids('/job', 'owner', { limit: '1', offset: '1' })).toEqual([mine[1]]);
    expect(await ids('/job', 'owner', { limit: '0', sort: 'title', sortdir: '1' })).toEqual([...mine].reverse());
    expect(await ids('/job', 'owner', { statuses: '[3]', limit: '0' })).toEqual([]);
    expect(await ids('/job', 'owner', { handlers: '["worker_handler"]' })).toEqual([]);
    expect(await ids('/job', null)).toEqual([ownerless.id]);
    expect(await ids('/job', 'owner', { userId: 'None' })).toEqual([ownerless.id]);
    expect(await ids('/job', 'stranger', { userId: users.owner.id })).toEqual([]);
    expect(await ids('/job/all', 'owner')).toEqual([ownerless.id, publicJob.id, ...mine]);
    expect(await ids('/job/all', 'stranger')).toEqual([ownerless.id, publicJob.id]);
    expect(await ids('/job/all', 'admin')).toHaveLength(5);
    const [shown] = (await call('GET', '/job', 'owner', { types })).body;
    expect(shown).not.toHaveProperty('log');
    expect(shown).not.toHaveProperty('kwargs');
  });

  it('answer the jobs of a parent, and say when there is no such parent', async () => {
    const parent = await createJob();
    const child = await createJob({ parentId: parent.id });
    const children = await call('GET', '/job', 'owner', { parentId: parent.id });
    expect(children.body).toEqual([expect.objectContaining({ _id: child.id, parentId: parent.id })]);
    const missing = await call('GET', '/job', 'owner', { parentId: unknownId });
    expect(missing).toMatchObject({
      status: 400,
      body: { message: `No such job: ${unknownId}`, type: 'validation', field: 'id' },
    });
  });

  it('answer the types and statuses that occur', async () => {
    const job = await createJob({ type: 'rare type' });
    await store.updateStatus(job.id, 2);
    const answer = await call('GET', '/job/typeandstatus', 'owner');
    expect(answer.body.types).toContain('rare type');
    expect(answer.body.statuses).toContain(2);
    expect((await call('GET', '/job/typeandstatus', 'stranger')).body.types).not.toContain('rare type');
    expect((await call('GET', '/job/typeandstatus/all', 'stranger')).body.types).not.toContain('rare type');
    expect((await call('GET', '/job/typeandstatus/all', 'admin')).body.types).toContain('rare type');
    expect((await call('GET', '/job/typeandstatus')).status).toBe(401);
  });

  it.each([
    [{ types: 'x' }, 'Parameter types must be valid JSON.'],
    [{ types: '{}' }, 'Parameter types must be a JSON array.'],
    [{ types: '[{"$gt":""}]' }, 'Parameter types must be a JSON array of strings; it contains {"$gt":""}.'],
    [{ statuses: '["2"]' }, 'Parameter statuses must be a JSON array of whole numbers; it contains "2".'],
    [
      { sort: 'kwargs' },
      'Invalid value for sort: "kwargs". Allowed values: created, updated, when, title, type, status, handler, _id.',
    ],
    [{ sortdir: '3' }, 'Invalid value for sortdir: "3". Allowed values: 1, -1.'],
    [{ limit: 'x' }, 'Invalid value for integer parameter limit: x.'],
  ])('refuse %j', async (parameters, message) => {
    const answer = await call('GET', '/job', 'owner', parameters as unknown as Record<string, string>);
    expect(answer).toMatchObject({ status: 400, body: { message, type: 'rest' } });
  });
});

describe('POST /job', () => {
  it('needs the scope, which no ordinary session has', async () => {
    const parameters = { title: 'T', type: 't' };
    const refused = await call('POST', '/job', 'admin', parameters);
    expect(refused).toMatchObject({
      status: 403,
      body: { message: 'Invalid token scope, required: jobs.rest.create_job.', type: 'access' },
    });
    expect((await call('POST', '/job', 'session', parameters)).status).toBe(401);
    const created = await call('POST', '/job', 'creating', {
      ...parameters,
      handler: 'worker_handler',
      kwargs: '{"__proto__":{"x":1},"$a":2}',
      otherFields: '{"meta":{"k":1},"celeryTaskId":"x"}',
    });
    expect(created.status).toBe(200);
    expect(created.body).toMatchObject({ title: 'T', type: 't', status: 0, handler: 'worker_handler', meta: { k: 1 } });
    const stored = await store.find(created.body._id as unknown as string);
    expect(JSON.stringify(stored?.kwargs)).toBe('{"__proto__":{"x":1},"$a":2}');
    expect(stored?.other).toEqual({ celeryTaskId: 'x' });
  });

  it.each([
    [{ type: 't' }, 'Parameter "title" is required.'],
    [{ title: 'T', type: 't', kwargs: '[]' }, 'Parameter kwargs must be a JSON object.'],
    [{ title: 'T', type: 't', args: '{}' }, 'Parameter args must be a JSON array.'],
    [{ title: 'T', type: 't', otherFields: '{"access":{}}' }, 'Parameter otherFields must not contain "access".'],
    [
      { title: 'T', type: 't', otherFields: '{"meta":{"a":{"$b":1}}}' },
      '"$b" in otherFields.meta.a cannot be the name of a member: it must not begin with "$" or contain ".".',
    ],
  ])('refuses %j', async (parameters, message) => {
    const answer = await call('POST', '/job', 'creating', parameters as unknown as Record<string, string>);
    expect(answer).toMatchObject({ status: 400, body: { message, type: 'rest' } });
  });
});

describe('DELETE /job/:id', () => {
  it('answers null when the job was removed', async () => {
    const job = await createJob();
    expect(await call('DELETE', `/job/${job.id}`, 'owner')).toEqual({ status: 200, body: null });
    expect((await call('GET', `/job/${job.id}`, 'owner')).body.message).toBe(`Invalid job id (${job.id}).`);
  });
});

describe('GET /job/:id/events', () => {
  interface Sent {
    id: string;
    type: string;
    data: Record<string, unknown>;
  }

  async function* follow(id: string, options: { token?: string; cookie?: string; after?: string } = {}): AsyncGenerator<Sent> {
    const response = await fetch(`${base}/job/${id}/events`, {
      headers: {
        ...(options.token !== undefined && { 'Girder-Token': options.token }),
        ...(options.cookie !== undefined && { Cookie: `girderToken=${options.cookie}` }),
        ...(options.after !== undefined && { 'Last-Event-ID': options.after }),
      },
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    let text = '';
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream()) as unknown as AsyncIterable<string>) {
      text += chunk;
      for (;;) {
        const end = text.indexOf('\n\n');
        if (end < 0) break;
        const event = /^id: (.*)\ndata: (.*)$/.exec(text.slice(0, end));
        text = text.slice(end + 2);
        if (event) yield { id: event[1]!, ...(JSON.parse(event[2]!) as Omit<Sent, 'id'>) };
      }
    }
  }

  it.each([
    ['this process', () => store],
    ['another process', () => elsewhere],
  ])('sends the current state, then each change made in %s, and ends with the job', async (_where, writer) => {
    const job = await createJob();
    await store.appendLog(job.id, 'before\n');
    const events: Sent[] = [];
    const reading = (async () => {
      for await (const event of follow(job.id, { cookie: 'owner' })) events.push(event);
    })();
    await until('first events', () => events.length === 2);
    await writer().update(job.id, { status: 2, log: 'running\n' });
    await until('running', () => events.length === 4);
    await writer().updateProgress(job.id, { total: 4, current: 1, message: 'm' });
    await writer().update(job.id, { log: 'all anew\n', overwrite: true });
    await writer().update(job.id, { status: 3, log: 'done\n' });
    await reading;
    expect(events.filter(({ type }) => type === 'job_status').map(({ data }) => data.status)).toEqual([0, 2, 3]);
    const texts = events.filter(({ type }) => type === 'job_log').map(({ data }) => data);
    expect(texts.slice(0, 2).map(({ text, overwrite }) => [text, overwrite])).toEqual([
      ['before\n', false],
      ['running\n', false],
    ]);
    const last = texts.findLastIndex(({ overwrite }) => overwrite === true);
    expect(
      texts
        .slice(last)
        .map(({ text }) => text)
        .join(''),
    ).toBe('all anew\ndone\n');
    expect(events.some(({ type, data }) => type === 'progress' && data.current === 1)).toBe(true);
    expect(events.at(-1)).toMatchObject({ type: 'job_status', data: { _id: job.id, status: 3 } });

    const ended = await fetch(`${base}/job/${job.id}/events`, {
      headers: { 'Girder-Token': 'owner', 'Last-Event-ID': events.at(-1)!.id },
    });
    expect(ended.status).toBe(204);
  });

  it('continues after the last event that was seen', async () => {
    const job = await createJob();
    await store.update(job.id, { status: 2, log: 'one\n' });
    let position = '';
    for await (const event of follow(job.id, { token: 'owner' })) {
      if (event.type !== 'job_status') continue;
      position = event.id;
      break;
    }
    await store.update(job.id, { log: ['two\n', 'three\n'] });
    await store.update(job.id, { status: 3 });
    const later: Sent[] = [];
    for await (const event of follow(job.id, { token: 'owner', after: position })) later.push(event);
    expect(later.map(({ type, data }) => data.text ?? data.status ?? type)).toEqual(['two\nthree\n', 3]);
  });

  it('ends for everyone when the store is closed', async () => {
    const job = await createJob();
    const closing = new JobStore({ model });
    const followed = followJob(closing, job.id, {
      caller: users.owner,
      rights: fullJobRights,
      signal: new AbortController().signal,
    });
    const types: (string | undefined)[] = [];
    for await (const change of followed) {
      types.push(change?.type);
      closing.close();
    }
    expect(types).toEqual(['job_status']);
  });

  it('says that the job was removed', async () => {
    const job = await createJob();
    const events: Sent[] = [];
    for await (const event of follow(job.id, { token: jobToken(job.id) })) {
      events.push(event);
      if (event.type === 'job_status') await store.remove(job.id);
    }
    expect(events.at(-1)).toMatchObject({ type: 'job_removed', data: { _id: job.id } });
  });
});
