import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { JobRecord } from '../../../src/features/jobs/job-record.js';
import { startTestDatabase } from '../../support/hosts/database.js';
import { executions, leaseMs, openJobService, testDefinitions, type JobService } from '../../support/jobs/job-process.js';
import { builtProgram } from '../../support/run/programs.js';
import { until } from '../../support/run/until.js';

/** A lease that is longer than any test. */
const noLeaseMs = 600_000;
/** Processes that the current test has started. */
const children: ChildProcess[] = [];
let database: Awaited<ReturnType<typeof startTestDatabase>>;
/** Creates and watches jobs, but does not run them. */
let service: JobService;

/** Starts a process that runs jobs. By default, its lease never ends, so its jobs are not taken over while it is silent. */
async function startWorker(lease = noLeaseMs): Promise<ChildProcess> {
  const child = spawn(process.execPath, [builtProgram('job-worker'), database.uri, String(lease)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  let output = '';
  child.stdout!.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await until('worker ready', () => output.includes('ready'));
  return child;
}

async function kill(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}

async function submit(name: string, steps: number): Promise<JobRecord> {
  const job = await service.runner.create(name, { userId: null, kwargs: { steps } });
  await service.runner.start(job);
  return job;
}

function inStatus(job: JobRecord, status: number): Promise<JobRecord> {
  return until(`${job.id} in status ${status}`, async () => {
    const stored = await service.jobs.find(job.id, { log: true });
    if (stored?.status !== status) throw new Error(`it is ${stored?.status}: ${stored?.log?.join('')}`);
    return stored;
  });
}

beforeAll(async () => {
  database = await startTestDatabase();
  service = await openJobService(database.uri, { leaseMs: noLeaseMs });
  await service.model.createIndexes();
  for (const definition of testDefinitions(service.connection)) service.runner.define(definition);
});
afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => kill(child, 'SIGKILL')));
});
afterAll(async () => {
  await service.close();
  await database.stop();
});

describe('jobs in several processes', () => {
  it('run each exactly once, shared among the workers', async () => {
    await Promise.all([startWorker(), startWorker()]);
    const jobs: JobRecord[] = [];
    for (let i = 0; i < 30; i++) jobs.push(await submit('once', 10));
    for (const job of jobs) await inStatus(job, 3);
    const executed = await executions(service.connection)
      .find({ job: { $in: jobs.map(({ id }) => id) } })
      .toArray();
    expect(executed.map(({ job }) => job).sort()).toEqual(jobs.map(({ id }) => id).sort());
    expect(new Set(executed.map(({ pid }) => pid)).size).toBe(2);
    const first = await service.jobs.find(jobs[0]!.id, { log: true });
    expect(first?.log).toEqual(Array.from({ length: 10 }, (_, step) => `step ${step}\n`));
    expect(first?.timestamps.map(({ status }) => status)).toEqual([1, 2, 3]);
    expect(first?.progress).toMatchObject({ total: 10, current: 9 });
  });

  it('stop halfway when they are canceled in another process', async () => {
    await startWorker();
    for (const handler of ['jobs._local', 'worker_handler']) {
      const job = await service.runner.create('once', { userId: null, kwargs: { steps: 10_000 }, handler });
      await service.runner.start(job);
      await inStatus(job, 2);
      await service.jobs.cancel(job.id);
      const stopped = await until('the work has stopped', async () => {
        const stored = await service.jobs.find(job.id, { log: true });
        return stored?.log?.at(-1)?.startsWith('stopped:') === true && stored.run?.owner === null ? stored : null;
      });
      expect(stopped.status).toBe(5);
    }
  });

  it('stop when their record is removed, and the worker continues with others', async () => {
    await startWorker();
    const removed = [await submit('once', 10_000), await submit('once', 10_000), await submit('once', 10_000)];
    for (const job of removed) await inStatus(job, 2);
    for (const job of removed) await service.jobs.remove(job.id);
    await inStatus(await submit('once', 1), 3);
    expect(await service.jobs.find(removed[0]!.id)).toBeNull();
  });

  it('end in ERROR with a reason when their process is killed', async () => {
    const doomed = await startWorker();
    const job = await submit('once', 100_000);
    await inStatus(job, 2);
    await startWorker();
    await kill(doomed, 'SIGKILL');
    const ended = await inStatus(job, 4);
    expect(ended.log?.at(-1)).toBe('The process that ran this job ended before the job was finished.\n');
  });

  it('are taken over from a process that is silent for the length of a lease, which stops when it notices', async () => {
    const silent = await startWorker();
    const job = await submit('once', 100_000);
    await inStatus(job, 2);
    await startWorker(leaseMs);
    silent.kill('SIGSTOP');
    await inStatus(job, 4);
    const { log } = (await service.jobs.find(job.id, { log: true }))!;
    silent.kill('SIGCONT');
    // It takes the next job when it has released this one.
    const next = [await submit('once', 1), await submit('once', 1), await submit('once', 1), await submit('once', 1)];
    for (const each of next) await inStatus(each, 3);
    expect((await service.jobs.find(job.id, { log: true }))?.log).toEqual(log);
  });

  it('are restarted when their process is killed and they are resumable, but not forever', async () => {
    const doomed = await startWorker();
    const job = await submit('again', 100_000);
    await inStatus(job, 2);
    const second = await startWorker();
    await kill(doomed, 'SIGKILL');
    const runs = await until('taken up again', async () => {
      const started = await executions(service.connection).find({ job: job.id }).toArray();
      return started.length === 2 && started;
    });
    expect(runs.map(({ pid }) => pid)).toEqual([doomed.pid, second.pid]);
    await startWorker();
    await kill(second, 'SIGKILL');
    const ended = await inStatus(job, 4);
    expect(ended.log?.at(-1)).toContain('It was started 2 times and is not restarted.');
  });

  it('are run although the process that queued them was killed before it could', async () => {
    const job = await service.runner.create('once', { userId: null, kwargs: { steps: 1 } });
    const half = await service.runner.create('once', { userId: null, kwargs: { steps: 1 } });
    await service.jobs.updateStatus(half.id, 1);
    await startWorker(leaseMs);
    await inStatus(job, 3);
    await inStatus(half, 3);
  });

  it('move to another process at once when theirs stops in an orderly way', async () => {
    const leaving = await startWorker();
    const resumable = await submit('again', 100_000);
    const notResumable = await submit('once', 100_000);
    await Promise.all([inStatus(resumable, 2), inStatus(notResumable, 2)]);
    const staying = await startWorker();
    await kill(leaving, 'SIGTERM');
    const ended = await inStatus(notResumable, 4);
    expect(ended.log?.at(-1)).toBe('The server was stopped before the job ended.\n');
    const taken = await until('taken over', async () => {
      const runs = await executions(service.connection).find({ job: resumable.id }).toArray();
      return runs.length === 2 && runs;
    });
    expect(taken[1]).toMatchObject({ pid: staying.pid, attempt: 1 });
    await service.jobs.cancel(resumable.id);
  });
});
