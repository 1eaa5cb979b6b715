import { LRUCache } from 'lru-cache';
import { forEachRange } from '../../core/concurrency/slices.js';
import { mapConcurrently } from '../../core/concurrency/map-concurrently.js';
import { BadValueError } from '../../errors.js';
import { processAsDoubles } from '../doubles.js';
import { roundHalfEven, tileContent } from '../geometry.js';
import { wireMetadata } from '../metadata.js';
import { createRaster, type Raster } from '../raster.js';
import type { RasterCache, ZRequest } from '../requests.js';
import type { ImageMetadata, TileAddress, TileOptions, TileSource } from '../tile-source.js';
import { createRasterCache } from './compose.js';
import { CorruptTiles, partOfTile, tileKey } from './corrupt-tiles.js';
import { framesAlong } from './frames-along.js';
import { asStored } from './appearance.js';
import type { Renderer } from './renderer.js';

/** Maximum number of planes that a projection combines. */
const maxProjectedPlanes = 256;

/** Number of planes of a stack that are read at the same time. */
const planesAtOnce = 4;
/** Maximum number of projections that are cached for an image. */
const maxProjections = 8;
/** Maximum number of stacks that are cached for a projection. */
const maxStacks = 64;
/** Number of samples that are processed between two checks of the time. */
const samplesPerCheck = 16_384;

const methods = ['max', 'mean', 'min'] as const;

/** How the planes of a stack are combined. */
export interface ZProjection {
  /** The function that combines the samples of all planes at each position. */
  method: (typeof methods)[number];
  /** The first of the combined planes. */
  from: number;
  /** The last of the combined planes. */
  to: number;
}

/**
 * The projection that a request asks for; `null` if it asks for none.
 *
 * @throws BadValueError for parameters that are not allowed, or that the image does not have planes for.
 */
export function zProjectionOf(metadata: ImageMetadata, { zProject, zFrom, zTo }: ZRequest): ZProjection | null {
  if (zProject === undefined) {
    if (zFrom === undefined && zTo === undefined) return null;
    throw new BadValueError('zFrom and zTo choose the planes of a projection. Give zProject as well: max, mean or min.');
  }
  const method = methods.find((name) => name === zProject);
  if (method === undefined) throw new BadValueError(`Invalid zProject '${zProject.slice(0, 60)}': use max, mean or min.`);
  const planeCount = wireMetadata(metadata).IndexRange?.IndexZ ?? 1;
  if (planeCount < 2) throw new BadValueError('zProject combines the z planes of an image, and this image has only one.');
  const [from, to] = [zFrom ?? 0, zTo ?? planeCount - 1];
  if (from < 0 || to >= planeCount || from > to) {
    throw new BadValueError(`Invalid zFrom ${from} or zTo ${to}: the planes of this image are 0 to ${planeCount - 1}.`);
  }
  if (to - from >= maxProjectedPlanes) {
    throw new BadValueError(
      `zProject would combine ${to - from + 1} planes; at most ${maxProjectedPlanes} are allowed. Choose them with zFrom and zTo.`,
    );
  }
  return { method, from, to };
}

/**
 * Returns a function that projects the image's stacks. The function returns an image whose frames are the projections. `createImage`
 * creates this image when it is first needed.
 */
export function createZProjector<Image>(
  source: TileSource,
  renderer: Renderer,
  cache: RasterCache | undefined,
  createImage: (projected: TileSource, cache: RasterCache) => Image,
): (projection: ZProjection) => Image {
  const images = new LRUCache<string, { image: Image }>({ max: maxProjections });
  let sharedCache = cache;
  return (projection) => {
    const projectionKey = `${projection.method}/${projection.from}-${projection.to}`;
    const cached = images.get(projectionKey);
    if (cached !== undefined) return cached.image;
    const rasters = (sharedCache ??= createRasterCache());
    const cacheOfProjection: RasterCache = {
      get: (key) => rasters.get(`${projectionKey}/${key}`),
      set: (key, raster) => rasters.set(`${projectionKey}/${key}`, raster),
    };
    const image = createImage(new ProjectedStacks(source, renderer, projection, cacheOfProjection), cacheOfProjection);
    images.set(projectionKey, { image });
    return image;
  };
}

