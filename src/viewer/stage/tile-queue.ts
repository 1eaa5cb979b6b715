/** OpenSeadragon's request for a tile. */
export interface TileJob {
  src: string;
  source: object;
  finish: (data: unknown, request: null, type: 'imageBitmap') => void;
  fail: (message: string, request: null) => void;
}

/** Maximum number of simultaneous requests for tiles. Browsers have at most this many connections to a server. */
const maxRequests = 6;

/** Time in milliseconds after which a request for a tile fails. Tiles may wait in the queue of a busy server. */
const timeoutMs = 120_000;

/**
 * Fetches the tiles of the visible frames. Pending requests for other frames are canceled, on the server too, and repeated when
 * those frames are shown again. Without this queue, OpenSeadragon would complete the pending requests before it requests tiles of the visible frame.
 */
export class TileQueue {
  #waiting: Set<TileJob> = new Set();
  #running: Map<TileJob, AbortController> = new Map();
  #visibleSources: Set<object> = new Set();

  /** @param fetchTile fetches a tile by its address */
  constructor(private readonly fetchTile: (url: string, signal: AbortSignal) => Promise<unknown>) {}

  /** Sets the frames whose tiles are fetched. @param sources the tile sources of these frames */
  setVisibleSources(...sources: object[]) {
    this.#visibleSources = new Set(sources);
    for (const job of this.#running.keys()) {
      if (this.#visibleSources.has(job.source)) continue;
      this.drop(job);
      this.#waiting.add(job);
    }
    this.#startNext();
  }

  add(job: TileJob) {
    this.#waiting.add(job);
    this.#startNext();
  }

  /** Removes a request from the queue, or cancels it if it is running. */
  drop(job: TileJob) {
    this.#waiting.delete(job);
    this.#running.get(job)?.abort();
    this.#running.delete(job);
  }

  #startNext() {
    for (const job of this.#waiting) {
      if (this.#running.size >= maxRequests) return;
      if (this.#visibleSources.has(job.source)) void this.#fetch(job);
    }
  }

  async #fetch(job: TileJob) {
    const controller = new AbortController();
    this.#waiting.delete(job);
    this.#running.set(job, controller);
    try {
      const picture = await this.fetchTile(job.src, AbortSignal.any([controller.signal, AbortSignal.timeout(timeoutMs)]));
      if (!controller.signal.aborted) job.finish(picture, null, 'imageBitmap');
    } catch (error) {
      if (!controller.signal.aborted) job.fail((error as Error).message, null);
    }
    if (this.#running.get(job) === controller) this.#running.delete(job);
    this.#startNext();
  }
}
