import { forEachRange } from '../../../core/concurrency/slices.js';
import type { BorrowedImage, StoredLevel } from '../../../tilesource/tile-source.js';
import { levelSize, tileGrid } from '../../../tilesource/geometry.js';
import { createRaster, type Raster } from '../../../tilesource/raster.js';
import { averageSamples } from '../../../tilesource/pyramid/average.js';
import { decimate } from '../../../tilesource/render/pixels.js';
import { encodePicture, parseEncoding } from '../../../tilesource/render/encode.js';
import { transferSyntaxes } from '../format/dataset.js';
import type { ImageFacts } from '../images/image-facts.js';
import { bitsOf, isColor, opticalPaths, type InstancePlan } from '../images/structure.js';
import { encodeRle } from './rle.js';

/** Number of pixels that are copied between two checks of the time. */
const pixelsAtOnce = 65_536;
/** JPEG quality of frames that this server encodes. */
const jpegQuality = 90;

type Source = BorrowedImage['source'];

/** The stored levels of open images. */
const storedLevels = new WeakMap<Source, Map<string, Promise<StoredLevel | null>>>();

/** The stored level of a frame, looked up once while the image is open. */
export function storedLevelOf(source: Source, level: number, frame: number): Promise<StoredLevel | null> {
  let levels = storedLevels.get(source);
  if (levels === undefined) storedLevels.set(source, (levels = new Map()));
  const key = `${level}/${frame}`;
  let storedLevel = levels.get(key);
  if (storedLevel === undefined) {
    storedLevel = (async () => (await source.storedLevel?.({ level, frame })) ?? null)();
    levels.set(key, storedLevel);
    storedLevel.catch(() => levels.delete(key));
  }
  return storedLevel;
}

/** The sample values that become 0 and 65535. */
export interface SampleRange {
  low: number;
  high: number;
}

/** The inputs from which frames of an instance are made. */
export interface FrameInputs {
  image: BorrowedImage;
  facts: ImageFacts;
  plan: InstancePlan;
  /** A range for each optical path; `null` if samples are not scaled. */
  ranges: readonly SampleRange[] | null;
  signal?: AbortSignal | undefined;
}

/**
 * Locates a frame of an instance, counted from 0, in its image.
 *
 * @returns the frame of the source, the tile in that frame, and the index of the optical path.
 */
export function locateFrame(
  { facts, plan }: Pick<FrameInputs, 'facts' | 'plan'>,
  frameIndex: number,
): { frame: number; tile: number; pathIndex: number } {
  const pathIndex = plan.paths[Math.floor(frameIndex / plan.tilesPerPath)]!;
  const { channel } = opticalPaths(facts)[pathIndex]!;
  return { frame: facts.positions[plan.position]!.frames[channel]!, tile: frameIndex % plan.tilesPerPath, pathIndex };
}

/**
 * A frame of an instance in one of its transfer syntaxes. Frames are counted from 0.
 *
 * @throws TileSourceError if the stored bytes are corrupt.
 */
export async function makeFrame(inputs: FrameInputs, frameIndex: number, syntax: string): Promise<Uint8Array> {
  const { image, plan, signal } = inputs;
  if (plan.stored !== null && syntax === plan.syntaxes[0] && plan.content.kind === 'level') {
    const { frame, tile } = locateFrame(inputs, frameIndex);
    const level = await storedLevelOf(image.source, plan.content.level, frame);
    if (level !== null) return level.read(tile, signal);
  }
  const raster = await makeFrameRaster(inputs, frameIndex);
  if (syntax === transferSyntaxes.jpeg) return encodeJpeg(raster, signal);
  const native = bytesOfSamples(raster);
  return syntax === transferSyntaxes.rle
    ? encodeRle(native, { columns: plan.columns, sampleBytes: raster.dtype === 'uint8' ? 1 : 2 })
    : native;
}

async function encodeJpeg(raster: Raster, signal: AbortSignal | undefined): Promise<Uint8Array> {
  const options = parseEncoding({ encoding: 'JPEG', jpegQuality });
  const { width, height, bands } = raster;
  return encodePicture({ data: raster.data as Uint8Array, width, height, bands: bands as 1 | 3, dtype: 'uint8' }, options, {
    signal,
  });
}

