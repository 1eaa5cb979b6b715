import { randomUUID } from 'node:crypto';
import type { Agenda, Job as AgendaJob, JobParameters } from 'agenda';
import type { HostLogger } from '../../../host.js';
import type { JobRecord } from '../job-record.js';
import { isWorkerHandler, jobStatus, localHandler } from '../job-status.js';
import type { JobStarter, NewDefinedJob } from './job-starter.js';
import type { JobStore } from '../jobs.js';
import type { JobDefinition } from './definition.js';
import { JobRecovery, type EntryState } from './recovery.js';
import { JobRun, type RunTiming } from './job-run.js';
import { processName } from '../../../core/database/leases/process-name.js';
import { announceStep } from '../../../core/steps.js';

/** Options of a {@link JobRunner}. Times are in milliseconds. */
export interface JobRunnerOptions {
  /** The host's Agenda. Its `processEvery` determines how soon a queued job begins. */
  agenda: Agenda;
  jobs: JobStore;
  logger?: HostLogger | undefined;
  /** Prefix of the names of the jobs in the queue, so that they differ from those of the host. Default `large_image`. */
  prefix?: string;
  /** Whether this process runs `local` jobs, which are for the server's own processes, or `worker` jobs. Default both. */
  handlers?: readonly ('local' | 'worker')[];
  /**
   * How long the process of a running job may be silent before the job is taken from it. Default 15,000: with the sweeps and with
   * Agenda's `processEvery` of up to 5 s, a job whose process was killed is resumed, or ends in ERROR, within 30 s. If a process on the
   * same machine has ended, the next sweep notices this, after at most {@link maxSweepMs}.
   */
  leaseMs?: number;
  /** How often a running job checks whether another process has canceled it. Default 400. */
  pollMs?: number;
  /** How long {@link JobRunner.close} waits for running work to stop. Default 5000. */
  closeTimeoutMs?: number;
}

interface QueueData {
  jobId: string;
}

const flushMs = 250;
/** Longest time between two sweeps for jobs that no process works on, in milliseconds. */
const maxSweepMs = 2000;

/**
 * Runs jobs. Each record that was started is run once, by one of the processes on the same database that have defined its kind. Agenda
 * is the queue: it delivers the id of a record to a process with a free slot. An atomic write on the record decides which process runs
 * the job, so it does no harm when Agenda delivers an entry twice, or once more after a crash.
 */
export class JobRunner implements JobStarter {
  readonly #agenda: Agenda;
  readonly #jobs: JobStore;
  readonly #logger: HostLogger | undefined;
  readonly #prefix: string;
  readonly #handlers: readonly ('local' | 'worker')[];
  readonly #leaseMs: number;
  readonly #sweepMs: number;
  readonly #timing: RunTiming;
  readonly #closeTimeoutMs: number;
  readonly #runnerName = `${processName()}:${randomUUID().slice(0, 8)}`;
  readonly #definitions = new Map<string, JobDefinition<unknown>>();
  /** The queues in Agenda by name, with how many of their jobs may run at the same time, and how many slots were missing in the last check. */
  readonly #queues = new Map<string, { concurrency: number; leakedSlots: number }>();
  readonly #runs = new Map<JobRun, Promise<void>>();
  readonly #recovery: JobRecovery;
  #sweepTimer: NodeJS.Timeout | null = null;
  #sweepPromise: Promise<void> | null = null;
  #claimCount = 0;
  /** Jobs that were delivered too late or interrupted by closing. They are queued for other processes at the end of {@link close}. */
  readonly #idsToRequeue = new Set<string>();
  #hasStartedAgenda = false;
  #isClosed = false;

