import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import { isPowerOfTwo } from '../../geometry.js';
import { TileSourceError } from '../../../errors.js';
import type { DicomInstance } from './instance.js';
import { sampleShape } from './dicom-pixels.js';

/** Maximum number of frames (planes) of an image. */
const maxPlanes = 100_000;
/** Maximum number of tiles of one level whose positions are listed in the file. */
const maxListedTiles = 10_000_000;
/** Number of frames that are listed between checks of the time. */
const framesPerTimeCheck = 1024;
/** Maximum number of frames in one tile, because levels may have frames of single pixels. */
const maxFramesPerTile = 4096;
/** Names of associated images by the flavor of their instances. */
const associatedNameByFlavor: Readonly<Record<string, string>> = { LABEL: 'label', OVERVIEW: 'macro', THUMBNAIL: 'thumbnail' };

/** Where a frame is stored: its file, and its number in the file. */
interface FramePosition {
  instance: DicomInstance;
  frame: number;
}

/** One level of an image. */
export interface DicomLevel {
  width: number;
  height: number;
  tileWidth: number;
  tileHeight: number;
  /**
   * Finds the tiles that overlap a rectangle of one plane. `left` and `top` are the position of a tile's upper left pixel in the
   * level.
   */
  tilesIn(
    plane: number,
    box: { left: number; top: number; width: number; height: number },
  ): (FramePosition & { left: number; top: number })[];
}

/** The image that the files form. */
export interface DicomLayout {
  /** The file whose header describes the image: for a slide, a file of the finest level; otherwise, the opened file. */
  mainInstance: DicomInstance;
  /** Levels by their reduction: the key n means that sides are 2^n times shorter. */
  levelsByPower: ReadonlyMap<number, DicomLevel>;
  /**
   * Positions of the planes on the axes C (optical path) and Z (focal plane). In images that are not slides, each frame is a plane
   * along Z.
   */
  planes: readonly Readonly<Record<string, number>>[];
  channels: readonly string[];
  associated: ReadonlyMap<string, DicomInstance>;
}

/** A level whose frames are stored row by row and plane by plane, possibly in several files. */
function createFullLevel(parts: readonly DicomInstance[]): DicomLevel {
  const { matrixColumns: width, matrixRows: height, columns: tileWidth, rows: tileHeight } = parts[0]!.header;
  const [tilesAcross, tilesDown] = [Math.ceil(width / tileWidth), Math.ceil(height / tileHeight)];
  const sortedParts = parts
    .toSorted((a, b) => a.header.frameOffset - b.header.frameOffset)
    .filter(({ header }, i, all) => header.frameOffset !== all[i - 1]?.header.frameOffset);
  const positionOf = (frameNumber: number): FramePosition | undefined => {
    let [low, high] = [0, sortedParts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sortedParts[middle]!.header.frameOffset > frameNumber) high = middle;
      else low = middle + 1;
    }
    const instance = sortedParts[low - 1];
    const frame = frameNumber - (instance?.header.frameOffset ?? 0);
    return instance && frame < instance.header.frames ? { instance, frame } : undefined;
  };
  return {
    width,
    height,
    tileWidth,
    tileHeight,
    tilesIn(plane, box) {
      const tiles: (FramePosition & { left: number; top: number })[] = [];
      const lastY = Math.min(tilesDown - 1, Math.floor((box.top + box.height - 1) / tileHeight));
      const lastX = Math.min(tilesAcross - 1, Math.floor((box.left + box.width - 1) / tileWidth));
      const [firstX, firstY] = [Math.floor(box.left / tileWidth), Math.floor(box.top / tileHeight)];
      checkFrameCount((lastX - firstX + 1) * (lastY - firstY + 1));
      for (let y = firstY; y <= lastY; y++) {
        for (let x = firstX; x <= lastX; x++) {
          const position = positionOf((plane * tilesDown + y) * tilesAcross + x);
          if (position !== undefined) tiles.push({ ...position, left: x * tileWidth, top: y * tileHeight });
        }
      }
      return tiles;
    },
  };
}

