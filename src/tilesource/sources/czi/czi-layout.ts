import { TileSourceError } from '../../../errors.js';
import type { Box } from '../../geometry.js';
import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import type { SampleType } from '../../raster.js';
import { commonType, pixelTypeOf } from './pixel-types.js';
import type { SubBlock, SubBlocks } from './sub-blocks.js';

/** Maximum number of frames of an image. */
const maxFrames = 100_000;
/** The order of axes in frame numbers: the first axis varies fastest. Axes that are not listed follow in alphabetical order. */
const axisOrder = ['C', 'Z', 'T'];
/** The axis of scenes. An image has this axis only if its scenes overlap. */
const sceneAxis = 'XY';
/**
 * Maximum number of comparisons of sub-blocks. If these find no overlap, the scenes are treated as disjoint, as the format
 * requires.
 */
const maxComparisons = 5_000_000;
/** Number of sub-blocks that are processed before other work on the event loop can run. */
const blocksPerSlice = 256;
/** Maximum number of extra pixels that are read for one tile if scenes lack a reduced layer. */
const maxExtraPixels = 2 ** 20;

/** The sub-blocks of one plane, one scene and one reduction, in the order in which they are drawn. */
export interface BlockGroup {
  /** Pixels of full resolution per stored pixel. */
  scale: number;
  /** The rectangle that the sub-blocks cover, in pixels of full resolution from the upper left corner of the image. */
  box: Box;
  blocks: readonly SubBlock[];
}

/** The groups of one scene in one frame, the finest first. */
export type SceneGroups = readonly BlockGroup[];

/** The image that the sub-blocks form. */
export interface CziLayout {
  /** Coordinates of the upper left corner of the image in the file. */
  left: number;
  top: number;
  width: number;
  height: number;
  dtype: SampleType;
  bands: number;
  frames: readonly { axes: Readonly<Record<string, number>>; scenes: readonly SceneGroups[] }[];
  /** Values of axis C in the file, in the order of the frames. */
  channelNumbers: readonly number[];
  /** The scenes by their numbers, with the rectangles that they cover. */
  scenes: ReadonlyMap<number, Box>;
  /** Whether scenes overlap. Then each scene has its own frames. */
  hasFramesPerScene: boolean;
}

/**
 * Pixels of full resolution per stored pixel. The result is a power of two or three if this is consistent with the rounded sizes.
 */
function scaleOf({ width, height, storedWidth, storedHeight }: SubBlock): number {
  if (width === storedWidth && height === storedHeight) return 1;
  const [length, storedLength] = storedWidth >= storedHeight ? [width, storedWidth] : [height, storedHeight];
  const ratio = length / storedLength;
  for (const base of [2, 3]) {
    const power = base ** Math.round(Math.log(ratio) / Math.log(base));
    if (power > 1 && Math.abs(storedLength * power - length) < power) return power;
  }
  return ratio;
}

interface Extent {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

function extendExtent(extent: Extent | undefined, block: SubBlock): Extent {
  return {
    left: Math.min(extent?.left ?? Infinity, block.left),
    top: Math.min(extent?.top ?? Infinity, block.top),
    right: Math.max(extent?.right ?? -Infinity, block.left + block.width),
    bottom: Math.max(extent?.bottom ?? -Infinity, block.top + block.height),
  };
}

function boxOf({ left, top, right, bottom }: Extent, origin: { left: number; top: number }): Box {
  return { left: left - origin.left, top: top - origin.top, width: right - left, height: bottom - top };
}

/** The values that the planes have on each axis, in ascending order. */
function axesOf({ planes }: SubBlocks): Map<string, number[]> {
  const values = new Map<string, Set<number>>();
  for (const plane of planes) {
    for (const [axis, value] of plane) values.set(axis, (values.get(axis) ?? new Set()).add(value));
  }
  const rank = (axis: string): number => (axisOrder.includes(axis) ? axisOrder.indexOf(axis) : axisOrder.length);
  const sortedAxes = [...values].toSorted(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1));
  return new Map(sortedAxes.map(([axis, set]) => [axis, [...set].toSorted((a, b) => a - b)]));
}