/** The samples of a raster as bytes, little endian. */
function bytesOfSamples({ data }: Raster): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/** The unsigned samples of a frame, padded to its full size. */
async function makeFrameRaster(inputs: FrameInputs, frameIndex: number): Promise<Raster> {
  const { image, facts, plan, signal } = inputs;
  if (plan.content.kind === 'associated') {
    const associated = await image.source.readAssociatedImage?.(plan.content.name, signal && { signal });
    const raster =
      associated?.raster ?? createRaster({ width: plan.columns, height: plan.rows, bands: plan.samples, dtype: 'uint8' });
    return selectBands(raster, { columns: plan.columns, rows: plan.rows, samples: plan.samples, band: 0, range: null, bits: 8 });
  }
  const { frame, tile, pathIndex } = locateFrame(inputs, frameIndex);
  const { level } = plan.content;
  const range = inputs.ranges === null ? null : (inputs.ranges[pathIndex] ?? inputs.ranges[0]!);
  const raster =
    level < 0
      ? await halveCoarsest(image, facts, frame, signal)
      : await image.samples(tileRequest(facts, plan, level, frame, tile), signal);
  const { band } = opticalPaths(facts)[pathIndex]!;
  return selectBands(raster, {
    columns: plan.columns,
    rows: plan.rows,
    samples: plan.samples,
    band: isColor(facts) ? 0 : band,
    range,
    bits: bitsOf(facts),
  });
}

function tileRequest(facts: ImageFacts, plan: InstancePlan, level: number, frame: number, tile: number) {
  const size = levelSize(facts, level);
  const { columns } = plan.tilesPerPath === 1 ? { columns: 1 } : tileGrid(facts, level);
  const [left, top] = [(tile % columns) * plan.columns, Math.floor(tile / columns) * plan.rows];
  return {
    level,
    frame,
    box: { left, top, width: Math.min(plan.columns, size.width - left), height: Math.min(plan.rows, size.height - top) },
  };
}

/** The coarsest level at half its size. Each pixel is the mean of four pixels; in an indexed image, it is one of the four. */
async function halveCoarsest(
  image: BorrowedImage,
  facts: ImageFacts,
  frame: number,
  signal: AbortSignal | undefined,
): Promise<Raster> {
  const size = levelSize(facts, 0);
  const fullRaster = await image.samples({ level: 0, frame, box: { left: 0, top: 0, ...size } }, signal);
  const [width, height] = [Math.ceil(size.width / 2), Math.ceil(size.height / 2)];
  if (facts.indexed) return decimate(fullRaster, 2);
  const window = { left: 0, top: 0, width: width * 2, height: height * 2 };
  return averageSamples(fullRaster, { width, height }, { window, nodata: image.source.metadata.nodata ?? null, signal });
}

interface BandSelection {
  columns: number;
  rows: number;
  samples: 1 | 3;
  band: number;
  range: SampleRange | null;
  bits: 8 | 16;
}

/**
 * Copies bands into a raster of the size of a frame, without alpha, and scales the samples if there is a range. Beyond the image,
 * color frames are white and all other frames are black.
 */
async function selectBands(raster: Raster, { columns, rows, samples, band, range, bits }: BandSelection): Promise<Raster> {
  const { width, height, bands, data } = raster;
  const hasFrameForm = width === columns && height === rows && bands === samples && range === null;
  if (hasFrameForm && (raster.dtype === 'uint8' || raster.dtype === 'uint16')) return raster;
  const frameRaster = createRaster({ width: columns, height: rows, bands: samples, dtype: bits === 8 ? 'uint8' : 'uint16' });
  const target = frameRaster.data;
  if (samples === 3 && (width < columns || height < rows)) target.fill(255);
  const [low, factor] = range === null ? [0, 1] : [range.low, range.high > range.low ? 65_535 / (range.high - range.low) : 0];
  const isUnscaled = range === null;
  await forEachRange(Math.min(height, rows), Math.max(1, Math.ceil(pixelsAtOnce / columns)), (firstRow, endRow) => {
    for (let y = firstRow; y < endRow; y++) {
      let targetIndex = y * columns * samples;
      for (let x = 0, sourceIndex = y * width * bands + band; x < Math.min(width, columns); x++, sourceIndex += bands) {
        for (let sample = 0; sample < samples; sample++) {
          // A raster with fewer bands than the frame, such as a gray label, has the same value in all samples.
          const value = data[bands < samples ? sourceIndex : sourceIndex + sample]!;
          target[targetIndex++] = isUnscaled ? value : scaleSample(value, low, factor);
        }
      }
    }
  });
  return frameRaster;
}

/** A sample scaled to 16 bits; NaN becomes 0. */
function scaleSample(value: number, low: number, factor: number): number {
  const result = Math.round((value - low) * factor);
  return result > 0 ? Math.min(65_535, result) : 0;
}