/** @throws TileSourceError if a tile would consist of too many frames. */
function checkFrameCount(count: number): void {
  if (count > maxFramesPerTile)
    throw new TileSourceError(`A tile of the DICOM would need ${count} frames; at most ${maxFramesPerTile} are supported.`);
}

/** A level whose frames declare their positions. */
async function createSparseLevel(parts: readonly DicomInstance[], focalPlanes: number): Promise<DicomLevel> {
  const { matrixColumns: width, matrixRows: height, columns: tileWidth, rows: tileHeight } = parts[0]!.header;
  // Frames need not be aligned. They are indexed by the grid cell that contains their upper left pixel.
  const tilesByCell = new Map<string, (FramePosition & { left: number; top: number })[]>();
  for (const instance of parts) {
    const { positions } = instance.header;
    for (let frame = 0; frame * 4 < Math.min(positions?.length ?? 0, maxListedTiles * 4); frame++) {
      const [left, top, path, z] = [0, 1, 2, 3].map((i) => positions?.[frame * 4 + i] ?? -1) as [number, number, number, number];
      if (left < 0 || top < 0) continue;
      const key = `${path * focalPlanes + z}/${Math.floor(left / tileWidth)}/${Math.floor(top / tileHeight)}`;
      const tile = { instance, frame, left, top };
      const cell = tilesByCell.get(key);
      if (cell === undefined) tilesByCell.set(key, [tile]);
      else cell.push(tile);
      if (frame % framesPerTimeCheck === 0 && isSliceOver()) await nextSlice();
    }
  }
  return {
    width,
    height,
    tileWidth,
    tileHeight,
    tilesIn(plane, box) {
      const tiles: (FramePosition & { left: number; top: number })[] = [];
      checkFrameCount(Math.ceil(box.width / tileWidth) * Math.ceil(box.height / tileHeight));
      for (let y = Math.floor(box.top / tileHeight) - 1; y * tileHeight < box.top + box.height; y++) {
        for (let x = Math.floor(box.left / tileWidth) - 1; x * tileWidth < box.left + box.width; x++) {
          const cell = tilesByCell.get(`${plane}/${x}/${y}`) ?? [];
          checkFrameCount(tiles.length + cell.length);
          tiles.push(...cell);
        }
      }
      return tiles.filter(({ left, top }) => left + tileWidth > box.left && top + tileHeight > box.top);
    },
  };
}

function groupBySize(instances: readonly DicomInstance[]): DicomInstance[][] {
  const groups = new Map<string, DicomInstance[]>();
  for (const instance of instances) {
    const { matrixColumns, matrixRows, columns, rows } = instance.header;
    const key = [matrixColumns, matrixRows, columns, rows].join('/');
    const sameSizeGroup = groups.get(key);
    if (sameSizeGroup === undefined) groups.set(key, [instance]);
    else sameSizeGroup.push(instance);
  }
  const area = (group: readonly DicomInstance[]): number => group[0]!.header.matrixColumns * group[0]!.header.matrixRows;
  return [...groups.values()].toSorted((a, b) => area(b) - area(a));
}

