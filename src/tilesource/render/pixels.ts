import { processAsDoubles } from '../doubles.js';
import { forEachRange } from '../../core/concurrency/slices.js';
import { type Rgba, luma } from '../color.js';
import type { Box, Size, Window } from '../geometry.js';
import { bitsOf, createRaster, fullValue, minValue, type Raster, type SampleType } from '../raster.js';

/** A raster of bytes with 1 to 4 bands, which can be encoded: gray, gray and alpha, RGB, RGB and alpha. */
export interface Picture extends Raster {
  data: Uint8Array;
  dtype: 'uint8';
  bands: 1 | 2 | 3 | 4;
}

/** Whether a raster is a {@link Picture} without conversion. */
export function isPicture(raster: Raster): raster is Picture {
  return canBeShown(raster);
}

/** Whether samples of this kind can be shown unchanged, as in a {@link Picture}. */
export function canBeShown({ dtype, bands, white }: Pick<Raster, 'dtype' | 'bands'> & { white?: number }): boolean {
  return dtype === 'uint8' && bands >= 1 && bands <= 4 && white === undefined;
}

/** Whether the last band is alpha. */
export function hasAlpha(raster: Pick<Raster, 'bands'>): boolean {
  return raster.bands === 2 || raster.bands === 4;
}

/**
 * Creates a function that maps samples to bytes. The range from black to white is divided into 256 equal parts, so that a 16-bit
 * sample becomes its high byte. Floats are clipped to the range from 0 to 255, and NaN becomes 0.
 *
 * @param white the sample that is shown as white, if it is not the largest value of the type.
 */
export function createByteConverter(dtype: SampleType, white?: number): (sample: number) => number {
  if (dtype.startsWith('float')) return (sample) => (sample > 0 ? Math.min(255, Math.floor(sample)) : 0);
  const max = white ?? fullValue(dtype);
  const min = minValue(dtype) === 0 ? 0 : -max - 1;
  // With fewer than 256 possible samples, equal parts would leave the largest sample darker than white.
  if (max - min < 255) {
    return (sample) => Math.max(0, Math.min(255, Math.round(((sample - min) * 255) / (max - min))));
  }
  const factor = 256 / (max - min + 1);
  // Samples larger than white or smaller than black can only occur if the file declares white.
  if (white === undefined) return (sample) => Math.floor((sample - min) * factor);
  return (sample) => Math.max(0, Math.min(255, Math.floor((sample - min) * factor)));
}

/** Number of pixels that are processed between two checks of the time. */
const pixelsPerCheck = 16_384;

/**
 * Converts a raster to 8 bits with {@link createByteConverter}. If there are more than four bands, the first three become RGB.
 * Returns the same raster if nothing changes.
 */
export async function toPicture(raster: Raster, white?: number): Promise<Picture> {
  if (isPicture(raster) && white === undefined) return raster;
  const { width, height } = raster;
  const bands = raster.bands > 4 ? 3 : (raster.bands as Picture['bands']);
  const convert = createByteConverter(raster.dtype, white);
  const out = new Uint8Array(width * height * bands);
  await processAsDoubles(raster, (samples, first) => {
    let at = first * bands;
    for (let from = 0; from < samples.length; from += raster.bands) {
      for (let band = 0; band < bands; band += 1) out[at++] = convert(samples[from + band]!);
    }
  });
  return { data: out, width, height, bands, dtype: 'uint8' };
}

/**
 * Copies the part `from` of a raster into another raster with the same type and bands. What is outside either raster is left out.
 */
export function blit(target: Raster, source: Raster, to: { left: number; top: number }, from?: Box): void {
  const { left = 0, top = 0 } = from ?? {};
  const startX = Math.max(0, -to.left);
  const startY = Math.max(0, -to.top);
  const width = Math.min(from?.width ?? source.width, source.width - left, target.width - to.left);
  const height = Math.min(from?.height ?? source.height, source.height - top, target.height - to.top);
  if (width <= startX) return;
  const { bands } = source;
  for (let row = startY; row < height; row += 1) {
    const begin = ((top + row) * source.width + left + startX) * bands;
    const end = begin + (width - startX) * bands;
    target.data.set(source.data.subarray(begin, end), ((to.top + row) * target.width + to.left + startX) * bands);
  }
}

