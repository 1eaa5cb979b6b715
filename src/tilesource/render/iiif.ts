import { BadParameterError } from '../../errors.js';
import type { ImageMetadata } from '../tile-source.js';
import { levelScale, levelSize, type Box, type PyramidShape, type Size } from '../geometry.js';
import { longestSide, parseEncoding } from './encode.js';
import type { Transform } from './pixels.js';

/** A request of the IIIF Image API 3, as the segments of its path. */
export interface IiifRequest {
  region: string;
  size: string;
  rotation: string;
  /** `<quality>.<format>` */
  file: string;
}

/** A request of the IIIF Image API, resolved for one image. */
export interface IiifPlan {
  /** The region, in base-layer pixels. */
  box: Box;
  /** Size of the picture before rotation. */
  output: Size;
  transform: Transform;
  encoding: string;
  /** The tile of the pyramid that shows exactly this picture; `null` if there is none. */
  tile: { level: number; x: number; y: number } | null;
  /** The end of the canonical address of this picture: `region/size/rotation/quality.format`. */
  canonical: string;
}

/** Technical properties of an image, with the names of info.json. */
export interface IiifFacts extends Size {
  maxWidth: number;
  maxHeight: number;
  maxArea: number;
  sizes: Size[];
  tiles: { width: number; height: number; scaleFactors: number[] }[];
  /** Qualities other than `default`. */
  extraQualities: string[];
  /** Formats that compliance level 2 does not require, and that can contain the largest picture of the image. */
  extraFormats: string[];
}

/** Encodings by the extension of the format. The formats that compliance level 2 requires come first. */
const encodings = { jpg: 'JPEG', png: 'PNG', webp: 'WEBP', tif: 'TIFF', gif: 'GIF' } as const;

/** Formats that compliance level 2 does not require. */
const extraFormats: readonly Format[] = ['webp', 'tif', 'gif'];

/** Maximum side of a picture in pixels. It is the limit of JPEG, because compliance level 2 requires JPEG. */
const maxSide = sideLimit('jpg');

function sideLimit(format: Format): number {
  return longestSide(parseEncoding({ encoding: encodings[format], tiffCompression: 'lzw' }));
}

/** Properties of an image for info.json. */
export function iiifFacts(metadata: ImageMetadata, maxArea: number): IiifFacts {
  const { sizeX, sizeY, tileWidth, tileHeight, levels } = metadata;
  const allLevels = Array.from({ length: levels }, (_, level) => level);
  const largestPicture = largestSize({ width: sizeX, height: sizeY }, maxArea, false);
  return {
    width: sizeX,
    height: sizeY,
    maxWidth: maxSide,
    maxHeight: maxSide,
    maxArea,
    sizes: allLevels.map((level) => levelSize(metadata, level)).filter((size) => fits(size, maxArea)),
    tiles: [{ width: tileWidth, height: tileHeight, scaleFactors: allLevels.map((level) => 2 ** level) }],
    extraQualities: [...(isColored(metadata) ? ['color'] : []), 'gray', 'bitonal'],
    extraFormats: extraFormats.filter((format) => Math.max(largestPicture.width, largestPicture.height) <= sideLimit(format)),
  };
}

/**
 * Resolves a request for an image.
 *
 * @throws BadParameterError for requests that the API does not allow, or that this image does not support.
 */
export function planIiif(metadata: ImageMetadata, request: IiifRequest, maxArea: number): IiifPlan {
  const box = parseRegion(request.region, metadata);
  const output = parseSize(request.size, box, maxArea);
  const rotation = parseRotation(request.rotation);
  const { quality, format } = parseFile(request.file, isColored(metadata));
  if (Math.max(output.width, output.height) > sideLimit(format)) {
    throw new BadParameterError(
      `A picture of ${output.width} x ${output.height} does not fit ${format}: at most ${sideLimit(format)} pixels per side.`,
    );
  }
  const transform: Transform = { ...rotation, tone: quality === 'default' ? 'asItIs' : quality };
  const isPlain = !transform.mirror && transform.degrees === 0 && transform.tone === 'asItIs';
  const canonical = [
    canonicalRegion(box, metadata),
    canonicalSize(box, output, maxArea),
    `${transform.mirror ? '!' : ''}${transform.degrees}`,
    `${quality}.${format}`,
  ];
  return {
    box,
    output,
    transform,
    encoding: encodings[format],
    tile: isPlain ? matchingTile(metadata, box, output) : null,
    canonical: canonical.join('/'),
  };
}