/**
 * An image in which each frame is replaced by the projection of its stack. A stack consists of all frames that differ only in z. Frames keep
 * their numbers, so that styles and requests name them as usual.
 */
class ProjectedStacks implements TileSource {
  readonly metadata: ImageMetadata;
  readonly populatedLevels: readonly number[];
  readonly partsPerTile: number;
  readonly #source: TileSource;
  readonly #renderer: Renderer;
  readonly #projection: ZProjection;
  readonly #cache: RasterCache;
  readonly #stacks = new LRUCache<number, readonly number[]>({ max: maxStacks });

  constructor(source: TileSource, renderer: Renderer, projection: ZProjection, cache: RasterCache) {
    this.metadata = source.metadata;
    this.populatedLevels = source.populatedLevels;
    this.partsPerTile = (source.partsPerTile ?? 1) * (projection.to - projection.from + 1);
    this.#source = source;
    this.#renderer = renderer;
    this.#projection = projection;
    this.#cache = cache;
  }

  iccProfile(frame: number): Uint8Array | null {
    return this.#source.iccProfile?.(frame) ?? null;
  }

  async readTile(address: TileAddress, { signal, nearest = false, corrupt }: TileOptions = {}): Promise<Raster> {
    const { metadata } = this;
    const { level, x, y } = address;
    const frames = await this.#stackOf(address.frame, signal);
    // All frames of a stack have the same projection.
    const key = `${tileKey({ ...address, frame: frames[0]! })}${nearest ? '/nearest' : ''}`;
    const cached = this.#cache.get(key);
    if (cached !== undefined) return cached;
    const content = tileContent(metadata, address);
    const box = { left: x * metadata.tileWidth, top: y * metadata.tileHeight, ...content };
    const holes = corrupt && new CorruptTiles();
    const shape = { ...content, bands: metadata.bandCount, dtype: metadata.dtype };
    const combiner = new StackCombiner(shape, this.#projection.method, metadata.nodata ?? null);
    // Planes are added in order, so that sums of floats do not depend on which of them is read first.
    for (let first = 0; first < frames.length; first += planesAtOnce) {
      const nextFrames = frames.slice(first, first + planesAtOnce);
      const planes = await mapConcurrently(nextFrames, planesAtOnce, (frame) =>
        this.#renderer.readSamples({ level, frame, box, nearest, corrupt: holes }, asStored, signal),
      );
      for (const plane of planes) {
        signal?.throwIfAborted();
        await combiner.add(plane);
      }
    }
    const raster = await combiner.result(signal);
    // A tile that is corrupt in one plane becomes a hole, because that plane's samples might have changed the result.
    if (holes === undefined || holes.count === 0) this.#cache.set(key, raster);
    else for (const [errorKey, error] of holes.keyedErrors) corrupt?.add(error, partOfTile(metadata, address), errorKey);
    return raster;
  }

  /** The frames that are combined for a frame, ordered by z. */
  async #stackOf(frame: number, signal: AbortSignal | undefined): Promise<readonly number[]> {
    const existing = this.#stacks.get(frame);
    if (existing !== undefined) return existing;
    const { from, to } = this.#projection;
    const framesAlongZ = await framesAlong(this.metadata, frame, 'Z', signal);
    const chosenFrames = framesAlongZ.filter(({ position }) => position >= from && position <= to);
    if (chosenFrames.length === 0) {
      throw new BadValueError(`Invalid zFrom ${from} or zTo ${to}: frame ${frame} has no planes there.`);
    }
    const stack = chosenFrames.toSorted((a, b) => a.position - b.position).map((chosenFrame) => chosenFrame.frame);
    this.#stacks.set(frame, stack);
    return stack;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/**
 * Combines rasters of equal shape one after the other, so that not all rasters are in memory at the same time. Samples without
 * a value (NaN, no data) are ignored. A sample without a value in all rasters has no value in the result.
 */
class StackCombiner {
  readonly #method: ZProjection['method'];
  readonly #nodata: number;
  /** For `max` and `min`, the largest or smallest samples so far. For `mean`, the result. */
  readonly #raster: Raster;
  readonly #sums: Int32Array | Float64Array | null = null;
  /** For each sample, the number of rasters in which it has a value. `null` if every raster has all values. */
  readonly #counts: Uint16Array | null = null;
  #rasterCount = 0;

  constructor(shape: Omit<Raster, 'data'>, method: ZProjection['method'], nodata: number | null) {
    const { dtype } = shape;
    this.#method = method;
    this.#raster = createRaster(shape);
    this.#nodata = nodata === null ? Number.NaN : dtype === 'float32' ? Math.fround(nodata) : nodata;
    if (method !== 'mean') return;
    const { length } = this.#raster.data;
    // Sums of up to 256 samples of 16 bits are exact in 32 bits.
    this.#sums = dtype.endsWith('8') || dtype.endsWith('16') ? new Int32Array(length) : new Float64Array(length);
    if (nodata !== null || dtype.startsWith('float')) this.#counts = new Uint16Array(length);
  }

  async add(raster: Raster): Promise<void> {
    const isFirst = this.#rasterCount === 0;
    this.#rasterCount += 1;
    if (this.#sums !== null) await this.#addToSums(raster, this.#sums);
    else if (isFirst) this.#raster.data.set(raster.data);
    else await this.#keepExtremes(raster);
  }

  /** The projection of all rasters that were added. */
  async result(signal?: AbortSignal): Promise<Raster> {
    const { data, dtype } = this.#raster;
    const [sums, counts, rasterCount, nodata] = [this.#sums, this.#counts, this.#rasterCount, this.#nodata];
    if (sums === null) return this.#raster;
    const isFloat = dtype.startsWith('float');
    await forEachRange(
      data.length,
      samplesPerCheck,
      (from, to) => {
        for (let at = from; at < to; at += 1) {
          const count = counts === null ? rasterCount : counts[at]!;
          const mean = sums[at]! / count;
          data[at] = count === 0 ? nodata : isFloat ? mean : roundHalfEven(mean);
        }
      },
      signal,
    );
    return this.#raster;
  }

  async #addToSums(raster: Raster, sums: Int32Array | Float64Array): Promise<void> {
    const [counts, nodata] = [this.#counts, this.#nodata];
    await processAsDoubles(raster, (samples, firstPixel) => {
      const first = firstPixel * raster.bands;
      for (let at = 0; at < samples.length; at += 1) {
        const sample = samples[at]!;
        if (counts !== null) {
          if (Number.isNaN(sample) || sample === nodata) continue;
          counts[first + at]! += 1;
        }
        sums[first + at]! += sample;
      }
    });
  }

  async #keepExtremes(raster: Raster): Promise<void> {
    const [{ data }, nodata] = [this.#raster, this.#nodata];
    const sign = this.#method === 'max' ? 1 : -1;
    await processAsDoubles(raster, (samples, firstPixel) => {
      const first = firstPixel * raster.bands;
      const best = Float64Array.from(data.subarray(first, first + samples.length));
      for (let at = 0; at < samples.length; at += 1) {
        const sample = samples[at]!;
        const bestSample = best[at]!;
        if (Number.isNaN(sample) || sample === nodata) continue;
        if (sample * sign > bestSample * sign || Number.isNaN(bestSample) || bestSample === nodata) best[at] = sample;
      }
      data.set(best, first);
    });
  }
}
