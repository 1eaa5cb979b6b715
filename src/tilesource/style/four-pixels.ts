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
    const bands = { data, stride, baseBand: base.band, multipliedBand: second.band, offset, colors };
    return (first, end) => lookUpPairs(bands, words, first, end);
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
    const color2 = colors[data[at + stride]! - offset]! & 0xff_ff_ff;
    const color3 = colors[data[at + 2 * stride]! - offset]! & 0xff_ff_ff;
    words[to] = (colors[data[at]! - offset]! & 0xff_ff_ff) | (color2 << 24);
    words[to + 1] = (color2 >> 8) | (color3 << 16);
    words[to + 2] = (color3 >> 16) | (colors[data[at + 3 * stride]! - offset]! << 8);
  }
}

interface PairedBands {
  data: Samples;
  stride: number;
  /** Index of the base band in a pixel. */
  baseBand: number;
  /** Index in a pixel of the band that is multiplied. */
  multipliedBand: number;
  /** Index of the pair whose color is the first one in `colors`. */
  offset: number;
  colors: Int32Array;
}

function lookUpPairs(
  { data, stride, baseBand, multipliedBand, offset, colors }: PairedBands,
  words: Int32Array,
  first: number,
  end: number,
): void {
  const bandDistance = multipliedBand - baseBand;
  // Positions in `data` of the base band of four pixels.
  let at1 = first * stride + baseBand;
  for (let pixel = first, to = (first >> 2) * 3; pixel < end; pixel += 4, to += 3, at1 += 4 * stride) {
    const at2 = at1 + stride;
    const at3 = at2 + stride;
    const at4 = at3 + stride;
    const color2 = colors[(data[at2]! << 8) + data[at2 + bandDistance]! - offset]! & 0xff_ff_ff;
    const color3 = colors[(data[at3]! << 8) + data[at3 + bandDistance]! - offset]! & 0xff_ff_ff;
    words[to] = (colors[(data[at1]! << 8) + data[at1 + bandDistance]! - offset]! & 0xff_ff_ff) | (color2 << 24);
    words[to + 1] = (color2 >> 8) | (color3 << 16);
    words[to + 2] = (color3 >> 16) | (colors[(data[at4]! << 8) + data[at4 + bandDistance]! - offset]! << 8);
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
    // Three words contain the samples of four pixels.
    const x = samples[at]!;
    const y = samples[at + 1]!;
    const z = samples[at + 2]!;
    const color1 = colors[x & 255]! | colors[256 + ((x >> 8) & 255)]! | colors[512 + ((x >> 16) & 255)]!;
    const color2 = (colors[x >>> 24]! | colors[256 + (y & 255)]! | colors[512 + ((y >> 8) & 255)]!) & 0xff_ff_ff;
    const color3 = (colors[(y >> 16) & 255]! | colors[256 + (y >>> 24)]! | colors[512 + (z & 255)]!) & 0xff_ff_ff;
    const color4 = colors[(z >> 8) & 255]! | colors[256 + ((z >> 16) & 255)]! | colors[512 + (z >>> 24)]!;
    words[at] = (color1 & 0xff_ff_ff) | (color2 << 24);
    words[at + 1] = (color2 >> 8) | (color3 << 16);
    words[at + 2] = (color3 >> 16) | (color4 << 8);
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
