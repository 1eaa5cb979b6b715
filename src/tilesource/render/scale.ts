import { codecThreads } from '../codecs/threads/codec-threads.js';
import { levelScale, levelSize, isSameSize, type Box, type PyramidShape, type Size, type Window } from '../geometry.js';
import { mapConcurrently } from '../../core/concurrency/map-concurrently.js';
import { resizePicture } from './encode.js';
import { averageSamples } from '../pyramid/average.js';
import { resizeNearest, type Picture } from './pixels.js';
import { reach, resampleCost, resampleRows, type Kernel, type ResampleTask, type ScaleMethod } from './resample.js';

/** Maximum error of an edge's position, in pixels of the result, that is accepted so that libvips can scale whole pixels. */
const maxEdgeError = 0.02;

/** Maximum number of multiplications that are done on the event loop. */
const maxInlineProducts = 2 ** 20;
/** Number of multiplications in one task of a thread. */
const productsPerTask = 2 ** 25;

/** Maximum number of tasks that run at the same time. */
const maxConcurrentTasks = 2;

/** How to make a picture from a part of a level. */
export interface Scaling {
  /** The part of the level to read, in pixels of the level. */
  box: Box;
  /** The part of the box that the picture shows, in pixels of the box. */
  window: Window;
  output: Size;
  kernel: ScaleMethod;
  /** Whether the window is the whole box, apart from an error that nobody can see. */
  isWhole: boolean;
}

/** Converts a rectangle of base-layer pixels to pixels of a level. */
export function windowAtLevel(shape: PyramidShape, base: Box, level: number): Window {
  const scale = levelScale(shape, level);
  return { left: base.left / scale, top: base.top / scale, width: base.width / scale, height: base.height / scale };
}

/**
 * Plans how to read a window of a level and scale it to a size. With `isPart`, the window's neighbors are scaled separately, and
 * the results must fit together without a seam.
 */
export function planScaling(
  shape: PyramidShape,
  level: number,
  window: Window,
  { output, kernel, isPart = false }: { output: Size; kernel: ScaleMethod; isPart?: boolean },
): Scaling {
  const size = levelSize(shape, level);
  const x = planAxis(window.left, window.width, size.width, output.width, kernel);
  const y = planAxis(window.top, window.height, size.height, output.height, kernel);
  const isWhole = x.isWhole && y.isWhole && !isPart;
  const [across, down] = isWhole ? [x.roundedRange, y.roundedRange] : [x.neededRange, y.neededRange];
  return {
    box: { left: across.from, top: down.from, width: across.to - across.from, height: down.to - down.from },
    window: isWhole
      ? { left: 0, top: 0, width: across.to - across.from, height: down.to - down.from }
      : { ...window, left: window.left - across.from, top: window.top - down.from },
    output,
    kernel,
    isWhole,
  };
}

function planAxis(start: number, length: number, limit: number, output: number, kernel: ScaleMethod) {
  const ratio = length / output;
  const first = Math.min(limit - 1, Math.max(0, Math.round(start)));
  const roundedRange = { from: first, to: Math.min(limit, Math.max(first + 1, Math.round(start + length))) };
  const edgeError = Math.max(Math.abs(roundedRange.from - start), Math.abs(roundedRange.to - start - length)) / ratio;
  const reachPixels = reach(kernel, ratio);
  const margin = reachPixels === 0 ? 0 : reachPixels + 1;
  const from = Math.min(limit - 1, Math.max(0, Math.floor(start - margin)));
  const neededRange = { from, to: Math.min(limit, Math.max(from + 1, Math.ceil(start + length + margin))) };
  return { roundedRange, neededRange, isWhole: edgeError <= maxEdgeError };
}

/**
 * Whether libvips scales the picture correctly. This is only the case if the window has whole pixels and is not enlarged. libvips
 * would shift an enlarged picture by half a pixel, and with `nearest` would pick pixels at the corners of areas instead of their
 * middles.
 */
export function isForLibvips(scaling: Scaling): scaling is Scaling & { kernel: Kernel } {
  const { isWhole, window, output, kernel } = scaling;
  if (kernel === 'average') return false;
  const isSame = isSameSize(window, output);
  return isWhole && (isSame || (kernel !== 'nearest' && output.width <= window.width && output.height <= window.height));
}

/** Scales the picture of the box. */
export async function scalePicture(picture: Picture, scaling: Scaling, signal?: AbortSignal): Promise<Picture> {
  const { window, output, kernel } = scaling;
  if (kernel === 'average') return averageSamples(picture, output, { window, signal });
  if (isForLibvips(scaling)) return resizePicture(picture, { ...output, kernel }, signal);
  if (kernel === 'nearest') return resizeNearest(picture, output, window);
  const { width, height, bands } = picture;
  const shape = { width, height, bands, window, output, kernel };
  const cost = resampleCost(shape);
  if (cost <= maxInlineProducts) {
    return { ...picture, ...output, data: resampleRows({ ...shape, data: picture.data, from: 0, to: output.height }) };
  }
  const data = new Uint8Array(output.width * output.height * bands);
  const rows = Math.max(1, Math.floor((output.height * productsPerTask) / cost));
  const starts = Array.from({ length: Math.ceil(output.height / rows) }, (_, piece) => piece * rows);
  await mapConcurrently(starts, maxConcurrentTasks, async (from) => {
    signal?.throwIfAborted();
    const to = Math.min(output.height, from + rows);
    const resampled = await codecThreads.call(
      'resample',
      taskOfRows(picture, { ...shape, from, to }),
      'a picture to be scaled',
      signal,
    );
    data.set(resampled, from * output.width * bands);
  });
  return { ...picture, ...output, data };
}

/** Completes a task with the rows of the source that it needs. */
function taskOfRows(picture: Picture, task: Omit<ResampleTask, 'data'>): ResampleTask {
  const { window, output, kernel, from, to } = task;
  const ratio = window.height / output.height;
  const margin = reach(kernel, ratio) + 1;
  const limit = picture.height;
  const first = Math.min(limit - 1, Math.max(0, Math.floor(window.top + from * ratio - margin)));
  const end = Math.min(limit, Math.max(first + 1, Math.ceil(window.top + to * ratio + margin)));
  const stride = picture.width * picture.bands;
  const data = picture.data.slice(first * stride, end * stride);
  return { ...task, data, height: end - first, window: { ...window, top: window.top - first } };
}
