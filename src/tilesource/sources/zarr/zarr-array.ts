import { TileSourceError } from '../../../errors.js';
import type { FileTree, ReadOptions } from '../../tile-source.js';
import { codecThreads } from '../../codecs/threads/codec-threads.js';
import { removeChecksum } from './checksum.js';
import { createZarrInflater } from './zarr-chunk.js';
import type { FileBlocks } from '../../process/decoded-blocks.js';
import { runProcessing } from '../../process/processing.js';
import { lendReadMemory } from '../../process/read-memory.js';
import { SharedWork } from '../../process/shared-work.js';
import { createRaster, type Raster } from '../../raster.js';
import { sampleTypeOf, type ArrayMetadata } from './array-metadata.js';

/** Offset in the index of a shard for a chunk that is not stored. */
const noChunkOffset = 2n ** 64n - 1n;
/** Maximum number of indexes of shards that are cached for an array. */
const maxCachedIndexes = 64;

/** An array of samples in chunks. */
export class ZarrArray {
  readonly #cachedIndexes = new Map<string, DataView | null>();
  readonly #indexReads = new SharedWork<DataView | null>();

  constructor(
    private readonly tree: FileTree,
    private readonly path: string,
    readonly metadata: ArrayMetadata,
    private readonly blocks: FileBlocks,
  ) {}

  /**
   * All samples of a chunk, in the order of the axes, as a raster of one row. `null` if the chunk is not stored, which means that
   * all its samples have the fill value. The raster is shared and must not be changed.
   */
  async readChunk(position: readonly number[], signal?: AbortSignal): Promise<Raster | null> {
    const key = `${this.path}:${position.join('/')}`;
    const block = await this.blocks.read(key, (sharedSignal) => this.#decodeChunk(position, sharedSignal), signal);
    return block.width === 0 ? null : block;
  }

  /** Like {@link ZarrArray.readChunk}, for a chunk that is exactly one tile. The raster is not cached, and the caller may change it. */
  async readUncachedChunk(position: readonly number[], signal?: AbortSignal): Promise<Raster | null> {
    const raster = await this.#decodeChunk(position, signal);
    return raster.width === 0 ? null : raster;
  }

  async #decodeChunk(position: readonly number[], signal?: AbortSignal): Promise<Raster> {
    const dtype = sampleTypeOf(this.metadata.type);
    const emptyRaster = createRaster({ width: 0, height: 1, bands: 1, dtype });
    const samples = await this.#readSamples(position, signal);
    if (samples === null) return emptyRaster;
    const constructor = emptyRaster.data.constructor as new (buffer: ArrayBuffer, at: number, length: number) => Raster['data'];
    const data = new constructor(samples.buffer, samples.byteOffset, samples.byteLength / emptyRaster.data.BYTES_PER_ELEMENT);
    return { ...emptyRaster, data, width: data.length };
  }

  async #readSamples(position: readonly number[], signal?: AbortSignal): Promise<Uint8Array<ArrayBuffer> | null> {
    const { type, chunkShape, codecs, isBigEndian, order } = this.metadata;
    const encoding = { type, isBigEndian, shape: chunkShape, codecs, order };
    const what = `a chunk of the Zarr array ${this.path}`;
    const inflate = createZarrInflater(encoding);
    if (inflate === null) {
      const bytes = await this.#readEncodedChunk(position, signal);
      return bytes === null ? null : codecThreads.call('zarrChunk', { bytes, ...encoding }, what, signal);
    }
    return lendReadMemory(async (into) => {
      const encodedBytes = await this.#readEncodedChunk(position, signal, into);
      if (encodedBytes === null) return null;
      try {
        return await runProcessing(() => inflate(encodedBytes), signal);
      } catch (cause) {
        signal?.throwIfAborted();
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new TileSourceError(`Decoding ${what} failed: ${reason.replace(/\.$/, '')}.`, { cause });
      }
    });
  }

  async #readEncodedChunk(position: readonly number[], signal?: AbortSignal, into?: Uint8Array): Promise<Uint8Array | null> {
    const { shard, chunkShape, pathOf } = this.metadata;
    if (shard === null) return this.#readChunkFile(`${this.path}${pathOf(position)}`, { signal, into });
    const chunksPerShard = shard.shape.map((size, axis) => size / chunkShape[axis]!);
    const path = `${this.path}${pathOf(position.map((value, axis) => Math.floor(value / chunksPerShard[axis]!)))}`;
    const index = await this.#loadIndex(
      path,
      chunksPerShard.reduce((product, count) => product * count, 1),
      signal,
    );
    if (index === null) return null;
    const at = position.reduce((sum, value, axis) => sum * chunksPerShard[axis]! + (value % chunksPerShard[axis]!), 0) * 16;
    const [offset, length] = [index.getBigUint64(at, true), index.getBigUint64(at + 8, true)];
    if (offset === noChunkOffset) return null;
    const file = await this.tree.file(path);
    if (file === null || offset + length > BigInt(file.size)) {
      throw new TileSourceError(`Truncated or corrupt Zarr: a chunk of ${path} extends past its end.`);
    }
    return file.read(Number(offset), Number(length), { signal, into });
  }

  async #readChunkFile(path: string, options: ReadOptions): Promise<Uint8Array | null> {
    const file = await this.tree.file(path);
    if (file === null) return null;
    if (file.size > 2 ** 29) throw new TileSourceError(`The Zarr has a chunk of ${file.size} bytes (${path}).`);
    return file.read(0, file.size, options);
  }

  /** Reads the index of a shard, or takes it from the cache. `null` if the shard is not stored. */
  async #loadIndex(path: string, chunkCount: number, signal?: AbortSignal): Promise<DataView | null> {
    const cachedIndex = this.#cachedIndexes.get(path);
    if (cachedIndex !== undefined) return cachedIndex;
    const index = await this.#indexReads.join(path, (sharedSignal) => this.#readIndex(path, chunkCount, sharedSignal), signal);
    this.#cachedIndexes.set(path, index);
    if (this.#cachedIndexes.size > maxCachedIndexes) this.#cachedIndexes.delete(this.#cachedIndexes.keys().next().value!);
    return index;
  }

  async #readIndex(path: string, chunkCount: number, signal: AbortSignal): Promise<DataView | null> {
    const { isIndexAtEnd, hasChecksum } = this.metadata.shard!;
    const file = await this.tree.file(path);
    if (file === null) return null;
    const length = chunkCount * 16 + (hasChecksum ? 4 : 0);
    const start = isIndexAtEnd ? file.size - length : 0;
    if (start < 0 || start + length > file.size) {
      throw new TileSourceError(`Truncated or corrupt Zarr: ${path} of ${file.size} bytes has no index of ${chunkCount} chunks.`);
    }
    const storedBytes = await file.read(start, length, { signal });
    const bytes = hasChecksum ? removeChecksum(storedBytes) : storedBytes;
    if (bytes === null) throw new TileSourceError(`Corrupt Zarr: the index of ${path} does not match its checksum.`);
    return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
}
