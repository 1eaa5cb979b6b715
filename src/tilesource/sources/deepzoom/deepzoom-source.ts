import sharp from 'sharp';
import { MissingPartsError, TileOutsideError, TileSourceError } from '../../../errors.js';
import {
  type FileTree,
  priorities,
  type EncodedImage,
  type ImageMetadata,
  type LossyCodec,
  type ReadOptions,
  type SourceInput,
  type SourceOptions,
  type TileAddress,
  type TileSource,
  type TileSourceDefinition,
} from '../../tile-source.js';
import { openInZip } from '../../archive/zip-tree.js';
import { levelCount, levelSize, tileContent, type Size } from '../../geometry.js';
import { runProcessing } from '../../process/processing.js';
import { lendReadMemory } from '../../process/read-memory.js';
import { vipsReason } from '../../process/vips-reason.js';
import { createRaster, type Raster } from '../../raster.js';
import { blit } from '../../render/pixels.js';
import { completeJpeg } from '../tiff/stored-tile.js';
import { photometrics } from '../tiff/file/tags.js';
import { findDescription, readDescription, type DeepZoomDescription } from './dzi-description.js';

/** Maximum number of bytes of a stored tile. */
const maxTileBytes = 2 ** 27;

/** Properties that all tiles share. They are read from the first tile. */
interface TileFormat {
  bands: 1 | 2 | 3 | 4;
  profile: Uint8Array | null;
}

interface StoredTile {
  path: string;
  /** Number of columns (x) and rows (y) at the tile's left and upper edge that repeat pixels of neighboring tiles. */
  overlapBefore: { x: number; y: number };
  /** Size in pixels, including the overlaps. */
  size: Size;
}

async function readTileFormat(
  bytes: Uint8Array,
  { tileSize, overlap }: DeepZoomDescription,
  signal?: AbortSignal,
): Promise<TileFormat> {
  try {
    const limitInputPixels = (tileSize + 2 * overlap) ** 2;
    const { channels, icc, depth, space } = await runProcessing(() => sharp(bytes, { limitInputPixels }).metadata(), signal);
    if (depth !== 'uchar' || space === 'cmyk' || channels > 4) {
      throw new TileSourceError(
        `The Deep Zoom image has tiles of ${channels} bands of ${depth} (${space}), which is not supported.`,
      );
    }
    return { bands: channels as TileFormat['bands'], profile: icc ?? null };
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof TileSourceError) throw cause;
    throw new TileSourceError(`Corrupt Deep Zoom image: its first tile cannot be decoded (${vipsReason(cause)}).`, { cause });
  }
}

class DeepZoomTileSource implements TileSource {
  readonly metadata: ImageMetadata;
  readonly populatedLevels: readonly number[];
  readonly #tree: FileTree;
  readonly #description: DeepZoomDescription;
  readonly #format: TileFormat;
  /** The format's number of the level of full resolution. The format's level 0 is a single pixel. */
  readonly #finestLevelNumber: number;

  private constructor(
    tree: FileTree,
    description: DeepZoomDescription,
    format: TileFormat,
    metadata: ImageMetadata,
    populatedLevels: number[],
  ) {
    this.#tree = tree;
    this.#description = description;
    this.#format = format;
    this.metadata = metadata;
    this.populatedLevels = populatedLevels;
    this.#finestLevelNumber = finestLevelNumberOf(description);
  }

  static async open(tree: FileTree, description: DeepZoomDescription, signal?: AbortSignal): Promise<DeepZoomTileSource> {
    const { width, height, tileSize, folder, format } = description;
    const size = { sizeX: width, sizeY: height, tileWidth: tileSize, tileHeight: tileSize };
    const levels = levelCount(size);
    const finestLevelNumber = finestLevelNumberOf(description);
    const storedLevels: number[] = [];
    for (let level = 0; level < levels; level++) {
      if ((await tree.file(`${folder}${finestLevelNumber - (levels - 1 - level)}/0_0.${format}`)) !== null)
        storedLevels.push(level);
    }
    const firstTile = await tree.file(`${folder}${finestLevelNumber}/0_0.${format}`);
    if (firstTile === null) throw missingTileError(`${folder}${finestLevelNumber}/0_0.${format}`, tree.mayGrow === true);
    const tileFormat = await readTileFormat(await readTileBytes(firstTile, 'the first tile', { signal }), description, signal);
    const otherMetadata = { magnification: null, mmX: null, mmY: null, dtype: 'uint8' as const, bandCount: tileFormat.bands };
    return new DeepZoomTileSource(tree, description, tileFormat, { ...size, levels, ...otherMetadata }, storedLevels);
  }

