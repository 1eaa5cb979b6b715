/** Runs work side by side, a limited number at a time. After a failure nothing more is started. */
export class Limit {
  readonly #running = new Set<Promise<void>>();
  #failure: { error: unknown } | null = null;

  constructor(private readonly most: number) {}

  /** Starts work, as soon as there is room. @throws what earlier work failed with. */
  async start(work: () => Promise<void>): Promise<void> {
    while (this.#running.size >= this.most) await Promise.race(this.#running);
    this.#check();
    const running: Promise<void> = work()
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Waits until all is done. @throws what any of it failed with. */
  async finish(): Promise<void> {
    await Promise.all(this.#running);
    this.#check();
  }

  /** Waits until nothing is under way, whether it failed or not. */
  async settle(): Promise<void> {
    await Promise.all(this.#running);
  }

  #check(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }
}

/** Records inserted with one call, and calls under way at the same time. */
const recordsPerInsert = 64;
const inserting = 2;

/** Gathers records and inserts many at once. */
export class Inserter<R> {
  #pending: R[] = [];
  readonly #limit = new Limit(inserting);

  constructor(private readonly insert: (records: readonly R[]) => Promise<void>) {}

  async add(record: R): Promise<void> {
    this.#pending.push(record);
    if (this.#pending.length >= recordsPerInsert) await this.#send();
  }

  async #send(): Promise<void> {
    const records = this.#pending.splice(0);
    await this.#limit.start(() => this.insert(records));
  }

  /** Waits until everything is stored. @throws what an insert failed with. */
  async finish(): Promise<void> {
    if (this.#pending.length > 0) await this.#send();
    await this.#limit.finish();
  }
}
