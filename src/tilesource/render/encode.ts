import { forEachRange } from '../../core/concurrency/slices.js';
import sharp, { type Sharp } from 'sharp';
import { BadValueError } from '../../errors.js';
import type { Rgba } from '../color.js';
import { isSameSize, type Size } from '../geometry.js';
import { runProcessing } from '../process/processing.js';
import { encodeRational } from '../pyramid/container.js';
import { hasAlpha, type Picture } from './pixels.js';
import { pictureDefaults } from '../picture-parameters.js';
import type { EncodingRequest } from '../requests.js';
import type { Kernel } from './resample.js';

/** Encodings that can be requested. `TILED` is made by `tiled-tiff.ts`. */
const encodings = ['JPEG', 'JFIF', 'PNG', 'TIFF', 'TILED', 'WEBP', 'AVIF', 'GIF', 'BMP', 'PPM', 'TGA'] as const;
type Encoding = (typeof encodings)[number];

const mimeTypes: Record<Encoding, string> = {
  JPEG: 'image/jpeg',
  JFIF: 'image/jpeg',
  PNG: 'image/png',
  TIFF: 'image/tiff',
  TILED: 'image/tiff',
  WEBP: 'image/webp',
  AVIF: 'image/avif',
  GIF: 'image/gif',
  BMP: 'image/bmp',
  PPM: 'image/x-portable-pixmap',
  TGA: 'image/x-tga',
};

/** Maximum side in pixels of each encoding. The format JPEG allows 65,535, but libraries that write and read it allow less. */
const longestSides: Partial<Record<Encoding, number>> = {
  JPEG: 65_500,
  JFIF: 65_500,
  WEBP: 16_383,
  AVIF: 16_384,
  GIF: 65_535,
  TGA: 65_535,
};

/** Encodings that keep an alpha band. */
const encodingsWithAlpha: ReadonlySet<Encoding> = new Set(['PNG', 'TIFF', 'TILED', 'WEBP', 'AVIF', 'GIF', 'TGA']);

/** Compressions of TIFF, by every name that requests can use. */
const compressionNames = {
  raw: 'none',
  none: 'none',
  lzw: 'lzw',
  tiff_lzw: 'lzw',
  jpeg: 'jpeg',
  deflate: 'deflate',
  tiff_adobe_deflate: 'deflate',
  packbits: 'packbits',
  webp: 'webp',
  zstd: 'zstd',
} as const;

/** Compression of a TIFF. `webp` and `zstd` are only used in TILED. */
type TiffCompression = (typeof compressionNames)[keyof typeof compressionNames];

/** Checked encoding options. */
export interface EncodingOptions {
  encoding: Encoding;
  /** Mime type. */
  type: string;
  /** 1 to 100. */
  quality: number;
  /** 0, 1 or 2. */
  subsampling: number;
  compression: TiffCompression;
  /** Whether the format keeps alpha. */
  keepsAlpha: boolean;
}

/**
 * Checks encoding options and fills in defaults. A quality outside its range is clipped to the range, because existing clients
 * expect it.
 *
 * @throws BadValueError for an unknown encoding or compression.
 */
export function parseEncoding(request: EncodingRequest): EncodingOptions {
  const requestedEncoding = request.encoding ?? pictureDefaults.encoding;
  const encoding = encodings.find((name) => name === requestedEncoding);
  if (encoding === undefined) {
    const hint = requestedEncoding.startsWith('pickle')
      ? ': serialized objects are not supported; use TILED to get samples'
      : requestedEncoding === 'OMETIFF'
        ? ': for regions only'
        : '';
    throw new BadValueError(`Invalid encoding "${requestedEncoding}"${hint}`);
  }
  const { jpegQuality = pictureDefaults.jpegQuality, jpegSubsampling = pictureDefaults.jpegSubsampling } = request;
  for (const [name, value] of Object.entries({ jpegQuality, jpegSubsampling })) {
    if (!Number.isFinite(value)) throw new BadValueError(`Invalid ${name}: ${String(value)}. It must be a number.`);
  }
  return {
    encoding,
    type: mimeTypes[encoding],
    quality: Math.min(100, Math.max(1, Math.round(jpegQuality))),
    subsampling: Math.min(2, Math.max(0, Math.round(jpegSubsampling))),
    compression: parseCompression(request.tiffCompression, encoding),
    keepsAlpha: encodingsWithAlpha.has(encoding),
  };
}

