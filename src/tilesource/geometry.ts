import { BadParameterError, BadValueError, TileOutsideError } from '../errors.js';
import type { ImageMetadata } from './tile-source.js';

/** Size of an image and of its tiles; what all pyramid mathematics need. */
export type PyramidShape = Pick<ImageMetadata, 'sizeX' | 'sizeY' | 'tileWidth' | 'tileHeight' | 'levels'>;

/** Width and height in pixels. */
export interface Size {
  width: number;
  height: number;
}

/** Whether two things are as wide and as high as one another. */
export function sameSize(a: Size, b: Size): boolean {
  return a.width === b.width && a.height === b.height;
}

/** A rectangle of whole pixels. */
export interface Box extends Size {
  left: number;
  top: number;
}

/** Levels that an image of this size has: as many halvings as it takes to fit one tile, plus one. */
export function levelCount(shape: Omit<PyramidShape, 'levels'>): number {
  const ratio = Math.max(shape.sizeX / shape.tileWidth, shape.sizeY / shape.tileHeight);
  let levels = 1;
  // Doubling instead of log2, which is off by one for some exact powers of two.
  for (let covered = 1; covered < ratio; covered *= 2) levels += 1;
  return levels;
}

/** Base-layer pixels per pixel of a level, along one axis. */
export function levelScale(shape: Pick<PyramidShape, 'levels'>, level: number): number {
  return 2 ** (shape.levels - 1 - level);
}

/** Size of a level in its own pixels, partial pixels counted as whole ones. */
export function levelSize(shape: PyramidShape, level: number): Size {
  const scale = levelScale(shape, level);
  return { width: Math.ceil(shape.sizeX / scale), height: Math.ceil(shape.sizeY / scale) };
}

/** Number of tiles of a level along both axes. */
export function tileGrid(shape: PyramidShape, level: number): { columns: number; rows: number } {
  const size = levelSize(shape, level);
  return { columns: Math.ceil(size.width / shape.tileWidth), rows: Math.ceil(size.height / shape.tileHeight) };
}

/** Size of what a tile shows of the image, in pixels of its level; partial pixels count as whole ones. */
export function tileContent(shape: PyramidShape, tile: { level: number; x: number; y: number }): Size {
  const size = levelSize(shape, tile.level);
  return {
    width: Math.min(shape.tileWidth, size.width - tile.x * shape.tileWidth),
    height: Math.min(shape.tileHeight, size.height - tile.y * shape.tileHeight),
  };
}

/** The same without partial pixels, at least 1 by 1: the size to which `edge` cuts a tile. */
export function croppedTileContent(shape: PyramidShape, tile: { level: number; x: number; y: number }): Size {
  const scale = levelScale(shape, tile.level);
  const side = (size: number, index: number, length: number) =>
    Math.max(1, Math.min(length, Math.floor(size / scale) - index * length));
  return {
    width: side(shape.sizeX, tile.x, shape.tileWidth),
    height: side(shape.sizeY, tile.y, shape.tileHeight),
  };
}

/**
 * Checks that there is such a tile.
 *
 * @throws BadParameterError when a number is no integer or negative; TileOutsideError when the image has no such level or tile.
 */
export function checkTile(shape: PyramidShape, tile: { level: number; x: number; y: number }, minLevel = 0): void {
  const numbers = [tile.level, tile.x, tile.y];
  if (!numbers.every((value) => Number.isSafeInteger(value))) throw new BadParameterError('x, y, and z must be integers');
  if (numbers.some((value) => value < 0)) throw new BadParameterError('x, y, and z must be positive integers');
  if (tile.level >= shape.levels || tile.level < minLevel) throw new TileOutsideError('z layer does not exist');
  const { columns, rows } = tileGrid(shape, tile.level);
  if (tile.x >= columns) throw new TileOutsideError('x is outside layer');
  if (tile.y >= rows) throw new TileOutsideError('y is outside layer');
}

/** How many levels a tile of a missing level may be above the level it is made from; larger gaps are built in stages. */
export const largestStep = 3;

/**
 * The level from which a tile of `level` is made, when the file does not hold that level: the nearest finer one that is held, or
 * one in between that is built itself.
 */
export function finerLevel(populated: readonly number[], level: number): number {
  const stored = populated.find((candidate) => candidate > level);
  if (stored === undefined) throw new RangeError(`No level finer than ${level} among ${populated.join(', ')}`);
  return Math.min(stored, level + largestStep);
}