/** Whether sub-blocks of full resolution of two scenes overlap in the same plane. */
async function doScenesOverlap(fullSizeBlocks: readonly SubBlock[]): Promise<boolean> {
  let comparisons = 0;
  for (const planeBlocks of groupBy(fullSizeBlocks, ({ plane }) => plane).values()) {
    // The sub-blocks are visited from left to right. `openBlocks` are those that extend beyond the left edge of the current block.
    let openBlocks: SubBlock[] = [];
    for (const block of planeBlocks.toSorted((a, b) => a.left - b.left)) {
      openBlocks = openBlocks.filter((other) => other.left + other.width > block.left);
      const overlaps = (other: SubBlock): boolean =>
        other.scene !== block.scene && other.top < block.top + block.height && block.top < other.top + other.height;
      if (openBlocks.some(overlaps)) return true;
      openBlocks.push(block);
      comparisons += openBlocks.length;
      if (comparisons > maxComparisons) return false;
    }
    if (isSliceOver()) await nextSlice();
  }
  return false;
}

function groupBy<K>(blocks: readonly SubBlock[], keyOf: (block: SubBlock) => K): Map<K, SubBlock[]> {
  const blocksByKey = new Map<K, SubBlock[]>();
  for (const block of blocks) {
    const key = keyOf(block);
    const group = blocksByKey.get(key);
    if (group === undefined) blocksByKey.set(key, [block]);
    else group.push(block);
  }
  return blocksByKey;
}

/** The sub-blocks of one scene by their reduction (pixels of full resolution per stored pixel). */
type BlocksByScale = Map<number, SubBlock[]>;

function groupsOf(blocksByScale: BlocksByScale, origin: { left: number; top: number }): SceneGroups {
  return [...blocksByScale]
    .map(([scale, blocks]): BlockGroup => {
      let extent: Extent | undefined;
      for (const block of blocks) extent = extendExtent(extent, block);
      return { scale, box: boxOf(extent!, origin), blocks: blocks.toSorted((a, b) => a.order - b.order) };
    })
    .toSorted((a, b) => a.scale - b.scale);
}

interface Extents {
  image: Extent;
  scenes: Map<number, Extent>;
  fullSizeBlocks: SubBlock[];
}

async function findExtents(blocks: readonly SubBlock[]): Promise<Extents> {
  let image: Extent | undefined;
  const scenes = new Map<number, Extent>();
  const fullSizeBlocks: SubBlock[] = [];
  for (const [index, block] of blocks.entries()) {
    if (index % blocksPerSlice === 0 && isSliceOver()) await nextSlice();
    if (scaleOf(block) !== 1) continue;
    image = extendExtent(image, block);
    scenes.set(block.scene, extendExtent(scenes.get(block.scene), block));
    fullSizeBlocks.push(block);
  }
  if (image === undefined) throw new TileSourceError('The CZI has no sub-block of full resolution.');
  return { image, scenes, fullSizeBlocks };
}

/** Groups the sub-blocks by frame, scene and reduction. */
async function groupByFrame(
  { blocks, planes }: SubBlocks,
  axes: ReadonlyMap<string, readonly number[]>,
): Promise<Map<number, Map<number, BlocksByScale>>> {
  const numberedAxes = [...axes].map(([axis, values]) => ({
    axis,
    positionByValue: new Map(values.map((value, position) => [value, position])),
  }));
  const blocksByFrame = new Map<number, Map<number, BlocksByScale>>();
  for (const [index, block] of blocks.entries()) {
    if (index % blocksPerSlice === 0 && isSliceOver()) await nextSlice();
    let [frame, stride] = [0, 1];
    for (const { axis, positionByValue } of numberedAxes) {
      const value = axis === sceneAxis ? block.scene : planes[block.plane]?.get(axis);
      frame += (value === undefined ? 0 : (positionByValue.get(value) ?? 0)) * stride;
      stride *= positionByValue.size;
    }
    const blocksByScene = blocksByFrame.get(frame) ?? new Map<number, BlocksByScale>();
    const blocksByScale = blocksByScene.get(block.scene) ?? new Map<number, SubBlock[]>();
    const scale = scaleOf(block);
    const group = blocksByScale.get(scale);
    if (group === undefined) blocksByScale.set(scale, [block]);
    else group.push(block);
    blocksByFrame.set(frame, blocksByScene.set(block.scene, blocksByScale));
  }
  return blocksByFrame;
}