  constructor(options: JobRunnerOptions) {
    this.#agenda = options.agenda;
    this.#jobs = options.jobs;
    this.#logger = options.logger;
    this.#prefix = options.prefix ?? 'large_image';
    this.#handlers = options.handlers ?? ['local', 'worker'];
    this.#leaseMs = options.leaseMs ?? 15_000;
    this.#sweepMs = Math.min(maxSweepMs, this.#leaseMs / 4);
    this.#timing = { pollMs: options.pollMs ?? 400, beatMs: this.#leaseMs / 4, flushMs };
    this.#closeTimeoutMs = options.closeTimeoutMs ?? 5000;
    this.#recovery = new JobRecovery({
      jobs: this.#jobs,
      leaseMs: this.#leaseMs,
      sweepMs: this.#sweepMs,
      logger: this.#logger,
      isRunningHere: (id) => [...this.#runs.keys()].some((run) => run.id === id),
      readEntryStates: (tickets) => this.#readEntryStates(tickets),
      deliver: async (job) => void (await this.start(job)),
    });
  }

  /** Defines a kind of job. From then on, this process runs jobs of this kind if Agenda is started in it. @throws if the name is taken. */
  define<D>(definition: JobDefinition<D>): void {
    const { name, concurrency = 1 } = definition;
    if (this.#isClosed) throw new Error(`The runner is closed; job "${name}" cannot be defined.`);
    if (this.#definitions.has(name)) throw new Error(`A job "${name}" is already defined.`);
    const queues = this.#handlers.map((handler) => this.#queueName(name, handler));
    const duplicateName = queues.find((queue) => this.#agenda.definitions[queue] !== undefined);
    if (duplicateName !== undefined)
      throw new Error(`Agenda already has a job "${duplicateName}": give this runner another prefix.`);
    // The cast is safe: `run` gets only data from the `parse` of the same definition.
    this.#definitions.set(name, definition as JobDefinition<unknown>);
    if (this.#definitions.size === 1) this.#startSweeping();
    for (const queue of queues) {
      this.#queues.set(queue, { concurrency, leakedSlots: 0 });
      const receive = (entry: AgendaJob<QueueData>, done: (error?: Error) => void) => {
        this.#handleDelivery(entry).then(() => done(), done);
      };
      this.#agenda.define<QueueData>(queue, receive, {
        concurrency,
        // A process takes only as many entries as it can start. The other entries are left to other processes.
        lockLimit: concurrency,
        // Agenda's own timer continues for half of this time after a job has ended.
        lockLifetime: Math.max(20_000, 2 * this.#leaseMs),
        removeOnComplete: true,
      });
    }
  }

  /** Stores a job of a defined kind. It runs after {@link JobRunner.start}. @throws if the kind is unknown. */
  async create(name: string, job: NewDefinedJob): Promise<JobRecord> {
    const definition = this.#definitions.get(name);
    if (definition === undefined) throw new Error(`No job "${name}" is defined.`);
    const { resumable = false, maxAttempts = 10 } = definition;
    return this.#jobs.create({
      title: definition.title,
      type: definition.type,
      handler: localHandler,
      ...job,
      run: { task: name, resumable, maxAttempts },
    });
  }

  /**
   * Queues a job: it becomes QUEUED, and RUNNING when a process has a free slot. A job that has ended or is running is left
   * unchanged.
   *
   * @returns the job; `null` if it no longer exists.
   */
  async start(job: JobRecord): Promise<JobRecord | null> {
    if (job.run === null) throw new Error(`Job ${job.id} was not created by a runner.`);
    let currentJob = await this.#jobs.find(job.id);
    if (currentJob?.status === jobStatus.inactive) {
      currentJob = (await this.#jobs.change(currentJob, {}, { status: jobStatus.queued })) ?? (await this.#jobs.find(job.id));
    }
    if (currentJob?.run == null || currentJob.run.owner !== null || !startableStatuses.includes(currentJob.status))
      return currentJob;
    const handler = isWorkerHandler(currentJob.handler) ? 'worker' : 'local';
    announceStep('job:queued');
    const entry = await this.#agenda.now<QueueData>(this.#queueName(currentJob.run.task, handler), { jobId: currentJob.id });
    announceStep('job:entered');
    const ticket = entry.attrs._id === undefined ? null : String(entry.attrs._id);
    const changes = { ticket, starter: processName() };
    // If a process has already started the job, its queue entry need not be stored.
    return (
      (await this.#jobs.change(currentJob, { workingProcess: null, ticket: currentJob.run.ticket }, changes)) ??
      this.#jobs.find(job.id)
    );
  }

  /** Starts the host's Agenda unless it is running, for processes that only run jobs. {@link JobRunner.close} stops Agenda again. */
  async startProcessing(): Promise<void> {
    if (this.#agenda.isActiveJobProcessor()) return;
    this.#hasStartedAgenda = true;
    await this.#agenda.start();
  }

  /**
   * Accepts no more jobs, stops the running jobs and removes the definitions from Agenda. Interrupted jobs are queued again if they
   * are resumable; the other interrupted jobs end in ERROR.
   */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#sweepTimer !== null) clearInterval(this.#sweepTimer);
    this.#hideDefinitions();
    await waitAtMost(this.#closeTimeoutMs, this.#sweepPromise ?? Promise.resolve());
    for (const run of this.#runs.keys()) {
      this.#idsToRequeue.add(run.id);
      run.stop('closing');
    }
    await waitAtMost(this.#closeTimeoutMs, Promise.all(this.#runs.values()));
    // Records that cannot be written in time, because the database is down, are left to the sweeps of other processes.
    await waitAtMost(this.#closeTimeoutMs, Promise.all([...this.#runs.keys()].map((run) => run.abandon())));
    if (this.#queues.size > 0) await this.#removeDefinitions();
    if (this.#hasStartedAgenda) await this.#agenda.stop(false);
    // These jobs are queued immediately, so that they need not wait for the sweep of another process.
    for (const id of this.#idsToRequeue) await this.#requeue(id);
    this.#agenda.off('error', this.#onAgendaError);
  }

  #startSweeping(): void {
    // Without a listener, an error event of Agenda, such as when the database is down for a moment, would end the process.
    this.#agenda.on('error', this.#onAgendaError);
    const sweep = () => {
      this.#sweepPromise ??= this.#sweep().finally(() => {
        this.#sweepPromise = null;
      });
    };
    this.#sweepTimer = setInterval(sweep, this.#sweepMs);
    this.#sweepTimer.unref();
    sweep();
  }

  readonly #onAgendaError = (err: unknown): void => {
    this.#logger?.warn({ err }, 'Job:QueueError');
  };

  #queueName(task: string, handler: 'local' | 'worker'): string {
    return `${this.#prefix}.${handler}.${task}`;
  }

  /** Handles one delivery of Agenda. The slot is occupied until the promise is settled. */
  async #handleDelivery(entry: AgendaJob<QueueData>): Promise<void> {
    const { jobId } = entry.attrs.data;
    if (this.#isClosed) {
      this.#idsToRequeue.add(jobId);
      return;
    }
    const workingProcess = `${this.#runnerName}:${++this.#claimCount}`;
    const job = await this.#jobs.claim(jobId, workingProcess);
    if (job !== null) announceStep('job:claimed');
    const definition = job?.run == null ? undefined : this.#definitions.get(job.run.task);
    if (job === null || definition === undefined) return;
    const run = new JobRun({
      definition,
      job,
      workingProcess,
      jobs: this.#jobs,
      timing: this.#timing,
      logger: this.#logger,
      onBeat: () => entry.touch(),
    });
    const runPromise = run.run().finally(() => this.#runs.delete(run));
    this.#runs.set(run, runPromise);
    if (this.#isClosed) run.stop('closing');
    await runPromise;
    announceStep('job:ended');
    if (run.isInterrupted) await this.#requeue(jobId);
  }

  async #requeue(id: string): Promise<void> {
    try {
      const job = await this.#jobs.find(id);
      if (job?.run != null) await this.start(job);
    } catch (err) {
      this.#logger?.warn({ err, jobId: id }, 'Job:NotQueuedAgain');
    }
  }

  async #sweep(): Promise<void> {
    if (this.#isClosed) return;
    try {
      await this.#recovery.sweep();
      if (this.#agenda.isActiveJobProcessor()) await this.#replaceLeakedSlots();
    } catch (err) {
      this.#logger?.warn({ err }, 'Job:SweepFailed');
    }
  }

  async #readEntryStates(tickets: readonly string[]): Promise<ReadonlyMap<string, EntryState>> {
    const { jobs } = await this.#agenda.queryJobs({ ids: [...tickets] });
    return new Map(jobs.map((entry) => [String(entry._id), toEntryState(entry)]));
  }

  /**
   * If the lock of an entry expires while it waits for a slot among all jobs of the host (`maxConcurrency`), Agenda does not
   * release its slot. Such slots are added again; otherwise this process would eventually accept no more jobs of that kind.
   */
  async #replaceLeakedSlots(): Promise<void> {
    const { jobStatus: countsByQueue, queuedJobs } = await this.#agenda.getRunningStats(true);
    const waitingEntries = typeof queuedJobs === 'number' ? [] : (queuedJobs as JobParameters[]);
    for (const [name, queue] of this.#queues) {
      const queueCounts = countsByQueue?.[name];
      const definition = this.#agenda.definitions[name];
      if (queueCounts === undefined || definition === undefined) continue;
      const leakedSlots = Math.max(
        0,
        queueCounts.locked - queueCounts.running - waitingEntries.filter((entry) => entry.name === name).length,
      );
      // A slot counts as lost only when it is missing in two checks, because an entry that moves from one list to the other is in
      // neither list for a moment.
      definition.lockLimit = queue.concurrency + Math.min(leakedSlots, queue.leakedSlots);
      queue.leakedSlots = leakedSlots;
    }
  }

  /**
   * Makes Agenda fetch no more entries, because Agenda fetches only entries of definitions that it can enumerate. The definitions are
   * not deleted yet, because entries that Agenda has already fetched still need them.
   */
  #hideDefinitions(): void {
    for (const name of this.#queues.keys()) {
      Object.defineProperty(this.#agenda.definitions, name, { enumerable: false });
    }
  }

  /** Waits for a limited time until Agenda has finished the entries that it has fetched, and removes the definitions. */
  async #removeDefinitions(): Promise<void> {
    const deadline = Date.now() + 1000;
    try {
      for (let idleCheckCount = 0; idleCheckCount < 2 && this.#agenda.isActiveJobProcessor() && Date.now() < deadline;) {
        const { jobStatus: countsByQueue } = await this.#agenda.getRunningStats();
        idleCheckCount = [...this.#queues.keys()].every((name) => (countsByQueue?.[name]?.locked ?? 0) === 0)
          ? idleCheckCount + 1
          : 0;
        await waitAtMost(50);
      }
    } catch (err) {
      this.#logger?.warn({ err }, 'Job:QueueError');
    }
    for (const name of this.#queues.keys()) delete this.#agenda.definitions[name];
  }
}

/** Statuses in which a job that no process works on can be delivered to one. */
const startableStatuses: readonly number[] = [
  jobStatus.queued,
  jobStatus.running,
  jobStatus.fetchingInput,
  jobStatus.convertingInput,
  jobStatus.convertingOutput,
  jobStatus.pushingOutput,
];

function toEntryState(entry: JobParameters): EntryState {
  if (entry.lockedAt != null) return `taken ${new Date(entry.lockedAt).toISOString()}`;
  return entry.nextRunAt == null || entry.disabled === true ? 'gone' : 'waiting';
}

/** Waits for the work, but at most `ms`; without work, waits for `ms`. */
async function waitAtMost(ms: number, work?: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await (work === undefined ? timeout : Promise.race([work, timeout]));
  clearTimeout(timer);
}
