import { setTimeout as pause } from 'node:timers/promises';
import { MongoBackend } from '@agendajs/mongo-backend';
import { Agenda } from 'agenda';
import { Mongoose, type Connection } from 'mongoose';
import type { JobDefinition } from '../../../src/features/jobs/running/definition.js';
import { JobRunner, type JobRunnerOptions } from '../../../src/features/jobs/running/runner.js';
import { JobModel } from '../../../src/features/jobs/job.model.js';
import { OwnCollections } from '../../../src/core/database/own-collections.js';
import { JobStore } from '../../../src/features/jobs/jobs.js';

/** One process's part of a job service, on the database of `uri`. */
export interface JobService {
  connection: Connection;
  model: JobModel;
  jobs: JobStore;
  agenda: Agenda;
  runner: JobRunner;
  close(): Promise<void>;
}

export const leaseMs = 1500;

/** Connects and creates store, Agenda and runner; nothing is defined or started yet. */
export async function openJobService(uri: string, options: Partial<JobRunnerOptions> = {}): Promise<JobService> {
  const connection = await new Mongoose().createConnection(uri).asPromise();
  const model = new JobModel(new OwnCollections(connection));
  const jobs = new JobStore({ model });
  const agenda = new Agenda({
    backend: new MongoBackend({ mongo: connection.db! as never }),
    processEvery: 200,
    defaultConcurrency: 20,
    maxConcurrency: 50,
  });
  await agenda.ready;
  const runner = new JobRunner({ agenda, jobs, leaseMs, pollMs: 200, closeTimeoutMs: 60_000, ...options });
  return {
    connection,
    model,
    jobs,
    agenda,
    runner,
    async close() {
      await runner.close();
      await agenda.stop(false);
      await connection.close();
    },
  };
}

/** The collection in which jobs record that they were started; all processes share it. */
export function executions(connection: Connection) {
  return connection.collection<{ job: string; pid: number; attempt: number }>('executions');
}

/** Jobs that record their start, and then take a given time. */
export function testDefinitions(connection: Connection): JobDefinition<{ steps: number }>[] {
  const parse = (kwargs: Record<string, unknown>) => ({ steps: Number(kwargs.steps ?? 1) });
  const run: JobDefinition<{ steps: number }>['run'] = async ({ job, signal, log, setProgress }, { steps }) => {
    await executions(connection).insertOne({ job: job.id, pid: process.pid, attempt: job.run!.attempts });
    for (let step = 0; step < steps && !signal.aborted; step++) {
      log(`step ${step}\n`);
      setProgress({ total: steps, current: step });
      await pause(20);
    }
    if (signal.aborted) log(`stopped: ${String(signal.reason)}\n`);
  };
  return [
    { name: 'once', title: 'Once', type: 'test_once', concurrency: 3, parse, run },
    { name: 'again', title: 'Again', type: 'test_again', concurrency: 3, resumable: true, maxAttempts: 2, parse, run },
  ];
}
