/** Runs a limited number of tasks at the same time. After a failure, no further task is started. */
export class TaskLimit {
  readonly #runningTasks = new Set<Promise<void>>();
  #failure: { error: unknown } | null = null;

  constructor(private readonly maxRunning: number) {}

  /** Waits until fewer tasks than the limit are running, and then starts this task. @throws the error of an earlier task that failed. */
  async start(task: () => Promise<void>): Promise<void> {
    while (this.#runningTasks.size >= this.maxRunning) await Promise.race(this.#runningTasks);
    this.#throwFailure();
    const runningTask: Promise<void> = task()
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#runningTasks.delete(runningTask));
    this.#runningTasks.add(runningTask);
  }

  /** Waits until all tasks have ended. @throws the error of the first task that failed. */
  async finish(): Promise<void> {
    await Promise.all(this.#runningTasks);
    this.#throwFailure();
  }

  /** Waits until all tasks have ended, even if some have failed. Does not throw. */
  async settle(): Promise<void> {
    await Promise.all(this.#runningTasks);
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }
}

const recordsPerInsert = 64;
const maxRunningInserts = 2;

/** Collects records and inserts them in batches. */
export class Inserter<R> {
  #pending: R[] = [];
  readonly #limit = new TaskLimit(maxRunningInserts);

  constructor(private readonly insert: (records: readonly R[]) => Promise<void>) {}

  async add(record: R): Promise<void> {
    this.#pending.push(record);
    if (this.#pending.length >= recordsPerInsert) await this.#insertPending();
  }

  async #insertPending(): Promise<void> {
    const records = this.#pending.splice(0);
    await this.#limit.start(() => this.insert(records));
  }

  /** Waits until all records are stored. @throws the error of an insert. */
  async finish(): Promise<void> {
    if (this.#pending.length > 0) await this.#insertPending();
    await this.#limit.finish();
  }
}
