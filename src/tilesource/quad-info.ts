import { forEachRange, isSliceOver, nextSlice } from '../core/concurrency/slices.js';
import { BadValueError } from '../errors.js';
import { axisRange, type LargeImageMetadata } from './metadata.js';

/** A count, or the name of a frame axis (`c`, `z`, `t`, `xy` …), which stands for the number of positions along the axis. */
type CountOrAxis = number | string;

export interface QuadInfoOptions {
  /** Encoding parameters of each texture. Default JPEG, quality 85, subsampling 1. */
  format?: Readonly<Record<string, unknown>>;
  /** Further parameters of each texture. */
  query?: Readonly<Record<string, unknown>>;
  frameBase?: CountOrAxis;
  frameStride?: CountOrAxis;
  frameGroup?: CountOrAxis;
  frameGroupFactor?: number;
  /** A number, or `auto`. */
  frameGroupStride?: CountOrAxis;
  maxTextureSize?: number;
  maxTextures?: number;
  maxTotalTexturePixels?: number;
  alignment?: number;
  maxFrameSize?: number | null;
}

/** The position of a frame in its texture. */
interface Quad {
  ul: { x: number; y: number; z: number };
  lr: { x: number; y: number; z: number };
  crop: { x: number; y: number; left: number; top: number; right: number; bottom: number };
}

/** How to show all frames in few textures. If `frameBase` is an axis, only `metadata`, `options` and `src` are present. */
export interface QuadInfo {
  metadata: LargeImageMetadata;
  options: Record<string, unknown>;
  /** Parameters of each texture for tile_frames. */
  src: Record<string, unknown>[];
  quads?: Quad[];
  quadsToIdx?: number[];
  frames?: number[];
  framesToIdx?: Record<string, number>;
  minLevel?: number;
}

interface ResolvedOptions {
  format: Readonly<Record<string, unknown>>;
  query: Readonly<Record<string, unknown>>;
  frameBase: CountOrAxis;
  frameStride: number;
  frameGroup: number;
  frameGroupFactor: number;
  frameGroupStride: number;
  maxTextureSize: number;
  maxTextures: number;
  maxTotalTexturePixels: number;
  alignment: number;
  maxFrameSize: number | null;
}

const defaultFormat = { encoding: 'JPEG', jpegQuality: 85, jpegSubsampling: 1 };

/** Maximum number of frames that are laid out for one response. */
const maxLaidOutFrames = 500_000;
/** Number of frames that are laid out between two checks of the time. */
const framesPerCheck = 1024;
/** Maximum count, texture side and stride: far more than any graphics card or image has. */
const maxOptionValue = 2 ** 20;

function checkNumber(value: number, minimum: number, name: string, maximum = maxOptionValue): number {
  if (Number.isInteger(value) && value >= minimum && value <= maximum) return value;
  throw new BadValueError(`Invalid ${name}: ${value}. Allowed values: whole numbers from ${minimum} to ${maximum}.`);
}

/** Axes that options can name even if an image does not use them. Such an axis then counts as having one position. */
const defaultAxes: readonly string[] = ['c', 'z', 't', 'xy'];

function isAxis(metadata: LargeImageMetadata, value: CountOrAxis): value is string {
  if (typeof value !== 'string') return false;
  return defaultAxes.includes(value.toLowerCase()) || Object.hasOwn(metadata.IndexRange ?? {}, `Index${value.toUpperCase()}`);
}

/** The count that an option stands for. @throws BadValueError if the value is neither a number in range nor an axis. */
function resolveCount(metadata: LargeImageMetadata, value: CountOrAxis, name: string): number {
  return isAxis(metadata, value) ? axisRange(metadata, value) : parseNumber(metadata, value, { minimum: 1, name });
}

function parseNumber(
  metadata: LargeImageMetadata,
  value: CountOrAxis,
  { minimum, name }: { minimum: number; name: string },
): number {
  const number = typeof value === 'string' && value.trim() === '' ? NaN : Number(value);
  if (Number.isSafeInteger(number) && number >= minimum && number <= maxOptionValue) return number;
  const imageAxes = Object.keys(metadata.IndexRange ?? {}).map((key) => key.slice('Index'.length).toLowerCase());
  const axes = [...new Set([...defaultAxes, ...imageAxes])].join(', ');
  throw new BadValueError(
    `Invalid ${name}: ${value}. Allowed values: whole numbers from ${minimum} to ${maxOptionValue}, ${axes}.`,
  );
}

