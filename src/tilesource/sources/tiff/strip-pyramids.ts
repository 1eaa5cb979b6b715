import { open, unlink } from 'node:fs/promises';
import { LRUCache } from 'lru-cache';
import { TileSourceError } from '../../../errors.js';
import { sharedAbortController } from '../../../core/concurrency/abort.js';
import { WorkQueue } from '../../../core/concurrency/work-queue.js';
import { partOfTile, type CorruptTiles } from '../../render/corrupt-tiles.js';
import type { TileAddress, TileOptions, TileSource } from '../../tile-source.js';
import { runProcessing } from '../../process/processing.js';
import { TiffContainer, tagOf } from '../../pyramid/container.js';
import { RowPyramidWriter } from './row-pyramid-writer.js';
import { packingTags, packTile, type TilePacking } from '../../pyramid/tiles.js';
import { sampleBytes, type Raster } from '../../raster.js';
import { SharedWork } from '../../process/shared-work.js';
import type { ImageLayout } from './tiff-layout.js';
import { storedRegionOf } from './decoding/orientation.js';
import { requireIntactPart, readIntactRegion, type CorruptChunk } from './intact-region.js';
import type { ChunkReader } from './region.js';
import { checkStrips, rowsPerRead, stripTileSide } from './strips.js';
import { tags } from './file/tags.js';
import { temporaryPath, unlinkOpenFile } from '../../../core/temporary-files.js';

/** Time limit in seconds for making the pyramid of a frame. */
const maxMakingSeconds = 900;
/** Largest size of the temporary files of an open image, in bytes of samples. If an image has hundreds of frames, only the pyramids that were used last are kept. */
const maxPyramidBytes = 2 ** 33;
/** Makes one pyramid at a time, because memory and processors are shared. */
const makingQueue = new WorkQueue({ name: 'frames', running: 1 });

const packing: TilePacking = { compression: 'deflate', effort: 1, predictor: true, quality: 0, halvesChroma: false };

/** Access to a TIFF file with large images in strips. */
export interface StripFile {
  /** Reads the layout of a frame at full size. */
  readLayout(frame: number): Promise<ImageLayout>;
  createChunkReader(signal: AbortSignal): ChunkReader;
  levelCount: number;
  /** The sample that means no value. */
  nodata: number | null;
  maxPixels: number;
  /** Folder for temporary files. */
  temporaryDirectory: string;
  /** Opens a finished pyramid. */
  openPyramid(path: string): Promise<TileSource>;
  /** Adds the corrupt strips that a tile shows to the corrupt tiles of a picture. */
  addCorrupt(strips: readonly CorruptChunk[], layout: ImageLayout, address: TileAddress, corrupt: CorruptTiles): void;
}

/** A temporary pyramid. It is closed when it has been dropped and is not being read. */
class TemporaryPyramid {
  #readers = 0;
  #isDropped = false;

  constructor(
    readonly source: TileSource,
    /** Number of bytes of the samples of the finest level. */
    readonly sampleByteCount: number,
    readonly layout: ImageLayout,
    /** Strips whose pixels are left empty, because their bytes cannot be decoded. */
    readonly corrupt: readonly CorruptChunk[],
    private readonly discard: () => Promise<void>,
  ) {}

