import { isSliceOver, nextSlice } from '../core/concurrency/slices.js';
import type { FrameMetadata, ImageMetadata } from './tile-source.js';
import { boundsOf, toCoordinates, type Bounds } from './geo/georeference.js';
import { nativeMagnification } from './region-plan.js';
import { bandInterpretations } from './measure/histogram.js';

/** A frame in responses: `Frame`, `Index`, `IndexC` … and the members from the file. */
type WireFrame = { Frame: number; Index: number } & Record<string, unknown>;

/** The response of GET tiles. */
export interface LargeImageMetadata {
  levels: number;
  sizeX: number;
  sizeY: number;
  tileWidth: number;
  tileHeight: number;
  magnification: number | null;
  /** Set if the magnification was computed from the size of a pixel. */
  magnificationComputed?: true;
  mm_x: number | null;
  mm_y: number | null;
  /** Set if a user has entered `mm_x` and `mm_y`. */
  pixelSizeEntered?: true;
  /** Millimeters from one z plane to the next, and seconds from one time to the next, if the file states them. */
  mm_z?: number;
  seconds_t?: number;
  dtype: string;
  bandCount: number;
  frames?: WireFrame[];
  IndexRange?: Record<string, number>;
  IndexStride?: Record<string, number>;
  channels?: string[];
  channelmap?: Record<string, number>;
  /** This member and those below are only present for images with a position on the earth. */
  geospatial?: true;
  sourceLevels?: number;
  sourceSizeX?: number;
  sourceSizeY?: number;
  projection?: string | null;
  /** The bounds of the image in the projection in which it is shown. */
  bounds?: Bounds;
  /** The bounds of the image in its own projection. */
  sourceBounds?: Bounds;
  bands?: Record<string, { interpretation: string; nodata?: number }>;
}

/** Results of {@link wireMetadata}. */
const wireMetadataByImage = new WeakMap<ImageMetadata, LargeImageMetadata>();

/** Metadata of an image as sent in responses. The result is cached, because an image may have 100,000 frames. */
export function wireMetadata(image: ImageMetadata): LargeImageMetadata {
  return wireMetadataByImage.get(image) ?? storeWireMetadata(image, wireFrames(image.frames ?? [], image.channels));
}

/** Computes in advance, in slices, what {@link wireMetadata} returns. */
export async function prepareWireMetadata(image: ImageMetadata): Promise<void> {
  if (wireMetadataByImage.has(image)) return;
  const description = describeFrames(image.frames ?? [], image.channels);
  let step = description.next();
  for (; step.done !== true; step = description.next()) if (isSliceOver()) await nextSlice();
  storeWireMetadata(image, step.value);
}

function storeWireMetadata(image: ImageMetadata, frameMembers: WireFrames): LargeImageMetadata {
  const metadata = {
    levels: image.levels,
    sizeX: image.sizeX,
    sizeY: image.sizeY,
    tileWidth: image.tileWidth,
    tileHeight: image.tileHeight,
    magnification: image.geo === undefined ? nativeMagnification(image) : image.magnification,
    ...(image.magnification === null &&
      image.mmX !== null &&
      image.geo === undefined && { magnificationComputed: true as const }),
    mm_x: image.mmX,
    mm_y: image.mmY,
    ...(image.mmZ !== undefined && { mm_z: image.mmZ }),
    ...(image.secondsT !== undefined && { seconds_t: image.secondsT }),
    ...(image.isScaleEntered && { pixelSizeEntered: true as const }),
    dtype: image.dtype,
    bandCount: image.bandCount,
    ...frameMembers,
    ...wireGeospatial(image),
  };
  wireMetadataByImage.set(image, metadata);
  return metadata;
}

/** The metadata members about the position of an image on the earth. Empty for images without such a position. */
function wireGeospatial(
  image: ImageMetadata,
): Pick<
  LargeImageMetadata,
  'geospatial' | 'projection' | 'bounds' | 'sourceBounds' | 'sourceLevels' | 'sourceSizeX' | 'sourceSizeY' | 'bands'
