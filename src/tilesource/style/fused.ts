import type { Samples } from '../raster.js';
import type { ColorTable, StyleMemo } from './color-table.js';
import { fourPixelPass, pairColors, type FusedLayer } from './four-pixels.js';

/** Colors a run of pixels. */
export type FusedPass = (first: number, count: number) => void;

interface Target {
  bands: 3 | 4;
  memo: StyleMemo;
}

/** Number of pixels whose colors are looked up before they are packed. So many colors fit into the fastest memory. */
const pixelsPerBatch = 2 ** 12;

/** Writes the colors of `count` pixels from `first` on as words, to `to` from `at` on. */
type Lookup = (first: number, count: number, to: Int32Array, at: number) => void;

/**
 * Returns a single pass over the pixels that does everything for the usual styles: one band, bands whose colors share no channel,
 * or one band multiplied by another band. `null` for other styles.
 *
 * @param target `bands` is 3 for red, green and blue, and 4 with alpha. `memo` caches tables.
 */
export function fusedPass(layers: readonly FusedLayer[], out: Uint8Array, { bands, memo }: Target): FusedPass | null {
  const lookup = createLookup(layers, memo);
  if (lookup === null) return null;
  const words = new Int32Array(out.buffer, out.byteOffset, out.length >> 2);
  if (bands === 4) return (first, count) => lookup(first, count, words, first);
  const passInFours = fourPixelPass(layers, words, memo);
  const colors = new Int32Array(pixelsPerBatch);
  return (first, count) => {
    const end = first + count;
    const foursEnd = passInFours !== null && first % 4 === 0 ? end - (count % 4) : first;
    if (foursEnd > first) passInFours?.(first, foursEnd);
    for (let from = foursEnd; from < end; from += pixelsPerBatch) {
      const length = Math.min(pixelsPerBatch, end - from);
      lookup(from, length, colors, 0);
      packTriples(colors, length, { out, words, first: from });
    }
  };
}

function createLookup(layers: readonly FusedLayer[], memo: StyleMemo): Lookup | null {
  const [base, second, third, ...more] = layers;
  if (!base || more.length > 0 || base.isMultiplied) return null;
  if (second?.isMultiplied && third === undefined) return createProductLookup(base, second, memo);
  if (layers.some(({ isMultiplied }) => isMultiplied) || !shareNoChannel(layers)) return null;
  if (second === undefined) return (first, count, to, at) => lookUp(base, { first, count }, to, at);
  const sumLookup = createSumLookup([base, second, third ?? { ...base, table: emptyTableLike(base.table) }]);
  if (sumLookup) return sumLookup;
  return (first, count, to, at) => {
    lookUp(base, { first, count }, to, at);
    for (const layer of layers.slice(1)) addLookedUp(layer, { first, count }, to, at);
  };
}

/**
 * Writes only the red, green and blue bytes of words, one pixel after the other. Four pixels are written as three words, which
 * takes a third of the time of copying bytes.
 */
function packTriples(
  colors: Int32Array,
  count: number,
  { out, words, first }: { out: Uint8Array; words: Int32Array; first: number },
): void {
  const isAligned = first % 4 === 0;
  const foursCount = isAligned ? count - (count % 4) : 0;
  for (let pixel = 0, to = (first * 3) >> 2; pixel < foursCount; pixel += 4, to += 3) {
    const color2 = colors[pixel + 1]!;
    const color3 = colors[pixel + 2]!;
    words[to] = (colors[pixel]! & 0xff_ff_ff) | (color2 << 24);
    words[to + 1] = ((color2 >> 8) & 0xff_ff) | (color3 << 16);
    words[to + 2] = ((color3 >> 16) & 0xff) | (colors[pixel + 3]! << 8);
  }
  for (let pixel = foursCount, to = (first + foursCount) * 3; pixel < count; pixel += 1, to += 3) {
    const word = colors[pixel]!;
    out[to] = word;
    out[to + 1] = word >> 8;
    out[to + 2] = word >> 16;
  }
}

/** A table that adds nothing to other colors. It has the offset of another table, because it is looked up with the same samples. */
const emptyTableLike = ({ offset }: ColorTable): ColorTable => ({
  offset,
  words: new Int32Array(256),
  planes: [],
  lows: [0, 0, 0, 0],
  highs: [0, 0, 0, 0],
});

