import type { Samples } from '../raster.js';
import type { ColorTable, StyleMemo } from './color-table.js';

/** A band whose samples are few enough for a table of all their colours. */
export interface FusedLayer {
  data: Samples;
  /** Samples from one pixel to the next. */
  stride: number;
  band: number;
  table: ColorTable;
  multiply: boolean;
}

/** Colours a run of pixels. */
export type FusedPass = (first: number, count: number) => void;

interface Target {
  bands: 3 | 4;
  memo: StyleMemo;
}

/** Pairs of two bytes. */
const bytePairs = 2 ** 16;

/** Lifts products that are a hair below a whole number, before fractions are cut off. */
const hair = 1e-5;

/**
 * A single pass over the pixels that does all there is to do for the usual styles: one band, bands whose colours share no channel, and a
 * band multiplied with another. `null` for other ones.
 *
 * @param target bands of the result: red, green and blue, or with alpha; `memo` keeps tables.
 */
export function fusedPass(layers: readonly FusedLayer[], out: Uint8Array, target: Target): FusedPass | null {
  const { bands } = target;
  const [base, second, third, ...more] = layers;
  if (!base || more.length > 0 || base.multiply) return null;
  if (second?.multiply && third === undefined) return product(base, second, out, target);
  if (layers.some(({ multiply }) => multiply) || !shareNothing(layers)) return null;
  if (second === undefined) return single(base, out, bands);
  return bands === 4 ? words(base, second, third ?? nothing, out) : triples(base, second, third ?? nothing, out);
}

/** Adds nothing to other layers. */
const nothing: FusedLayer = {
  data: Uint8Array.of(0),
  stride: 0,
  band: 0,
  table: { offset: 0, words: Uint32Array.of(0), planes: [], lows: [0, 0, 0, 0], highs: [0, 0, 0, 0] },
  multiply: false,
};

/** Whether the larger of the bytes of all layers is their union, in each channel: all but one are 0, or one is 255. */
function shareNothing(layers: readonly FusedLayer[]): boolean {
  return [0, 1, 2, 3].every(
    (channel) =>
      layers.some(({ table }) => table.lows[channel] === 255) ||
      layers.filter(({ table }) => table.highs[channel]! > 0).length <= 1,
  );
}

function single({ data, stride, band, table }: FusedLayer, out: Uint8Array, bands: 3 | 4): FusedPass {
  const { words: colors, offset } = table;
  if (bands === 4) {
    const to = new Uint32Array(out.buffer, out.byteOffset, out.length / 4);
    return (first, count) => {
      const end = first + count;
      for (let pixel = first, at = first * stride + band; pixel < end; pixel += 1, at += stride) {
        to[pixel] = colors[data[at]! - offset]!;
      }
    };
  }
  return (first, count) => {
    const end = (first + count) * 3;
    for (let to = first * 3, at = first * stride + band; to < end; to += 3, at += stride) {
      const word = colors[data[at]! - offset]!;
      out[to] = word;
      out[to + 1] = word >> 8;
      out[to + 2] = word >> 16;
    }
  };
}

function words(a: FusedLayer, b: FusedLayer, c: FusedLayer, out: Uint8Array): FusedPass {
  const to = new Uint32Array(out.buffer, out.byteOffset, out.length / 4);
  return (first, count) => {
    const colorsA = a.table.words;
    const colorsB = b.table.words;
    const colorsC = c.table.words;
    const { data: dataA, stride: stepA } = a;
    const { data: dataB, stride: stepB } = b;
    const { data: dataC, stride: stepC } = c;
    const { offset: offsetA } = a.table;
    const { offset: offsetB } = b.table;
    const { offset: offsetC } = c.table;
    const end = first + count;
    let atA = first * stepA + a.band;
    let atB = first * stepB + b.band;
    let atC = first * stepC + c.band;
    for (let pixel = first; pixel < end; pixel += 1, atA += stepA, atB += stepB, atC += stepC) {
      to[pixel] = colorsA[dataA[atA]! - offsetA]! | colorsB[dataB[atB]! - offsetB]! | colorsC[dataC[atC]! - offsetC]!;
    }
  };
}

function triples(a: FusedLayer, b: FusedLayer, c: FusedLayer, out: Uint8Array): FusedPass {
  return (first, count) => {
    const colorsA = a.table.words;
    const colorsB = b.table.words;
    const colorsC = c.table.words;
    const { data: dataA, stride: stepA } = a;
    const { data: dataB, stride: stepB } = b;
    const { data: dataC, stride: stepC } = c;
    const { offset: offsetA } = a.table;
    const { offset: offsetB } = b.table;
    const { offset: offsetC } = c.table;
    const shown = out;
    const end = (first + count) * 3;
    let atA = first * stepA + a.band;
    let atB = first * stepB + b.band;
    let atC = first * stepC + c.band;
    for (let to = first * 3; to < end; to += 3, atA += stepA, atB += stepB, atC += stepC) {
      const word = colorsA[dataA[atA]! - offsetA]! | colorsB[dataB[atB]! - offsetB]! | colorsC[dataC[atC]! - offsetC]!;
      shown[to] = word;
      shown[to + 1] = word >> 8;
      shown[to + 2] = word >> 16;
    }
  };
}

/** Colours of every pair of bytes. */
function pairColors(a: ColorTable, b: ColorTable): Uint32Array {
  const colors = new Uint32Array(bytePairs);
  const bytes = new Uint8Array(colors.buffer);
  for (let pair = 0; pair < bytePairs; pair += 1) {
    for (let channel = 0; channel < 4; channel += 1) {
      bytes[pair * 4 + channel] = (a.planes[channel]![pair >> 8]! * b.planes[channel]![pair & 255]!) / 255 + hair;
    }
  }
  return colors;
}

/** A band of bytes multiplied with another: looked up for both together. */
function product(a: FusedLayer, b: FusedLayer, out: Uint8Array, { bands, memo }: Target): FusedPass | null {
  if (a.table.words.length !== 256 || b.table.words.length !== 256) return null;
  const colors = memo.pair(a.table, b.table, () => pairColors(a.table, b.table));
  return (first, count) => {
    const { data: dataA, stride: stepA } = a;
    const { data: dataB, stride: stepB } = b;
    const { offset: offsetA } = a.table;
    const { offset: offsetB } = b.table;
    const shown = out;
    const end = (first + count) * bands;
    let atA = first * stepA + a.band;
    let atB = first * stepB + b.band;
    for (let to = first * bands; to < end; to += bands, atA += stepA, atB += stepB) {
      const word = colors[((dataA[atA]! - offsetA) << 8) | (dataB[atB]! - offsetB)]!;
      shown[to] = word;
      shown[to + 1] = word >> 8;
      shown[to + 2] = word >> 16;
      if (bands === 4) shown[to + 3] = word >> 24;
    }
  };
}
