import { TileSourceError } from '../../errors.js';
import type { TileSource } from '../tile-source.js';
import { levelCount } from '../geometry.js';
import { fullValue } from '../raster.js';

const countNames = ['sizeX', 'sizeY', 'tileWidth', 'tileHeight', 'levels', 'bandCount'] as const;

/**
 * Checks the properties of an image that a source has opened. With impossible sizes, the search for tiles would be endless.
 *
 * @throws TileSourceError that names the fault, for the author of the source.
 */
export function checkSource(name: string, source: TileSource): TileSource {
  const fault = faultOf(source);
  if (fault === null) return source;
  // The fault is reported, even if closing fails too.
  void (async () => source.close())().catch(() => {});
  throw new TileSourceError(`The tile source ${name} describes an impossible image: ${fault}`);
}

function faultOf({ metadata, populatedLevels }: Partial<TileSource>): string | null {
  if (typeof metadata !== 'object' || metadata === null) return 'it has no metadata.';
  if (!Array.isArray(populatedLevels)) return 'populatedLevels is not a list of levels.';
  const wrongName = countNames.find((count) => !(Number.isSafeInteger(metadata[count]) && metadata[count] >= 1));
  if (wrongName !== undefined) return `${wrongName} is ${metadata[wrongName]}, not a whole number of 1 or more.`;
  if (metadata.frames !== undefined && !(Array.isArray(metadata.frames) && metadata.frames.length > 0))
    return 'frames is not a list, or is empty; leave it out if there is one plane.';
  const { white } = metadata;
  if (white !== undefined && !(Number.isSafeInteger(white) && white >= 1 && white <= fullValue(metadata.dtype)))
    return `white is ${white}, not one of its samples.`;
  const expected = levelCount(metadata);
  if (metadata.levels !== expected) return `levels is ${metadata.levels}, where sizes and tiles give ${expected}.`;
  if (!populatedLevels.includes(metadata.levels - 1))
    return `populatedLevels lacks level ${metadata.levels - 1}, full resolution.`;
  return null;
}
