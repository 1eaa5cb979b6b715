import { BadParameterError } from '../../errors.js';
import type { Box, PyramidShape, Size } from '../geometry.js';
import type { DziRequest } from '../requests.js';

/** Checked parameters of Deep Zoom. */
export interface DziOptions {
  overlap: number;
  tilesize: number;
  encoding: 'JPEG' | 'PNG';
}

/**
 * Checks the parameters and fills in defaults.
 *
 * @throws BadParameterError for values that are not allowed.
 */
export function parseDziOptions(request: DziRequest): DziOptions {
  const { overlap = 0, tilesize = 256, encoding = 'JPEG' } = request;
  if (encoding !== 'JPEG' && encoding !== 'PNG') throw new BadParameterError('Only JPEG and PNG encodings are supported');
  if (!Number.isInteger(tilesize) || tilesize < 1 || !Number.isInteger(Math.log2(tilesize))) {
    throw new BadParameterError('Invalid tilesize');
  }
  if (!Number.isInteger(overlap) || overlap < 0) throw new BadParameterError('Invalid overlap');
  return { overlap, tilesize, encoding };
}

/** The description of the pyramid, as XML. */
export function dziDescription(shape: PyramidShape, options: DziOptions): string {
  const format = options.encoding === 'PNG' ? 'png' : 'jpg';
  return (
    '<?xml version="1.0" encoding="UTF-8"?>' +
    `<Image TileSize="${options.tilesize}" Overlap="${options.overlap}" Format="${format}"` +
    ' xmlns="http://schemas.microsoft.com/deepzoom/2008">' +
    `<Size Width="${shape.sizeX}" Height="${shape.sizeY}"/></Image>`
  );
}

/** The number of the highest Deep Zoom level, which is full resolution. Level 0 is one pixel. */
export function dziMaxLevel(shape: PyramidShape): number {
  let level = 0;
  while (2 ** level < Math.max(shape.sizeX, shape.sizeY)) level += 1;
  return level;
}

/**
 * Reads position and encoding from the name of a tile, `<x>_<y>.<extension>`. `encoding` is `null` for an unknown or missing
 * extension.
 *
 * @throws BadParameterError for a name of another form.
 */
export function parseDziName(name: string): { x: number; y: number; encoding: 'JPEG' | 'PNG' | null } {
  const match = /^(\d{1,9})_(\d{1,9})(?:\.([a-z0-9]*))?$/i.exec(name);
  if (!match) throw new BadParameterError(`Invalid tile name "${name}": must be <x>_<y>.jpg or <x>_<y>.png`);
  const extension = (match[3] ?? '').toLowerCase();
  const encoding = extension === 'png' ? 'PNG' : extension === 'jpg' || extension === 'jpeg' ? 'JPEG' : null;
  return { x: Number(match[1]), y: Number(match[2]), encoding };
}

/**
 * The region of a tile in base-layer pixels, and the tile's size.
 *
 * @throws BadParameterError if there is no such level or tile.
 */
export function dziTileRegion(
  shape: PyramidShape,
  options: DziOptions,
  tile: { level: number; x: number; y: number },
): { box: Box; output: Size } {
  const maxLevel = dziMaxLevel(shape);
  if (!Number.isInteger(tile.level) || tile.level < 0 || tile.level > maxLevel) {
    throw new BadParameterError('level must be between 0 and the image scale');
  }
  const factor = 2 ** (maxLevel - tile.level);
  const rangeAlong = (index: number, size: number, axis: string): [from: number, length: number, output: number] => {
    if (index * options.tilesize * factor >= size) throw new BadParameterError(`${axis} is outside layer`);
    const from = Math.max(0, (index * options.tilesize - options.overlap) * factor);
    const to = Math.min(size, ((index + 1) * options.tilesize + options.overlap) * factor);
    return [from, to - from, Math.ceil((to - from) / factor)];
  };
  const [left, width, outputWidth] = rangeAlong(tile.x, shape.sizeX, 'x');
  const [top, height, outputHeight] = rangeAlong(tile.y, shape.sizeY, 'y');
  return { box: { left, top, width, height }, output: { width: outputWidth, height: outputHeight } };
}