/**
 * The level to read for a requested one: between stored levels, the nearest finer one with data, or one at most two levels finer
 * than requested if data are further away. Levels coarser than all stored ones are made by averaging, so that they are the same
 * whichever levels a reader makes.
 */
export function preferredLevel(populated: readonly number[], wanted: number): number {
  if (wanted < (populated[0] ?? 0)) return wanted;
  const stored = populated.find((candidate) => candidate >= wanted) ?? populated.at(-1) ?? 0;
  return stored > wanted ? stored - largestStep * Math.floor((stored - wanted) / largestStep) : stored;
}

/** The coarsest level that is at least as fine as a rectangle of base-layer pixels scaled to a size; below 0 for the smallest. */
export function neededLevel({ levels }: Pick<PyramidShape, 'levels'>, base: Size, output: Size): number {
  const octaves = Math.log2(Math.min(output.width / base.width, output.height / base.height));
  return levels - 1 + Math.min(0, Math.ceil(roundedOctaves(octaves)));
}

function roundedOctaves(octaves: number): number {
  return Math.round(octaves * 1e4) / 1e4;
}

/** Rounds to the nearest integer, halves to the even one. */
export function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

/** Units of region coordinates. `length` units are multiples of a millimeter. */
export type Units = { kind: 'base' } | { kind: 'magnified' } | { kind: 'fraction' } | { kind: 'length'; mm: number };

const lengthUnits: Readonly<Record<string, number>> = {
  nm: 1e-6,
  nanometer: 1e-6,
  nanometers: 1e-6,
  um: 1e-3,
  μm: 1e-3,
  µm: 1e-3,
  micron: 1e-3,
  microns: 1e-3,
  micrometer: 1e-3,
  micrometers: 1e-3,
  mm: 1,
  millimeter: 1,
  millimeters: 1,
  m: 1e3,
  meter: 1e3,
  meters: 1e3,
  km: 1e6,
  kilometer: 1e6,
  kilometers: 1e6,
};
const baseUnits = new Set(['', 'base', 'base_pixel', 'base_pixels']);
const magnifiedUnits = new Set(['pixel', 'pixels', 'mag_pixel', 'mag_pixels', 'magnification_pixel', 'magnification_pixels']);

/**
 * Understands the name of units.
 *
 * @throws BadValueError for an unknown name; geospatial units belong to geospatial sources and are unknown here.
 */
export function parseUnits(name: string | undefined): Units {
  const key = (name ?? '').toLowerCase();
  if (baseUnits.has(key)) return { kind: 'base' };
  if (magnifiedUnits.has(key)) return { kind: 'magnified' };
  if (key === 'fraction') return { kind: 'fraction' };
  const mm = Object.hasOwn(lengthUnits, key) ? lengthUnits[key] : undefined;
  if (mm === undefined) throw new BadValueError(`Invalid units '${name}'`);
  return { kind: 'length', mm };
}

/** Magnification and pixel size: what scales are computed from. */
export type Calibration = Pick<ImageMetadata, 'magnification' | 'mmX' | 'mmY'>;

/** Objective power of an image: as stated, or estimated from the pixel size, or `null`. */
export function nativeMagnification(image: Calibration): number | null {
  if (image.magnification != null) return image.magnification;
  return image.mmX == null ? null : 0.01 / image.mmX;
}

/** Octaves between the base layer and a requested scale: 0 is full resolution, -1 half. `null` if no scale was requested. */
export interface WantedScale {
  octaves: number | null;
  /** Whether all statements agree on a whole number of octaves. */
  exact: boolean;
}

/** The scale requested by magnification and pixel size, as far as the image's own are known. */
export function wantedScale(image: Calibration, wanted: { magnification?: number; mmX?: number; mmY?: number }): WantedScale {
  const octaves: number[] = [];
  const add = (ratio: number) => {
    if (Number.isFinite(ratio) && ratio > 0) octaves.push(Math.round(Math.log2(ratio) * 1e4) / 1e4);
  };
  const native = nativeMagnification(image);
  if (wanted.magnification && native) add(wanted.magnification / native);
  if (wanted.mmX && image.mmX) add(image.mmX / wanted.mmX);
  if (wanted.mmY && image.mmY) add(image.mmY / wanted.mmY);
  const first = octaves[0];
  if (first === undefined) return { octaves: null, exact: true };
  return {
    octaves: octaves.reduce((sum, value) => sum + value, 0) / octaves.length,
    exact: Number.isInteger(first) && octaves.every((value) => value === first),
  };
}