  /** Reads a tile; `null` if the pyramid has been dropped. */
  async read(...args: Parameters<TileSource['readTile']>): Promise<Raster | null> {
    if (this.#isDropped) return null;
    this.#readers += 1;
    try {
      return await this.source.readTile(...args);
    } finally {
      this.#readers -= 1;
      if (this.#isDropped && this.#readers === 0) await this.discard();
    }
  }

  async drop(): Promise<void> {
    if (this.#isDropped) return;
    this.#isDropped = true;
    if (this.#readers === 0) await this.discard();
  }
}

/**
 * Tiles of large images in strips. When the first tile of a frame is requested, the frame is read once from top to bottom and written to a
 * temporary pyramid with the same samples.
 */
export class StripPyramids {
  readonly #file: StripFile;
  readonly #pyramids = new LRUCache<number, TemporaryPyramid>({
    maxSize: maxPyramidBytes,
    maxEntrySize: Number.MAX_SAFE_INTEGER,
    sizeCalculation: ({ sampleByteCount }) => Math.max(1, Math.min(maxPyramidBytes, sampleByteCount)),
    dispose: (pyramid) => void this.#trackUntilSettled(pyramid.drop()),
  });
  readonly #pyramidWork = new SharedWork<TemporaryPyramid>();
  readonly #closing = sharedAbortController();
  /** Work that must settle before the file can be closed. */
  readonly #pendingWork = new Set<Promise<unknown>>();

  constructor(file: StripFile) {
    this.#file = file;
  }

  /** Reads a tile of any level. */
  async readTile(address: TileAddress, { corrupt, ...options }: TileOptions): Promise<Raster> {
    for (;;) {
      const pyramid = this.#pyramids.get(address.frame) ?? (await this.#waitForPyramid(address.frame, options.signal));
      const raster = await pyramid.read({ ...address, frame: 0 }, options);
      // The pyramid was dropped after it had been looked up, so it is made again.
      if (raster === null) continue;
      this.#reportCorrupt(pyramid, address, corrupt);
      return raster;
    }
  }

  /** @throws TileSourceError if a tile shows only corrupt strips, or shows a corrupt strip and the caller does not collect corrupt tiles. */
  #reportCorrupt(
    { layout, corrupt: strips, source }: TemporaryPyramid,
    address: TileAddress,
    corrupt: CorruptTiles | undefined,
  ): void {
    if (strips.length === 0) return;
    const { box } = partOfTile(source.metadata, address);
    const storedRegion = storedRegionOf(box, layout.orientation, layout);
    const overlappingStrips = strips.filter(
      ({ region }) => region.top < storedRegion.top + storedRegion.height && region.top + region.height > storedRegion.top,
    );
    requireIntactPart(storedRegion, overlappingStrips);
    if (overlappingStrips.length === 0) return;
    if (corrupt === undefined) throw overlappingStrips[0]!.error;
    this.#file.addCorrupt(overlappingStrips, layout, address, corrupt);
  }

  /** Stops making pyramids, and removes all temporary files. */
  async close(): Promise<void> {
    this.#closing.abort(new TileSourceError('The image has been closed.'));
    while (this.#pendingWork.size > 0) await Promise.allSettled(this.#pendingWork);
    this.#pyramids.clear();
    while (this.#pendingWork.size > 0) await Promise.allSettled(this.#pendingWork);
  }

  /**
   * Waits for the pyramid of a frame. If all requests are aborted before the pyramid is started, it is not made. A started pyramid
   * is completed even if all requests are aborted, because it will probably be requested again.
   */
  #waitForPyramid(frame: number, signal: AbortSignal | undefined): Promise<TemporaryPyramid> {
    const work = (sharedSignal: AbortSignal): Promise<TemporaryPyramid> =>
      makingQueue.run(async () => this.#pyramids.get(frame) ?? this.#trackUntilSettled(this.#makePyramid(frame)), {
        signal: sharedSignal,
      });
    return this.#pyramidWork.join(String(frame), work, signal);
  }

  #trackUntilSettled<R>(work: Promise<R>): Promise<R> {
    const settled: Promise<unknown> = work.then(
      () => this.#pendingWork.delete(settled),
      () => this.#pendingWork.delete(settled),
    );
    this.#pendingWork.add(settled);
    return work;
  }

  async #makePyramid(frame: number): Promise<TemporaryPyramid> {
    this.#closing.signal.throwIfAborted();
    const path = temporaryPath(this.#file.temporaryDirectory, '.tiff');
    try {
      const layout = await this.#file.readLayout(frame);
      checkStrips(layout, this.#file.maxPixels);
      const { sampleByteCount, corrupt } = await this.#writePyramid(path, layout);
      const source = await this.#file.openPyramid(path);
      const remove = await unlinkOpenFile(path);
      const pyramid = new TemporaryPyramid(source, sampleByteCount, layout, corrupt, async () => {
        await source.close();
        await remove();
      });
      this.#pyramids.set(frame, pyramid);
      return pyramid;
    } catch (error) {
      await unlink(path).catch(() => {});
      throw error;
    }
  }

  /**
   * Writes the pyramid of the stored pixels, with their orientation as a tag.
   *
   * @returns the number of bytes of the samples of the finest level, and the strips that are left empty.
   */
  async #writePyramid(path: string, layout: ImageLayout): Promise<{ sampleByteCount: number; corrupt: CorruptChunk[] }> {
    const { signal } = this.#closing;
    const deadline = Date.now() + maxMakingSeconds * 1000;
    const { width, height, bands, dtype, orientation } = layout;
    const chunkReader = this.#file.createChunkReader(signal);
    const corrupt: CorruptChunk[] = [];
    const file = await open(path, 'wx+', 0o600);
    try {
      const container = new TiffContainer(file);
      const writer = new RowPyramidWriter(
        container,
        { width, height, bands, dtype, levelCount: this.#file.levelCount, nodata: this.#file.nodata },
        { tileSide: stripTileSide, encode: (tile) => runProcessing(() => packTile(tile, packing), signal) },
      );
      try {
        const rowsPerStep = rowsPerRead(layout);
        for (let top = 0; top < height; top += rowsPerStep) {
          signal.throwIfAborted();
          if (Date.now() > deadline)
            throw new TileSourceError(`Making tiles from this TIFF takes longer than ${maxMakingSeconds} s.`);
          const region = { left: 0, top, width, height: Math.min(rowsPerStep, height - top) };
          const readResult = await readIntactRegion(chunkReader, layout, region);
          for (const chunk of readResult.corrupt) corrupt.push(chunk);
          await writer.addRows(readResult.raster);
        }
        const levelTags = [...packingTags({ bands, dtype }, packing), tagOf.short(tags.orientation, orientation)];
        const levels = await writer.finish();
        await container.writeDirectories(
          levels.map((plan) => ({ ...plan, tags: [...plan.tags, ...levelTags] })),
          { bigTiff: true },
        );
      } finally {
        await writer.settle();
      }
    } finally {
      await file.close();
    }
    return { sampleByteCount: width * height * bands * sampleBytes(dtype), corrupt };
  }
}