function isColored({ bandCount }: Pick<ImageMetadata, 'bandCount'>): boolean {
  return bandCount >= 3;
}

function fits({ width, height }: Size, maxArea: number): boolean {
  return Math.max(width, height) <= maxSide && width * height <= maxArea;
}

const wholeNumber = /^\d{1,9}$/;
/** A number without sign or exponent (Image API 4.7). */
const decimal = /^(\d{1,9}(\.\d{0,15})?|\.\d{1,15})$/;

function parseRegion(region: string, { sizeX, sizeY }: PyramidShape): Box {
  if (region === 'full') return { left: 0, top: 0, width: sizeX, height: sizeY };
  if (region === 'square') {
    const side = Math.min(sizeX, sizeY);
    return { left: Math.floor((sizeX - side) / 2), top: Math.floor((sizeY - side) / 2), width: side, height: side };
  }
  const isPercent = region.startsWith('pct:');
  const parts = (isPercent ? region.slice(4) : region).split(',');
  if (parts.length !== 4 || !parts.every((part) => (isPercent ? decimal : wholeNumber).test(part))) {
    throw new BadParameterError(`Invalid region "${shorten(region)}". It must be full, square, x,y,w,h or pct:x,y,w,h.`);
  }
  const [x, y, width, height] = parts.map(Number) as [number, number, number, number];
  const [left, right] = pixelRange(x, width, sizeX, isPercent);
  const [top, bottom] = pixelRange(y, height, sizeY, isPercent);
  if (right > left && bottom > top) return { left, top, width: right - left, height: bottom - top };
  throw new BadParameterError(`The region "${region}" has no pixel inside the image, which is ${sizeX} x ${sizeY}.`);
}

/**
 * The first pixel of a region along one axis, and the pixel after the region's last pixel, within the image. Both are equal if the
 * region is empty or outside the image.
 */
function pixelRange(from: number, length: number, size: number, isPercent: boolean): [from: number, to: number] {
  const unit = isPercent ? size / 100 : 1;
  const start = Math.round(from * unit);
  if (length === 0 || start >= size) return [size, size];
  return [start, Math.min(size, Math.max(start + 1, Math.round((from + length) * unit)))];
}

const sizePattern = /^(\^?)(?:(max)|pct:([\d.]+)|(!?)(\d*),(\d*))$/;

function parseSize(size: string, region: Size, maxArea: number): Size {
  const [, caret = '', max, percent, bang = '', widthDigits = '', heightDigits = ''] = sizePattern.exec(size) ?? [];
  const enlarges = caret === '^';
  if (max !== undefined) return largestSize(region, maxArea, enlarges);
  const output = scaledSize(region, {
    percent,
    isConfined: bang === '!',
    widthDigits,
    heightDigits,
    enlarges,
  });
  if (output === null) {
    throw new BadParameterError(
      `Invalid size "${shorten(size)}". It must be max, w, or ,h or w,h or !w,h or pct:n, with ^ before it to enlarge the region.`,
    );
  }
  if (output.width < 1 || output.height < 1) throw new BadParameterError(`The size "${size}" is less than one pixel.`);
  if (!enlarges && (output.width > region.width || output.height > region.height)) {
    throw new BadParameterError(
      `The size "${size}" is larger than the region, which is ${region.width} x ${region.height}. Put ^ before it to enlarge.`,
    );
  }
  if (fits(output, maxArea)) return output;
  throw new BadParameterError(
    `A picture of ${output.width} x ${output.height} is larger than the limits: ${maxSide} pixels per side, ${maxArea} in total.`,
  );
}

interface SizeParts {
  percent: string | undefined;
  isConfined: boolean;
  /** Digits, or empty. */
  widthDigits: string;
  heightDigits: string;
  enlarges: boolean;
}

