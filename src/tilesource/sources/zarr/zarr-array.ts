import { TileSourceError } from '../../../errors.js';
import type { FileTree } from '../../contract.js';
import { codecThreads } from '../../codecs/codec-threads.js';
import { zarrInflation, type ZarrChunk } from '../../codecs/zarr-chunk.js';
import type { FileBlocks } from '../../process/decoded-blocks.js';
import { processed } from '../../process/processing.js';
import { createRaster, type Raster } from '../../raster.js';
import { sampleTypeOf, type ArrayMetadata } from './array-metadata.js';

/** An entry of the index of a shard that says that there is no chunk. */
const noChunk = 2n ** 64n - 1n;
/** Indexes of shards that are kept for an array. */
const keptIndexes = 64;

/** An array of samples in chunks. */
export class ZarrArray {
  readonly #indexes = new Map<string, Promise<DataView | null>>();

  constructor(
    private readonly tree: FileTree,
    private readonly path: string,
    readonly metadata: ArrayMetadata,
    private readonly blocks: FileBlocks,
  ) {}

  /**
   * All samples of a chunk in the order of the axes, side by side in a raster of one row; `null` where the array has no such chunk and is
   * filled instead. Not to be changed.
   */
  async chunk(position: readonly number[], signal?: AbortSignal): Promise<Raster | null> {
    const name = `${this.path}:${position.join('/')}`;
    const found = await this.blocks.read(name, (wanted) => this.#decode(position, wanted), signal);
    return found.width === 0 ? null : found;
  }

  async #decode(position: readonly number[], signal: AbortSignal): Promise<Raster> {
    const { type, chunk, codecs, bigEndian, order } = this.metadata;
    const dtype = sampleTypeOf(type);
    const bytes = await this.#packed(position, signal);
    if (bytes === null) return createRaster({ width: 0, height: 1, bands: 1, dtype });
    const task = { bytes, type, bigEndian, shape: chunk, codecs, order };
    const samples = await this.#samples(task, signal);
    const raster = createRaster({ width: 0, height: 1, bands: 1, dtype });
    const constructor = raster.data.constructor as new (buffer: ArrayBuffer, at: number, length: number) => Raster['data'];
    const data = new constructor(samples.buffer, samples.byteOffset, samples.byteLength / raster.data.BYTES_PER_ELEMENT);
    return { ...raster, data, width: data.length };
  }

  async #samples(task: ZarrChunk, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
    const what = `a chunk of the Zarr array ${this.path}`;
    const inflate = zarrInflation(task);
    if (inflate === null) return codecThreads.call('zarrChunk', task, what, signal);
    try {
      return await processed(inflate, signal);
    } catch (cause) {
      signal.throwIfAborted();
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new TileSourceError(`Decoding ${what} failed: ${reason.replace(/\.$/, '')}.`, { cause });
    }
  }

  async #packed(position: readonly number[], signal: AbortSignal): Promise<Uint8Array | null> {
    const { shard, chunk, fileOf } = this.metadata;
    if (shard === null) return this.#readObject(`${this.path}${fileOf(position)}`, signal);
    const perShard = shard.shape.map((size, axis) => size / chunk[axis]!);
    const path = `${this.path}${fileOf(position.map((value, axis) => Math.floor(value / perShard[axis]!)))}`;
    const index = await this.#index(
      path,
      perShard.reduce((product, count) => product * count, 1),
      signal,
    );
    if (index === null) return null;
    const at = position.reduce((sum, value, axis) => sum * perShard[axis]! + (value % perShard[axis]!), 0) * 16;
    const [offset, length] = [index.getBigUint64(at, true), index.getBigUint64(at + 8, true)];
    if (offset === noChunk) return null;
    const file = await this.tree.file(path);
    if (file === null || offset + length > BigInt(file.size)) {
      throw new TileSourceError(`Truncated or corrupt Zarr: a chunk of ${path} leaves it.`);
    }
    return file.read(Number(offset), Number(length), { signal });
  }

  async #readObject(path: string, signal: AbortSignal): Promise<Uint8Array | null> {
    const file = await this.tree.file(path);
    if (file === null) return null;
    if (file.size > 2 ** 29) throw new TileSourceError(`The Zarr has a chunk of ${file.size} bytes (${path}).`);
    return file.read(0, file.size, { signal });
  }

  /** The index of a shard; `null` where there is no such shard. */
  #index(path: string, chunks: number, signal: AbortSignal): Promise<DataView | null> {
    const known = this.#indexes.get(path);
    if (known !== undefined) return known;
    const reading = this.#readIndex(path, chunks, signal);
    this.#indexes.set(path, reading);
    reading.catch(() => this.#indexes.delete(path));
    if (this.#indexes.size > keptIndexes) this.#indexes.delete(this.#indexes.keys().next().value!);
    return reading;
  }

  async #readIndex(path: string, chunks: number, signal: AbortSignal): Promise<DataView | null> {
    const { indexAtEnd, hasChecksum } = this.metadata.shard!;
    const file = await this.tree.file(path);
    if (file === null) return null;
    const length = chunks * 16;
    const start = indexAtEnd ? file.size - length - (hasChecksum ? 4 : 0) : 0;
    if (start < 0 || start + length > file.size) {
      throw new TileSourceError(`Truncated or corrupt Zarr: ${path} of ${file.size} bytes has no index of ${chunks} chunks.`);
    }
    const bytes = await file.read(start, length, { signal });
    return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
}
