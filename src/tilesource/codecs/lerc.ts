import { createRequire } from 'node:module';
import { describeMissingPackages } from '../../optional-packages.js';

/** A raster in LERC, and its properties according to the file. */
export interface LercTask {
  bytes: Uint8Array;
  width: number;
  height: number;
  samplesPerPixel: number;
  sampleBytes: number;
  isFloat: boolean;
}

/** The part of the package lerc that is used. */
interface Lerc {
  load(options: { locateFile: () => string }): Promise<void>;
  getBlobInfo(bytes: Uint8Array): { width: number; height: number };
  decode(
    bytes: Uint8Array,
    options: { returnInterleaved: boolean },
  ): {
    pixels: (Uint8Array | Float32Array | Float64Array)[];
    mask: Uint8Array | null;
    bandMasks: Uint8Array[] | null;
  };
}

const require = createRequire(import.meta.url);

let libraryPromise: Promise<Lerc> | null = null;

async function loadLibrary(): Promise<Lerc> {
  let library: Lerc;
  try {
    library = require('lerc') as Lerc;
  } catch {
    throw new Error(describeMissingPackages('lerc'));
  }
  await library.load({ locateFile: () => require.resolve('lerc/lerc-wasm.wasm') });
  return library;
}

/** Decodes LERC to interleaved samples. Pixels without a value become NaN, or 0 if samples are integers. */
export async function decodeLerc(task: LercTask): Promise<Uint8Array<ArrayBuffer>> {
  libraryPromise ??= loadLibrary();
  const library = await libraryPromise;
  const { width, height, samplesPerPixel, sampleBytes, isFloat } = task;
  const info = library.getBlobInfo(task.bytes);
  if (info.width !== width || info.height !== height) {
    throw new Error(`it contains ${info.width} by ${info.height} pixels where ${width} by ${height} are declared`);
  }
  const { pixels, mask, bandMasks } = library.decode(task.bytes, { returnInterleaved: true });
  const [firstPlane] = pixels;
  /** Number of samples of a pixel in each plane. The bands are either in separate planes or interleaved in one plane. */
  const bandsPerPlane = pixels.length === samplesPerPixel ? 1 : samplesPerPixel;
  if (
    firstPlane === undefined ||
    firstPlane.BYTES_PER_ELEMENT !== sampleBytes ||
    pixels.length * bandsPerPlane !== samplesPerPixel
  ) {
    throw new Error('its samples do not have the declared type and number');
  }
  const length = width * height * bandsPerPlane;
  if (pixels.some((plane) => plane.length !== length)) throw new Error('it does not contain all samples');
  for (const [index, plane] of pixels.entries()) {
    const bandMask = bandMasks?.[index] ?? mask;
    if (bandMask !== null)
      for (let at = 0; at < length; at += 1) if (bandMask[Math.floor(at / bandsPerPlane)] === 0) plane[at] = isFloat ? NaN : 0;
  }
  const out = new Uint8Array(width * height * samplesPerPixel * sampleBytes);
  if (pixels.length === 1) {
    out.set(new Uint8Array(firstPlane.buffer, firstPlane.byteOffset, firstPlane.byteLength));
    return out;
  }
  for (const [band, plane] of pixels.entries()) {
    const bytes = new Uint8Array(plane.buffer, plane.byteOffset, plane.byteLength);
    for (let at = 0; at < length; at += 1) {
      out.set(bytes.subarray(at * sampleBytes, (at + 1) * sampleBytes), (at * samplesPerPixel + band) * sampleBytes);
    }
  }
  return out;
}