/** Computes the size of the picture; `null` for an invalid size. */
function scaledSize(region: Size, { percent, isConfined, widthDigits, heightDigits, enlarges }: SizeParts): Size | null {
  if (percent !== undefined) {
    if (!decimal.test(percent)) return null;
    return {
      width: Math.round((region.width * Number(percent)) / 100),
      height: Math.round((region.height * Number(percent)) / 100),
    };
  }
  const [width, height] = [widthDigits, heightDigits].map((digits) => (wholeNumber.test(digits) ? Number(digits) : null)) as (
    | number
    | null
  )[];
  if (width != null && height != null) {
    if (!isConfined || width === 0 || height === 0) return { width, height };
    const scale = Math.min(width / region.width, height / region.height, enlarges ? Infinity : 1);
    const within = (length: number, limit: number) => Math.max(1, Math.min(limit, Math.round(length * scale)));
    return { width: within(region.width, width), height: within(region.height, height) };
  }
  if (isConfined) return null;
  if (width != null && heightDigits === '') return { width, height: roundedQuotient(region.height * width, region.width) };
  if (height != null && widthDigits === '') return { width: roundedQuotient(region.width * height, region.height), height };
  return null;
}

/** The rounded quotient, but at least 1 unless the product is 0. */
function roundedQuotient(product: number, divisor: number): number {
  return product === 0 ? 0 : Math.max(1, Math.round(product / divisor));
}

/** The largest allowed size with the aspect of a region. */
function largestSize({ width, height }: Size, maxArea: number, enlarges: boolean): Size {
  const scale = Math.min(maxSide / width, maxSide / height, Math.sqrt(maxArea / (width * height)));
  if (!enlarges && scale >= 1) return { width, height };
  return { width: Math.max(1, Math.floor(width * scale)), height: Math.max(1, Math.floor(height * scale)) };
}

function parseRotation(rotation: string): { mirror: boolean; degrees: Transform['degrees'] } {
  const mirror = rotation.startsWith('!');
  const degreesText = mirror ? rotation.slice(1) : rotation;
  const degrees = decimal.test(degreesText) ? Number(degreesText) % 360 : NaN;
  if (Number(degreesText) <= 360 && (degrees === 0 || degrees === 90 || degrees === 180 || degrees === 270))
    return { mirror, degrees };
  throw new BadParameterError(
    `Invalid rotation "${shorten(rotation)}". It must be 0, 90, 180 or 270, with ! before it to mirror.`,
  );
}

type Quality = 'default' | 'gray' | 'bitonal';
type Format = keyof typeof encodings;

function parseFile(file: string, hasColor: boolean): { quality: Quality; format: Format } {
  const dot = file.indexOf('.');
  const [quality, format] = dot < 0 ? [file, ''] : [file.slice(0, dot), file.slice(dot + 1)];
  if (!Object.hasOwn(encodings, format)) {
    throw new BadParameterError(`Invalid format "${shorten(format)}". It must be ${Object.keys(encodings).join(', ')}.`);
  }
  if (quality !== 'default' && quality !== 'color' && quality !== 'gray' && quality !== 'bitonal') {
    throw new BadParameterError(`Invalid quality "${shorten(quality)}". It must be default, color, gray or bitonal.`);
  }
  const isDefault = quality === 'color' || (quality === 'gray' && !hasColor);
  return { quality: isDefault ? 'default' : quality, format: format as Format };
}

/** Shortens a text of a request for a message. */
function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function canonicalRegion(box: Box, { sizeX, sizeY }: PyramidShape): string {
  if (box.width === sizeX && box.height === sizeY) return 'full';
  return `${box.left},${box.top},${box.width},${box.height}`;
}

function canonicalSize(box: Box, output: Size, maxArea: number): string {
  const isOutputSize = (size: Size) => size.width === output.width && size.height === output.height;
  if (isOutputSize(largestSize(box, maxArea, false))) return 'max';
  const isEnlarged = output.width > box.width || output.height > box.height;
  if (!isEnlarged) return `${output.width},${output.height}`;
  return isOutputSize(largestSize(box, maxArea, true)) ? '^max' : `^${output.width},${output.height}`;
}

/**
 * The tile of the pyramid that shows exactly this region at exactly this size; `null` if there is none. Tiles at the border are
 * padded, so they do not match.
 */
function matchingTile(shape: ImageMetadata, box: Box, output: Size): IiifPlan['tile'] {
  const { tileWidth, tileHeight } = shape;
  if (output.width !== tileWidth || output.height !== tileHeight) return null;
  for (let level = shape.levels - 1; level >= 0; level -= 1) {
    const scale = levelScale(shape, level);
    if (box.width !== tileWidth * scale || box.height !== tileHeight * scale) continue;
    const [x, y] = [box.left / box.width, box.top / box.height];
    return Number.isInteger(x) && Number.isInteger(y) ? { level, x, y } : null;
  }
  return null;
}
