import { LRUCache } from 'lru-cache';
import { sharedAbortController } from '../../core/concurrency/abort.js';
import { FailedReadError, LargeImageError, TileSourceError } from '../../errors.js';
import type { ByteReader } from '../../tilesource/tile-source.js';
import { awaitOrAbort } from '../../tilesource/process/shared-work.js';

/** Size of a block. At 20 ms per request and 100 MB/s, transferring a block takes less time than requesting it. */
const blockBytes = 512 * 1024;
/** Reads of more bytes than this bypass the cache. */
const maxCachedReadBytes = 8 * 1024 * 1024;

/** Fetches the bytes from `start` up to, but not including, `end`. Returns fewer bytes only at the end of the file. */
export type FetchBytes = (range: { start: number; end: number }, signal: AbortSignal | undefined) => Promise<Uint8Array>;

/** One request for adjacent blocks. All readers that wait for one of these blocks share the request. */
interface BlockFetch {
  firstBlock: number;
  blockCount: number;
  bytes: Promise<Uint8Array>;
  readerCount: number;
  controller: AbortController;
}

/** A cache for blocks of files that are not on this machine, limited in bytes. The least recently used blocks are removed first. */
export class BlockCache {
  readonly #blocks: LRUCache<string, Uint8Array>;
  #openedFileCount = 0;

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
   * Opens a file for random access. When the same file is opened again, blocks that are already cached are not reused, because the
   * file may have changed.
   *
   * @param name names the file in error messages.
   */
  openFile(name: string, size: number, fetch: FetchBytes): Pick<ByteReader, 'size' | 'read'> {
    this.#openedFileCount += 1;
    return new BlockFile(this.#blocks, `${this.#openedFileCount}:`, { name, size, fetch });
  }
}

class BlockFile implements Pick<ByteReader, 'size' | 'read'> {
  readonly size: number;
  readonly #fetchByBlock = new Map<number, BlockFetch>();

  constructor(
    private readonly blocks: LRUCache<string, Uint8Array>,
    private readonly keyPrefix: string,
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
    if (end - offset > maxCachedReadBytes) return this.#fetch(offset, end, signal);
    const bytes = new Uint8Array(end - offset);
    const copyPart = (partOffset: number, part: Uint8Array) => {
      const copyStart = Math.max(partOffset, offset);
      const copyEnd = Math.min(partOffset + part.length, end);
      if (copyEnd > copyStart) bytes.set(part.subarray(copyStart - partOffset, copyEnd - partOffset), copyStart - offset);
    };
    const lastBlock = Math.floor((end - 1) / blockBytes);
    const fetches = new Set<BlockFetch>();
    for (let block = Math.floor(offset / blockBytes); block <= lastBlock; block += 1) {
      const cachedBlock = this.blocks.get(this.keyPrefix + block);
      if (cachedBlock !== undefined) copyPart(block * blockBytes, cachedBlock);
      else fetches.add(this.#fetchByBlock.get(block) ?? this.#startFetch(block, lastBlock));
    }
    await Promise.all(
      [...fetches].map(async (blockFetch) =>
        copyPart(blockFetch.firstBlock * blockBytes, await this.#awaitFetch(blockFetch, signal)),
      ),
    );
    return bytes;
  }

  /** Fetches a block together with the blocks after it. Stops after `lastBlock`, or before a block that is cached or being fetched. */
  #startFetch(firstBlock: number, lastBlock: number): BlockFetch {
    let blockCount = 1;
    while (
      firstBlock + blockCount <= lastBlock &&
      !this.blocks.has(this.keyPrefix + (firstBlock + blockCount)) &&
      !this.#fetchByBlock.has(firstBlock + blockCount)
    )
      blockCount += 1;
    const controller = sharedAbortController();
    const start = firstBlock * blockBytes;
    const bytes = this.#fetch(start, Math.min(this.size, start + blockCount * blockBytes), controller.signal);
    const blockFetch: BlockFetch = { firstBlock, blockCount, bytes, readerCount: 0, controller };
    for (let block = firstBlock; block < firstBlock + blockCount; block += 1) this.#fetchByBlock.set(block, blockFetch);
    bytes.then(
      (fetchedBytes) => {
        for (let i = 0; i < blockCount; i += 1) {
          // The block is copied, because a view would keep the complete buffer in memory.
          this.blocks.set(this.keyPrefix + (firstBlock + i), fetchedBytes.slice(i * blockBytes, (i + 1) * blockBytes));
        }
        this.#forgetFetch(blockFetch);
      },
      // The waiting readers get the error. If no reader is left, the error is ignored.
      () => this.#forgetFetch(blockFetch),
    );
    return blockFetch;
  }

  async #awaitFetch(blockFetch: BlockFetch, signal: AbortSignal | undefined): Promise<Uint8Array> {
    blockFetch.readerCount += 1;
    try {
      return await awaitOrAbort(blockFetch.bytes, signal);
    } finally {
      blockFetch.readerCount -= 1;
      if (blockFetch.readerCount === 0) {
        this.#forgetFetch(blockFetch);
        blockFetch.controller.abort(
          new LargeImageError('unavailable', 'The read was canceled, because no request waits for it anymore.'),
        );
      }
    }
  }

  #forgetFetch(blockFetch: BlockFetch): void {
    for (let block = blockFetch.firstBlock; block < blockFetch.firstBlock + blockFetch.blockCount; block += 1) {
      if (this.#fetchByBlock.get(block) === blockFetch) this.#fetchByBlock.delete(block);
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