> {
  const { geo } = image;
  if (geo === undefined) return {};
  const size = { width: image.sizeX, height: image.sizeY };
  const bounds = boundsOf(size, (pixel) => toCoordinates(geo.transform, pixel), geo.projection ?? geo.proj4);
  const nodata = image.nodata === undefined ? {} : { nodata: image.nodata };
  const interpretations = bandInterpretations(image.bandCount);
  return {
    geospatial: true,
    sourceLevels: image.levels,
    sourceSizeX: image.sizeX,
    sourceSizeY: image.sizeY,
    projection: geo.projection ?? geo.proj4,
    bounds,
    sourceBounds: bounds,
    bands: Object.fromEntries(
      Array.from({ length: image.bandCount }, (_, band) => [
        band + 1,
        { interpretation: interpretations[band] ?? 'unknown', ...nodata },
      ]),
    ),
  };
}

type WireFrames = Pick<LargeImageMetadata, 'frames' | 'IndexRange' | 'IndexStride' | 'channels' | 'channelmap'>;

/** The members of the metadata that describe frames; empty for a single-frame image. */
export function wireFrames(frames: readonly FrameMetadata[], channels?: readonly string[]): WireFrames {
  const description = describeFrames(frames, channels);
  let step = description.next();
  while (step.done !== true) step = description.next();
  return step.value;
}

/** Number of frames that are described between two checks of the time. */
const framesPerCheck = 1024;

/** Computes what {@link wireFrames} returns. The caller can let other work run wherever this yields. */
function* describeFrames(frames: readonly FrameMetadata[], channels?: readonly string[]): Generator<void, WireFrames> {
  const range: Record<string, number> = {};
  const stride: Record<string, number> = {};
  for (const [number, frame] of frames.entries()) {
    if (number % framesPerCheck === 0) yield;
    for (const [axis, value] of Object.entries(frame.axes)) {
      const key = `Index${axis}`;
      if (value > 0) range[key] = Math.max(range[key] ?? 0, value + 1);
      if (value === 1) stride[key] ??= number;
    }
  }
  const channelCount = range.IndexC ?? 1;
  const channelNames = channels !== undefined && channels.length >= channelCount ? channels.slice(0, channelCount) : undefined;
  return {
    ...(frames.length > 1 && { frames: yield* numberFrames(frames, channelNames) }),
    ...(Object.keys(range).length > 0 && { IndexRange: range, IndexStride: stride }),
    ...(channelNames !== undefined && {
      channels: channelNames,
      channelmap: Object.fromEntries(channelNames.map((name, index) => [name, index])),
    }),
  };
}

function* numberFrames(frames: readonly FrameMetadata[], channels: readonly string[] | undefined): Generator<void, WireFrame[]> {
  const memberByAxis = new Map<string, string>();
  const wireFrameList: WireFrame[] = [];
  let setNumber = -1;
  let previous: Readonly<Record<string, number>> | undefined;
  for (const [number, frame] of frames.entries()) {
    if (number % framesPerCheck === 0) yield;
    const { axes } = frame;
    // A new set begins where an axis other than the channel advances, or where all axes return to their start.
    if (previous === undefined || !isSameSet(axes, previous)) setNumber += 1;
    previous = axes;
    const wireFrame: WireFrame = { ...frame.extra, Frame: number, Index: setNumber };
    for (const axis of Object.keys(axes)) {
      let member = memberByAxis.get(axis);
      if (member === undefined) memberByAxis.set(axis, (member = `Index${axis}`));
      wireFrame[member] = axes[axis];
    }
    const channel = frame.channel ?? (axes.C === undefined ? undefined : channels?.[axes.C]);
    if (channel !== undefined) wireFrame.Channel = channel;
    if (frame.color !== undefined) wireFrame.ChannelColor = frame.color;
    if (frame.position !== undefined) wireFrame.Position = frame.position;
    wireFrameList.push(wireFrame);
  }
  return wireFrameList;
}

/** Whether a frame is in the same set as the previous frame: only the channel differs, and not all axes are 0. */
function isSameSet(axes: Readonly<Record<string, number>>, previous: Readonly<Record<string, number>>): boolean {
  let isAtStart = true;
  for (const axis of Object.keys(axes)) {
    const value = axes[axis] as number;
    if (value !== 0) isAtStart = false;
    if (axis !== 'C' && value !== (previous[axis] ?? 0)) return false;
  }
  if (isAtStart) return false;
  for (const axis of Object.keys(previous)) if (axis !== 'C' && previous[axis] !== 0 && axes[axis] === undefined) return false;
  return true;
}

/**
 * Number of positions along an axis, such as `c`; 1 if the image does not use the axis.
 */
export function axisRange(metadata: Pick<LargeImageMetadata, 'IndexRange'>, axis: string): number {
  return metadata.IndexRange?.[`Index${axis.toUpperCase()}`] ?? 1;
}
