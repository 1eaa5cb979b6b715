import { forEachRange, isSliceOver, nextSlice } from '../core/concurrency/slices.js';
import { BadValueError } from '../errors.js';
import { axisRange, type LargeImageMetadata } from './metadata.js';

/** A count, or the name of a frame axis (`c`, `z`, `t`, `xy` …) for its range. */
type CountOrAxis = number | string;

/** Options of {@link quadInfo}; all optional. */
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

/** How to cover all frames with few textures. If `frameBase` is an axis, only `metadata`, `options` and `src` are present. */
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
/** Number of frames that are laid out between checks of the time. */
const framesAtOnce = 1024;
/** Maximum count, texture side and stride: far more than any graphics card or image has. */
const maxNumber = 2 ** 20;

function checkNumber(value: number, minimum: number, name: string, maximum = maxNumber): number {
  if (Number.isInteger(value) && value >= minimum && value <= maximum) return value;
  throw new BadValueError(`Invalid ${name}: ${value}. Allowed values: whole numbers from ${minimum} to ${maximum}.`);
}

/** Axes that an image may lack. It then counts as having one frame along them. */
const defaultAxes: readonly string[] = ['c', 'z', 't', 'xy'];

function isAxis(metadata: LargeImageMetadata, value: CountOrAxis): value is string {
  if (typeof value !== 'string') return false;
  return defaultAxes.includes(value.toLowerCase()) || Object.hasOwn(metadata.IndexRange ?? {}, `Index${value.toUpperCase()}`);
}

/** The count that a value gives: a number, or an axis for its range. @throws BadValueError for any other value. */
function resolveCount(metadata: LargeImageMetadata, value: CountOrAxis, name: string): number {
  return isAxis(metadata, value) ? axisRange(metadata, value) : parseNumber(metadata, value, { minimum: 1, name });
}

function parseNumber(
  metadata: LargeImageMetadata,
  value: CountOrAxis,
  { minimum, name }: { minimum: number; name: string },
): number {
  const number = typeof value === 'string' && value.trim() === '' ? NaN : Number(value);
  if (Number.isSafeInteger(number) && number >= minimum && number <= maxNumber) return number;
  const imageAxes = Object.keys(metadata.IndexRange ?? {}).map((key) => key.slice('Index'.length).toLowerCase());
  const axes = [...new Set([...defaultAxes, ...imageAxes])].join(', ');
  throw new BadValueError(`Invalid ${name}: ${value}. Allowed values: whole numbers from ${minimum} to ${maxNumber}, ${axes}.`);
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
    maxTotalTexturePixels: checkNumber(options.maxTotalTexturePixels ?? 2 ** 30, 1, 'maxTotalTexturePixels', maxNumber ** 2),
    alignment,
    maxFrameSize: maxFrameSize === null ? null : checkNumber(maxFrameSize, alignment, 'maxFrameSize'),
  };
}

/**
 * Computes how to cover frames with textures.
 *
 * @throws BadValueError for options out of range.
 */
export async function quadInfo(metadata: LargeImageMetadata, request: QuadInfoOptions = {}): Promise<QuadInfo> {
  const options = resolveOptions(metadata, request);
  const shownOptions = { ...options };
  if (typeof options.frameBase === 'string') {
    const bases = axisRange(metadata, options.frameBase);
    const frames = metadata.frames?.length ?? 1;
    if (bases * frames > maxLaidOutFrames) {
      throw new BadValueError(
        `frameBase=${options.frameBase} lays out ${frames} frames ${bases} times; at most ${maxLaidOutFrames} are laid out.`,
      );
    }
    const src: Record<string, unknown>[] = [];
    for (let base = 0; base < bases; base += 1) {
      src.push(...texturesOf(fitFrames(metadata, { ...options, frameBase: base })));
      if (isSliceOver()) await nextSlice();
    }
    return { metadata, options: shownOptions, src };
  }
  const frameBase = checkNumber(options.frameBase, 0, 'frameBase');
  return { metadata, options: shownOptions, ...(await layOut(metadata, { ...options, frameBase })) };
}

/** Numbers of the covered frames, in the order of the layout. */
function chosenFrames(total: number, options: ResolvedOptions & { frameBase: number }): number[] {
  const frames: number[] = [];
  for (let group = 0; group < options.frameGroupStride; group += 1) {
    const first = options.frameBase + group * options.frameStride;
    if (first >= total) break;
    for (let frame = first; frame < total; frame += options.frameStride * options.frameGroupStride) frames.push(frame);
  }
  return frames;
}

interface Grid {
  cellWidth: number;
  cellHeight: number;
  across: number;
  cellsPerTexture: number;
  textures: number;
}

