import type { FrameMetadata, ImageMetadata } from '../../tilesource/tile-source.js';
import type { Size } from '../../tilesource/geometry.js';

/** Sides that chunks can have, in pixels. Tiles of other sizes are split or joined. */
const chunkSides = { min: 256, max: 1024, defaultSide: 512 };

/** The names of axes, in the order that OME-Zarr requires. */
export type AxisName = 't' | 'c' | 'z' | 'y' | 'x';

/** Lengths of the axes along which frames and bands differ. */
interface AxisLengths {
  t: number;
  c: number;
  z: number;
}

/** Indices along the axes t, c and z. */
export interface Plane {
  t: number;
  c: number;
  z: number;
}

interface FrameBand {
  frame: number;
  band: number;
}

/**
 * One image as arrays of t, c, z, y and x. Axis c contains channels and bands: first the bands of the first channel, then the bands of
 * the second channel, and so on.
 */
export interface ArrayImage {
  name: string | null;
  metadata: ImageMetadata;
  axes: readonly AxisName[];
  lengths: AxisLengths;
  /** Width and height of a chunk, in pixels. */
  chunkSide: number;
  /** The sizes of the datasets, the finest first. Each is half as wide and high as the previous size, rounded up. */
  levels: readonly Size[];
  /** The frame and band that show a plane; `null` if the file lacks the plane. */
  frameBandAt(plane: Plane): FrameBand | null;
}

/** The axes of frames that OME-Zarr also has. */
const sharedAxes = new Set(['T', 'C', 'Z']);

/** The position of a frame along the axes that OME-Zarr does not have, as text. Frames at different positions belong to different images. */
function otherAxesText(axes: FrameMetadata['axes']): string {
  const otherAxes = Object.keys(axes).filter((axis) => !sharedAxes.has(axis) && axes[axis] !== 0);
  return otherAxes
    .sort()
    .map((axis) => `${axis}=${axes[axis]}`)
    .join(',');
}

/** Like {@link otherAxesText}, but with the name of the scene, `position`, instead of its index; `null` if the scene has no name. */
function sceneOf({ axes: { XY: _XY, ...axesWithoutScene }, position }: FrameMetadata): string | null {
  if (position === undefined) return null;
  return [position, otherAxesText(axesWithoutScene)].filter((part) => part !== '').join(', ');
}

function planeOf({ axes }: FrameMetadata): Plane {
  return { t: axes.T ?? 0, c: axes.C ?? 0, z: axes.Z ?? 0 };
}

/** Chooses the side of an image's chunks, in pixels. */
function chooseChunkSide({ tileWidth, tileHeight }: Pick<ImageMetadata, 'tileWidth' | 'tileHeight'>): number {
  const { min, max, defaultSide } = chunkSides;
  return tileWidth === tileHeight && tileWidth >= min && tileWidth <= max ? tileWidth : defaultSide;
}

function levelsOf({ sizeX, sizeY }: ImageMetadata, side: number): Size[] {
  const levels: Size[] = [];
  for (let scale = 1; ; scale *= 2) {
    const size = { width: Math.ceil(sizeX / scale), height: Math.ceil(sizeY / scale) };
    levels.push(size);
    if (size.width <= side && size.height <= side) return levels;
  }
}

/** The images of a file. A file has several images if its frames differ in more than time, channel and depth. */
export function imagesOf(metadata: ImageMetadata): ArrayImage[] {
  const frameByPlaneByName = new Map<string, Map<string, number>>();
  for (const [frame, frameMetadata] of (metadata.frames ?? []).entries()) {
    const axesText = otherAxesText(frameMetadata.axes);
    const { t, c, z } = planeOf(frameMetadata);
    const plane = `${t}/${c}/${z}`;
    // Frames that their metadata do not distinguish become separate images.
    let name = axesText;
    for (let copy = 1; frameByPlaneByName.get(name)?.has(plane) === true; copy += 1) name = `${axesText} ${copy}`;
    const frameByPlane = frameByPlaneByName.get(name);
    if (frameByPlane === undefined) frameByPlaneByName.set(name, new Map([[plane, frame]]));
    else frameByPlane.set(plane, frame);
  }
  if (frameByPlaneByName.size === 0) frameByPlaneByName.set('', new Map([['0/0/0', 0]]));
  return [...frameByPlaneByName].map(([name, frameByPlane]) => {
    const [firstFrame = 0] = frameByPlane.values();
    const scene = sceneOf(metadata.frames?.[firstFrame] ?? { axes: {} });
    return makeArrayImage(metadata, frameByPlane, frameByPlaneByName.size > 1 ? (scene ?? name) : null);
  });
}

function makeArrayImage(metadata: ImageMetadata, frameByPlane: ReadonlyMap<string, number>, name: string | null): ArrayImage {
  const lengths = { t: 1, c: 1, z: 1 };
  for (const frame of frameByPlane.values()) {
    const plane = planeOf(metadata.frames?.[frame] ?? { axes: {} });
    for (const axis of ['t', 'c', 'z'] as const) lengths[axis] = Math.max(lengths[axis], plane[axis] + 1);
  }
  const { bandCount } = metadata;
  const side = chooseChunkSide(metadata);
  const axes: AxisName[] = [...(lengths.t > 1 ? ['t' as const] : []), 'c', ...(lengths.z > 1 ? ['z' as const] : []), 'y', 'x'];
  return {
    name,
    metadata,
    axes,
    lengths: { ...lengths, c: lengths.c * bandCount },
    chunkSide: side,
    levels: levelsOf(metadata, side),
    frameBandAt({ t, c, z }) {
      const frame = frameByPlane.get(`${t}/${Math.floor(c / bandCount)}/${z}`);
      return frame === undefined ? null : { frame, band: c % bandCount };
    },
  };
}

/** Lengths of the axes of a dataset. */
export function shapeOf({ axes, lengths, levels }: Pick<ArrayImage, 'axes' | 'lengths' | 'levels'>, level: number): number[] {
  const { width, height } = levels[level]!;
  const lengthByAxis = { ...lengths, y: height, x: width };
  return axes.map((axis) => lengthByAxis[axis]);
}

/** The level of the tile source that a dataset shows; negative if the dataset is coarser than all levels of the source. */
export function sourceLevelOf({ metadata }: Pick<ArrayImage, 'metadata'>, level: number): number {
  return metadata.levels - 1 - level;
}