  async lossyCodec(): Promise<LossyCodec | null> {
    const format = this.#description.format.toLowerCase();
    return format === 'jpg' || format === 'jpeg' ? 'jpeg' : format === 'webp' || format === 'avif' ? format : null;
  }

  get retainedBytes(): number {
    return this.#tree.retainedBytes;
  }

  /** The stored tile for an address. */
  #tileAt({ level, x, y }: TileAddress): StoredTile & { content: Size } {
    const { levels } = this.metadata;
    const content = tileContent(this.metadata, { level, x, y });
    if (!(content.width > 0 && content.height > 0 && x >= 0 && y >= 0)) {
      throw new TileOutsideError(`Tile outside level ${level}: x=${x}, y=${y}.`);
    }
    const { folder, format, overlap, tileSize } = this.#description;
    const fullSize = levelSize(this.metadata, level);
    const overlapBefore = { x: x > 0 ? overlap : 0, y: y > 0 ? overlap : 0 };
    const overlapAfter = (length: number, index: number): number =>
      Math.min(overlap, Math.max(0, length - (index + 1) * tileSize));
    const size = {
      width: overlapBefore.x + content.width + overlapAfter(fullSize.width, x),
      height: overlapBefore.y + content.height + overlapAfter(fullSize.height, y),
    };
    return {
      path: `${folder}${this.#finestLevelNumber - (levels - 1 - level)}/${x}_${y}.${format}`,
      overlapBefore,
      size,
      content,
    };
  }

  async readTile(address: TileAddress, { signal }: { signal?: AbortSignal } = {}): Promise<Raster> {
    const { path, overlapBefore, size, content } = this.#tileAt(address);
    const { bands } = this.#format;
    const file = await this.#tree.file(path);
    if (file === null) return createRaster({ ...content, bands, dtype: 'uint8' });
    return lendReadMemory(async (into) => {
      const bytes = await readTileBytes(file, path, { signal, into });
      return this.#decodeTile(bytes, { path, overlapBefore, size, content }, signal);
    });
  }

  async #decodeTile(
    bytes: Uint8Array,
    { path, overlapBefore, size, content }: StoredTile & { content: Size },
    signal: AbortSignal | undefined,
  ): Promise<Raster> {
    const { bands } = this.#format;
    try {
      const limitInputPixels = size.width * size.height;
      const picture = sharp(bytes, { failOn: 'error', limitInputPixels, sequentialRead: true });
      const coloredPicture = picture.toColourspace(bands <= 2 ? 'b-w' : 'srgb');
      const shapedPicture = bands % 2 === 0 ? coloredPicture.ensureAlpha() : coloredPicture.removeAlpha();
      const raw = shapedPicture.raw({ depth: 'uchar' });
      const { data, info } = await runProcessing(() => raw.toBuffer({ resolveWithObject: true }), signal, limitInputPixels);
      if (info.width !== size.width || info.height !== size.height || info.channels !== bands) {
        const decodedShape = `${info.width} by ${info.height} pixels of ${info.channels} bands`;
        throw new TileSourceError(
          `Corrupt Deep Zoom image: ${path} has ${decodedShape}, not ${size.width} by ${size.height} of ${bands}.`,
        );
      }
      const raster: Raster = { data: new Uint8Array(data.buffer, data.byteOffset, data.length), ...size, bands, dtype: 'uint8' };
      if (size.width === content.width && size.height === content.height) return raster;
      const target = createRaster({ ...content, bands, dtype: 'uint8' });
      blit(target, raster, { left: -overlapBefore.x, top: -overlapBefore.y });
      return target;
    } catch (cause) {
      signal?.throwIfAborted();
      if (cause instanceof TileSourceError) throw cause;
      throw new TileSourceError(`Corrupt Deep Zoom image: ${path} cannot be decoded (${vipsReason(cause)}).`, { cause });
    }
  }

  async readStoredTile(address: TileAddress, { signal }: { signal?: AbortSignal } = {}): Promise<EncodedImage | null> {
    const { bands, profile } = this.#format;
    const { path, size, content } = this.#tileAt(address);
    const { tileWidth, tileHeight } = this.metadata;
    const isFull = content.width === tileWidth && content.height === tileHeight;
    if (!isFull || size.width !== tileWidth || size.height !== tileHeight || profile !== null || bands % 2 === 0) return null;
    const file = await this.#tree.file(path);
    if (file === null) return null;
    const storedBytes = await readTileBytes(file, path, { signal });
    if (!hasJfifColors(storedBytes)) return null;
    const photometric = bands === 1 ? photometrics.blackIsZero : photometrics.yCbCr;
    const shape = { photometric, samplesPerPixel: bands, chunkWidth: tileWidth, chunkHeight: tileHeight, jpegTables: null };
    const bytes = completeJpeg(storedBytes, shape);
    return bytes && { encoding: 'JPEG', bytes, width: tileWidth, height: tileHeight };
  }

  async internalMetadata(): Promise<Record<string, unknown>> {
    const { tileSize, overlap, format } = this.#description;
    return { deepzoom: { tileSize, overlap, format }, baselevel: this.#finestLevelNumber };
  }

  iccProfile(): Uint8Array | null {
    return this.#format.profile;
  }

  close(): Promise<void> {
    return this.#tree.close();
  }
}

