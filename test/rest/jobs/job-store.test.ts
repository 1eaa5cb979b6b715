import { Mongoose, type Connection } from 'mongoose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HostNotification } from '../../../src/host.js';
import { maxLogBytes } from '../../../src/features/jobs/job-record.js';
import { JobModel } from '../../../src/features/jobs/job.model.js';
import { OwnCollections } from '../../../src/core/database/own-collections.js';
import { JobStore, type JobEvent } from '../../../src/features/jobs/jobs.js';
import { startTestDatabase } from '../../support/hosts/database.js';

let database: Awaited<ReturnType<typeof startTestDatabase>>;
let connection: Connection;
let model: JobModel;
let store: JobStore;

beforeAll(async () => {
  database = await startTestDatabase();
  connection = await new Mongoose().createConnection(database.uri).asPromise();
  model = new JobModel(new OwnCollections(connection));
  await model.createIndexes();
  store = new JobStore({ model });
});
afterAll(async () => {
  await connection.close();
  await database.stop();
});

const run = { task: 'test', resumable: false, maxAttempts: 1 };
const create = () => store.create({ title: 'T', type: 't', userId: null, run });

describe('a job with many simultaneous writers', () => {
  it('is either finished or canceled, and remembers each change once', async () => {
    for (let round = 0; round < 10; round++) {
      const job = await create();
      await store.updateStatus(job.id, 2);
      const attempts = [3, 5, 3, 5, 4, 5].map((status) => store.updateStatus(job.id, status));
      const outcomes = await Promise.allSettled(attempts);
      const stored = await store.find(job.id);
      expect(stored?.timestamps).toHaveLength(2);
      expect([3, 4, 5]).toContain(stored?.status);
      for (const outcome of outcomes) {
        if (outcome.status === 'fulfilled') expect(outcome.value?.status).toBe(stored?.status);
        else expect(String(outcome.reason)).toContain(`Current state is '${stored?.status}'.`);
      }
    }
  });

  it('is claimed by one of many', async () => {
    for (let round = 0; round < 10; round++) {
      const job = await create();
      const owners = ['a', 'b', 'c', 'd', 'e', 'f'];
      const claims = await Promise.all(owners.map((owner) => store.claim(job.id, owner)));
      const claimed = claims.filter((claim) => claim !== null);
      expect(claimed).toHaveLength(1);
      expect(claimed[0]).toMatchObject({ status: 2, run: { attempts: 1 } });
    }
  });

  it('is restarted by one of many after its owner was lost', async () => {
    for (let round = 0; round < 10; round++) {
      const job = await create();
      const claimed = await store.claim(job.id, 'gone');
      await store.change(claimed!, { workingProcess: 'gone' }, { workingProcess: null });
      const owners = ['a', 'b', 'c', 'd', 'e', 'f'];
      const claims = await Promise.all(owners.map((owner) => store.claim(job.id, owner)));
      expect(claims.filter((claim) => claim !== null)).toHaveLength(1);
      expect((await store.find(job.id))?.run?.attempts).toBe(2);
    }
  });

  it('keeps every log entry when several writers append at once', async () => {
    const job = await create();
    const write = async (writer: number) => {
      for (let i = 0; i < 10; i++) await store.appendLog(job.id, `${writer}-${i}\n`);
    };
    await Promise.all([0, 1, 2, 3].map(write));
    const stored = await store.find(job.id, { log: true });
    expect(stored?.log).toHaveLength(40);
    expect(stored?.logCount).toBe(40);
    expect(stored?.log?.filter((entry) => entry.startsWith('2-'))).toEqual(Array.from({ length: 10 }, (_, i) => `2-${i}\n`));
  });
});

describe('claiming', () => {
  it('ignores jobs that have ended, are stopping, have an owner, or belong to no runner', async () => {
    const finished = await create();
    await store.updateStatus(finished.id, 5);
    expect(await store.claim(finished.id, 'x')).toBeNull();
    const owned = await create();
    expect(await store.claim(owned.id, 'x')).not.toBeNull();
    expect(await store.claim(owned.id, 'y')).toBeNull();
    const foreign = await store.create({ title: 'T', type: 't', userId: null });
    expect(await store.claim(foreign.id, 'x')).toBeNull();
    const waiting = await store.create({ title: 'T', type: 't', userId: null, handler: 'worker_handler', run });
    await store.updateStatus(waiting.id, 1);
    await store.cancel(waiting.id);
    expect(await store.claim(waiting.id, 'x')).toBeNull();
    expect(await store.claim('000000000000000000000000', 'x')).toBeNull();
  });

  it('ignores writes from processes that lost the job', async () => {
    const job = await create();
    await store.claim(job.id, 'first');
    await store.change((await store.find(job.id))!, { workingProcess: 'first' }, { workingProcess: null });
    await store.claim(job.id, 'second');
    expect(await store.update(job.id, { log: 'ghost', status: 3 }, { workingProcess: 'first' })).toBeNull();
    expect(await store.recordBeat(job.id, 'first')).toBe(false);
    expect(await store.find(job.id, { log: true })).toMatchObject({ status: 2, log: [], run: { attempts: 2 } });
  });
});

