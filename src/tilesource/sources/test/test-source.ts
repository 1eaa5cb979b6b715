import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import { BadValueError } from '../../../errors.js';
import {
  priorities,
  type FrameMetadata,
  type ImageMetadata,
  type TileAddress,
  type TileSource,
  type TileSourceDefinition,
} from '../../tile-source.js';
import { openLargeImage } from '../../large-image.js';
import type { LargeImage } from '../../requests.js';
import { levelCount, levelScale, tileContent } from '../../geometry.js';
import { createRaster, type Raster } from '../../raster.js';
import { drawText } from './bitmap-font.js';

/** Parameters of a generated image. */
export interface TestImageParameters {
  /** The coarsest level, which the caller passes on to `openLargeImage`. Default 0. */
  minLevel?: number;
  /** The finest level, unless both sizes are given. Default 9. */
  maxLevel?: number;
  /** Default 256. */
  tileWidth?: number;
  tileHeight?: number;
  /** Default: the size that follows from `maxLevel` and the size of tiles. */
  sizeX?: number;
  sizeY?: number;
  /** Whether tiles show nested squares instead of one color. Default false. */
  fractal?: boolean;
  /** Whether the image has one gray band instead of three bands of color. Default false. */
  monochrome?: boolean;
  /**
   * The number of positions on each of the axes c, z, t and xy, such as `4,3,2`, or on named axes, such as `c=4,z=3`. The first
   * axis varies fastest.
   */
  frames?: string;
}

/** Maximum values of the parameters. */
const limits = { tile: 1024, size: 2 ** 31 - 1, level: 22, frames: 10_000, axes: 16 };
const defaultAxes = ['C', 'Z', 'T', 'XY'];

function requireWithin(value: number, minimum: number, maximum: number, name: string): number {
  if (Number.isInteger(value) && value >= minimum && value <= maximum) return value;
  throw new BadValueError(`Invalid ${name}: ${value}. Allowed values: whole numbers from ${minimum} to ${maximum}.`);
}

function parseFrames(text: string | undefined): FrameMetadata[] {
  if (text === undefined || text.trim() === '') return [];
  const parts = text.split(',', limits.axes + 1);
  if (parts.length > limits.axes) throw new BadValueError(`Invalid frames: more than ${limits.axes} axes`);
  const axes = parts.map((part, position): { name: string; count: number } => {
    const [first = '', second] = part.split('=').map((word) => word.trim());
    const name = second === undefined ? (defaultAxes[position] ?? '') : first.toUpperCase().replace(/^INDEX/, '');
    if (!/^[A-Z][A-Z0-9_]*$/.test(name))
      throw new BadValueError(`Invalid frames "${text}": must be counts of c, z, t, xy, or axis=count`);
    return { name, count: requireWithin(Number(second ?? first), 1, limits.frames, `frames "${text}"`) };
  });
  const frameCount = axes.reduce((product, { count }) => product * count, 1);
  requireWithin(frameCount, 1, limits.frames, 'number of frames');
  return Array.from({ length: frameCount }, (_, frame) => {
    let remainder = frame;
    const position = axes.map(({ name, count }): [string, number] => {
      const value = remainder % count;
      remainder = Math.floor(remainder / count);
      return [name, value];
    });
    return { axes: Object.fromEntries(position) };
  });
}

function describeTestImage(parameters: TestImageParameters): ImageMetadata {
  const tileWidth = requireWithin(parameters.tileWidth ?? 256, 1, limits.tile, 'tileWidth');
  const tileHeight = requireWithin(parameters.tileHeight ?? 256, 1, limits.tile, 'tileHeight');
  const maxLevel = requireWithin(parameters.maxLevel ?? 9, 0, limits.level, 'maxLevel');
  const size = {
    sizeX: requireWithin(parameters.sizeX ?? Math.min(limits.size, 2 ** maxLevel * tileWidth), 1, limits.size, 'sizeX'),
    sizeY: requireWithin(parameters.sizeY ?? Math.min(limits.size, 2 ** maxLevel * tileHeight), 1, limits.size, 'sizeY'),
    tileWidth,
    tileHeight,
  };
  const frames = parseFrames(parameters.frames);
  return {
    ...size,
    levels: levelCount(size),
    magnification: null,
    mmX: null,
    mmY: null,
    dtype: 'uint8',
    bandCount: parameters.monochrome ? 1 : 3,
    ...(frames.length > 1 && { frames }),
  };
}

/**
 * A generated image. Each tile shows its position as text, on a color that depends on the position. The same parameters always give the same
 * pixels.
 *
 * @throws BadValueError for sizes, levels or frames out of range.
 */
