import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BadParameterError } from '../../../src/errors.js';
import type { JobDefinition } from '../../../src/features/jobs/running/definition.js';
import type { JobRecord } from '../../../src/features/jobs/job-record.js';
import { startTestDatabase } from '../../support/hosts/database.js';
import { openInterruptible } from '../../support/hosts/interruptible.js';
import { leaseMs, openJobService, type JobService } from '../../support/jobs/job-process.js';
import { until } from '../../support/run/until.js';

let database: Awaited<ReturnType<typeof startTestDatabase>>;
let service: JobService;

beforeAll(async () => {
  database = await startTestDatabase();
});
afterAll(() => database.stop());
beforeEach(async () => {
  service = await openJobService(database.uri);
  await service.agenda.cancel({ notNames: [] });
});
afterEach(() => service.close());

/** Runs until it is told to stop. */
function endless(options: Partial<JobDefinition> = {}): JobDefinition {
  return {
    name: 'endless',
    title: 'Endless',
    type: 'endless',
    async run({ signal }) {
      if (!signal.aborted) await once(signal, 'abort');
      signal.throwIfAborted();
    },
    ...options,
  };
}

async function submit(name: string, kwargs: Record<string, unknown> = {}): Promise<JobRecord> {
  const job = await service.runner.create(name, { userId: null, kwargs });
  return (await service.runner.start(job))!;
}

function inStatus(job: JobRecord, status: number): Promise<JobRecord> {
  return until(`job in status ${status}`, async () => {
    const stored = await service.jobs.find(job.id, { log: true });
    if (stored?.status !== status) throw new Error(`it is ${stored?.status}: ${stored?.log?.join('')}`);
    return stored;
  });
}

