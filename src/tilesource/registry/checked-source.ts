import { TileSourceError } from '../../errors.js';
import type { TileSource } from '../tile-source.js';
import { levelCount } from '../geometry.js';
import { fullValue } from '../raster.js';

const wholeNumberNames = ['sizeX', 'sizeY', 'tileWidth', 'tileHeight', 'levels', 'bandCount'] as const;

/**
 * Checks the properties of an image that a source has opened. With impossible sizes, loops over tiles would never end.
 *
 * @throws TileSourceError that names the fault, for the author of the source.
 */
export function checkSource(name: string, source: TileSource): TileSource {
  const fault = imageFault(source);
  if (fault === null) return source;
  // If closing fails too, only the fault is reported.
  void (async () => source.close())().catch(() => {});
  throw new TileSourceError(`The tile source ${name} describes an impossible image: ${fault}`);
}

/** The problem with an opened image, as a sentence for the author of the source; `null` if there is none. */
function imageFault({ metadata, populatedLevels }: Partial<TileSource>): string | null {
  if (typeof metadata !== 'object' || metadata === null) return 'it has no metadata.';
  if (!Array.isArray(populatedLevels)) return 'populatedLevels is not a list of levels.';
  const wrongName = wholeNumberNames.find((name) => !(Number.isSafeInteger(metadata[name]) && metadata[name] >= 1));
  if (wrongName !== undefined) return `${wrongName} is ${metadata[wrongName]}, not a whole number of 1 or more.`;
  if (metadata.frames !== undefined && !(Array.isArray(metadata.frames) && metadata.frames.length > 0))
    return 'frames is not a list, or is empty; leave it out if there is one plane.';
  const { white } = metadata;
  if (white !== undefined && !(Number.isSafeInteger(white) && white >= 1 && white <= fullValue(metadata.dtype)))
    return `white is ${white}, not a value that its samples can have.`;
  const expectedLevels = levelCount(metadata);
  if (metadata.levels !== expectedLevels) return `levels is ${metadata.levels}, where sizes and tiles give ${expectedLevels}.`;
  if (!populatedLevels.includes(metadata.levels - 1))
    return `populatedLevels lacks level ${metadata.levels - 1}, full resolution.`;
  return null;
}