/** The upper left part of a raster. */
export function crop<R extends Raster>(raster: R, size: Size): R {
  const width = Math.min(size.width, raster.width);
  const height = Math.min(size.height, raster.height);
  if (width === raster.width && height === raster.height) return raster;
  return cutOut(raster, { left: 0, top: 0, width, height });
}

/** A copy of a part of a raster. */
export function cutOut<R extends Raster>(raster: R, part: Box): R {
  const out = createRaster({ ...raster, width: part.width, height: part.height });
  blit(out, raster, { left: 0, top: 0 }, part);
  return { ...raster, ...out };
}

/** Crops a raster to a size, or extends it by repeating its last row and column. */
export function fitBorder(raster: Raster, size: Size): Raster {
  if (raster.width === size.width && raster.height === size.height) return raster;
  if (raster.width === 0 || raster.height === 0) return createRaster({ ...raster, ...size });
  if (raster.width >= size.width && raster.height >= size.height) return crop(raster, size);
  const out = createRaster({ ...raster, ...size });
  const { bands } = raster;
  const rowLength = size.width * bands;
  for (let y = 0; y < size.height; y += 1) {
    const row = Math.min(y, raster.height - 1) * raster.width * bands;
    const width = Math.min(raster.width, size.width);
    out.data.set(raster.data.subarray(row, row + width * bands), y * rowLength);
    for (let x = width; x < size.width; x += 1) {
      for (let band = 0; band < bands; band += 1) {
        out.data[y * rowLength + x * bands + band] = raster.data[row + (width - 1) * bands + band] ?? 0;
      }
    }
  }
  return out;
}

/** Keeps every `step`-th pixel in both directions, beginning with the first pixel. */
export async function decimate(raster: Raster, step: number): Promise<Raster> {
  if (step === 1) return raster;
  const width = Math.ceil(raster.width / step);
  const height = Math.ceil(raster.height / step);
  return sampleNearest(
    raster,
    { width, height },
    (x) => x * step,
    (y) => y * step,
  );
}

/** Scales a window of a raster (by default the whole raster) by picking the nearest pixels. Works for every sample type. */
export async function resizeNearest<R extends Raster>(raster: R, size: Size, window?: Window): Promise<R> {
  const { width, height } = size;
  if (window === undefined && width === raster.width && height === raster.height) return raster;
  const from = window ?? { left: 0, top: 0, width: raster.width, height: raster.height };
  const nearest = (start: number, length: number, limit: number) => (position: number) =>
    Math.min(limit - 1, Math.max(0, Math.floor(start + (position + 0.5) * length)));
  const atX = nearest(from.left, from.width / width, raster.width);
  const atY = nearest(from.top, from.height / height, raster.height);
  return { ...raster, ...(await sampleNearest(raster, { width, height }, atX, atY)) };
}

async function sampleNearest(
  raster: Raster,
  size: Size,
  atX: (x: number) => number,
  atY: (y: number) => number,
): Promise<Raster> {
  const { bands } = raster;
  const out = createRaster({ ...raster, ...size });
  const samples = bitsOf(raster.data);
  const outSamples = bitsOf(out.data);
  const columns = Array.from({ length: size.width }, (_, x) => atX(x) * bands);
  let at = 0;
  const rows = Math.ceil(pixelsPerCheck / Math.max(1, size.width));
  await forEachRange(size.height, rows, (from, to) => {
    for (let y = from; y < to; y += 1) {
      const row = atY(y) * raster.width * bands;
      for (const column of columns)
        for (let band = 0; band < bands; band += 1) outSamples[at++] = samples[row + column + band] ?? 0;
    }
  });
  return out;
}

