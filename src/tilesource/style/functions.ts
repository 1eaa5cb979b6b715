import sharp from 'sharp';
import { forEachRange } from '../../core/concurrency/slices.js';
import { BadValueError } from '../../errors.js';
import { tryParseColor, type Rgba } from '../color.js';
import { runProcessing } from '../process/processing.js';
import { fitBorder, hasAlpha, type Picture } from '../render/pixels.js';
import type { Raster } from '../raster.js';

/** The supported functions on styled pictures. Nothing from a request is ever executed. */
export type StyleFunction =
  /** Sharpens: adds `weight` times the difference between a pixel and the median of `kernel` by `kernel` pixels. */
  | { name: 'medianFilter'; kernel: number; weight: number }
  /** Shows which pixels of the image have one of some values. */
  | { name: 'maskPixelValues'; values: readonly (number | readonly number[])[]; positive: Rgba; negative: Rgba };

const functionNames = ['medianFilter', 'maskPixelValues'];
/** The prefix of large_image, which its clients send. */
const libraryPrefix = /^large_image\.tilesource\.stylefuncs\./;

const maxFunctions = 4;
const maxKernel = 15;
const maxMaskValues = 4096;
const maxSamplesPerValue = 64;

/** Number of pixels that are processed between two checks of the time. */
const pixelsPerCheck = 16_384;

