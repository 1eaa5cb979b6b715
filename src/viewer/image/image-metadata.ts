import type { Documents } from '../answers.js';
import { formatLength, formatNumber } from '../format.js';
import { imageTexts } from '../texts.js';

/** The metadata about the order of frames. */
type AxisMetadata = Pick<ImageMetadata, 'IndexRange' | 'IndexStride' | 'channels' | 'mm_z' | 'seconds_t'> & FrameList;

/** The frames. Only their number and the names of positions are used here. */
type FrameList = { frames?: readonly { Frame: number; Position?: string }[] };

/** Sizes are in full-resolution pixels; `mm_x` and `mm_y` are the size of a pixel in millimeters. */
export type ImageMetadata = Documents['LargeImage'];

/** An axis of the frames of an image. */
export interface Axis {
  /** key in `IndexRange`, such as `IndexC`; `Frame` if the image has no named axes */
  key: string;
  label: string;
  /** number of positions */
  range: number;
  /** number of frames from one position to the next */
  stride: number;
  /** names of the positions; some or all may be missing */
  names: readonly (string | undefined)[];
  /** the distance of a position from the first position, with its unit; missing if the file does not state it */
  distanceOf?: (position: number) => string;
}

/** The order in which axes are shown. Other axes follow. */
const axisOrder = ['IndexC', 'IndexZ', 'IndexT', 'IndexXY'];

/** The axes with more than one position; empty for an image of one frame. */
export function axesOf({ frames = [], IndexRange = {}, IndexStride = {}, channels = [], ...distances }: AxisMetadata): Axis[] {
  if (frames.length < 2) return [];
  const keys = Object.keys(IndexRange).filter((key) => (IndexRange[key] ?? 0) > 1 && (IndexStride[key] ?? 0) > 0);
  if (keys.length === 0)
    return [{ key: 'Frame', label: imageTexts.axes.Frame ?? '', range: frames.length, stride: 1, names: [] }];
  return keys.toSorted(byAxisOrder).map((key) => ({
    key,
    label: imageTexts.axes[key] ?? key.replace(/^Index/, ''),
    range: IndexRange[key] as number,
    stride: IndexStride[key] as number,
    names: namesOn(key),
    ...distanceMember(key, distances),
  }));

  function namesOn(key: string) {
    if (key === 'IndexC') return channels;
    if (key !== 'IndexXY') return [];
    const stride = IndexStride.IndexXY as number;
    return Array.from({ length: IndexRange.IndexXY as number }, (_, position) => frames[position * stride]?.Position);
  }
}

function distanceMember(key: string, { mm_z: mmZ, seconds_t: seconds }: Pick<ImageMetadata, 'mm_z' | 'seconds_t'>) {
  if (key === 'IndexZ' && mmZ !== undefined) return { distanceOf: (position: number) => formatLength(position * mmZ) };
  if (key === 'IndexT' && seconds !== undefined)
    return { distanceOf: (position: number) => `${formatNumber(position * seconds, 4)} s` };
  return {};
}

function byAxisOrder(a: string, b: string) {
  const rank = (key: string) => (axisOrder.includes(key) ? axisOrder.indexOf(key) : axisOrder.length);
  return rank(a) - rank(b) || a.localeCompare(b);
}

/** Position of a frame on an axis, counted from 0. */
export function positionOf({ range, stride }: Axis, frame: number) {
  return Math.floor(frame / stride) % range;
}

/** The frame at a position of one axis, with the positions of `frame` on all other axes. */
export function frameAt(axis: Axis, frame: number, position: number) {
  return frame + (position - positionOf(axis, frame)) * axis.stride;
}

/** The frame that is shown at first: the middle z plane, because the outer planes are often out of focus. */
export function openingFrame(metadata: AxisMetadata) {
  const zAxis = axesOf(metadata).find(({ key }) => key === 'IndexZ');
  return zAxis ? frameAt(zAxis, 0, Math.floor((zAxis.range - 1) / 2)) : 0;
}

/** The frame number in an address, if the image has that frame; otherwise the result of {@link openingFrame}. */
export function readFrame(text: string | null, metadata: AxisMetadata) {
  const frame = Number(text === null || text === '' ? NaN : text);
  const isKnown = Number.isSafeInteger(frame) && frame >= 0 && frame < (metadata.frames?.length ?? 0);
  return isKnown ? frame : openingFrame(metadata);
}
