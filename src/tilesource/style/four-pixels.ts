import type { Samples } from '../raster.js';
import type { ColorTable, StyleMemo } from './color-table.js';

/** Colors the pixels from `first` to `end`, which are both multiples of four. */
type FourPixelPass = (first: number, end: number) => void;

/** Number of pairs of two bytes. */
const bytePairs = 2 ** 16;

/** Added to products before fractions are cut off, because rounding errors may put a product slightly below a whole number. */
const roundingMargin = 1e-5;

/** The product of the colors of every pair of bytes. */
export function pairColors(a: ColorTable, b: ColorTable, memo: StyleMemo): Int32Array {
  return memo.getPairColors(a, b, () => {
    const colors = new Int32Array(bytePairs);
    const bytes = new Uint8Array(colors.buffer);
    for (let pair = 0; pair < bytePairs; pair += 1) {
      for (let channel = 0; channel < 4; channel += 1) {
        bytes[pair * 4 + channel] = (a.planes[channel]![pair >> 8]! * b.planes[channel]![pair & 255]!) / 255 + roundingMargin;
      }
    }
    return colors;
  });
}

/**
 * Returns a function that looks up colors, and writes red, green and blue of four pixels as three words. This takes less than half
 * the time of looking up and writing separately. Each loop is written out, because a function call takes longer than a pixel.
 * `null` if the bands need another pass.
 *
 * @param words the result.
 */
export function fourPixelPass(layers: readonly FusedLayer[], words: Int32Array, memo: StyleMemo): FourPixelPass | null {
  const [base, second] = layers;
  if (!base) return null;
  if (second === undefined) return (first, end) => lookUp(base, words, first, end);
  if (second.isMultiplied) {
    if (base.data !== second.data || base.stride !== second.stride) return null;
    const offset = (base.table.offset << 8) + second.table.offset;
    const colors = pairColors(base.table, second.table, memo);
    const { data, stride } = base;
    return (first, end) => lookUpPairs({ data, stride, a: base.band, b: second.band, offset, colors }, words, first, end);
  }
  const { data, stride } = base;
  const isTriples = layers.every((layer) => layer.data === data && layer.stride === 3);
  if (!isTriples || stride !== 3 || !(data instanceof Uint8Array) || data.byteOffset % 4 !== 0) return null;
  const samples = new Int32Array(data.buffer, data.byteOffset, data.length >> 2);
  const colors = new Int32Array(3 * 256);
  for (const { band, table } of layers) {
    for (let sample = 0; sample < 256; sample += 1) colors[band * 256 + sample]! |= table.words[sample]!;
  }
  return (first, end) => sumTriples(samples, colors, words, { first, end });
}

function lookUp({ data, stride, band, table }: FusedLayer, words: Int32Array, first: number, end: number): void {
  const { words: colors, offset } = table;
  let at = first * stride + band;
  for (let pixel = first, to = (first >> 2) * 3; pixel < end; pixel += 4, to += 3, at += 4 * stride) {
    const b = colors[data[at + stride]! - offset]! & 0xff_ff_ff;
    const c = colors[data[at + 2 * stride]! - offset]! & 0xff_ff_ff;
    words[to] = (colors[data[at]! - offset]! & 0xff_ff_ff) | (b << 24);
    words[to + 1] = (b >> 8) | (c << 16);
    words[to + 2] = (c >> 16) | (colors[data[at + 3 * stride]! - offset]! << 8);
  }
}

interface PairedBands {
  data: Samples;
  stride: number;
  a: number;
  b: number;
  /** What is subtracted from the index of a pair to find its color in `colors`. */
  offset: number;
  colors: Int32Array;
}

function lookUpPairs({ data, stride, a, b, offset, colors }: PairedBands, words: Int32Array, first: number, end: number): void {
  const bandDistance = b - a;
  let at = first * stride + a;
  for (let pixel = first, to = (first >> 2) * 3; pixel < end; pixel += 4, to += 3, at += 4 * stride) {
    const y = at + stride;
    const z = y + stride;
    const last = z + stride;
    const colorY = colors[(data[y]! << 8) + data[y + bandDistance]! - offset]! & 0xff_ff_ff;
    const colorZ = colors[(data[z]! << 8) + data[z + bandDistance]! - offset]! & 0xff_ff_ff;
    words[to] = (colors[(data[at]! << 8) + data[at + bandDistance]! - offset]! & 0xff_ff_ff) | (colorY << 24);
    words[to + 1] = (colorY >> 8) | (colorZ << 16);
    words[to + 2] = (colorZ >> 16) | (colors[(data[last]! << 8) + data[last + bandDistance]! - offset]! << 8);
  }
}

/**
 * Colors pixels of three bytes, which are read as words of four bytes. `colors` contains the colors for the first, the second and
 * the third byte of a pixel, 256 of each. The three colors of a pixel share no channel.
 */
function sumTriples(
  samples: Int32Array,
  colors: Int32Array,
  words: Int32Array,
  { first, end }: { first: number; end: number },
): void {
  for (let at = (first >> 2) * 3; at < (end >> 2) * 3; at += 3) {
    const x = samples[at]!;
    const y = samples[at + 1]!;
    const z = samples[at + 2]!;
    const a = colors[x & 255]! | colors[256 + ((x >> 8) & 255)]! | colors[512 + ((x >> 16) & 255)]!;
    const b = (colors[x >>> 24]! | colors[256 + (y & 255)]! | colors[512 + ((y >> 8) & 255)]!) & 0xff_ff_ff;
    const c = (colors[(y >> 16) & 255]! | colors[256 + (y >>> 24)]! | colors[512 + (z & 255)]!) & 0xff_ff_ff;
    const d = colors[(z >> 8) & 255]! | colors[256 + ((z >> 16) & 255)]! | colors[512 + (z >>> 24)]!;
    words[at] = (a & 0xff_ff_ff) | (b << 24);
    words[at + 1] = (b >> 8) | (c << 16);
    words[at + 2] = (c >> 16) | (d << 8);
  }
}

/** A band with a table of the colors of all its possible samples. */
export interface FusedLayer {
  data: Samples;
  /** Number of samples from one pixel to the next. */
  stride: number;
  band: number;
  table: ColorTable;
  isMultiplied: boolean;
}