/** Parses the `function` of a style: a name, `{ name, parameters }`, or a list of them. @throws BadValueError */
export function parseFunctions(value: unknown): StyleFunction[] {
  if (value === undefined || value === null) return [];
  const entries: unknown[] = Array.isArray(value) ? value : [value];
  if (entries.length > maxFunctions)
    throw new BadValueError(`Style has ${entries.length} functions; at most ${maxFunctions} are allowed`);
  return entries.map((entry) => {
    const { name, parameters = {} } = isObject(entry) ? entry : { name: entry };
    if (!isObject(parameters)) throw new BadValueError("The parameters of a style 'function' must be an object");
    const shortName = typeof name === 'string' ? name.replace(libraryPrefix, '') : name;
    if (shortName === 'medianFilter') return parseMedianFilter(parameters);
    if (shortName === 'maskPixelValues') return parseMaskPixelValues(parameters);
    throw new BadValueError(
      `Style 'function' ${shorten(name)} does not exist. Allowed values: ${functionNames.join(', ')}. No other code is run.`,
    );
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function shorten(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 100);
}

function parseMedianFilter({ kernel = 5, weight = 1 }: Record<string, unknown>): StyleFunction {
  if (typeof kernel !== 'number' || !Number.isInteger(kernel) || kernel < 1 || kernel > maxKernel) {
    throw new BadValueError(`Invalid kernel ${shorten(kernel)} of medianFilter. Allowed values: 1 to ${maxKernel}.`);
  }
  if (typeof weight !== 'number' || !Number.isFinite(weight)) {
    throw new BadValueError(`Invalid weight ${shorten(weight)} of medianFilter. It must be a number.`);
  }
  return { name: 'medianFilter', kernel, weight };
}

function parseMaskPixelValues(parameters: Record<string, unknown>): StyleFunction {
  const { values, positive, negative } = parameters;
  const isValue = (value: unknown): value is number | number[] =>
    Number.isFinite(value) ||
    (Array.isArray(value) && value.length <= maxSamplesPerValue && value.every((sample) => Number.isFinite(sample)));
  if (!Array.isArray(values) || values.length > maxMaskValues || !values.every(isValue)) {
    throw new BadValueError(
      `Invalid values of maskPixelValues. They must be at most ${maxMaskValues} numbers, or lists of the samples of a pixel.`,
    );
  }
  return {
    name: 'maskPixelValues',
    values,
    positive: parseMaskColor(positive, [255, 255, 255, 0]),
    negative: parseMaskColor(negative, [0, 0, 0, 255]),
  };
}

function parseMaskColor(value: unknown, defaultColor: Rgba): Rgba {
  if (value === undefined || value === null) return defaultColor;
  const color = typeof value === 'string' ? tryParseColor(value) : null;
  if (color) return color;
  const isByte = (part: unknown): part is number =>
    typeof part === 'number' && Number.isInteger(part) && part >= 0 && part <= 255;
  if (Array.isArray(value) && (value.length === 3 || value.length === 4) && value.every(isByte)) {
    const [red = 0, green = 0, blue = 0, alpha = 255] = value;
    return [red, green, blue, alpha];
  }
  throw new BadValueError(
    `Invalid color ${shorten(value)} of maskPixelValues. It must be a color, or its red, green, blue and alpha.`,
  );
}

/** Width in pixels of the margin around a picture that the functions need. */
export function functionReach(functions: readonly StyleFunction[]): number {
  return functions.reduce((sum, entry) => sum + (entry.name === 'medianFilter' ? Math.ceil(entry.kernel / 2) : 0), 0);
}

/** Applies the functions in order. @param readSource reads the samples of the picture's pixels, as styles use them. */
export async function applyFunctions(
  functions: readonly StyleFunction[],
  picture: Picture,
  readSource: () => Promise<Raster>,
  signal?: AbortSignal,
): Promise<Picture> {
  let result = picture;
  for (const entry of functions) {
    result =
      entry.name === 'medianFilter' ? await sharpen(result, entry, signal) : await maskPixels(await readSource(), entry, signal);
  }
  return result;
}

async function sharpen(
  picture: Picture,
  { kernel, weight }: Extract<StyleFunction, { name: 'medianFilter' }>,
  signal: AbortSignal | undefined,
): Promise<Picture> {
  const { data, width, height, bands } = picture;
  if (kernel === 1 || weight === 0) return picture;
  // libvips refuses pictures that are smaller than the kernel, so these are extended by repeating their last row and column.
  const extendedPicture = fitBorder(picture, { width: Math.max(width, kernel), height: Math.max(height, kernel) });
  const raw = { width: extendedPicture.width, height: extendedPicture.height, channels: bands };
  // Alpha stays unchanged.
  const image = sharp(extendedPicture.data as Uint8Array, { raw, limitInputPixels: false }).median(kernel);
  const medians = await runProcessing(
    () => (bands <= 2 ? image.extractChannel(0).toColourspace('b-w') : image).raw().toBuffer(),
    signal,
  );
  const step = bands <= 2 ? 1 : bands;
  const colors = hasAlpha(picture) ? bands - 1 : bands;
  const out = new Uint8ClampedArray(data);
  await forEachRange(
    width * height,
    pixelsPerCheck,
    (from, to) => {
      for (let pixel = from; pixel < to; pixel += 1) {
        const extendedIndex = pixel + Math.floor(pixel / width) * (extendedPicture.width - width);
        for (let band = 0; band < colors; band += 1) {
          const at = pixel * bands + band;
          const sample = data[at]!;
          out[at] = sample + (sample - medians[extendedIndex * step + band]!) * weight;
        }
      }
    },
    signal,
  );
  return { ...picture, data: new Uint8Array(out.buffer) };
}

async function maskPixels(
  { data, width, height, bands }: Raster,
  { values, positive, negative }: Extract<StyleFunction, { name: 'maskPixelValues' }>,
  signal: AbortSignal | undefined,
): Promise<Picture> {
  // For images with one band, a number is a sample. For other images, it is the color 0xBBGGRR, and missing bands are 255.
  const maskValues = values.map((value) => {
    const samples = typeof value !== 'number' ? value : bands === 1 ? [value] : [0, 8, 16].map((bits) => (value >> bits) & 255);
    return Array.from({ length: bands }, (_, band) => samples[band] ?? 255);
  });
  const valuesByFirstSample = new Map<number, number[][]>();
  for (const samples of maskValues)
    valuesByFirstSample.set(samples[0]!, [...(valuesByFirstSample.get(samples[0]!) ?? []), samples]);
  const out = new Uint8Array(width * height * 4);
  await forEachRange(
    width * height,
    pixelsPerCheck,
    (from, to) => {
      for (let pixel = from; pixel < to; pixel += 1) {
        const at = pixel * bands;
        const isListed =
          valuesByFirstSample.get(data[at]!)?.some((samples) => samples.every((sample, band) => sample === data[at + band])) ===
          true;
        out.set(isListed ? positive : negative, pixel * 4);
      }
    },
    signal,
  );
  return { data: out, width, height, bands: 4, dtype: 'uint8' };
}