/** Whether browsers decode the colors of a JPEG file as JFIF: no marker at its start declares other colors. */
function hasJfifColors(bytes: Uint8Array): boolean {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 2 ** 16));
  const startsAsJfif = head.readUInt16BE(0) === 0xff_d8 && (head[3] === 0xdb || head.toString('latin1', 6, 10) === 'JFIF');
  return startsAsJfif && !head.includes('Adobe');
}

function finestLevelNumberOf({ width, height }: DeepZoomDescription): number {
  let level = 0;
  for (let side = 1; side < Math.max(width, height); side *= 2) level += 1;
  return level;
}

async function readTileBytes(
  file: NonNullable<Awaited<ReturnType<FileTree['file']>>>,
  what: string,
  options: ReadOptions,
): Promise<Uint8Array> {
  if (file.size < 16 || file.size > maxTileBytes)
    throw new TileSourceError(`Corrupt Deep Zoom image: ${what} has ${file.size} bytes.`);
  const bytes = await file.read(0, file.size, options);
  if (bytes.length < file.size) throw new TileSourceError(`Truncated Deep Zoom image: ${what} is cut short.`);
  return bytes;
}

/** Opens the image of a description file, whose tiles are in a folder next to the file. */
async function openWithFolder(input: SourceInput, signal?: AbortSignal): Promise<TileSource> {
  const folder = `${input.name.slice(input.name.lastIndexOf('/') + 1, -4)}_files`;
  const reader = await input.open();
  let description: DeepZoomDescription;
  try {
    description = await readDescription(reader, `${folder}/`, signal);
  } finally {
    await reader.close();
  }
  const tree = await input.folder?.().tree(folder);
  if (tree == null) {
    throw missingTileError(`${folder}/${finestLevelNumberOf(description)}/0_0.${description.format}`, true);
  }
  try {
    return await DeepZoomTileSource.open(presentInParent(tree, folder), description, signal);
  } catch (error) {
    await tree.close();
    throw error;
  }
}

function missingTileError(path: string, canArriveLater: boolean): TileSourceError {
  const message = `The Deep Zoom image has no tile ${path}.`;
  return canArriveLater ? new MissingPartsError(message, [path]) : new TileSourceError(message);
}

/** Presents the files of a folder with paths relative to its parent. */
function presentInParent(tree: FileTree, folder: string): FileTree {
  const { retainedBytes } = tree;
  return {
    file: async (path) => (path.startsWith(`${folder}/`) ? tree.file(path.slice(folder.length + 1)) : null),
    mayGrow: true,
    retainedBytes,
    close: () => tree.close(),
  };
}

/** Reads Deep Zoom images: a description and a folder of tiles, either next to each other or in a ZIP file. */
export const deepZoomSource: TileSourceDefinition = {
  name: 'deepzoom',
  extensions: { default: priorities.manual, dzi: priorities.high, szi: priorities.high, zip: priorities.low },
  mimeTypes: { default: priorities.manual, 'application/zip': priorities.low },
  readsFolder: 'files',
  mayHold(name, path) {
    if (!/\.dzi$/i.test(name)) return !/\.(?:zip|szi)$/i.test(name);
    return path.startsWith(`${name.slice(0, -4)}_files/`);
  },
  async open(input: SourceInput, { signal }: SourceOptions = {}): Promise<TileSource> {
    if (/\.dzi$/i.test(input.name)) return openWithFolder(input, signal);
    return openInZip(input, async (tree) => DeepZoomTileSource.open(tree, await findDescription(tree, signal), signal));
  },
};
