import { TileSourceError } from '../../../errors.js';
import type { ArchiveTree } from '../../archive/zip-tree.js';
import type { ByteReader } from '../../tile-source.js';
import { attribute, children, parseXml } from '../../xml.js';

/** Maximum number of bytes of a description. */
const maxDescriptionBytes = 2 ** 16;

/** A parsed description of a Deep Zoom image. */
export interface DeepZoomDescription {
  /** Path of the folder that contains a folder for each level, with a slash at its end. */
  folder: string;
  width: number;
  height: number;
  tileSize: number;
  /** Number of pixels by which a tile extends into each neighboring tile. */
  overlap: number;
  /** The file name extension of tiles. */
  format: string;
}

function requireInteger(text: string | undefined, min: number, max: number, what: string): number {
  const value = Number(text ?? Number.NaN);
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw new TileSourceError(`The Deep Zoom image has the ${what} ${text ?? '(none)'}; it must be from ${min} to ${max}.`);
}

/**
 * Reads the description file that is in the fewest folders.
 *
 * @throws TileSourceError if there is no description, or it is invalid.
 */
export async function findDescription(tree: ArchiveTree, signal?: AbortSignal): Promise<DeepZoomDescription> {
  let descriptionPath: string | null = null;
  for (const path of tree.paths()) {
    const isInFewerFolders = descriptionPath === null || path.split('/').length < descriptionPath.split('/').length;
    if (/\.dzi$/i.test(path) && isInFewerFolders) descriptionPath = path;
  }
  const file = descriptionPath === null ? null : await tree.file(descriptionPath);
  if (file === null || descriptionPath === null)
    throw new TileSourceError('The ZIP file contains no Deep Zoom description (.dzi).');
  return readDescription(file, `${descriptionPath.slice(0, -4)}_files/`, signal);
}

/** Reads and parses a description. `folder` is the path of the folder of levels. @throws TileSourceError if it is invalid. */
export async function readDescription(
  file: Pick<ByteReader, 'size' | 'read'>,
  folder: string,
  signal?: AbortSignal,
): Promise<DeepZoomDescription> {
  if (file.size > maxDescriptionBytes)
    throw new TileSourceError(`The Deep Zoom description has ${file.size} bytes; at most ${maxDescriptionBytes} are supported.`);
  const xml = Buffer.from(await file.read(0, file.size, signal && { signal })).toString('utf8');
  const [image] = children(parseXml(xml, 'this Deep Zoom image'), 'Image');
  const [size] = image === undefined ? [] : children(image, 'Size');
  if (image === undefined || size === undefined) throw new TileSourceError('The Deep Zoom description has no image with a size.');
  return {
    folder,
    width: requireInteger(attribute(size, 'Width'), 1, 2 ** 31, 'width'),
    height: requireInteger(attribute(size, 'Height'), 1, 2 ** 31, 'height'),
    tileSize: requireInteger(attribute(image, 'TileSize'), 16, 8192, 'tile size'),
    overlap: requireInteger(attribute(image, 'Overlap') ?? '0', 0, 256, 'overlap'),
    format: attribute(image, 'Format') ?? '',
  };
}
