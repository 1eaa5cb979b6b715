import { BadParameterError, TileOutsideError } from '../errors.js';
import type { ImageMetadata } from './tile-source.js';

/** Size of an image and of its tiles, which all computations on pyramids need. */
export type PyramidShape = Pick<ImageMetadata, 'sizeX' | 'sizeY' | 'tileWidth' | 'tileHeight' | 'levels'>;

/** Width and height in pixels. */
export interface Size {
  width: number;
  height: number;
}

/** Whether two sizes are equal. */
export function isSameSize(a: Size, b: Size): boolean {
  return a.width === b.width && a.height === b.height;
}

/** A rectangle of whole pixels. */
export interface Box extends Size {
  left: number;
  top: number;
}

/** Number of levels of an image: the number of halvings until the image fits into one tile, plus one. */
export function levelCount(shape: Omit<PyramidShape, 'levels'>): number {
  const tiles = Math.max(shape.sizeX / shape.tileWidth, shape.sizeY / shape.tileHeight);
  let levels = 1;
  // Doubling instead of log2, which is off by one for some exact powers of two.
  for (let coveredTiles = 1; coveredTiles < tiles; coveredTiles *= 2) levels += 1;
  return levels;
}

/** Base-layer pixels per pixel of a level, along one axis. */
export function levelScale(shape: Pick<PyramidShape, 'levels'>, level: number): number {
  return 2 ** (shape.levels - 1 - level);
}

/** Size of a level in its own pixels; partial pixels count as whole ones. */
export function levelSize(shape: PyramidShape, level: number): Size {
  const scale = levelScale(shape, level);
  return { width: Math.ceil(shape.sizeX / scale), height: Math.ceil(shape.sizeY / scale) };
}

/** Number of tiles of a level along both axes. */
export function tileGrid(shape: PyramidShape, level: number): { columns: number; rows: number } {
  const size = levelSize(shape, level);
  return { columns: Math.ceil(size.width / shape.tileWidth), rows: Math.ceil(size.height / shape.tileHeight) };
}

/** Size of the part of the image that a tile shows, in pixels of the tile's level; partial pixels count as whole ones. */
export function tileContent(shape: PyramidShape, tile: { level: number; x: number; y: number }): Size {
  const size = levelSize(shape, tile.level);
  return {
    width: Math.min(shape.tileWidth, size.width - tile.x * shape.tileWidth),
    height: Math.min(shape.tileHeight, size.height - tile.y * shape.tileHeight),
  };
}

/** The size to which `edge` crops a tile: like {@link tileContent}, but without partial pixels, and at least 1 by 1. */
export function croppedTileContent(shape: PyramidShape, tile: { level: number; x: number; y: number }): Size {
  const scale = levelScale(shape, tile.level);
  const wholePixels = (imageSide: number, index: number, tileSide: number) =>
    Math.max(1, Math.min(tileSide, Math.floor(imageSide / scale) - index * tileSide));
  return {
    width: wholePixels(shape.sizeX, tile.x, shape.tileWidth),
    height: wholePixels(shape.sizeY, tile.y, shape.tileHeight),
  };
}

/**
 * Checks that a tile exists.
 *
 * @throws BadParameterError if a number is negative or not an integer; TileOutsideError if the image has no such level or tile.
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

/**
 * Maximum difference between a missing level and the finer level that its tiles are made from. Larger gaps are filled in stages.
 */
export const maxLevelStep = 3;

/**
 * The level from which a tile of `level` is made if the file does not contain `level`. This is the nearest finer stored level. If
 * that one is more than {@link maxLevelStep} levels away, it is a level in between, which is itself made from the stored level.
 */
export function finerLevel(populatedLevels: readonly number[], level: number): number {
  const storedLevel = populatedLevels.find((candidate) => candidate > level);
  if (storedLevel === undefined) throw new RangeError(`No level finer than ${level} among ${populatedLevels.join(', ')}`);
  return Math.min(storedLevel, level + maxLevelStep);
}

/**
 * The level to read if `level` is requested. Between stored levels, this is the nearest finer stored level. If that one is too far
 * away, it is a level made from the stored level that is at most two levels finer than requested. A level that is coarser than all
 * stored levels is returned unchanged: it is always made by averaging, so its pixels do not depend on the level from which it is
 * made.
 */
export function preferredLevel(populatedLevels: readonly number[], level: number): number {
  if (level < (populatedLevels[0] ?? 0)) return level;
  const storedLevel = populatedLevels.find((candidate) => candidate >= level) ?? populatedLevels.at(-1) ?? 0;
  return storedLevel > level ? storedLevel - maxLevelStep * Math.floor((storedLevel - level) / maxLevelStep) : storedLevel;
}

/**
 * The coarsest level from which a region can be scaled to `output` without enlarging it. Negative if even level 0 is finer than
 * needed.
 *
 * @param region size in base-layer pixels.
 */
export function neededLevel({ levels }: Pick<PyramidShape, 'levels'>, region: Size, output: Size): number {
  const octaves = Math.log2(Math.min(output.width / region.width, output.height / region.height));
  return levels - 1 + Math.min(0, Math.ceil(roundOctaves(octaves)));
}

/** Rounds octaves to four decimals, to remove the rounding error of logarithms. */
export function roundOctaves(octaves: number): number {
  return Math.round(octaves * 1e4) / 1e4;
}

/** Rounds to the nearest integer, and halves to the even one. */
export function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const fraction = value - floor;
  if (fraction !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

/** A rectangle of base-layer pixels as the nearest whole pixels of a level, at least one. */
export function boxAtLevel(shape: PyramidShape, region: Box, level: number): Box {
  const scale = levelScale(shape, level);
  const size = levelSize(shape, level);
  const sideAtLevel = (from: number, length: number, maxLength: number): [number, number] => {
    const start = Math.min(Math.round(from / scale), maxLength - 1);
    return [start, Math.min(maxLength - start, Math.max(1, Math.round((from + length) / scale) - start))];
  };
  const [left, width] = sideAtLevel(region.left, region.width, size.width);
  const [top, height] = sideAtLevel(region.top, region.height, size.height);
  return { left, top, width, height };
}

/** A rectangle in fractional pixels of a picture. Where it extends beyond the picture, the border of the picture is repeated. */
export interface Window extends Size {
  left: number;
  top: number;
}

/** Maximum difference between the binary logarithm of the ratio of two levels and a whole number. */
const ratioTolerance = 0.02;

/** Whether the ratio of two levels is 2 to the power of `exponent`, apart from rounding. */
export function isPowerOfTwo(ratio: number, exponent: number): boolean {
  return Math.abs(Math.log2(ratio) - exponent) <= ratioTolerance;
}

/**
 * Whether the side of a level is the side at full resolution, halved this many times. Formats may round the side up, down or to the
 * nearest pixel.
 */
export function isReducedBy(halvings: number, fullSide: number, levelSide: number): boolean {
  return isPowerOfTwo(fullSide / levelSide, halvings) || Math.abs(fullSide / 2 ** halvings - levelSide) <= 1;
}
