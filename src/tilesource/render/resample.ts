import type { Size, Window } from '../geometry.js';

/** Ways to scale, by their names in libvips. */
export type Kernel = 'nearest' | 'linear' | 'cubic' | 'lanczos3';

/** How a region is scaled: by a kernel of libvips, or by `average`, which leaves samples without a value out of means. */
export type ScaleMethod = Kernel | 'average';

/** A task to make rows of a scaled picture from rows of another picture. */
export interface ResampleTask {
  /** Samples of 1 to 4 bands. If there are 2 or 4 bands, the last band is alpha. */
  data: Uint8Array;
  width: number;
  height: number;
  bands: number;
  /** The window that the whole result shows, in pixels of `data`. */
  window: Window;
  /** Size of the whole result. */
  output: Size;
  kernel: Exclude<Kernel, 'nearest'>;
  /** Rows of the result to compute, not including row `to`. */
  from: number;
  to: number;
}

/** Distance from the center of a kernel to its end, in pixels of the source or of the result, whichever pixels are larger. */
const supports: Readonly<Record<ResampleTask['kernel'], number>> = { linear: 1, cubic: 2, lanczos3: 3 };

const sinc = (x: number) => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));

const kernels: Readonly<Record<ResampleTask['kernel'], (distance: number) => number>> = {
  linear: (x) => Math.max(0, 1 - x),
  // Catmull-Rom.
  cubic: (x) => (x < 1 ? (1.5 * x - 2.5) * x * x + 1 : x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0),
  lanczos3: (x) => (x < 3 ? sinc(x) * sinc(x / 3) : 0),
};

/**
 * How far beyond a window pixels are needed, in pixels of the source.
 *
 * @param ratio number of source pixels per pixel of the result.
 */
export function reach(kernel: ScaleMethod, ratio: number): number {
  return kernel === 'nearest' || kernel === 'average' ? 0 : supports[kernel] * Math.max(1, ratio);
}

/**
 * Which source pixels are mixed for each pixel of the result, along one axis. Pixel i is made of `counts[i]` source pixels,
 * beginning with `firsts[i]`. Their weights begin at `weights[i * taps]`.
 */
interface PixelMixtures {
  firsts: Int32Array;
  counts: Int32Array;
  weights: Float32Array;
  /** Number of weights that are reserved for each pixel. */
  taps: number;
}

function mixturesAlong(
  axis: { source: number; start: number; length: number; output: number },
  kernel: ResampleTask['kernel'],
  from: number,
  to: number,
): PixelMixtures {
  const ratio = axis.length / axis.output;
  const stretch = Math.max(1, ratio);
  const support = supports[kernel] * stretch;
  const taps = Math.min(axis.source, Math.ceil(support * 2) + 2);
  const mixtures = {
    firsts: new Int32Array(to - from),
    counts: new Int32Array(to - from),
    weights: new Float32Array((to - from) * taps),
    taps,
  };
  const limit = axis.source - 1;
  for (let index = from; index < to; index += 1) {
    const center = axis.start + (index + 0.5) * ratio;
    const low = Math.ceil(center - support - 0.5);
    const high = Math.floor(center + support - 0.5);
    const first = Math.min(limit, Math.max(0, low));
    const last = Math.min(limit, Math.max(0, high));
    const at = (index - from) * taps;
    let sum = 0;
    for (let position = low; position <= high; position += 1) {
      const weight = kernels[kernel](Math.abs(position + 0.5 - center) / stretch);
      // Beyond the picture, its border is repeated.
      mixtures.weights[at + Math.min(last, Math.max(first, position)) - first]! += weight;
      sum += weight;
    }
    for (let tap = 0; tap <= last - first; tap += 1) mixtures.weights[at + tap]! /= sum;
    mixtures.firsts[index - from] = first;
    mixtures.counts[index - from] = last - first + 1;
  }
  return mixtures;
}

/** Approximate number of multiplications for making a picture. */
export function resampleCost({ width, bands, window, output, kernel }: Omit<ResampleTask, 'data' | 'from' | 'to'>): number {
  const down = 2 * reach(kernel, window.height / output.height);
  const across = 2 * reach(kernel, window.width / output.width);
  return output.height * bands * (width * down + output.width * across);
}

/** Computes the rows of a task. Colors are weighted by their alpha. */
export function resampleRows(task: ResampleTask): Uint8Array<ArrayBuffer> {
  const { width, height, bands, window, output, kernel, from, to } = task;
  const hasAlpha = bands === 2 || bands === 4;
  const source = hasAlpha ? multiplyByAlpha(task.data, bands) : task.data;
  const down = mixturesAlong(
    { source: height, start: window.top, length: window.height, output: output.height },
    kernel,
    from,
    to,
  );
  const across = mixturesAlong(
    { source: width, start: window.left, length: window.width, output: output.width },
    kernel,
    0,
    output.width,
  );
  const rowLength = width * bands;
  const row = new Float32Array(rowLength);
  const out = new Uint8ClampedArray((to - from) * output.width * bands);
  const mixedRow = new Float32Array(output.width * bands);
  for (let y = 0; y < to - from; y += 1) {
    row.fill(0);
    const first = down.firsts[y]!;
    for (let tap = 0; tap < down.counts[y]!; tap += 1)
      addRow(row, source, (first + tap) * rowLength, down.weights[y * down.taps + tap]!);
    mixRow(row, mixedRow, across, bands);
    if (hasAlpha) divideByAlpha(mixedRow, bands);
    out.set(mixedRow, y * output.width * bands);
  }
  return new Uint8Array(out.buffer);
}

function addRow(row: Float32Array, source: Uint8Array | Float32Array, start: number, weight: number): void {
  for (let at = 0; at < row.length; at += 1) row[at]! += source[start + at]! * weight;
}

function mixRow(row: Float32Array, mixed: Float32Array, { firsts, counts, weights, taps }: PixelMixtures, bands: number): void {
  if (bands === 3) {
    for (let x = 0, to = 0; x < firsts.length; x += 1) {
      let at = firsts[x]! * 3;
      const end = x * taps + counts[x]!;
      let [red, green, blue] = [0, 0, 0];
      for (let tap = x * taps; tap < end; tap += 1) {
        const weight = weights[tap]!;
        red += row[at++]! * weight;
        green += row[at++]! * weight;
        blue += row[at++]! * weight;
      }
      mixed[to++] = red;
      mixed[to++] = green;
      mixed[to++] = blue;
    }
    return;
  }
  for (let x = 0; x < firsts.length; x += 1) {
    for (let band = 0; band < bands; band += 1) {
      let sum = 0;
      let at = firsts[x]! * bands + band;
      const end = x * taps + counts[x]!;
      for (let tap = x * taps; tap < end; tap += 1, at += bands) sum += row[at]! * weights[tap]!;
      mixed[x * bands + band] = sum;
    }
  }
}

/** Returns the samples with colors multiplied by alpha. Alpha stays unchanged. */
function multiplyByAlpha(data: Uint8Array, bands: number): Float32Array {
  const out = Float32Array.from(data);
  for (let at = 0; at < out.length; at += bands) {
    const alpha = out[at + bands - 1]! / 255;
    for (let band = 0; band < bands - 1; band += 1) out[at + band]! *= alpha;
  }
  return out;
}

function divideByAlpha(row: Float32Array, bands: number): void {
  for (let at = 0; at < row.length; at += bands) {
    const alpha = row[at + bands - 1]! / 255;
    for (let band = 0; band < bands - 1; band += 1) row[at + band] = alpha > 0 ? row[at + band]! / alpha : 0;
  }
}
