/** What OpenSeadragon says of a tile that it wants. */
export interface TileJob {
  src: string;
  source: object;
  finish: (data: unknown, request: null, type: 'imageBitmap') => void;
  fail: (message: string, request: null) => void;
}

/** Tiles that are asked for at the same time: a browser has no more connections to a server. */
const parallel = 6;

/** A tile that waits its turn on a busy server is not given up before, in milliseconds. */
const patience = 120_000;

/**
 * Fetches tiles: those of the frames that are wanted. What is under way of others is broken off, at the server too, and waits until they are
 * wanted again. The library by itself would load them to their end, before those of the frame that is seen.
 */
export class TileQueue {
  #waiting: Set<TileJob> = new Set();
  #underWay: Map<TileJob, AbortController> = new Map();
  #wanted: Set<object> = new Set();

  /** @param load fetches a tile by its address */
  constructor(private readonly load: (url: string, signal: AbortSignal) => Promise<unknown>) {}

  /** @param sources of frames, in place of those that were wanted before */
  want(...sources: object[]) {
    this.#wanted = new Set(sources);
    for (const job of this.#underWay.keys()) {
      if (this.#wanted.has(job.source)) continue;
      this.drop(job);
      this.#waiting.add(job);
    }
    this.#work();
  }

  add(job: TileJob) {
    this.#waiting.add(job);
    this.#work();
  }

  drop(job: TileJob) {
    this.#waiting.delete(job);
    this.#underWay.get(job)?.abort();
    this.#underWay.delete(job);
  }

  #work() {
    for (const job of this.#waiting) {
      if (this.#underWay.size >= parallel) return;
      if (this.#wanted.has(job.source)) void this.#fetch(job);
    }
  }

  async #fetch(job: TileJob) {
    const leave = new AbortController();
    this.#waiting.delete(job);
    this.#underWay.set(job, leave);
    try {
      const picture = await this.load(job.src, AbortSignal.any([leave.signal, AbortSignal.timeout(patience)]));
      if (!leave.signal.aborted) job.finish(picture, null, 'imageBitmap');
    } catch (error) {
      if (!leave.signal.aborted) job.fail(String(error), null);
    }
    if (this.#underWay.get(job) === leave) this.#underWay.delete(job);
    this.#work();
  }
}
