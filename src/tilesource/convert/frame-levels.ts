import type { TileSource } from '../tile-source.js';
import type { Size } from '../geometry.js';
import { PyramidWriter, type BlockImage } from '../pyramid/pyramid-writer.js';
import type { DirectoryPlan, TiffContainer } from '../pyramid/container.js';
import { jpegFormTags } from './jpeg-form.js';
import { halfSize, levelDirectories } from '../pyramid/levels.js';
import { packingTags, packTile, storedBandCount, type TileCompression, type TilePacking } from '../pyramid/tiles.js';
import type { Raster } from '../raster.js';
import { toPicture } from '../render/pixels.js';
import { BlockReader } from './block-reader.js';
import { copyableTileSide, copyLevel, type CopiedLevel } from './copied-tiles.js';
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
  onProgress(done: number): void;
}

/** The levels written for a frame. */
export interface WrittenLevels {
  /** A directory for each level, finest first, with all tags that describe its tiles. */
  directories: DirectoryPlan[];
  tileSide: number;
  /** Number of levels whose tiles were copied from the source. */
  copiedCount: number;
}

/** Share of the work that copying takes if some levels are copied and others are made. */
const copyShare = 0.05;

/**
 * Writes all levels of a frame. A level is copied if the source has its tiles in the required form. Other levels are made from the
 * next finer level.
 */
export async function writeLevels(task: FrameTask): Promise<WrittenLevels> {
  const { source, packing, mapping, options } = task;
  const copyableSide = packing.compression === 'jpeg' && mapping.convert === null ? copyableTileSide(source, options) : null;
  const { sizes, copies } = copyableSide === null ? { sizes: [], copies: [] } : await copyLevels(task, copyableSide);
  const hasCopies = copies.some((copy) => copy !== null);
  const tileSide = (hasCopies ? copyableSide : options.tileSize) ?? defaultTileSize;
  if (!hasCopies || copyableSide === null)
    return { directories: await makeLevels(task, tileSide, (done) => task.onProgress(done)), tileSide, copiedCount: 0 };
  const directories: DirectoryPlan[] = [];
  // The index in these lists is the number of halvings of a level.
  const mustBeMade = sizes.map((_, halvings) => copies[halvings] === null);
  const pixelsOf = (size: Size | undefined) => (size === undefined ? 0 : size.width * size.height);
  const pixelsToRead = sizes.map((_, halvings) =>
    mustBeMade[halvings] && !mustBeMade[halvings - 1] ? pixelsOf(sizes[halvings - 1]) : 0,
  );
  const totalPixels = pixelsToRead.reduce((sum, pixels) => sum + pixels, 0);
  let donePixels = 0;
  for (let halvings = 0; halvings < sizes.length;) {
    const copy = copies[halvings];
    if (copy) {
      const [plan] = levelDirectories([copy.level], tileSide, halvings);
      directories.push({ ...plan!, tags: [...plan!.tags, ...jpegFormTags(copy.form)] });
      halvings += 1;
      continue;
    }
    const nextCopiedLevel = mustBeMade.indexOf(false, halvings);
    const madeCount = (nextCopiedLevel < 0 ? sizes.length : nextCopiedLevel) - halvings;
    const pixels = pixelsToRead[halvings]!;
    const finer = { level: source.metadata.levels - halvings, size: sizes[halvings - 1]!, reductions: madeCount };
    const doneBefore = donePixels;
    const onProgress = (partDone: number) =>
      task.onProgress(copyShare + ((1 - copyShare) * (doneBefore + partDone * pixels)) / totalPixels);
    directories.push(...(await makeLevels(task, tileSide, onProgress, finer)));
    donePixels += pixels;
    halvings += madeCount;
  }
  return { directories, tileSide, copiedCount: copies.filter((copy) => copy !== null).length };
}

/**
 * Copies the levels that can be copied. Returns the sizes of all levels, finest first, and for each level its copy, or `null` if
 * it was not copied. Both lists are empty if the finest level cannot be copied.
 */
async function copyLevels(task: FrameTask, side: number): Promise<{ sizes: Size[]; copies: (CopiedLevel | null)[] }> {
  const { source, frame, container, threads, options } = task;
  const { sizeX, sizeY, levels: sourceLevels } = source.metadata;
  const sizes: Size[] = [{ width: sizeX, height: sizeY }];
  for (let size = sizes[0]!; size.width > side || size.height > side; sizes.push(size)) size = halfSize(size);
  const copies: (CopiedLevel | null)[] = [];
  let donePixels = 0;
  const isStored = (halvings: number) => source.populatedLevels.includes(sourceLevels - 1 - halvings);
  // With `nearest`, pixels of reduced levels must not be means. The file's reduced levels may contain means, so they are not
  // copied.
  const mayCopy = sizes.map((_, halvings) => halvings === 0 || (options.reduction !== 'nearest' && isStored(halvings)));
  const shareOfWork = mayCopy.includes(false) ? copyShare : 1;
  const totalPixels = sizes.reduce((sum, { width, height }, halvings) => sum + (mayCopy[halvings] ? width * height : 0), 0);
  for (const [halvings, size] of sizes.entries()) {
    const onProgress = (pixels: number) => task.onProgress((shareOfWork * (donePixels += pixels)) / totalPixels);
    const sourceLevel = sourceLevels - 1 - halvings;
    const copy = mayCopy[halvings] ? await copyLevel({ source, container, frame, sourceLevel, size, threads, onProgress }) : null;
    if (halvings === 0 && copy === null) return { sizes: [], copies: [] };
    copies.push(copy);
  }
  return { sizes, copies };
}

/** Makes levels from decoded tiles: all levels, or with `finer`, only the next `finer.reductions` levels below that level. */
async function makeLevels(
  { source, frame, container, packing, mapping, nearest, threads }: FrameTask,
  tileSide: number,
  onProgress: (done: number) => void,
  finer?: { level: number; size: Size; reductions: number },
): Promise<DirectoryPlan[]> {
  const { metadata } = source;
  const reader = new BlockReader(source, frame, mapping, threads, finer?.level);
  const { width, height } = finer?.size ?? { width: metadata.sizeX, height: metadata.sizeY };
  const isPicture = packing.compression === 'jpeg' || packing.compression === 'webp';
  const convert = async (raster: Raster): Promise<Raster> => (isPicture ? toPicture(raster) : raster);
  const bands = isPicture && metadata.bandCount > 4 ? 3 : metadata.bandCount;
  const dtype = isPicture ? 'uint8' : mapping.dtype;
  const image: BlockImage = { width, height, bands, dtype, read: async (box) => convert(await reader.read(box)) };
  const directories = await new PyramidWriter(container, image, {
    tileSide,
    blockSide: BlockReader.chooseBlockSide(metadata, tileSide),
    nearest,
    // In converted samples, missing data no longer has the value `nodata`.
    nodata: mapping.convert === null && dtype === metadata.dtype ? (metadata.nodata ?? null) : null,
    reducedLevelCount: finer?.reductions,
    encode: (tile) => packTile(tile, packing),
    onProgress: (pixels) => onProgress(pixels / (width * height)),
  }).write();
  const tags = packingTags({ bands: storedBandCount(bands, packing), dtype }, packing);
  return directories.map((plan) => ({ ...plan, tags: [...plan.tags, ...tags] }));
}