/** Cell size and number of textures, computed step by step as existing clients expect. */
function fitGrid(size: { width: number; height: number }, frames: number, options: ResolvedOptions): Grid {
  const { alignment: unit, frameGroup: group, maxTotalTexturePixels: budget } = options;
  const { width, height } = size;
  let textureSide = options.maxTextureSize;
  while (textureSide > unit && textureSide ** 2 > budget) textureSide = Math.floor(textureSide / 2);
  let textures = options.maxTextures;
  textures = Math.max(1, Math.min(textures, Math.floor(budget / textureSide ** 2)));
  for (;;) {
    let framesPerTexture = Math.ceil(frames / textures);
    const grouped = Math.ceil(framesPerTexture / group) * group;
    if (group > 1 && grouped / framesPerTexture <= options.frameGroupFactor) framesPerTexture = grouped;
    const scale = Math.sqrt(textureSide ** 2 / (framesPerTexture * width * height));
    let across = Math.ceil(textureSide / (unit * Math.ceil((width * scale) / unit)));
    let down = Math.ceil(textureSide / (unit * Math.ceil((height * scale) / unit)));
    let cellWidth = unit * Math.max(1, Math.floor(textureSide / across / unit));
    down = Math.max(Math.ceil(framesPerTexture / Math.floor(textureSide / cellWidth)), down);
    let cellHeight = unit * Math.max(1, Math.floor(textureSide / down / unit));
    if (options.maxFrameSize !== null) {
      const maxCellSide = unit * Math.floor(options.maxFrameSize / unit);
      cellWidth = Math.min(cellWidth, maxCellSide);
      cellHeight = Math.min(cellHeight, maxCellSide);
    }
    if (cellWidth > width) cellWidth = unit * Math.ceil(width / unit);
    if (cellHeight > height) cellHeight = unit * Math.ceil(height / unit);
    cellWidth = Math.min(unit * Math.ceil((cellHeight * width) / height / unit), cellWidth);
    cellHeight = Math.min(unit * Math.ceil((cellWidth * height) / width / unit), cellHeight);
    across = Math.floor(textureSide / cellWidth);
    down = Math.min(Math.floor(textureSide / cellHeight), Math.ceil(frames / across));
    let cellsPerTexture = across * down;
    if (textures > 1 && group > 1) {
      const fitting = Math.floor(cellsPerTexture / group) * group;
      if (fitting > 0 && fitting * textures >= frames) cellsPerTexture = fitting;
    }
    if (textures > 1 && frames <= cellsPerTexture * (textures - 1)) {
      // One texture less is enough. There are never more textures than frames.
      textures = Math.min(textures - 1, frames);
      continue;
    }
    if (across >= 2 && Math.ceil(framesPerTexture / Math.floor(across / 2)) * cellHeight <= textureSide / 2) {
      textureSide = Math.floor(textureSide / 2);
      continue;
    }
    return { cellWidth, cellHeight, across, cellsPerTexture, textures };
  }
}

/** The frames in the mosaic, and their grid. */
interface FittedFrames {
  frames: number[];
  /** Number of frames of the image. */
  total: number;
  grid: Grid;
  options: ResolvedOptions;
}

function fitFrames(metadata: LargeImageMetadata, options: ResolvedOptions & { frameBase: number }): FittedFrames {
  const total = metadata.frames?.length ?? 1;
  const frames = chosenFrames(total, options);
  if (frames.length === 0) {
    throw new BadValueError(`Invalid frameBase: ${options.frameBase}. The image has ${total} frame${total === 1 ? '' : 's'}.`);
  }
  const grid = fitGrid({ width: metadata.sizeX, height: metadata.sizeY }, frames.length, options);
  return { frames, total, grid, options };
}

/** Parameters of each texture. */
function texturesOf({ frames, total, grid, options }: FittedFrames): Record<string, unknown>[] {
  const src: Record<string, unknown>[] = [];
  for (let first = 0; first < frames.length; first += grid.cellsPerTexture) {
    const list = frames.slice(first, first + grid.cellsPerTexture);
    const hasAllFrames = list.length === total && list.every((frame, position) => frame === position);
    src.push({
      framesAcross: grid.across,
      width: grid.cellWidth,
      height: grid.cellHeight,
      fill: 'corner:black',
      exact: false,
      ...(!(hasAllFrames && total > 1) && { frameList: list }),
      ...options.format,
      ...options.query,
    });
  }
  return src;
}

async function layOut(metadata: LargeImageMetadata, options: ResolvedOptions & { frameBase: number }) {
  const { sizeX: width, sizeY: height } = metadata;
  const fitted = fitFrames(metadata, options);
  const { frames, grid } = fitted;
  const shrink = Math.max(width / grid.cellWidth, height / grid.cellHeight);
  const usedWidth = Math.floor(width / shrink);
  const usedHeight = Math.floor(height / shrink);
  const quads: Quad[] = [];
  const quadsToIdx: number[] = [];
  const framesToIdx: Record<string, number> = {};
  await forEachRange(frames.length, framesAtOnce, (from, to) => {
    for (let at = from; at < to; at += 1) {
      const position = at % grid.cellsPerTexture;
      const count = Math.min(grid.cellsPerTexture, frames.length - at + position);
      const left = (position % grid.across) * grid.cellWidth;
      const bottom = (Math.ceil(count / grid.across) - Math.floor(position / grid.across)) * grid.cellHeight;
      quads.push({
        ul: { x: 0, y: 0, z: -1 },
        lr: { x: width, y: -height, z: -1 },
        crop: { x: width, y: height, left, top: bottom - usedHeight, right: left + usedWidth, bottom },
      });
      quadsToIdx.push(Math.floor(at / grid.cellsPerTexture));
      framesToIdx[String(frames[at])] = at;
    }
  });
  return {
    src: texturesOf(fitted),
    quads,
    quadsToIdx,
    frames,
    framesToIdx,
    // Adding 0 turns a negative zero into a plain one.
    minLevel: Math.ceil(Math.log2(Math.min(usedWidth / metadata.tileWidth, usedHeight / metadata.tileHeight))) + 0,
  };
}
