import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { JobRecord } from '../../../src/features/jobs/job-record.js';
import { jobStatus } from '../../../src/features/jobs/job-status.js';
import type { JobStore } from '../../../src/features/jobs/jobs.js';
import { JobRecovery } from '../../../src/features/jobs/running/recovery.js';
import { processName } from '../../../src/core/database/leases/process-name.js';

const leaseMs = 15_000;
const sweepMs = 2000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Sweeps at intervals until a job is changed. @returns when, in milliseconds from the first sweep; `null` if never. */
async function sweptAfter(job: object, intervalMs: number, state: 'taken now' | 'waiting' = 'taken now'): Promise<number | null> {
  const record = { id: 'a', ...job } as JobRecord;
  let isHandled = false;
  const handle = async () => {
    isHandled = true;
    return null;
  };
  const findRunnerJobs: JobStore['findRunnerJobs'] = async (statuses) => (statuses.includes(record.status) ? [record] : []);
  const recovery = new JobRecovery({
    jobs: { findRunnerJobs, change: handle } as unknown as JobStore,
    leaseMs,
    sweepMs,
    isRunningHere: () => false,
    readEntryStates: async (tickets) => new Map(tickets.map((ticket) => [ticket, state])),
    deliver: async () => void (await handle()),
  });
  for (let passed = 0; passed <= 600_000; passed += intervalMs) {
    await recovery.sweep();
    if (isHandled) return passed;
    vi.advanceTimersByTime(intervalMs);
  }
  return null;
}

const queued = { status: jobStatus.queued, run: { ticket: 't', starter: processName(), owner: null } };
const running = { status: jobStatus.running, run: { owner: 'machine:1', beat: 1, attempts: 1, maxAttempts: 3, resumable: true } };
const released = { status: jobStatus.running, run: { ...queued.run, beat: 1, attempts: 1, maxAttempts: 3, resumable: true } };

it('a job is queued again when its entry was taken by a process that never started it', async () => {
  expect(await sweptAfter(queued, sweepMs)).toBe(6000);
});

it('a job that was taken from a dead process is queued again just as quickly', async () => {
  expect(await sweptAfter(released, sweepMs)).toBe(6000);
  expect(await sweptAfter(released, sweepMs, 'waiting')).toBeNull();
});

it('a job whose entry waits for a slot is left alone', async () => {
  expect(await sweptAfter(queued, sweepMs, 'waiting')).toBeNull();
});

it('a running job is taken from a process that was silent for a lease', async () => {
  expect(await sweptAfter(running, sweepMs)).toBe(16_000);
});

it('abandoned jobs are found even when every sweep is late', async () => {
  expect(await sweptAfter(queued, 10_000)).toBe(30_000);
  expect(await sweptAfter(running, 10_000)).toBe(80_000);
});