/**
 * The rectangle of base-layer pixels that a request selects, clipped to the image; width or height 0 where it selects nothing.
 *
 * @throws BadValueError for unknown units, or units that this image has no calibration for.
 */
export function regionBox(
  image: PyramidShape & Calibration,
  wanted: RegionBounds,
  scale: { magnification?: number; mmX?: number; mmY?: number } = {},
): Box {
  const units = parseUnits(wanted.units);
  const sizeUnits = wanted.unitsWH === undefined ? units : parseUnits(wanted.unitsWH);
  const sizeWins = wanted.unitsWH !== undefined;
  const position = factors(image, units, scale);
  const extent = factors(image, sizeUnits, scale);
  const [left, right] = interval(
    image.sizeX,
    { from: times(wanted.left, position.x), to: times(wanted.right, position.x), length: times(wanted.regionWidth, extent.x) },
    sizeWins,
  );
  const [top, bottom] = interval(
    image.sizeY,
    { from: times(wanted.top, position.y), to: times(wanted.bottom, position.y), length: times(wanted.regionHeight, extent.y) },
    sizeWins,
  );
  return { left, top, width: right - left, height: bottom - top };
}

function times(value: number | undefined, factor: number): number | undefined {
  return value === undefined ? undefined : value * factor;
}

/** Base-layer pixels per unit. */
function factors(
  image: PyramidShape & Calibration,
  units: Units,
  scale: { magnification?: number; mmX?: number; mmY?: number },
): { x: number; y: number } {
  switch (units.kind) {
    case 'base':
      return { x: 1, y: 1 };
    case 'fraction':
      return { x: image.sizeX, y: image.sizeY };
    case 'length':
      if (!image.mmX || !image.mmY) throw new BadValueError('No mm_x or mm_y to use for units');
      return { x: units.mm / image.mmX, y: units.mm / image.mmY };
    case 'magnified': {
      const { octaves } = wantedScale(image, scale);
      const isWanted = scale.magnification !== undefined || scale.mmX !== undefined || scale.mmY !== undefined;
      if (octaves === null && isWanted && nativeMagnification(image) === null) {
        throw new BadValueError('No magnification to use for units');
      }
      // Without a scale, pixels are those of the finest level.
      const factor = 2 ** -(octaves ?? 0);
      return { x: factor, y: factor };
    }
  }
}

function interval(
  size: number,
  wanted: { from?: number; to?: number; length?: number },
  lengthWins: boolean,
): [from: number, to: number] {
  const fromEdge = (value: number | undefined) => (value !== undefined && value < 0 ? value + size : value);
  let from = fromEdge(wanted.from);
  let to = fromEdge(wanted.to);
  if (wanted.length !== undefined) {
    if (from === undefined && to !== undefined) from = to - wanted.length;
    else if (to === undefined || lengthWins) to = (from ?? 0) + wanted.length;
  }
  const clip = (value: number) => Math.min(size, Math.max(0, roundHalfEven(value)));
  const start = clip(from ?? 0);
  return [start, Math.max(start, clip(to ?? size))];
}

/** When only one side of a box is given, the other may be this many times as long. */
const longestAspect = 16;

/** The largest size with the aspect of `content` within a box; at least 1 by 1. May be larger than the content. */
export function fitSize(content: Size, box: { width?: number; height?: number }): Size {
  const width = box.width ?? (box.height ?? content.width) * longestAspect;
  const height = box.height ?? width * (box.width === undefined ? 1 : longestAspect);
  if (content.width * height > content.height * width) {
    return { width, height: Math.max(1, Math.floor((content.height * width) / content.width)) };
  }
  return { width: Math.max(1, Math.floor((content.width * height) / content.height)), height };
}

/** How a region is made: read `levelBox` of `level`, scale it to `output`. */
export interface RegionPlan {
  /** The region in base-layer pixels. */
  base: Box;
  level: number;
  /** The region in pixels of the level. */
  levelBox: Box;
  /** Size of the picture before padding. */
  output: Size;
}