function parseCompression(name: string | undefined, encoding: Encoding): TiffCompression {
  if (name === undefined || name === '') return encoding === 'TILED' ? 'lzw' : 'none';
  const match = Object.entries(compressionNames).find(([alias]) => alias === name);
  // An unknown compression is refused even if the encoding does not use it.
  const isOnlyForTiled = (alias: string) => alias === 'webp' || alias === 'zstd';
  if (match && (encoding === 'TILED' || !isOnlyForTiled(match[0]))) return match[1];
  const allowed = Object.keys(compressionNames).filter((alias) => encoding === 'TILED' || !isOnlyForTiled(alias));
  throw new BadValueError(`Invalid tiffCompression '${name}'. Allowed values: ${allowed.join(', ')}.`);
}

/** Whether the quality options are the defaults. */
export function hasDefaultQuality(options: EncodingOptions): boolean {
  return options.quality === pictureDefaults.jpegQuality && options.subsampling === pictureDefaults.jpegSubsampling;
}

/**
 * Checks that a picture of this size can be made.
 *
 * @throws BadValueError that names the limit.
 */
export function checkOutputSize(size: Size, options: EncodingOptions, maxPixels: number): void {
  if (options.encoding === 'TILED') return;
  if (size.width * size.height > maxPixels) {
    throw new BadValueError(
      `Output of ${size.width} x ${size.height} pixels is larger than the limit of ${maxPixels} pixels. ` +
        'Request a smaller width and height, or use encoding TILED.',
    );
  }
  checkSideLimit(size, options);
}

/** Maximum side, in pixels, of a picture in this encoding. */
export function longestSide({ encoding, compression }: Pick<EncodingOptions, 'encoding' | 'compression'>): number {
  const isJpegInside = encoding === 'TIFF' && compression === 'jpeg';
  return longestSides[isJpegInside ? 'JPEG' : encoding] ?? Infinity;
}

/** @throws BadValueError if the format cannot contain a picture of this size. */
function checkSideLimit(size: Size, options: EncodingOptions): void {
  const limit = longestSide(options);
  if (Math.max(size.width, size.height) <= limit) return;
  throw new BadValueError(
    `Output of ${size.width} x ${size.height} pixels does not fit ${options.encoding}: at most ${limit} pixels per side.`,
  );
}

/** How a picture becomes bytes, in one pass of libvips. */
export interface EncodingSteps {
  resize?: Size & { kernel: Kernel };
  /** Pads the picture to this size. */
  extend?: Size & { left: number; top: number; color: Rgba };
  /** Scale of the result, for formats that can state it. Absent if the scale is unknown. */
  pixelsPerMm?: { x: number; y: number } | undefined;
  /** Color of transparent pixels if the format has no alpha. Default white. */
  background?: Rgba;
  /** If this signal is aborted before the work starts, nothing is done. */
  signal?: AbortSignal | undefined;
}

const white: Rgba = [255, 255, 255, 255];

function colorOf([r, g, b]: Rgba) {
  return { r, g, b };
}

/** Number of pixels that are copied between two checks of the time. */
const pixelsPerCheck = 16_384;

/** A picture that is decoded when it is used. It can be used only once. */
export interface OpenedPicture extends Size {
  image: Sharp;
  bands: Picture['bands'];
}

/** Encodes a picture. @throws Error of libvips if an opened picture is corrupt. */
export async function encodePicture(
  picture: Picture | OpenedPicture,
  options: EncodingOptions,
  steps: EncodingSteps = {},
): Promise<Uint8Array> {
  let image = 'image' in picture ? picture.image : openPicture(picture);
  const { resize, extend } = steps;
  checkSideLimit(extend ?? resize ?? picture, options);
  if (resize && !isSameSize(resize, picture)) image = addScaling(image, resize);
  const dropsAlpha = hasAlpha(picture) && !options.keepsAlpha;
  if (dropsAlpha) {
    image = image.flatten({ background: colorOf(steps.background ?? white) });
  }
  if (extend) {
    const size = resize ?? picture;
    image = image.extend({
      left: extend.left,
      top: extend.top,
      right: extend.width - size.width - extend.left,
      bottom: extend.height - size.height - extend.top,
      background: { r: extend.color[0], g: extend.color[1], b: extend.color[2], alpha: extend.color[3] / 255 },
    });
  }
  if (picture.bands <= 2) image = image.toColourspace('b-w');
  const sizes = [picture, resize ?? picture, extend ?? picture].map(({ width, height }) => width * height);
  // How many pixels libvips processes for an opened picture is unknown.
  const pixels = 'image' in picture ? Infinity : Math.max(...sizes);
  return runProcessing(() => encodeImage(image, options, steps), steps.signal, pixels);
}

