import type { TileSource } from '../tile-source.js';
import type { Size } from '../geometry.js';
import { PyramidWriter, type BlockImage } from '../pyramid/pyramid-writer.js';
import type { DirectoryPlan, TiffContainer } from '../pyramid/container.js';
import { jpegFormTags } from './jpeg-form.js';
import { halfSize, levelDirectories } from '../pyramid/levels.js';
import { packingTags, packTile, storedBands, type TileCompression, type TilePacking } from '../pyramid/tiles.js';
import type { Raster } from '../raster.js';
import { toPicture } from '../render/pixels.js';
import { BlockReader } from './block-reader.js';
import { copiedTileSide, copyLevel, type CopiedLevel } from './copied-tiles.js';
import { defaultTileSize, type ConversionOptions } from './options.js';
import type { SampleMapping } from './samples.js';

/** A frame whose levels should be written. */
export interface FrameTask {
  source: TileSource;
  frame: number;
  container: TiffContainer;
  options: ConversionOptions;
  packing: TilePacking & { compression: TileCompression };
  mapping: SampleMapping;
  /** Whether a reduced pixel is the first of four pixels instead of their mean. */
  nearest: boolean;
  threads: number;
  /** Called with the share of the work that is done, from 0 to 1. */
  progress(done: number): void;
}

/** The levels written for a frame. */
export interface WrittenLevels {
  /** A directory for each level, finest first, with all tags that describe its tiles. */
  directories: DirectoryPlan[];
  tileSide: number;
  /** Number of levels whose tiles were copied from the source. */
  copiedCount: number;
}

/** Share of all work that copying takes, if some levels are not copied but made. */
const copyShare = 0.05;

/**
 * Writes all levels of a frame. Levels are copied if the source has their tiles in the required form; others are made from the next
 * finer level.
 */
export async function writeLevels(work: FrameTask): Promise<WrittenLevels> {
  const { source, packing, mapping, options } = work;
  const copySide = packing.compression === 'jpeg' && mapping.convert === null ? copiedTileSide(source, options) : null;
  const { sizes, copies } = copySide === null ? { sizes: [], copies: [] } : await copyLevels(work, copySide);
  const hasCopies = copies.some((each) => each !== null);
  const tileSide = (hasCopies ? copySide : options.tileSize) ?? defaultTileSize;
  if (!hasCopies || copySide === null)
    return { directories: await makeLevels(work, tileSide, (done) => work.progress(done)), tileSide, copiedCount: 0 };
  const directories: DirectoryPlan[] = [];
  const isUncopied = sizes.map((_, index) => copies[index] === null);
  const pixelsAt = (index: number) => (sizes[index]?.width ?? 0) * (sizes[index]?.height ?? 0);
  const pixelsToRead = isUncopied.map((mustMake, index) => (mustMake && !isUncopied[index - 1] ? pixelsAt(index - 1) : 0));
  const total = pixelsToRead.reduce((sum, pixels) => sum + pixels, 0);
  let donePixels = 0;
  for (let index = 0; index < sizes.length;) {
    const copy = copies[index];
    if (copy) {
      const [plan] = levelDirectories([copy.level], tileSide, index);
      directories.push({ ...plan!, tags: [...plan!.tags, ...jpegFormTags(copy.form)] });
      index += 1;
      continue;
    }
    const next = isUncopied.indexOf(false, index);
    const count = (next < 0 ? sizes.length : next) - index;
    const pixels = pixelsToRead[index]!;
    const from = { level: source.metadata.levels - index, size: sizes[index - 1]!, reductions: count };
    const doneBefore = donePixels;
    const progress = (partDone: number) =>
      work.progress(copyShare + ((1 - copyShare) * (doneBefore + partDone * pixels)) / total);
    directories.push(...(await makeLevels(work, tileSide, progress, from)));
    donePixels += pixels;
    index += count;
  }
  return { directories, tileSide, copiedCount: copies.filter((each) => each !== null).length };
}

/**
 * Copies the levels that can be copied. Returns the sizes of all levels, finest first, and for each level its copy, or `null` if
 * it was not copied. Both lists are empty if the finest level cannot be copied.
 */
async function copyLevels(work: FrameTask, side: number): Promise<{ sizes: Size[]; copies: (CopiedLevel | null)[] }> {
  const { source, frame, container, threads, options } = work;
  const { sizeX, sizeY, levels: sourceLevels } = source.metadata;
  const sizes: Size[] = [{ width: sizeX, height: sizeY }];
  for (let size = sizes[0]!; size.width > side || size.height > side; sizes.push(size)) size = halfSize(size);
  const copies: (CopiedLevel | null)[] = [];
  let [donePixels, share] = [0, 1];
  const isStored = (index: number) => source.populatedLevels.includes(sourceLevels - 1 - index);
  // With `nearest`, reduced levels must contain unmixed pixels. How the source reduced its own is unknown, so they are not copied.
  const mayCopy = sizes.map((_, index) => index === 0 || (options.reduction !== 'nearest' && isStored(index)));
  if (mayCopy.includes(false)) share = copyShare;
  const total = sizes.reduce((sum, { width, height }, index) => sum + (mayCopy[index] ? width * height : 0), 0);
  for (const [index, size] of sizes.entries()) {
    const progress = (pixels: number) => work.progress((share * (donePixels += pixels)) / total);
    const sourceLevel = sourceLevels - 1 - index;
    const copy = mayCopy[index] ? await copyLevel({ source, container, frame, sourceLevel, size, threads, progress }) : null;
    if (index === 0 && copy === null) return { sizes: [], copies: [] };
    copies.push(copy);
  }
  return { sizes, copies };
}

/** Makes levels from decoded tiles: all levels, or only the `reductions` levels that are coarser than `from`. */
async function makeLevels(
  { source, frame, container, packing, mapping, nearest, threads }: FrameTask,
  tileSide: number,
  progress: (done: number) => void,
  from?: { level: number; size: Size; reductions: number },
): Promise<DirectoryPlan[]> {
  const { metadata } = source;
  const reader = new BlockReader(source, frame, mapping, threads, from?.level);
  const { width, height } = from?.size ?? { width: metadata.sizeX, height: metadata.sizeY };
  const isPicture = packing.compression === 'jpeg' || packing.compression === 'webp';
  const convert = async (raster: Raster): Promise<Raster> => (isPicture ? toPicture(raster) : raster);
  const bands = isPicture && metadata.bandCount > 4 ? 3 : metadata.bandCount;
  const dtype = isPicture ? 'uint8' : mapping.dtype;
  const image: BlockImage = { width, height, bands, dtype, read: async (box) => convert(await reader.read(box)) };
  const directories = await new PyramidWriter(container, image, {
    tileSide,
    blockSide: BlockReader.chooseBlockSide(metadata, tileSide),
    nearest,
    // After a conversion of the samples, none has the value that marks missing data.
    nodata: mapping.convert === null && dtype === metadata.dtype ? (metadata.nodata ?? null) : null,
    reducedLevelCount: from?.reductions,
    encode: (tile) => packTile(tile, packing),
    progress: (pixels) => progress(pixels / (width * height)),
  }).write();
  const tags = packingTags({ bands: storedBands(bands, packing), dtype }, packing);
  return directories.map((plan) => ({ ...plan, tags: [...plan.tags, ...tags] }));
}
