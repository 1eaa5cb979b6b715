// @ts-check

/**
 * What GET tiles says of an image, as far as this page reads it.
 *
 * @typedef {object} ImageMetadata
 * @property {number} sizeX full-resolution pixels
 * @property {number} sizeY
 * @property {number} tileWidth
 * @property {number} tileHeight
 * @property {number} levels
 * @property {number | null} magnification
 * @property {number | null} mm_x millimetres per full-resolution pixel
 * @property {number | null} mm_y
 * @property {string} [dtype]
 * @property {number} [bandCount]
 * @property {{ Frame: number, Channel?: string }[]} [frames]
 * @property {Record<string, number>} [IndexRange]
 * @property {Record<string, number>} [IndexStride]
 * @property {string[]} [channels]
 */

/**
 * One direction in which the frames of an image are counted.
 *
 * @typedef {object} Axis
 * @property {string} key as in `IndexRange`: `IndexC`; `Frame` where the image names no axes
 * @property {string} label
 * @property {number} range number of positions
 * @property {number} stride frames from one position to the next
 * @property {readonly string[]} names of the positions; empty where they have none
 */

/** @type {Record<string, string>} */
const axisLabels = { IndexC: 'Channel', IndexZ: 'Z', IndexT: 'Time', IndexXY: 'Position', Frame: 'Frame' };

/** The order in which axes are shown; others follow. */
const axisOrder = ['IndexC', 'IndexZ', 'IndexT', 'IndexXY'];

/**
 * The axes along which a reader can move; empty for an image of one frame.
 *
 * @param {ImageMetadata} metadata
 * @returns {Axis[]}
 */
export function axesOf({ frames = [], IndexRange = {}, IndexStride = {}, channels = [] }) {
  if (frames.length < 2) return [];
  const keys = Object.keys(IndexRange).filter((key) => (IndexRange[key] ?? 0) > 1 && (IndexStride[key] ?? 0) > 0);
  if (keys.length === 0) return [{ key: 'Frame', label: 'Frame', range: frames.length, stride: 1, names: [] }];
  return keys.toSorted(byAxisOrder).map((key) => ({
    key,
    label: axisLabels[key] ?? key.replace(/^Index/, ''),
    range: /** @type {number} */ (IndexRange[key]),
    stride: /** @type {number} */ (IndexStride[key]),
    names: key === 'IndexC' ? channels : [],
  }));
}

/** @param {string} a @param {string} b */
function byAxisOrder(a, b) {
  const rank = (/** @type {string} */ key) => (axisOrder.includes(key) ? axisOrder.indexOf(key) : axisOrder.length);
  return rank(a) - rank(b) || a.localeCompare(b);
}

/**
 * Where on an axis a frame lies.
 *
 * @param {Axis} axis
 * @param {number} frame
 */
export function positionOf({ range, stride }, frame) {
  return Math.floor(frame / stride) % range;
}

/**
 * The frame reached by moving along one axis and staying on all others.
 *
 * @param {Axis} axis
 * @param {number} frame
 * @param {number} position
 */
export function frameAt(axis, frame, position) {
  return frame + (position - positionOf(axis, frame)) * axis.stride;
}

/**
 * A frame number from an address, brought into the image.
 *
 * @param {string | null} text
 * @param {ImageMetadata} metadata
 */
export function readFrame(text, { frames = [] }) {
  const frame = Number(text ?? 0);
  return Number.isSafeInteger(frame) && frame > 0 && frame < frames.length ? frame : 0;
}