/** Encodes a stored picture again. libvips decodes and encodes in one pass. */
export async function transcodePicture(
  bytes: Uint8Array,
  bands: number,
  options: EncodingOptions,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  let image = sharp(bytes, { limitInputPixels: false, failOn: 'error', ignoreIcc: true });
  if (bands === 2 || bands === 4) image = options.keepsAlpha ? image : image.flatten({ background: '#fff' });
  if (bands <= 2) image = image.toColourspace('b-w');
  return runProcessing(() => encodeImage(image, options, {}), signal);
}

/** Makes a picture an input of libvips, without a copy. */
export function openPicture(picture: Picture): Sharp {
  return sharp(picture.data, {
    raw: { width: picture.width, height: picture.height, channels: picture.bands },
    limitInputPixels: false,
  });
}

/** Adds scaling to exactly a size. */
function addScaling(image: Sharp, { width, height, kernel }: Size & { kernel: Kernel }): Sharp {
  return image.resize(width, height, { fit: 'fill', kernel });
}

/** The method for scaling if the request names no method: Lanczos to shrink, bicubic to enlarge. */
export function defaultKernel(from: Size, to: Size): Kernel {
  return to.width > from.width || to.height > from.height ? 'cubic' : 'lanczos3';
}

/** Scales a picture with libvips, and keeps its bands. */
export async function resizePicture(picture: Picture, size: Size & { kernel: Kernel }, signal?: AbortSignal): Promise<Picture> {
  if (isSameSize(size, picture)) return picture;
  let image = addScaling(openPicture(picture), size);
  // libvips returns gray as one band only on request, and always returns gray with alpha as four bands.
  if (picture.bands === 1) image = image.toColourspace('b-w');
  const rawImage = image.raw();
  const { data, info } = await runProcessing(() => rawImage.toBuffer({ resolveWithObject: true }), signal);
  const out: Picture = { data, width: info.width, height: info.height, bands: picture.bands, dtype: 'uint8' };
  return info.channels === picture.bands ? out : { ...out, data: await extractGrayAndAlpha(data) };
}

async function extractGrayAndAlpha(rgba: Uint8Array): Promise<Uint8Array> {
  const out = new Uint8Array(rgba.length / 2);
  await forEachRange(rgba.length / 4, pixelsPerCheck, (from, to) => {
    for (let pixel = from; pixel < to; pixel += 1) {
      out[pixel * 2] = rgba[pixel * 4]!;
      out[pixel * 2 + 1] = rgba[pixel * 4 + 3]!;
    }
  });
  return out;
}

async function encodeImage(
  image: Sharp,
  options: EncodingOptions,
  { pixelsPerMm, background = white }: EncodingSteps,
): Promise<Uint8Array> {
  const { quality, subsampling } = options;
  switch (options.encoding) {
    case 'JPEG':
    case 'JFIF':
      // Optimized Huffman tables would take two thirds more time and save only a fifth of the bytes.
      return image.jpeg({ quality, chromaSubsampling: subsampling === 0 ? '4:4:4' : '4:2:0', optimiseCoding: false }).toBuffer();
    case 'PNG':
      return image.png({ compressionLevel: 2 }).toBuffer();
    case 'WEBP':
      return image.webp({ quality, effort: 2 }).toBuffer();
    case 'AVIF':
      return image.avif({ quality, effort: 2 }).toBuffer();
    case 'GIF':
      return image.gif({ effort: 1 }).toBuffer();
    case 'TIFF':
    case 'TILED': {
      const tiff =
        options.compression === 'jpeg'
          ? image.flatten({ background: colorOf(background) }).tiff({ compression: 'jpeg', quality })
          : image.tiff({ compression: options.compression, predictor: 'horizontal' });
      const bytes = await tiff.toBuffer();
      return pixelsPerMm ? replaceResolution(bytes, pixelsPerMm) : removeResolution(bytes);
    }
    case 'BMP':
    case 'PPM':
    case 'TGA': {
      const { data, info } = await image.toColourspace('srgb').raw().toBuffer({ resolveWithObject: true });
      const raw = { data, width: info.width, height: info.height, bands: info.channels };
      if (options.encoding === 'PPM') return encodePpm(raw);
      return options.encoding === 'BMP' ? encodeBmp(raw) : encodeTga(raw);
    }
  }
}

