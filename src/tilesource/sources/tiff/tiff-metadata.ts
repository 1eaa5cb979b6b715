import type { ImageMetadata } from '../../tile-source.js';
import { sampleBytes, whiteOfBits } from '../../raster.js';
import { aperioVersion, vendorProperties } from './descriptions.js';
import { groundPixelSize, type GeoTiff } from './geo-keys.js';
import type { ImageLayout } from './tiff-layout.js';
import { swapsSides } from './decoding/orientation.js';
import { stripTileSide } from './strips.js';
import type { TiffStructure } from './file/structure.js';
import { photometrics, textTags } from './file/tags.js';

/** Maximum number of directories whose texts are part of the internal metadata. */
const maxShownDirectories = 50;
/** Maximum number of characters of a text in the internal metadata. */
const maxShownTextLength = 64 * 1024;
/** Minimum tile height if a file stores several frames without tiles, so that each frame is served as one tile. */
const minFrameTileHeight = 256;

/** Number of levels of a pyramid whose coarsest level fits one tile. */
function levelCount(size: { sizeX: number; sizeY: number; tileWidth: number; tileHeight: number }): number {
  return Math.max(1, Math.ceil(Math.log2(Math.max(size.sizeX / size.tileWidth, size.sizeY / size.tileHeight))) + 1);
}

function storedTileSize({ baseLayout, isLargeInStrips }: TiffStructure): { tileWidth: number; tileHeight: number } {
  if (isLargeInStrips) return { tileWidth: stripTileSide, tileHeight: stripTileSide };
  return baseLayout.tiled
    ? { tileWidth: baseLayout.chunkWidth, tileHeight: baseLayout.chunkHeight }
    : { tileWidth: baseLayout.width, tileHeight: baseLayout.height };
}

/** The member `white` of the metadata. Samples of fewer than 8 bits are scaled to 8 when they are decoded. */
export function whiteOfLayout({ dtype, bits }: ImageLayout, significantBits: number | null = null): { white?: number } {
  return whiteOfBits(dtype, bits <= 8 ? 8 * sampleBytes(dtype) : Math.min(bits, significantBits ?? bits));
}

/** The metadata of the image in a file. */
export function describeTiff(
  structure: TiffStructure,
  { geo, nodata }: { geo: GeoTiff | null; nodata: number | null },
): ImageMetadata {
  const { baseLayout, frames, describedImage, isLargeInStrips, significantBits } = structure;
  const groundSize = geo && groundPixelSize(geo);
  const hasSwappedSides = swapsSides(baseLayout.orientation);
  const isStack = frames.length > 1 && !baseLayout.tiled && !isLargeInStrips;
  const storedTile = storedTileSize(structure);
  const size = {
    sizeX: hasSwappedSides ? baseLayout.height : baseLayout.width,
    sizeY: hasSwappedSides ? baseLayout.width : baseLayout.height,
    tileWidth: hasSwappedSides ? storedTile.tileHeight : storedTile.tileWidth,
    tileHeight: hasSwappedSides ? storedTile.tileWidth : storedTile.tileHeight,
  };
  if (isStack) size.tileHeight = Math.max(size.tileHeight, minFrameTileHeight);
  return {
    ...size,
    levels: levelCount(size),
    magnification: describedImage.magnification,
    mmX: (hasSwappedSides ? describedImage.mmY : describedImage.mmX) ?? groundSize?.mmX ?? null,
    mmY: (hasSwappedSides ? describedImage.mmX : describedImage.mmY) ?? groundSize?.mmY ?? null,
    ...(describedImage.mmZ == null ? {} : { mmZ: describedImage.mmZ }),
    ...(describedImage.secondsT == null ? {} : { secondsT: describedImage.secondsT }),
    dtype: baseLayout.dtype,
    bandCount: baseLayout.bands,
    ...whiteOfLayout(baseLayout, significantBits),
    ...(frames.length > 1 ? { frames: frames.map(({ metadata }) => metadata) } : {}),
    ...(describedImage.channels === null ? {} : { channels: describedImage.channels }),
    ...(geo === null ? {} : { geo }),
    ...(nodata === null ? {} : { nodata }),
    ...(baseLayout.photometric === photometrics.palette ? { indexed: true } : {}),
    ...(baseLayout.dtype === 'uint16' && baseLayout.bits > 8 && baseLayout.bits < 16 ? { sampleBits: baseLayout.bits } : {}),
  };
}

/** Reads the internal metadata from the tags of the file. @param storedLevelCount number of levels that are stored. */
export async function readInternalMetadata(
  { mainDirectories, description, describedImage, ome, notes, associated }: TiffStructure,
  geo: GeoTiff | null,
  storedLevelCount: number,
): Promise<Record<string, unknown>> {
  const tiff: Record<string, string> = {};
  for (const [index, directory] of mainDirectories.slice(0, maxShownDirectories).entries()) {
    for (const [name, tag] of Object.entries(textTags)) {
      // The OME document is shown parsed.
      const text = index === 0 && name === 'imagedescription' && ome !== null ? null : await directory.text(tag);
      if (text !== null && text !== '') tiff[index === 0 ? name : `${name}:${index}`] = text.slice(0, maxShownTextLength);
    }
  }
  const version = aperioVersion(description);
  const properties = vendorProperties(description, describedImage);
  return {
    ...(Object.keys(tiff).length > 0 ? { tiff } : {}),
    ...(ome === null ? {} : { omeinfo: ome }),
    ...(notes.length === 0 ? {} : { notes }),
    ...(version === null ? {} : { aperio_version: version }),
    ...(Object.keys(properties).length > 0
      ? { openslide: { ...properties, 'openslide.level-count': String(storedLevelCount), ...sizesAsProperties(associated) } }
      : {}),
    ...(geo === null ? {} : { GeoTransform: geo.transform, Projection: geo.proj4, geokeys: geo.keys }),
  };
}

/** Sizes of associated images, by the names that OpenSlide uses. */
function sizesAsProperties(associated: TiffStructure['associated']): Record<string, string> {
  return Object.fromEntries(
    [...associated].flatMap(([name, { width, height }]): [string, string][] => [
      [`openslide.associated.${name}.width`, String(width)],
      [`openslide.associated.${name}.height`, String(height)],
    ]),
  );
}