function resolveOptions(metadata: LargeImageMetadata, options: QuadInfoOptions): ResolvedOptions {
  const { frameBase = 0 } = options;
  const frameStride = resolveCount(metadata, options.frameStride ?? 1, 'frameStride');
  const frameGroup = resolveCount(metadata, options.frameGroup ?? 1, 'frameGroup');
  const frameGroupStride =
    options.frameGroupStride === 'auto'
      ? Math.max(1, Math.floor(frameGroup / frameStride))
      : resolveCount(metadata, options.frameGroupStride ?? 1, 'frameGroupStride');
  const alignment = checkNumber(options.alignment ?? 16, 1, 'alignment');
  const maxTextureSize = checkNumber(options.maxTextureSize ?? 8192, alignment, 'maxTextureSize');
  const maxFrameSize = options.maxFrameSize ?? null;
  return {
    format: options.format ?? defaultFormat,
    query: options.query ?? {},
    frameBase: isAxis(metadata, frameBase) ? frameBase : parseNumber(metadata, frameBase, { minimum: 0, name: 'frameBase' }),
    frameStride,
    frameGroup,
    frameGroupFactor: checkNumber(options.frameGroupFactor ?? 4, 1, 'frameGroupFactor'),
    frameGroupStride,
    maxTextureSize,
    maxTextures: checkNumber(options.maxTextures ?? 1, 1, 'maxTextures'),
    maxTotalTexturePixels: checkNumber(options.maxTotalTexturePixels ?? 2 ** 30, 1, 'maxTotalTexturePixels', maxOptionValue ** 2),
    alignment,
    maxFrameSize: maxFrameSize === null ? null : checkNumber(maxFrameSize, alignment, 'maxFrameSize'),
  };
}

/**
 * Computes how to show frames in textures.
 *
 * @throws BadValueError for options out of range.
 */
export async function quadInfo(metadata: LargeImageMetadata, request: QuadInfoOptions = {}): Promise<QuadInfo> {
  const options = resolveOptions(metadata, request);
  const returnedOptions = { ...options };
  if (typeof options.frameBase === 'string') {
    const baseCount = axisRange(metadata, options.frameBase);
    const frameCount = metadata.frames?.length ?? 1;
    if (baseCount * frameCount > maxLaidOutFrames) {
      throw new BadValueError(
        `frameBase=${options.frameBase} lays out ${frameCount} frames ${baseCount} times; at most ${maxLaidOutFrames} are laid out.`,
      );
    }
    const src: Record<string, unknown>[] = [];
    for (let base = 0; base < baseCount; base += 1) {
      src.push(...textureParameters(fitFrames(metadata, { ...options, frameBase: base })));
      if (isSliceOver()) await nextSlice();
    }
    return { metadata, options: returnedOptions, src };
  }
  const frameBase = checkNumber(options.frameBase, 0, 'frameBase');
  return { metadata, options: returnedOptions, ...(await layOut(metadata, { ...options, frameBase })) };
}

/** Returns the numbers of the frames to show, in the order of the layout. */
function selectFrames(imageFrameCount: number, options: ResolvedOptions & { frameBase: number }): number[] {
  const frames: number[] = [];
  for (let group = 0; group < options.frameGroupStride; group += 1) {
    const first = options.frameBase + group * options.frameStride;
    if (first >= imageFrameCount) break;
    for (let frame = first; frame < imageFrameCount; frame += options.frameStride * options.frameGroupStride) frames.push(frame);
  }
  return frames;
}

/** The grid of cells in each texture. A cell shows one frame. */
interface Grid {
  cellWidth: number;
  cellHeight: number;
  /** Number of cells in a row. */
  columns: number;
  cellsPerTexture: number;
  textureCount: number;
}

/** Computes the cell size and the number of textures, step by step as existing clients expect. */
function fitGrid(size: { width: number; height: number }, frameCount: number, options: ResolvedOptions): Grid {
  const { alignment, frameGroup, maxTotalTexturePixels } = options;
  const { width, height } = size;
  let textureSide = options.maxTextureSize;
  while (textureSide > alignment && textureSide ** 2 > maxTotalTexturePixels) textureSide = Math.floor(textureSide / 2);
  let textureCount = options.maxTextures;
  textureCount = Math.max(1, Math.min(textureCount, Math.floor(maxTotalTexturePixels / textureSide ** 2)));
  for (;;) {
    let framesPerTexture = Math.ceil(frameCount / textureCount);
    const roundedFrames = Math.ceil(framesPerTexture / frameGroup) * frameGroup;
    if (frameGroup > 1 && roundedFrames / framesPerTexture <= options.frameGroupFactor) framesPerTexture = roundedFrames;
    const scale = Math.sqrt(textureSide ** 2 / (framesPerTexture * width * height));
    let columns = Math.ceil(textureSide / (alignment * Math.ceil((width * scale) / alignment)));
    let rows = Math.ceil(textureSide / (alignment * Math.ceil((height * scale) / alignment)));
    let cellWidth = alignment * Math.max(1, Math.floor(textureSide / columns / alignment));
    rows = Math.max(Math.ceil(framesPerTexture / Math.floor(textureSide / cellWidth)), rows);
    let cellHeight = alignment * Math.max(1, Math.floor(textureSide / rows / alignment));
    if (options.maxFrameSize !== null) {
      const maxCellSide = alignment * Math.floor(options.maxFrameSize / alignment);
      cellWidth = Math.min(cellWidth, maxCellSide);
      cellHeight = Math.min(cellHeight, maxCellSide);
    }
    if (cellWidth > width) cellWidth = alignment * Math.ceil(width / alignment);
    if (cellHeight > height) cellHeight = alignment * Math.ceil(height / alignment);
    cellWidth = Math.min(alignment * Math.ceil((cellHeight * width) / height / alignment), cellWidth);
    cellHeight = Math.min(alignment * Math.ceil((cellWidth * height) / width / alignment), cellHeight);
    columns = Math.floor(textureSide / cellWidth);
    rows = Math.min(Math.floor(textureSide / cellHeight), Math.ceil(frameCount / columns));
    let cellsPerTexture = columns * rows;
    if (textureCount > 1 && frameGroup > 1) {
      const roundedCells = Math.floor(cellsPerTexture / frameGroup) * frameGroup;
      if (roundedCells > 0 && roundedCells * textureCount >= frameCount) cellsPerTexture = roundedCells;
    }
    if (textureCount > 1 && frameCount <= cellsPerTexture * (textureCount - 1)) {
      // One texture less is enough. There are never more textures than frames.
      textureCount = Math.min(textureCount - 1, frameCount);
      continue;
    }
    if (columns >= 2 && Math.ceil(framesPerTexture / Math.floor(columns / 2)) * cellHeight <= textureSide / 2) {
      textureSide = Math.floor(textureSide / 2);
      continue;
    }
    return { cellWidth, cellHeight, columns, cellsPerTexture, textureCount };
  }
}