/** Arranges the sub-blocks as frames, scenes and reductions. @throws TileSourceError if they form no image. */
export async function layOutSubBlocks(subBlocks: SubBlocks): Promise<CziLayout> {
  const extents = await findExtents(subBlocks.blocks);
  const origin = { left: extents.image.left, top: extents.image.top };
  const scenes = new Map(
    [...extents.scenes].toSorted(([a], [b]) => a - b).map(([scene, extent]) => [scene, boxOf(extent, origin)]),
  );
  const axes = axesOf(subBlocks);
  const hasFramesPerScene = scenes.size > 1 && (await doScenesOverlap(extents.fullSizeBlocks));
  if (hasFramesPerScene) axes.set(sceneAxis, [...scenes.keys()]);
  const frameCount = [...axes.values()].reduce((product, values) => product * values.length, 1);
  if (frameCount > maxFrames) throw new TileSourceError(`The CZI has ${frameCount} planes; at most ${maxFrames} are supported.`);
  const usedAxes = [...axes].filter(([, values]) => values.length > 1);
  const blocksByFrame = await groupByFrame(subBlocks, axes);
  const frames = Array.from({ length: frameCount }, (_, frame) => {
    const sceneBlocks = [...(blocksByFrame.get(frame)?.values() ?? [])];
    return { axes: positionOf(usedAxes, frame), scenes: sceneBlocks.map((blocksByScale) => groupsOf(blocksByScale, origin)) };
  });
  const { width, height } = boxOf(extents.image, origin);
  const types = new Set(extents.fullSizeBlocks.map(({ pixelType }) => pixelType));
  return {
    ...origin,
    width,
    height,
    ...commonType([...types].map(pixelTypeOf)),
    frames,
    channelNumbers: axes.get('C') ?? [0],
    scenes,
    hasFramesPerScene,
  };
}

function positionOf(usedAxes: readonly [string, readonly number[]][], frame: number): Record<string, number> {
  let remainder = frame;
  const position: Record<string, number> = {};
  for (const [axis, { length }] of usedAxes) {
    position[axis] = remainder % length;
    remainder = Math.floor(remainder / length);
  }
  return position;
}

/** The group from which a level of this scale is drawn: the scene's coarsest group that is at least as fine as the level. */
export function groupFor(scene: SceneGroups, scale: number): BlockGroup | undefined {
  return scene.findLast((group) => group.scale <= scale);
}

/**
 * Whether a level can be drawn from the file cheaply. At least one scene must have a reduced layer for the level, and scenes
 * without such a layer must be small. Only the first frame with sub-blocks is examined, because all frames have the same layers.
 */
export function isLevelPopulated({ frames, width, height }: CziLayout, scale: number, tileSide: number): boolean {
  const scenes = (frames.find((frame) => frame.scenes.length > 0) ?? frames[0])?.scenes ?? [];
  const tiles = Math.ceil(width / scale / tileSide) * Math.ceil(height / scale / tileSide);
  let [storedPixels, shownPixels, hasLayer] = [0, 0, false];
  for (const scene of scenes) {
    const group = groupFor(scene, scale);
    if (group === undefined) return false;
    const area = group.box.width * group.box.height;
    hasLayer ||= group.scale > scale / 2;
    storedPixels += area / group.scale ** 2;
    shownPixels += area / scale ** 2;
  }
  return hasLayer && storedPixels < 4 * shownPixels + tiles * maxExtraPixels;
}