describe('a job', () => {
  it('goes from INACTIVE through QUEUED and RUNNING to SUCCESS, with log, progress and results', async () => {
    service.runner.define({
      name: 'adding',
      title: 'Adding',
      type: 'adding',
      parse: ({ a, b }) => ({ a: Number(a), b: Number(b) }),
      async run({ log, setProgress, setResults, job }, { a, b }) {
        log('Started adding\n');
        setProgress({ total: 2, current: 1, message: 'half' });
        setProgress({ current: 2 });
        setResults({ sum: a + b });
        log(`Finished: ${job.title}\n`);
        return Promise.resolve();
      },
    });
    await service.runner.startProcessing();
    const created = await service.runner.create('adding', { userId: null, kwargs: { a: 1, b: 2 }, public: true });
    // A few consecutive kills do not end resumable work (kills/job-processes.test.ts tests that it ends at last).
    expect(created.run?.maxAttempts).toBe(10);
    expect(created).toMatchObject({ status: 0, title: 'Adding', type: 'adding', handler: 'jobs._local', public: true });
    expect((await service.runner.start(created))?.status).toBeOneOf([1, 2, 3]);
    const ended = await inStatus(created, 3);
    expect(ended.timestamps.map(({ status }) => status)).toEqual([1, 2, 3]);
    expect(ended.log).toEqual(['Started adding\n', 'Finished: Adding\n']);
    expect(ended.progress).toEqual({ total: 2, current: 2, message: 'half' });
    expect(ended.results).toEqual({ sum: 3 });
    expect(ended.run?.owner).toBeNull();
  });

  it('leaves nothing in the queue', async () => {
    service.runner.define({ name: 'short', title: 'S', type: 's', run: () => Promise.resolve() });
    await service.runner.startProcessing();
    const job = await submit('short');
    await inStatus(job, 3);
    await until('queue empty', async () => (await service.agenda.queryJobs({})).total === 0);
  });

  it('ends in ERROR with a message that was written for users, and reveals nothing of other errors', async () => {
    service.runner.define({
      name: 'a',
      title: 'A',
      type: 'a',
      run: () => Promise.reject(new BadParameterError('Nothing at hand.')),
    });
    service.runner.define({ name: 'b', title: 'B', type: 'b', run: () => Promise.reject(new Error('secret path')) });
    service.runner.define({
      name: 'c',
      title: 'C',
      type: 'c',
      failureLog: () => 'Error creating\n',
      run: () => Promise.reject(new Error('secret path')),
    });
    service.runner.define({
      name: 'd',
      title: 'D',
      type: 'd',
      parse() {
        throw new BadParameterError('Bad data.');
      },
      run: () => Promise.resolve(),
    });
    await service.runner.startProcessing();
    const logs: Record<string, string[] | undefined> = {};
    for (const name of ['a', 'b', 'c', 'd']) logs[name] = (await inStatus(await submit(name), 4)).log;
    expect(logs).toEqual({
      a: ['Nothing at hand.\n'],
      b: ['The job has failed unexpectedly; the log of the server says why.\n'],
      c: ['Error creating\n'],
      d: ['Bad data.\n'],
    });
  });

  it('that was canceled or set to ERROR in the meantime stops and is not moved to SUCCESS', async () => {
    let stopped = 0;
    service.runner.define(
      endless({
        concurrency: 2,
        async run({ signal }) {
          if (!signal.aborted) await once(signal, 'abort');
          stopped++;
        },
      }),
    );
    await service.runner.startProcessing();
    const canceled = await submit('endless');
    const failed = await submit('endless');
    await Promise.all([inStatus(canceled, 2), inStatus(failed, 2)]);
    await service.jobs.cancel(canceled.id);
    await service.jobs.updateStatus(failed.id, 4);
    await until('both stopped', () => stopped === 2);
    await until('both let go', async () => {
      const states = await Promise.all([canceled, failed].map(({ id }) => service.jobs.findState(id)));
      return states.every((state) => state?.workingProcess === null) && states.map((state) => state?.status).join() === '5,4';
    });
  });

  it('is not stopped by an event from before it started', async () => {
    let [hasBegun, isTold] = [false, false];
    service.runner.define({
      name: 'told late',
      title: 'T',
      type: 't',
      async run({ signal }) {
        hasBegun = true;
        await until('it is told', () => isTold);
        signal.throwIfAborted();
      },
    });
    // The entry of a job is recorded when it is queued. A slow message delays this until a process works on the job.
    const off = service.jobs.onUpdate(async ({ job: { run } }) => {
      if (run?.ticket != null && run.owner === null) await until('it has begun', () => hasBegun);
    });
    await service.runner.startProcessing();
    const job = await submit('told late');
    isTold = true;
    await inStatus(job, 3);
    off();
  });

  it('that is canceled before its turn never runs', async () => {
    let began = 0;
    service.runner.define({
      name: 'never',
      title: 'N',
      type: 'n',
      run() {
        began++;
        return Promise.resolve();
      },
    });
    const local = await submit('never');
    const remote = await service.runner.create('never', { userId: null, handler: 'worker_handler' });
    await service.runner.start(remote);
    await service.jobs.cancel(local.id);
    expect((await service.jobs.cancel(remote.id))?.status).toBe(824);
    await service.runner.startProcessing();
    await inStatus(remote, 5);
    await until('queue empty', async () => (await service.agenda.queryJobs({})).total === 0);
    expect(began).toBe(0);
    expect((await service.jobs.find(local.id))?.status).toBe(5);
  });

  it('runs once even if the queue delivers it several times', async () => {
    let began = 0;
    service.runner.define({
      name: 'often',
      title: 'O',
      type: 'o',
      concurrency: 5,
      run() {
        began++;
        return Promise.resolve();
      },
    });
    const job = await service.runner.create('often', { userId: null });
    for (let i = 0; i < 5; i++) await service.runner.start(job);
    expect((await service.agenda.queryJobs({})).total).toBe(5);
    await service.runner.startProcessing();
    await inStatus(job, 3);
    await until('queue empty', async () => (await service.agenda.queryJobs({})).total === 0);
    expect(began).toBe(1);
    expect((await service.runner.start(job))?.status).toBe(3);
  });

  it('is restarted when its entry was lost from the queue', async () => {
    service.runner.define({ name: 'lost', title: 'L', type: 'l', run: () => Promise.resolve() });
    const job = await submit('lost');
    await service.agenda.cancel({ notNames: [] });
    await service.runner.startProcessing();
    await inStatus(job, 3);
  });

  it('runs even if it waited so long for a slot that Agenda gave it up', async () => {
    const { agenda, runner } = service;
    agenda.maxConcurrency(1);
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    agenda.define('host job', (_entry, done) => void released.then(() => done()));
    runner.define({ name: 'patient', title: 'P', type: 'p', run: () => Promise.resolve() });
    agenda.definitions['large_image.local.patient']!.lockLifetime = 300;
    await runner.startProcessing();
    await agenda.now('host job');
    await until('the place is taken', async () => (await agenda.getRunningStats()).runningJobs === 1);
    const job = await submit('patient');
    const counts = async () => (await agenda.getRunningStats()).jobStatus?.['large_image.local.patient'];
    await until(
      'its lock has run out',
      async () => (await counts())?.locked === 1 && (await agenda.getRunningStats()).queuedJobs === 0,
    );
    release();
    await inStatus(job, 3);
  });
});