/** The frames to show, and the grid in which the textures show them. */
interface FittedFrames {
  frames: number[];
  /** Number of frames of the image. */
  imageFrameCount: number;
  grid: Grid;
  options: ResolvedOptions;
}

function fitFrames(metadata: LargeImageMetadata, options: ResolvedOptions & { frameBase: number }): FittedFrames {
  const imageFrameCount = metadata.frames?.length ?? 1;
  const frames = selectFrames(imageFrameCount, options);
  if (frames.length === 0) {
    throw new BadValueError(
      `Invalid frameBase: ${options.frameBase}. The image has ${imageFrameCount} frame${imageFrameCount === 1 ? '' : 's'}.`,
    );
  }
  const grid = fitGrid({ width: metadata.sizeX, height: metadata.sizeY }, frames.length, options);
  return { frames, imageFrameCount, grid, options };
}

/** Parameters of each texture for tile_frames. */
function textureParameters({ frames, imageFrameCount, grid, options }: FittedFrames): Record<string, unknown>[] {
  const src: Record<string, unknown>[] = [];
  for (let first = 0; first < frames.length; first += grid.cellsPerTexture) {
    const textureFrames = frames.slice(first, first + grid.cellsPerTexture);
    const hasAllFrames = textureFrames.length === imageFrameCount && textureFrames.every((frame, index) => frame === index);
    src.push({
      framesAcross: grid.columns,
      width: grid.cellWidth,
      height: grid.cellHeight,
      fill: 'corner:black',
      exact: false,
      ...(!(hasAllFrames && imageFrameCount > 1) && { frameList: textureFrames }),
      ...options.format,
      ...options.query,
    });
  }
  return src;
}

/** Computes the position of each frame in its texture. */
async function layOut(metadata: LargeImageMetadata, options: ResolvedOptions & { frameBase: number }) {
  const { sizeX: width, sizeY: height } = metadata;
  const fittedFrames = fitFrames(metadata, options);
  const { frames, grid } = fittedFrames;
  const shrink = Math.max(width / grid.cellWidth, height / grid.cellHeight);
  const usedWidth = Math.floor(width / shrink);
  const usedHeight = Math.floor(height / shrink);
  const quads: Quad[] = [];
  const quadsToIdx: number[] = [];
  const framesToIdx: Record<string, number> = {};
  await forEachRange(frames.length, framesPerCheck, (from, to) => {
    for (let index = from; index < to; index += 1) {
      const cell = index % grid.cellsPerTexture;
      const usedCells = Math.min(grid.cellsPerTexture, frames.length - index + cell);
      const left = (cell % grid.columns) * grid.cellWidth;
      const bottom = (Math.ceil(usedCells / grid.columns) - Math.floor(cell / grid.columns)) * grid.cellHeight;
      quads.push({
        ul: { x: 0, y: 0, z: -1 },
        lr: { x: width, y: -height, z: -1 },
        crop: { x: width, y: height, left, top: bottom - usedHeight, right: left + usedWidth, bottom },
      });
      quadsToIdx.push(Math.floor(index / grid.cellsPerTexture));
      framesToIdx[String(frames[index])] = index;
    }
  });
  return {
    src: textureParameters(fittedFrames),
    quads,
    quadsToIdx,
    frames,
    framesToIdx,
    // Adding 0 turns a negative zero into 0.
    minLevel: Math.ceil(Math.log2(Math.min(usedWidth / metadata.tileWidth, usedHeight / metadata.tileHeight))) + 0,
  };
}
