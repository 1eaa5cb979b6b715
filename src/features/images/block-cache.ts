import { LRUCache } from 'lru-cache';
import { sharedAbortController } from '../../core/concurrency/abort.js';
import { FailedReadError, LargeImageError, TileSourceError } from '../../errors.js';
import type { ByteReader } from '../../tilesource/tile-source.js';
import { orAborted } from '../../tilesource/process/shared-work.js';

/** Bytes of a block. With 20 ms for a request and 100 MB/s, the request takes longer than transferring this many bytes. */
const blockBytes = 512 * 1024;
/** Maximum number of bytes for which adjacent blocks are fetched by one request. Longer reads bypass the cache. */
const maxFetchBytes = 8 * 1024 * 1024;

/** Fetches the bytes from `start` to `end`, not including `end`; fewer only at the end of the file. */
export type FetchBytes = (range: { start: number; end: number }, signal: AbortSignal | undefined) => Promise<Uint8Array>;

/** Blocks that are fetched by one request, for all readers that wait for one of them. */
interface Flight {
  first: number;
  count: number;
  bytes: Promise<Uint8Array>;
  waiting: number;
  controller: AbortController;
}

/** A cache for blocks of files that are not on this machine, limited in bytes. The least recently used blocks are removed first. */
export class BlockCache {
  readonly #blocks: LRUCache<string, Uint8Array>;
  #files = 0;

  constructor(maxBytes: number) {
    this.#blocks = new LRUCache({
      maxSize: Math.max(blockBytes, maxBytes),
      sizeCalculation: ({ length }) => Math.max(1, length),
    });
  }

  /** Memory of the cached blocks, in bytes. */
  get bytes(): number {
    return this.#blocks.calculatedSize;
  }

  /**
   * Random access to a file in its current state. If it is opened again later, blocks of this opening are not reused, because the
   * file may have changed.
   *
   * @param name for messages.
   */
  file(name: string, size: number, fetch: FetchBytes): Pick<ByteReader, 'size' | 'read'> {
    this.#files += 1;
    return new BlockFile(this.#blocks, `${this.#files}:`, { name, size, fetch });
  }
}

class BlockFile implements Pick<ByteReader, 'size' | 'read'> {
  readonly size: number;
  readonly #flights = new Map<number, Flight>();

  constructor(
    private readonly blocks: LRUCache<string, Uint8Array>,
    private readonly prefix: string,
    private readonly file: { name: string; size: number; fetch: FetchBytes },
  ) {
    this.size = file.size;
  }

  async read(offset: number, length: number, { signal }: { signal?: AbortSignal } = {}): Promise<Uint8Array> {
    signal?.throwIfAborted();
    const { name } = this.file;
    if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(length) || offset < 0 || length < 0) {
      throw new TileSourceError(`Cannot read ${length} bytes at ${offset} of ${name}: not a range of a file.`);
    }
    const end = Math.min(this.size, offset + length);
    if (end <= offset) return new Uint8Array(0);
    if (end - offset > maxFetchBytes) return this.#fetch(offset, end, signal);
    const bytes = new Uint8Array(end - offset);
    const put = (from: number, part: Uint8Array) => {
      const start = Math.max(from, offset);
      const stop = Math.min(from + part.length, end);
      if (stop > start) bytes.set(part.subarray(start - from, stop - from), start - offset);
    };
    const last = Math.floor((end - 1) / blockBytes);
    const flights = new Set<Flight>();
    for (let block = Math.floor(offset / blockBytes); block <= last; block += 1) {
      const cached = this.blocks.get(this.prefix + block);
      if (cached !== undefined) put(block * blockBytes, cached);
      else flights.add(this.#flights.get(block) ?? this.#begin(block, last));
    }
    await Promise.all([...flights].map(async (flight) => put(flight.first * blockBytes, await this.#join(flight, signal))));
    return bytes;
  }

  /** Fetches a block together with the blocks after it, up to the last one, or up to one that is cached or being fetched. */
  #begin(first: number, last: number): Flight {
    let count = 1;
    while (first + count <= last && !this.blocks.has(this.prefix + (first + count)) && !this.#flights.has(first + count))
      count += 1;
    const controller = sharedAbortController();
    const start = first * blockBytes;
    const bytes = this.#fetch(start, Math.min(this.size, start + count * blockBytes), controller.signal);
    const flight: Flight = { first, count, bytes, waiting: 0, controller };
    for (let block = first; block < first + count; block += 1) this.#flights.set(block, flight);
    bytes.then(
      (fetched) => {
        for (let index = 0; index < count; index += 1) {
          // The block is copied, because a part of the buffer would keep the complete buffer in memory.
          this.blocks.set(this.prefix + (first + index), fetched.slice(index * blockBytes, (index + 1) * blockBytes));
        }
        this.#end(flight);
      },
      // The waiting readers get the error. If there are none left, it is ignored.
      () => this.#end(flight),
    );
    return flight;
  }

  async #join(flight: Flight, signal: AbortSignal | undefined): Promise<Uint8Array> {
    flight.waiting += 1;
    try {
      return await orAborted(flight.bytes, signal);
    } finally {
      flight.waiting -= 1;
      if (flight.waiting === 0) {
        this.#end(flight);
        flight.controller.abort(
          new LargeImageError('unavailable', 'The read was canceled, because no request waits for it anymore.'),
        );
      }
    }
  }

  #end(flight: Flight): void {
    for (let block = flight.first; block < flight.first + flight.count; block += 1) {
      if (this.#flights.get(block) === flight) this.#flights.delete(block);
    }
  }

  async #fetch(start: number, end: number, signal: AbortSignal | undefined): Promise<Uint8Array> {
    const bytes = await this.file.fetch({ start, end }, signal);
    if (bytes.length === end - start) return bytes;
    throw new FailedReadError(
      `The file ${this.file.name} ends at byte ${start + bytes.length}; according to its record it has ${this.size} bytes.`,
    );
  }
}