/**
 * Whether in each channel at most one layer has values other than 0, or one layer is always 255. Then the maximum of the layers'
 * bytes is the same as their bitwise "or".
 */
function shareNoChannel(layers: readonly FusedLayer[]): boolean {
  return [0, 1, 2, 3].every(
    (channel) =>
      layers.some(({ table }) => table.lows[channel] === 255) ||
      layers.filter(({ table }) => table.highs[channel]! > 0).length <= 1,
  );
}

/** A run of pixels of a raster. */
interface PixelRun {
  first: number;
  count: number;
}

function lookUp({ data, stride, band, table }: FusedLayer, { first, count }: PixelRun, to: Int32Array, at: number): void {
  const { words: colors, offset } = table;
  const end = at + count;
  for (let pixel = at, from = first * stride + band; pixel < end; pixel += 1, from += stride) {
    to[pixel] = colors[data[from]! - offset]!;
  }
}

function addLookedUp({ data, stride, band, table }: FusedLayer, { first, count }: PixelRun, to: Int32Array, at: number): void {
  const { words: colors, offset } = table;
  const end = at + count;
  for (let pixel = at, from = first * stride + band; pixel < end; pixel += 1, from += stride) {
    to[pixel]! |= colors[data[from]! - offset]!;
  }
}

/**
 * Creates the lookup for three bands of bytes of one raster whose colors share no channel. All tables are put into one array, so
 * that the loop has everything in registers, which takes a third of the time. `null` for other bands.
 */
function createSumLookup(layers: readonly [FusedLayer, FusedLayer, FusedLayer]): Lookup | null {
  const [{ data, stride }] = layers;
  if (layers.some((layer) => layer.data !== data || layer.stride !== stride || layer.table.words.length !== 256)) return null;
  const colors = new Int32Array(3 * 256);
  layers.forEach(({ table }, position) => colors.set(table.words, position * 256));
  const bands = layers.map(({ band }) => band);
  const starts = layers.map(({ table }, position) => position * 256 - table.offset);
  return (first, count, to, at) => lookUpSums({ data, stride, bands, colors, starts }, { first, count }, to, at);
}

interface SummedBands {
  data: Samples;
  stride: number;
  bands: readonly number[];
  colors: Int32Array;
  /** For each band, the index in `colors` of the color for sample 0. */
  starts: readonly number[];
}

function lookUpSums(
  { data, stride, bands, colors, starts }: SummedBands,
  { first, count }: PixelRun,
  to: Int32Array,
  at: number,
): void {
  const [bandA = 0, bandB = 0, bandC = 0] = bands;
  const [startA = 0, startB = 0, startC = 0] = starts;
  const end = at + count;
  for (let pixel = at, from = first * stride; pixel < end; pixel += 1, from += stride) {
    to[pixel] =
      colors[data[from + bandA]! + startA]! | colors[data[from + bandB]! + startB]! | colors[data[from + bandC]! + startC]!;
  }
}

/** Creates the lookup for a band of bytes multiplied by another band, which looks up both samples together. */
function createProductLookup(a: FusedLayer, b: FusedLayer, memo: StyleMemo): Lookup | null {
  if (a.table.words.length !== 256 || b.table.words.length !== 256) return null;
  const colors = pairColors(a.table, b.table, memo);
  return (first, count, to, at) => lookUpProducts([a, b], colors, { first, count }, { to, at });
}

function lookUpProducts(
  [a, b]: readonly [FusedLayer, FusedLayer],
  colors: Int32Array,
  { first, count }: PixelRun,
  { to, at }: { to: Int32Array; at: number },
): void {
  const { data: dataA, stride: stepA } = a;
  const { data: dataB, stride: stepB } = b;
  const { offset: offsetA } = a.table;
  const { offset: offsetB } = b.table;
  let atA = first * stepA + a.band;
  let atB = first * stepB + b.band;
  const end = at + count;
  for (let pixel = at; pixel < end; pixel += 1, atA += stepA, atB += stepB) {
    to[pixel] = colors[((dataA[atA]! - offsetA) << 8) | (dataB[atB]! - offsetB)]!;
  }
}