describe('an outage of the database that outlasts a lease', () => {
  it('ends no running job, and loses none of its log', async () => {
    const direct = new URL(database.uri);
    const connection = await openInterruptible({ host: direct.hostname, port: Number(direct.port) });
    const through = new URL(database.uri);
    through.hostname = '127.0.0.1';
    through.port = String(connection.port);
    const worker = await openJobService(through.href);
    // A second service sweeps like the worker, and also sees the gap in the worker's signs of life.
    const watcher = await openJobService(through.href);
    try {
      watcher.runner.define(endless());
      let go: () => void = () => undefined;
      const lost = new Promise<void>((resolve) => {
        go = resolve;
      });
      worker.runner.define({
        name: 'enduring',
        title: 'E',
        type: 'e',
        async run({ log }) {
          log('before\n');
          await lost;
          log('during\n');
        },
      });
      await worker.runner.startProcessing();
      const job = await worker.runner.create('enduring', { userId: null });
      await worker.runner.start(job);
      await until('logged', async () => (await service.jobs.find(job.id))?.logCount === 1);
      connection.cut();
      await new Promise((resolve) => setTimeout(resolve, 2.5 * leaseMs));
      go();
      connection.open();
      const ended = await inStatus(job, 3);
      expect(ended.log).toEqual(['before\n', 'during\n']);
    } finally {
      connection.open();
      await Promise.all([worker.close(), watcher.close()]);
      await connection.close();
    }
  });
});

describe('a runner', () => {
  it('refuses a duplicate name, even one that another runner gave the Agenda', async () => {
    service.runner.define(endless());
    expect(() => service.runner.define(endless())).toThrow('A job "endless" is already defined.');
    const { JobRunner } = await import('../../../src/features/jobs/running/runner.js');
    const second = new JobRunner({ agenda: service.agenda, jobs: service.jobs });
    expect(() => second.define(endless())).toThrow('Agenda already has a job "large_image.local.endless"');
    const third = new JobRunner({ agenda: service.agenda, jobs: service.jobs, prefix: 'other' });
    third.define(endless());
    await third.close();
    await expect(service.runner.create('unknown', { userId: null })).rejects.toThrow('No job "unknown" is defined.');
  });

  it('removes its definitions, listeners and timers when it closes, also from a running Agenda', async () => {
    const { agenda, runner } = service;
    agenda.define('host job', (_entry, done) => done());
    const listeners = agenda.listenerCount('error');
    runner.define(endless());
    await agenda.start();
    expect(agenda.listenerCount('error')).toBe(listeners + 1);
    await runner.close();
    expect(Object.keys(agenda.definitions)).toEqual(['host job']);
    expect('large_image.local.endless' in agenda.definitions).toBe(false);
    expect(agenda.listenerCount('error')).toBe(listeners);
    expect(agenda.isActiveJobProcessor()).toBe(true);
  });

  it('completes the record of work that does not stop, without waiting for it forever', async () => {
    await service.close();
    service = await openJobService(database.uri, { closeTimeoutMs: 500 });
    service.runner.define(endless({ run: () => new Promise(() => undefined) }));
    await service.runner.startProcessing();
    const job = await submit('endless');
    await inStatus(job, 2);
    await service.runner.close();
    // A slow database may write it after the runner has closed.
    const ended = await inStatus(job, 4);
    expect(ended.log).toEqual(['The server was stopped before the job ended.\n']);
  });

  it('queues interrupted resumable work again, without counting the attempt', async () => {
    service.runner.define(endless({ resumable: true }));
    await service.runner.startProcessing();
    const job = await submit('endless');
    await inStatus(job, 2);
    await service.runner.close();
    const waiting = await service.jobs.find(job.id);
    expect(waiting).toMatchObject({ status: 2, run: { owner: null, attempts: 0 } });
    const entries = await service.agenda.queryJobs({ ids: [waiting!.run!.ticket!] });
    expect(entries.jobs).toHaveLength(1);
    await service.jobs.remove(job.id);
  });

  it('recovers only the jobs of its handlers', async () => {
    const local = await openJobService(database.uri, { handlers: ['local'] });
    try {
      let began: string[] = [];
      const definition: JobDefinition = {
        name: 'split',
        title: 'S',
        type: 's',
        run({ job }) {
          began = [...began, job.handler!];
          return Promise.resolve();
        },
      };
      local.runner.define(definition);
      await local.runner.startProcessing();
      const worker = await local.runner.create('split', { userId: null, handler: 'worker_handler' });
      await local.runner.start(worker);
      const createdJob = await local.runner.create('split', { userId: null });
      await local.runner.start(createdJob);
      await inStatus(createdJob, 3);
      expect(began).toEqual(['jobs._local']);
      expect((await local.jobs.find(worker.id))?.status).toBe(1);
      await local.jobs.remove(worker.id);
    } finally {
      await local.close();
    }
  });
});
