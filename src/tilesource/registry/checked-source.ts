import { TileSourceError } from '../../errors.js';
import type { TileSource } from '../contract.js';
import { levelCount } from '../geometry.js';

const counts = ['sizeX', 'sizeY', 'tileWidth', 'tileHeight', 'levels', 'bandCount'] as const;

/**
 * What a source has opened, if such an image can be: sizes that are no sizes would have tiles looked for without end.
 *
 * @throws TileSourceError that names the fault, for who wrote the source.
 */
export function checkedSource(name: string, source: TileSource): TileSource {
  const fault = faultOf(source);
  if (fault === null) return source;
  // The fault is what matters, whether it can be closed or not.
  void (async () => source.close())().catch(() => {});
  throw new TileSourceError(`The tile source ${name} describes an image that cannot be: ${fault}`);
}

function faultOf({ metadata, populatedLevels }: Partial<TileSource>): string | null {
  if (typeof metadata !== 'object' || metadata === null) return 'it has no metadata.';
  if (!Array.isArray(populatedLevels)) return 'populatedLevels is no list of levels.';
  const wrong = counts.find((count) => !(Number.isSafeInteger(metadata[count]) && metadata[count] >= 1));
  if (wrong !== undefined) return `${wrong} is ${metadata[wrong]}, not a whole number of 1 or more.`;
  if (metadata.frames !== undefined && !(Array.isArray(metadata.frames) && metadata.frames.length > 0))
    return 'frames is no list, or an empty one; it is left out where there is one plane.';
  const given = levelCount(metadata);
  if (metadata.levels !== given) return `levels is ${metadata.levels}, where sizes and tiles give ${given}.`;
  if (!populatedLevels.includes(metadata.levels - 1))
    return `populatedLevels lacks level ${metadata.levels - 1}, full resolution.`;
  return null;
}
