import { WorkQueue, type WaitOptions, type WorkQueueOptions } from './work-queue.js';

/** Queues by name. Each exists only while work of its name waits or goes on. */
export class NamedQueues {
  readonly #queues = new Map<string, WorkQueue>();

  /** @param options of each of them. */
  constructor(private readonly options: WorkQueueOptions) {}

  /** How many pieces of work wait under a name. */
  waiting(name: string): number {
    return this.#queues.get(name)?.waiting ?? 0;
  }

  /** Does a piece of work when its turn has come. @throws as `WorkQueue.run` */
  async run<Result>(name: string, work: () => Promise<Result>, options: WaitOptions = {}): Promise<Result> {
    let queue = this.#queues.get(name);
    if (queue === undefined) {
      queue = new WorkQueue(this.options);
      this.#queues.set(name, queue);
    }
    try {
      return await queue.run(work, options);
    } finally {
      if (queue.running === 0 && this.#queues.get(name) === queue) this.#queues.delete(name);
    }
  }
}