/** Wanted size or scale of a region. */
export interface WantedOutput {
  /** Largest output size in pixels; aspect is kept. */
  width?: number;
  height?: number;
  /** Scale, used where neither `width` nor `height` is given. */
  magnification?: number;
  mmX?: number;
  mmY?: number;
  /** Whether the result is empty unless the scale is that of a level. */
  exact?: boolean;
}

/** Pixels of a level that may be put together for one region before a coarser level is made instead. */
const defaultReadLimit = 2 ** 26;

/**
 * Decides from which level a region is read and how large it gets; `null` where it selects nothing.
 *
 * @param readLimit pixels up to which a level finer than needed is read, where the needed one has to be made.
 * @throws BadValueError for sizes and units that are not allowed.
 */
export function planRegion(
  image: PyramidShape & Calibration,
  populated: readonly number[],
  wanted: RegionBounds & WantedOutput,
  readLimit = defaultReadLimit,
): RegionPlan | null {
  for (const side of [wanted.width, wanted.height]) {
    if (side === undefined) continue;
    if (!Number.isSafeInteger(side) || side < 0) {
      throw new BadValueError('Invalid output width or height.  Minimum value is 0.');
    }
    if (side === 0) throw new BadValueError('Invalid output width or height.  A picture of 0 pixels cannot be made.');
  }
  const base = regionBox(image, wanted, wanted);
  if (base.width === 0 || base.height === 0) return null;
  const { octaves, exact } = wantedScale(image, wanted);
  let output: Size = { width: base.width, height: base.height };
  if (wanted.width !== undefined || wanted.height !== undefined) output = fitSize(base, wanted);
  else if (octaves !== null) {
    if (wanted.exact && !exact) return null;
    const scale = 2 ** octaves;
    output = { width: Math.max(1, Math.floor(base.width * scale)), height: Math.max(1, Math.floor(base.height * scale)) };
  }
  const needed = neededLevel(image, base, output);
  const level = preferredLevel(populated, needed);
  const scale = roundedOctaves(Math.log2(Math.min(output.width / base.width, output.height / base.height)));
  if (wanted.exact && (level !== image.levels - 1 + scale || !populated.includes(level))) return null;
  const levelBox = boxAtLevel(image, base, level);
  if (level > needed && levelBox.width * levelBox.height > readLimit) {
    return { base, level: needed, levelBox: boxAtLevel(image, base, needed), output };
  }
  return { base, level, levelBox, output };
}

/** A rectangle of base-layer pixels in the nearest whole pixels of a level, at least one. */
export function boxAtLevel(shape: PyramidShape, base: Box, level: number): Box {
  const scale = levelScale(shape, level);
  const size = levelSize(shape, level);
  const side = (from: number, length: number, limit: number): [number, number] => {
    const start = Math.min(Math.round(from / scale), limit - 1);
    return [start, Math.min(limit - start, Math.max(1, Math.round((from + length) / scale) - start))];
  };
  const [left, width] = side(base.left, base.width, size.width);
  const [top, height] = side(base.top, base.height, size.height);
  return { left, top, width, height };
}

/** A rectangle in pixels of a picture, with fractions; it may reach beyond the picture, whose border then goes on. */
export interface Window extends Size {
  left: number;
  top: number;
}

/** Names of units as they come from the wire; see `parseUnits`. */
export interface RegionBounds {
  /** Right and bottom are exclusive; negative values of the four count from the far edge. */
  left?: number;
  top?: number;
  right?: number;
  bottom?: number;
  regionWidth?: number;
  regionHeight?: number;
  /** Units of all of them; default `base_pixels`. */
  units?: string;
  /** Units of `regionWidth` and `regionHeight` alone; they then win over `right` and `bottom`. */
  unitsWH?: string;
}

/** How far the binary logarithm of the ratio of two levels may be from a whole number (spec 2.3). */
const ratioTolerance = 0.02;

/** Whether the ratio of two levels is this power of two, apart from rounding. */
export function isPowerOfTwo(ratio: number, power: number): boolean {
  return Math.abs(Math.log2(ratio) - power) <= ratioTolerance;
}

/** Whether a side of a level is that of full resolution, reduced by this power of two. Formats round it up, down or to the nearest pixel. */
export function isReducedBy(power: number, full: number, side: number): boolean {
  return isPowerOfTwo(full / side, power) || Math.abs(full / 2 ** power - side) <= 1;
}