/** The samples of a color in a picture with this many bands. */
function colorSamples(color: Rgba, bands: Picture['bands']): number[] {
  const [red, green, blue, alpha] = color;
  if (bands <= 2) return [luma(color), alpha].slice(0, bands);
  return [red, green, blue, alpha].slice(0, bands);
}

/** A picture of a single color. */
export function solidPicture(size: Size, bands: Picture['bands'], color: Rgba): Picture {
  const data = new Uint8Array(size.width * size.height * bands);
  const samples = colorSamples(color, bands);
  if (samples.every((sample) => sample === samples[0])) data.fill(samples[0] ?? 0);
  else {
    data.set(samples);
    // The filled part is copied behind itself, so that it doubles each time. This is much faster than filling pixel by pixel.
    for (let filledLength = bands; filledLength < data.length; filledLength *= 2) data.copyWithin(filledLength, 0, filledLength);
  }
  return { data, ...size, bands, dtype: 'uint8' };
}

/** Adds an opaque alpha band if the picture has no alpha. */
export async function addAlpha(picture: Picture): Promise<Picture> {
  if (hasAlpha(picture)) return picture;
  const { width, height } = picture;
  const from = picture.bands;
  const bands = from === 1 ? 2 : 4;
  const data = new Uint8Array(width * height * bands).fill(255);
  await forEachRange(width * height, pixelsPerCheck, (first, end) => {
    for (let pixel = first; pixel < end; pixel += 1) {
      for (let band = 0; band < from; band += 1) data[pixel * bands + band] = picture.data[pixel * from + band]!;
    }
  });
  return { data, width, height, bands, dtype: 'uint8' };
}

/** Converts gray to RGB, so that colors can be painted on it. */
export async function grayToColor(picture: Picture): Promise<Picture> {
  if (picture.bands >= 3) return picture;
  const { width, height } = picture;
  const from = picture.bands;
  const bands = from === 1 ? 3 : 4;
  const data = new Uint8Array(width * height * bands);
  await forEachRange(width * height, pixelsPerCheck, (first, end) => {
    for (let pixel = first, at = first * bands; pixel < end; pixel += 1, at += bands) {
      const gray = picture.data[pixel * from]!;
      data[at] = gray;
      data[at + 1] = gray;
      data[at + 2] = gray;
      if (bands === 4) data[at + 3] = picture.data[pixel * from + 1]!;
    }
  });
  return { data, width, height, bands, dtype: 'uint8' };
}

/** Puts the picture on a larger canvas of one color. */
export function pad(picture: Picture, size: Size, color: Rgba, at: { left: number; top: number } = { left: 0, top: 0 }): Picture {
  if (picture.width === size.width && picture.height === size.height) return picture;
  const canvas = solidPicture(size, picture.bands, color);
  blit(canvas, picture, at);
  return canvas;
}

/**
 * Makes a block of a canvas that has content on a part of it: reads the content inside the block, and fills the rest with a color.
 */
export async function completeBlock(
  canvas: { box: Box; content: Box; bands: Picture['bands']; color: Rgba },
  read: (box: Box) => Promise<Picture>,
): Promise<Picture> {
  const { box, content, bands, color } = canvas;
  const block = solidPicture(box, bands, color);
  const left = Math.max(box.left, content.left);
  const top = Math.max(box.top, content.top);
  const width = Math.min(box.left + box.width, content.left + content.width) - left;
  const height = Math.min(box.top + box.height, content.top + content.height) - top;
  if (width <= 0 || height <= 0) return block;
  const part = await read({ left: left - content.left, top: top - content.top, width, height });
  blit(block, part, { left: left - box.left, top: top - box.top });
  return block;
}

/** How a scaled picture is mirrored, rotated, and made gray or bitonal. */
export interface Transform {
  /** Whether left and right are exchanged before the rotation. */
  mirror: boolean;
  /** Clockwise. */
  degrees: 0 | 90 | 180 | 270;
  tone: 'asItIs' | 'gray' | 'bitonal';
}