/** XResolution, YResolution, ResolutionUnit. */
const [xResolution, yResolution, resolutionUnit] = [282, 283, 296];
const resolutionTags: ReadonlySet<number> = new Set([xResolution, yResolution, resolutionUnit]);

/** Where the entries of a TIFF's first directory start and end; `null` if the TIFF is not a classic little-endian one. */
function entriesOf(tiff: Buffer): { start: number; end: number } | null {
  if (tiff.toString('latin1', 0, 4) !== 'II*\0') return null;
  const start = tiff.readUInt32LE(4) + 2;
  return { start, end: start + tiff.readUInt16LE(start - 2) * 12 };
}

/** Replaces the resolution in a TIFF, because libvips does not accept the scales of maps and electron microscopes. */
function replaceResolution(tiff: Buffer, pixelsPerMm: { x: number; y: number }): Buffer {
  const { start, end } = entriesOf(tiff) ?? { start: 0, end: 0 };
  for (let entry = start; entry < end; entry += 12) {
    const tag = tiff.readUInt16LE(entry);
    if (tag === resolutionUnit) tiff.writeUInt16LE(centimeter, entry + 8);
    if (tag !== xResolution && tag !== yResolution) continue;
    encodeRational(10 * (tag === xResolution ? pixelsPerMm.x : pixelsPerMm.y)).copy(tiff, tiff.readUInt32LE(entry + 8));
  }
  return tiff;
}

const centimeter = 3;

/** Removes the resolution from the first directory of a TIFF. libvips invents a resolution if it knows none. */
function removeResolution(tiff: Buffer): Buffer {
  const entries = entriesOf(tiff);
  if (entries === null) return tiff;
  const { start, end } = entries;
  let to = start;
  for (let entry = start; entry < end; entry += 12) {
    if (resolutionTags.has(tiff.readUInt16LE(entry))) continue;
    tiff.copyWithin(to, entry, entry + 12);
    to += 12;
  }
  // The 4 bytes after the entries are the offset of the next directory, which is 0.
  tiff.fill(0, to, end + 4);
  tiff.writeUInt16LE((to - start) / 12, start - 2);
  return tiff;
}

interface RawPicture extends Size {
  data: Uint8Array;
  bands: number;
}

function encodePpm({ data, width, height }: RawPicture): Uint8Array {
  return Buffer.concat([Buffer.from(`P6\n${width} ${height}\n255\n`, 'latin1'), data]);
}

/** Writes a 24-bit bitmap: the bottom row first, blue before green and red, and each row padded to a multiple of four bytes. */
async function encodeBmp({ data, width, height }: RawPicture): Promise<Uint8Array> {
  const headerLength = 54;
  const rowLength = Math.ceil((width * 3) / 4) * 4;
  const out = Buffer.alloc(headerLength + rowLength * height);
  out.write('BM', 0, 'latin1');
  out.writeUInt32LE(out.length, 2);
  out.writeUInt32LE(headerLength, 10);
  out.writeUInt32LE(40, 14);
  out.writeInt32LE(width, 18);
  out.writeInt32LE(height, 22);
  out.writeUInt16LE(1, 26);
  out.writeUInt16LE(24, 28);
  out.writeUInt32LE(rowLength * height, 34);
  await forEachRange(height, Math.ceil(pixelsPerCheck / Math.max(1, width)), (firstRow, endRow) => {
    for (let y = firstRow; y < endRow; y += 1) {
      let to = headerLength + (height - 1 - y) * rowLength;
      for (let from = y * width * 3; from < (y + 1) * width * 3; from += 3) {
        out[to++] = data[from + 2]!;
        out[to++] = data[from + 1]!;
        out[to++] = data[from]!;
      }
    }
  });
  return out;
}

/** Writes an uncompressed true-color Targa, the top row first, with alpha if the picture has alpha. */
async function encodeTga({ data, width, height, bands }: RawPicture): Promise<Uint8Array> {
  const out = Buffer.alloc(18 + data.length);
  out[2] = 2;
  out.writeUInt16LE(width, 12);
  out.writeUInt16LE(height, 14);
  out[16] = bands * 8;
  out[17] = 0x20 | (bands === 4 ? 8 : 0);
  await forEachRange(width * height, pixelsPerCheck, (from, to) => {
    for (let at = from * bands; at < to * bands; at += bands) {
      out[18 + at] = data[at + 2]!;
      out[19 + at] = data[at + 1]!;
      out[20 + at] = data[at]!;
      if (bands === 4) out[21 + at] = data[at + 3]!;
    }
  });
  return out;
}