/** Lays out a slide: its volume becomes the levels, and its other pictures become associated images. */
async function layOutSlide(instances: readonly DicomInstance[]): Promise<DicomLayout> {
  const associated = new Map<string, DicomInstance>();
  for (const instance of instances) {
    const name = associatedNameByFlavor[instance.header.flavor];
    if (name !== undefined && !associated.has(name)) associated.set(name, instance);
  }
  let volume = instances.filter(({ header }) => associatedNameByFlavor[header.flavor] === undefined);
  if (volume.length === 0) {
    volume = instances.slice(0, 1);
    for (const [name, instance] of associated) if (instance === volume[0]) associated.delete(name);
  }
  const groups = groupBySize(volume);
  const mainInstance = groups[0]![0]!;
  const focalPlanes = Math.max(
    mainInstance.header.focalPlanes,
    ...groups[0]!.map(({ header }) => countFocalPlanes(header.positions)),
  );
  const pathCount = Math.max(1, mainInstance.header.opticalPaths.length);
  const levelsByPower = new Map<number, DicomLevel>();
  for (const group of groups) {
    const ratio = mainInstance.header.matrixColumns / group[0]!.header.matrixColumns;
    const power = Math.round(Math.log2(ratio));
    const isLevel = group === groups[0] || (power > 0 && isPowerOfTwo(ratio, power));
    if (!isLevel || levelsByPower.has(power) || !haveSameSamples(group[0]!, mainInstance)) continue;
    const isSparse = group.some(({ header }) => header.positions !== null);
    levelsByPower.set(power, isSparse ? await createSparseLevel(group, focalPlanes) : createFullLevel(group));
  }
  const planes = Array.from({ length: checkPlaneCount(pathCount * focalPlanes) }, (_, plane) => ({
    ...(pathCount > 1 ? { C: Math.floor(plane / focalPlanes) } : {}),
    ...(focalPlanes > 1 ? { Z: plane % focalPlanes } : {}),
  }));
  return { mainInstance, levelsByPower, planes, channels: pathCount > 1 ? mainInstance.header.opticalPaths : [], associated };
}

function countFocalPlanes(positions: Int32Array | null): number {
  let count = 1;
  for (let i = 3; positions !== null && i < positions.length; i += 4) count = Math.max(count, positions[i]! + 1);
  return count;
}

function checkPlaneCount(count: number): number {
  if (count > maxPlanes) throw new TileSourceError(`The DICOM image has ${count} planes; at most ${maxPlanes} are supported.`);
  return count;
}

function haveSameSamples(a: DicomInstance, b: DicomInstance): boolean {
  const [shapeA, shapeB] = [sampleShape(a.header), sampleShape(b.header)];
  return shapeA.dtype === shapeB.dtype && shapeA.bands === shapeB.bands;
}

/**
 * Lays out an image that is not a slide. The frames of all files that have the same size and samples as the opened file are planes
 * along Z, in the order of the files' instance numbers.
 */
function layOutStack(instances: readonly DicomInstance[], openedInstance: DicomInstance): DicomLayout {
  const sameShapeInstances = instances.filter(
    (each) =>
      each.header.rows === openedInstance.header.rows &&
      each.header.columns === openedInstance.header.columns &&
      haveSameSamples(each, openedInstance),
  );
  const sortedInstances = sameShapeInstances.toSorted(
    (a, b) => a.header.instanceNumber - b.header.instanceNumber || (a.name < b.name ? -1 : 1),
  );
  const count = checkPlaneCount(sortedInstances.reduce((sum, { header }) => sum + header.frames, 0));
  const positions = sortedInstances.flatMap((instance) =>
    Array.from({ length: instance.header.frames }, (_, frame) => ({ instance, frame })),
  );
  const { columns: width, rows: height } = openedInstance.header;
  const level: DicomLevel = {
    width,
    height,
    tileWidth: width,
    tileHeight: height,
    tilesIn: (plane) => positions.slice(plane, plane + 1).map((position) => ({ ...position, left: 0, top: 0 })),
  };
  const planes = Array.from({ length: count }, (_, z): Record<string, number> => (count > 1 ? { Z: z } : {}));
  return { mainInstance: openedInstance, levelsByPower: new Map([[0, level]]), planes, channels: [], associated: new Map() };
}

/**
 * Determines the image that the files of one series form.
 *
 * @throws TileSourceError if the image has too many planes, or unsupported samples.
 */
export async function layOutSeries(instances: readonly DicomInstance[], openedInstance: DicomInstance): Promise<DicomLayout> {
  const { isSlide } = openedInstance.header;
  const seenUids = new Set<string>();
  const distinctInstances = instances.filter(({ header }) => {
    const isNew = header.instanceUid === '' || !seenUids.has(header.instanceUid);
    seenUids.add(header.instanceUid);
    return isNew && header.isSlide === isSlide;
  });
  return isSlide ? layOutSlide(distinctInstances) : layOutStack(distinctInstances, openedInstance);
}