export function openTestImage(parameters: TestImageParameters = {}): TileSource {
  const metadata = describeTestImage(parameters);
  requireWithin(parameters.minLevel ?? 0, 0, limits.level, 'minLevel');
  const { fractal = false, monochrome = false } = parameters;
  return {
    metadata,
    populatedLevels: Array.from({ length: metadata.levels }, (_, level) => level),
    async readTile(address, options) {
      options?.signal?.throwIfAborted();
      return drawTile(metadata, address, fractal, options?.signal);
    },
    async internalMetadata() {
      return { fractal, monochrome };
    },
    async close() {},
  };
}

/** The center of a tile in the image, from 0 to 1 along both axes. */
function tileCenter(metadata: ImageMetadata, { level, x, y }: TileAddress): { x: number; y: number } {
  const scale = levelScale(metadata, level);
  return {
    x: Math.min(1, ((x + 0.5) * metadata.tileWidth * scale) / metadata.sizeX),
    y: Math.min(1, ((y + 0.5) * metadata.tileHeight * scale) / metadata.sizeY),
  };
}

async function drawTile(
  metadata: ImageMetadata,
  address: TileAddress,
  fractal: boolean,
  signal: AbortSignal | undefined,
): Promise<Raster> {
  const { bandCount } = metadata;
  const raster = createRaster({ ...tileContent(metadata, address), bands: bandCount, dtype: 'uint8' });
  const position = tileCenter(metadata, address);
  const hue = (position.x * 360 + position.y * 180 + address.frame * 47) % 360;
  const colorOf = (lightness: number) =>
    bandCount === 1 ? [Math.round(255 * lightness * (0.6 + 0.4 * position.x))] : hslBytes(hue, 0.5, lightness);
  const [background, figure, ink] = [colorOf(0.45), colorOf(0.65), colorOf(0.95)];
  const plainRow = fillRow(raster.width, background);
  const sides = fractal ? squareSides(metadata) : [];
  for (let row = 0; row < raster.height; row += 1) {
    const samples =
      sides.length === 0 ? plainRow : fillRow(raster.width, background, figure, insideSquares(raster.width, row, sides));
    raster.data.set(samples, row * raster.width * bandCount);
    if (isSliceOver()) await nextSlice(signal);
  }
  const lines = [`x=${address.x}`, `y=${address.y}`, `z=${address.level}`];
  const axes = metadata.frames?.[address.frame]?.axes;
  if (axes) lines.push(...Object.entries(axes).map(([axis, value]) => `${axis.toLowerCase()}=${value}`));
  drawText(raster, lines, { ink, width: metadata.tileWidth, height: metadata.tileHeight });
  return raster;
}

/** Side of the smallest square of the pattern, in pixels. */
const smallestSide = 8;

/** The sides of the pattern's squares, each half as long as the previous side. */
function squareSides({ tileWidth, tileHeight }: ImageMetadata): number[] {
  const sides: number[] = [];
  for (let side = Math.max(tileWidth, tileHeight); side >= smallestSide; side /= 2) sides.push(side);
  return sides;
}

/** For each pixel of a row, 1 if an odd number of squares contains it. */
function insideSquares(width: number, row: number, sides: readonly number[]): Uint8Array {
  const inside = new Uint8Array(width);
  for (const side of sides) {
    const y = row % side;
    if (y < side / 4 || y >= (side * 3) / 4) continue;
    for (let start = 0; start < width; start += side) {
      const end = Math.min(width, Math.ceil(start + (side * 3) / 4));
      for (let column = Math.ceil(start + side / 4); column < end; column += 1) inside[column]! ^= 1;
    }
  }
  return inside;
}

/** The samples of a row. Pixels whose `inside` is 1 have the color of the figure; other pixels have the color of the background. */
function fillRow(
  width: number,
  background: readonly number[],
  figure = background,
  inside: Uint8Array = new Uint8Array(width),
): Uint8Array {
  const samples = new Uint8Array(width * background.length);
  let at = 0;
  for (let column = 0; column < width; column += 1) {
    const color = inside[column] === 1 ? figure : background;
    for (let band = 0; band < background.length; band += 1) samples[at++] = color[band]!;
  }
  return samples;
}

function hslBytes(hue: number, saturation: number, lightness: number): number[] {
  const spread = saturation * Math.min(lightness, 1 - lightness);
  return [0, 8, 4].map((offset) => {
    const k = (offset + hue / 30) % 12;
    return Math.round(255 * (lightness - spread * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  });
}

/** Generates an image instead of reading the file. The source is used only if it is requested by name. */
export const testSource: TileSourceDefinition = {
  name: 'test',
  extensions: { default: priorities.manual },
  mimeTypes: { default: priorities.fallback },
  async open() {
    return openTestImage();
  },
};

/** A generated image, ready to be shown. It need not be closed, because it has no files open. */
export function generatedImage(parameters: TestImageParameters): LargeImage {
  return openLargeImage(openTestImage(parameters), { sourceName: testSource.name, minLevel: parameters.minLevel ?? 0 });
}
