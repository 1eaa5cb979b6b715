import { LRUCache } from 'lru-cache';
import { sharedAbortController } from '../../core/concurrency/abort.js';
import { awaitOrAbort } from '../../tilesource/process/shared-work.js';
import type { CacheReport } from './tile-cache.js';

/** Something that has a file open. */
export interface Closable {
  close(): Promise<void>;
}

interface Entry<T> {
  value: Promise<T>;
  /** Aborted when the last reader leaves before the value arrives. */
  openingController: AbortController;
  /** Whether the value has arrived, or opening has failed. */
  isSettled: boolean;
  readerCount: number;
  isEvicted: boolean;
  /** Set once, when an evicted entry without readers is being closed. */
  closePromise: Promise<void> | null;
}

/**
 * An entry of the LRU cache. It is replaced by a new object when its size is known, because the cache accepts a new size only with
 * a new object.
 */
interface LruEntry<T> {
  entry: Entry<T>;
}

/** Options of a {@link SourceCache}. */
export interface SourceCacheOptions<T> {
  /** Maximum number of sources that stay open without a reader. With 0, each source is closed when its last reader leaves. */
  maxEntries: number;
  /** Maximum memory of the sources that stay open without a reader, in bytes. */
  maxBytes: number;
  /** Memory of an open source, in bytes. */
  sizeOf(value: T): number;
  /** Called with errors during closing, which belong to no request. */
  onCloseError(error: unknown): void;
}

/**
 * Open tile sources, shared by concurrent requests: the first request opens a source, and the others wait for it. A failed attempt
 * to open is not cached. A source that is evicted is closed, but never while it has readers.
 */
export class SourceCache<T extends Closable> {
  readonly #entries: LRUCache<string, LruEntry<T>> | null;
  readonly #openEntries = new Set<Entry<T>>();
  /** How often a requested source was already open. */
  hits = 0;
  /** How often a requested source had to be opened. */
  misses = 0;

  constructor(private readonly options: SourceCacheOptions<T>) {
    this.#entries =
      options.maxEntries > 0
        ? new LRUCache<string, LruEntry<T>>({
            max: options.maxEntries,
            maxSize: Math.max(1, options.maxBytes),
            // The size is unknown until the source is open, and is then set to at most `maxBytes`: a larger entry would be refused, and
            // the source would be opened again for every request.
            sizeCalculation: () => 1,
            dispose: ({ entry }) => this.#markEvicted(entry),
          })
        : null;
  }

  /**
   * Calls `use` with the source of this key, and opens it first if necessary. The signal passed to `open` is aborted once all
   * callers that wait for the source have aborted.
   */
  async use<R>(
    key: string,
    open: (signal: AbortSignal) => Promise<T>,
    use: (value: T) => Promise<R> | R,
    signal?: AbortSignal,
  ): Promise<R> {
    for (;;) {
      signal?.throwIfAborted();
      const entry = this.#acquire(key, open);
      try {
        return await use(await awaitOrAbort(entry.value, signal));
      } catch (error) {
        // Opening was aborted because all other readers had left, so this reader opens the source again.
        if (signal?.aborted === true || error !== entry.openingController.signal.reason) throw error;
      } finally {
        this.#release(entry);
      }
    }
  }

  #release(entry: Entry<T>): void {
    entry.readerCount--;
    if (this.#entries === null) entry.isEvicted = true;
    if (entry.readerCount === 0 && !entry.isSettled) entry.openingController.abort();
    this.#closeIfUnused(entry);
  }

  #acquire(key: string, open: (signal: AbortSignal) => Promise<T>): Entry<T> {
    const cachedEntry = this.#entries?.get(key)?.entry;
    if (cachedEntry !== undefined) {
      this.hits += 1;
      cachedEntry.readerCount++;
      return cachedEntry;
    }
    this.misses += 1;
    const openingController = sharedAbortController();
    const entry: Entry<T> = {
      value: open(openingController.signal),
      openingController,
      isSettled: false,
      readerCount: 1,
      isEvicted: false,
      closePromise: null,
    };
    this.#openEntries.add(entry);
    this.#entries?.set(key, { entry });
    entry.value.then(
      (value) => {
        entry.isSettled = true;
        if (entry.isEvicted) return;
        const size = Math.min(Math.max(1, this.options.sizeOf(value)), Math.max(1, this.options.maxBytes));
        if (this.#entries?.peek(key)?.entry === entry) this.#entries.set(key, { entry }, { size, noDisposeOnSet: true });
      },
      () => {
        entry.isSettled = true;
        this.#openEntries.delete(entry);
        if (this.#entries?.peek(key)?.entry === entry) this.#entries.delete(key);
      },
    );
    return entry;
  }

  /** Removes the sources whose keys match. A source in use is closed when its last reader has finished. */
  evict(matchesKey: (key: string) => boolean): void {
    // The list is copied, because it must not change while it is iterated.
    for (const key of Array.from(this.#entries?.keys() ?? [])) {
      if (matchesKey(key)) this.#entries?.delete(key);
    }
  }

  /** Removes all sources. Resolves when the sources without a reader are closed. */
  async clear(): Promise<void> {
    this.#entries?.clear();
    await Promise.all([...this.#openEntries].map((entry) => entry.closePromise ?? Promise.resolve()));
  }

  /** `used` counts all open sources, including those that only wait for their last reader. */
  report(): CacheReport {
    return { maxsize: this.options.maxEntries, used: this.#openEntries.size };
  }

  #markEvicted(entry: Entry<T>): void {
    entry.isEvicted = true;
    this.#closeIfUnused(entry);
  }

  #closeIfUnused(entry: Entry<T>): void {
    if (!entry.isEvicted || entry.readerCount > 0 || entry.closePromise !== null) return;
    entry.closePromise = this.#close(entry);
  }

  async #close(entry: Entry<T>): Promise<void> {
    let value: T;
    try {
      value = await entry.value;
    } catch {
      // Opening failed, so there is nothing to close. The readers have received the error.
      return;
    }
    try {
      await value.close();
    } catch (error) {
      this.options.onCloseError(error);
    } finally {
      this.#openEntries.delete(entry);
    }
  }
}