describe('a log', () => {
  it('is trimmed to its newest entries below the limit', async () => {
    const job = await create();
    const entry = (i: number) => `${String(i).padStart(4, '0')}${'x'.repeat(100_000)}\n`;
    for (let i = 0; i < 60; i++) await store.appendLog(job.id, entry(i));
    const stored = await store.find(job.id, { log: true });
    const bytes = stored!.log!.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    expect(bytes).toBeLessThanOrEqual(maxLogBytes);
    expect(bytes).toBeGreaterThan(0.7 * maxLogBytes);
    expect(stored!.log!.at(-1)).toBe(entry(59));
    expect(stored!.logCount).toBe(60);
    await store.appendLog(job.id, 'short');
    expect((await store.find(job.id, { log: true }))!.log!.at(-1)).toBe('short');
  });

  it('of many short entries still fits into its document', async () => {
    const job = await create();
    const entries = Array.from({ length: 300_000 }, (_, i) => String(i % 10));
    await store.appendLog(job.id, entries, { overwrite: true });
    const stored = await store.find(job.id, { log: true });
    expect(stored!.log!.length).toBeGreaterThan(100_000);
    expect(stored!.log!.length).toBeLessThan(maxLogBytes / 16);
    expect(stored!.log!.at(-1)).toBe('9');
    await store.appendLog(job.id, ['a', 'b', 'last']);
    expect((await store.find(job.id, { log: true }))!.log!.at(-1)).toBe('last');
  });

  it('keeps the end of an entry that alone is too long, without cutting a character', async () => {
    const job = await create();
    await store.appendLog(job.id, `begin${'é'.repeat(maxLogBytes)}end`);
    const { log } = (await store.find(job.id, { log: true }))!;
    expect(log).toHaveLength(1);
    expect(Buffer.byteLength(log![0]!)).toBeLessThanOrEqual(maxLogBytes);
    expect(log![0]).toMatch(/^é+end$/);
  });

  it('stays below the document size limit when many write at once', async () => {
    const job = await create();
    const much = 'y'.repeat(3 * 1024 * 1024);
    await Promise.all([1, 2, 3, 4, 5, 6].map(() => store.appendLog(job.id, much)));
    const stored = await store.find(job.id, { log: true });
    expect(stored?.log).toEqual([much]);
  });
});

describe('listeners and messages', () => {
  it('hear of each write in order, with the status before, and their failure changes nothing', async () => {
    const logged: string[] = [];
    const logger = {
      debug() {},
      info() {},
      warn: (_: object, event: string) => logged.push(event),
      error: (_: object, event: string) => logged.push(event),
    };
    const noisy = new JobStore({ model, logger, notify: () => Promise.reject(new Error('no mail')) });
    const events: [JobEvent['kind'], number, number | null][] = [];
    noisy.onUpdate(() => {
      throw new Error('listener');
    });
    const off = noisy.onUpdate(({ kind, job, previousStatus }) => void events.push([kind, job.status, previousStatus]));
    const job = await noisy.create({ title: 'T', type: 't', userId: 'u' });
    await noisy.updateStatus(job.id, 2);
    await noisy.updateProgress(job.id, { current: 1 });
    await noisy.remove(job.id);
    await noisy.remove(job.id);
    off();
    await noisy.create({ title: 'T', type: 't', userId: null });
    expect(events).toEqual([
      ['created', 0, null],
      ['updated', 2, 0],
      ['updated', 2, 2],
      ['removed', 2, 2],
    ]);
    expect(logged).toContain('Job:ListenerFailed');
    expect(logged).toContain('Job:NotificationFailed');
  });

  it('say how progress ended', async () => {
    const sent: HostNotification[] = [];
    const telling = new JobStore({ model, notify: (message) => Promise.resolve(void sent.push(message)) });
    const job = await telling.create({ title: 'T', type: 't', userId: 'u' });
    await telling.update(job.id, { status: 2, progress: { total: 2 } });
    await telling.update(job.id, { status: 3 });
    expect(sent.filter(({ type }) => type === 'progress').map(({ data }) => data.state)).toEqual(['active', 'success']);
    expect(sent.every(({ expires }) => expires !== undefined && expires.getTime() > Date.now())).toBe(true);
  });

  it('reach no one for a job without an owner', async () => {
    const sent: HostNotification[] = [];
    const telling = new JobStore({ model, notify: (message) => Promise.resolve(void sent.push(message)) });
    await telling.create({ title: 'T', type: 't', userId: null });
    expect(sent).toEqual([]);
  });
});
