import { forEachRange, isSliceOver, nextSlice } from '../../core/concurrency/slices.js';
import { hasAlpha, type Picture } from '../render/pixels.js';
import type { Raster } from '../raster.js';
import { channels, BandColors, makeColorTable, tableSize, type ColorTable, type StyleMemo } from './color-table.js';
import { fusedPass } from './fused.js';
import { type FusedLayer } from './four-pixels.js';
import type { BandStyle, Style } from './parse.js';
import { borrowBytes } from './reused-bytes.js';
import { resolveRange, type FrameSurvey } from './range.js';

/** The samples of a band: those of a band of the image, or always 255 for the alpha of an image without alpha. */
interface BandSamples {
  raster: Raster;
  /** The band of the raster, or -1 if the samples are always 255. */
  band: number;
}

/** A band that is ready to be added: its samples, and their colors. */
interface Layer {
  samples: BandSamples;
  colors: BandColors;
  /** Colors of all possible samples, if there are few. */
  table: ColorTable | null;
}

type TableLayer = Layer & { table: ColorTable };

/** Rasters by frame number, and the data that determine the ranges of a style. */
export interface StyleInputs {
  /** The requested frame. */
  frame: number;
  /** Rasters of equal size for every frame that {@link styleFrames} lists. */
  rasters: ReadonlyMap<number, Raster>;
  /** Called only for frames whose range has to be measured. */
  survey(frame: number): Promise<FrameSurvey>;
  /** The sample that is shown as white, if it is not the largest value of its type. */
  white?: number | undefined;
  /** Caches results for this image alone, because frames of other images have other ranges. */
  memo: StyleMemo;
}

/** Frames that a style reads when `frame` is requested. */
export function styleFrames(style: Pick<Style, 'bands'>, frame: number): number[] {
  return [...new Set(style.bands.map((band) => frameOf(band, frame)))];
}

/**
 * For each band of a frame, the sample that means "no value" in a style, or `null`. If the style shows a band several times, and
 * its entries for the band disagree, the result is `null`. Empty if all results would be `null`.
 *
 * @param frame the requested frame. `readFrame` is the frame that is read.
 */
export function styleNodata(
  style: Style,
  { frame, readFrame, bandCount }: { frame: number; readFrame: number; bandCount: number },
): (number | null)[] {
  const nodataOfBands = Array.from({ length: bandCount }, (_, index): number | null => {
    const uses = style.bands.filter((band) => frameOf(band, frame) === readFrame && chooseBand(band.band, bandCount) === index);
    return uses.every(({ nodata }) => nodata === uses[0]?.nodata) ? (uses[0]?.nodata ?? null) : null;
  });
  return nodataOfBands.some((sample) => sample !== null) ? nodataOfBands : [];
}

function frameOf(band: BandStyle, frame: number): number {
  return band.frame ?? frame + band.framedelta;
}

/** Number of pixels, times the number of layers, that are colored without a pause. */
const chunkWork = 2 ** 16;
/** A chunk has at least this many pixels, even if there are many layers. */
const minChunkPixels = 2 ** 10;

/**
 * Colors a raster. The result has four bands, or one if a gray image stays gray.
 *
 * @param options with `mayDropAlpha`, the result may have three bands if every pixel is opaque.
 */
export async function styleRaster(
  style: Style,
  inputs: StyleInputs,
  options: { mayDropAlpha?: boolean; signal?: AbortSignal } = {},
): Promise<Picture> {
  const layers = await makeLayers(style, inputs);
  const shape = outputShape(style, inputs);
  const tableLayers = layers.every(hasTable) ? layers : null;
  if (options.mayDropAlpha && shape.bands === 4 && tableLayers && isOpaque(tableLayers)) shape.bands = 3;
  const total = shape.width * shape.height;
  // All bytes are written below, so they need no zeros at first. Filling them with zeros takes a fifth as long as coloring them.
  const data = borrowBytes(total * shape.bands);
  const pass =
    tableLayers && shape.bands !== 1
      ? fusedPass(tableLayers.map(fusedLayer), data, { bands: shape.bands, memo: inputs.memo })
      : null;
  if (pass) {
    await forEachRange(total, chunkWork, (from, to) => pass(from, to - from), options.signal);
    return { data, width: shape.width, height: shape.height, bands: shape.bands, dtype: 'uint8' };
  }
  const chunkPixels = Math.max(minChunkPixels, Math.floor(chunkWork / Math.max(1, layers.length)));
  const maxPixels = Math.min(chunkPixels, total);
  const bytes = new Uint8Array(maxPixels * 4);
  const work = { bytes, words: new Int32Array(bytes.buffer), indexes: new Uint16Array(maxPixels) };
  const planes = tableLayers?.some(({ colors }) => colors.isMultiplied) === false ? null : makePlanes(maxPixels);
  for (let first = 0; first < total; first += chunkPixels) {
    if (first > 0 && isSliceOver()) await nextSlice(options.signal);
    const run = { first, count: Math.min(chunkPixels, total - first) };
    if (planes) {
      blend(layers, run, planes, work.indexes);
      storePlanes(planes, run, shape, data);
    } else if (tableLayers) {
      lighten(tableLayers, run, work);
      storeBytes(work, run, shape, data);
    }
  }
  return { data, width: shape.width, height: shape.height, bands: shape.bands, dtype: 'uint8' };
}

/**
 * Converts a layer for {@link fusedPass}. For samples that are always 255, the stride is 0, so that every pixel reads the same
 * sample.
 */
function fusedLayer({ samples: { raster, band }, colors, table }: TableLayer): FusedLayer {
  if (band >= 0) return { data: raster.data, stride: raster.bands, band, table, isMultiplied: colors.isMultiplied };
  return { data: Uint8Array.of(255), stride: 0, band: 0, table, isMultiplied: colors.isMultiplied };
}

function hasTable(layer: Layer): layer is TableLayer {
  return layer.table !== null;
}

/** Whether all pixels are opaque for all possible samples. */
function isOpaque(layers: readonly TableLayer[]): boolean {
  const [first, ...others] = layers;
  if (!first || first.colors.isMultiplied || first.table.lows[3] !== 255) return false;
  return others.every(({ colors, table }) => !colors.isMultiplied || table.lows[3] === 255);
}

/** A run of pixels of a raster. */
interface PixelRun {
  first: number;
  count: number;
}

interface WorkBuffers {
  /** Four bytes for each pixel, and the same as words. */
  bytes: Uint8Array;
  words: Int32Array;
  /** For each pixel, the index of its color in a table. */
  indexes: Uint16Array;
}

/** Writes the index in the color table for each sample of a layer. */
function findIndexes({ samples, table }: TableLayer, { first, count }: PixelRun, indexes: Uint16Array): void {
  const { raster, band } = samples;
  const { offset } = table;
  if (band < 0) {
    indexes.fill(255 - offset, 0, count);
    return;
  }
  const { data, bands } = raster;
  for (let pixel = 0, at = first * bands + band; pixel < count; pixel += 1, at += bands) indexes[pixel] = data[at]! - offset;
}

/**
 * Combines layers that only lighten: the largest value of each channel counts. Therefore fractions can be cut off before values are
 * compared.
 */
function lighten(layers: readonly TableLayer[], run: PixelRun, { bytes, words, indexes }: WorkBuffers): void {
  const { count } = run;
  const [base] = layers;
  if (!base) return;
  // For each channel, the maximum byte that it may already have, and whether it is always 255.
  const maxBytes = [...base.table.highs];
  const isAlwaysFull = base.table.lows.map((low) => low === 255);
  for (const layer of layers) {
    const { table } = layer;
    const colors = table.words;
    const activeChannels = channels.filter((channel) => !isAlwaysFull[channel] && table.highs[channel]! > 0);
    if (layer !== base && activeChannels.length === 0) continue;
    findIndexes(layer, run, indexes);
    if (layer === base) for (let pixel = 0; pixel < count; pixel += 1) words[pixel] = colors[indexes[pixel]!]!;
    else if (activeChannels.every((channel) => maxBytes[channel] === 0)) {
      // The maximum of a byte and 0, and of a byte and 255, is the same as their bitwise "or".
      for (let pixel = 0; pixel < count; pixel += 1) words[pixel]! |= colors[indexes[pixel]!]!;
    } else {
      const parts = new Uint8Array(colors.buffer);
      for (const channel of activeChannels) {
        for (let pixel = 0, at = channel; pixel < count; pixel += 1, at += 4) {
          const added = parts[indexes[pixel]! * 4 + channel]!;
          if (added > bytes[at]!) bytes[at] = added;
        }
      }
    }
    for (const channel of activeChannels) maxBytes[channel] = Math.max(maxBytes[channel]!, table.highs[channel]!);
  }
}

/** One channel of a run of pixels: the same value for all pixels, or a value for each pixel. */
interface Plane {
  constant: number | null;
  /** Only valid if there is no constant. */
  values: Float32Array;
}

function makePlanes(length: number): Plane[] {
  return channels.map(() => ({ constant: 0, values: new Float32Array(length) }));
}

/** Gives a plane a value for each pixel instead of a constant. @returns these values, which the caller can change. */
function expand(plane: Plane, count: number): Float32Array {
  if (plane.constant !== null) plane.values.fill(plane.constant, 0, count);
  plane.constant = null;
  return plane.values;
}

/** Combines layers of any kind into planes. Values have fractions. */
function blend(layers: readonly Layer[], run: PixelRun, planes: readonly Plane[], indexes: Uint16Array): void {
  for (const plane of planes) plane.constant = 0;
  layers.forEach((layer, position) => {
    // The first layer has no earlier layer to multiply with.
    if (position === 0 && layer.colors.isMultiplied) return;
    if (hasTable(layer)) blendByTable(layer, run, planes, indexes);
    else blendComputed(layer, run, planes);
  });
}

function blendByTable(layer: TableLayer, run: PixelRun, planes: readonly Plane[], indexes: Uint16Array): void {
  const { count } = run;
  const { colors, table } = layer;
  findIndexes(layer, run, indexes);
  for (const channel of channels) {
    const values = table.planes[channel]!;
    const plane = planes[channel]!;
    const low = table.lows[channel]!;
    const high = table.highs[channel]!;
    if (colors.isMultiplied) {
      if (low === 255 || plane.constant === 0) continue;
      const out = expand(plane, count);
      for (let pixel = 0; pixel < count; pixel += 1) out[pixel] = (out[pixel]! * values[indexes[pixel]!]!) / 255;
    } else if (plane.constant !== null && low === high) plane.constant = Math.max(plane.constant, low);
    else if (plane.constant === 0) {
      plane.constant = null;
      const out = plane.values;
      for (let pixel = 0; pixel < count; pixel += 1) out[pixel] = values[indexes[pixel]!]!;
    } else if (high > 0 && plane.constant !== 255) {
      const out = expand(plane, count);
      for (let pixel = 0; pixel < count; pixel += 1) {
        const added = values[indexes[pixel]!]!;
        if (added > out[pixel]!) out[pixel] = added;
      }
    }
  }
}

function blendComputed({ samples, colors }: Layer, { first, count }: PixelRun, planes: readonly Plane[]): void {
  const { data, bands } = samples.raster;
  const { band } = samples;
  const outs = planes.map((plane) => expand(plane, count));
  const color = new Float32Array(4);
  for (let pixel = 0; pixel < count; pixel += 1) {
    const sample = band < 0 ? 255 : data[(first + pixel) * bands + band]!;
    if (!colors.writeColor(sample, color, 0)) continue;
    for (let part = 0; part < 4; part += 1) {
      const out = outs[part]!;
      const previous = out[pixel]!;
      const added = color[part]!;
      if (colors.isMultiplied) out[pixel] = (previous * added) / 255;
      else if (added > previous) out[pixel] = added;
    }
  }
}

/** Interleaves planes as bytes. */
function storePlanes(
  planes: readonly Plane[],
  { first, count }: PixelRun,
  { bands, channel }: OutputShape,
  data: Uint8Array,
): void {
  for (let band = 0; band < bands; band += 1) {
    const { constant, values } = planes[bands === 1 ? channel : band]!;
    if (constant !== null)
      for (let pixel = 0, at = first * bands + band; pixel < count; pixel += 1, at += bands) data[at] = constant;
    else for (let pixel = 0, at = first * bands + band; pixel < count; pixel += 1, at += bands) data[at] = values[pixel]!;
  }
}

function storeBytes({ bytes }: WorkBuffers, { first, count }: PixelRun, shape: OutputShape, data: Uint8Array): void {
  if (shape.bands === 4) data.set(bytes.subarray(0, count * 4), first * 4);
  else if (shape.bands === 3) {
    for (let pixel = 0, to = first * 3, from = 0; pixel < count; pixel += 1, to += 3, from += 4) {
      data[to] = bytes[from]!;
      data[to + 1] = bytes[from + 1]!;
      data[to + 2] = bytes[from + 2]!;
    }
  } else for (let pixel = 0, from = shape.channel; pixel < count; pixel += 1, from += 4) data[first + pixel] = bytes[from]!;
}

/** The color of a raster's first pixel. Its values are from 0 to 255, with fractions. */
export async function stylePixel(style: Style, inputs: StyleInputs): Promise<number[]> {
  const layers = await makeLayers(style, inputs);
  const shape = outputShape(style, inputs);
  const planes = makePlanes(1);
  blend(layers, { first: 0, count: 1 }, planes, new Uint16Array(1));
  const values = planes.map((plane) => Math.round((expand(plane, 1)[0] ?? 0) * 1e4) / 1e4);
  return shape.bands === 1 ? [values[shape.channel] ?? 0] : values;
}

interface OutputShape {
  width: number;
  height: number;
  bands: 1 | 3 | 4;
  /** The channel that a single band shows. */
  channel: number;
}

function outputShape(style: Style, inputs: StyleInputs): OutputShape {
  const [first] = inputs.rasters.values();
  const { width = 0, height = 0, bands = 0 } = first ?? {};
  if (style.axis !== null) return { width, height, bands: 1, channel: style.axis };
  const isGray = bands === 1 && style.bands.length === 1 && style.bands[0]?.hasDefaultPalette === true;
  return { width, height, bands: isGray ? 1 : 4, channel: 0 };
}

async function makeLayers(style: Style, inputs: StyleInputs): Promise<Layer[]> {
  const layers: Layer[] = [];
  for (const band of style.bands) {
    const frame = frameOf(band, inputs.frame);
    const raster = inputs.rasters.get(frame);
    if (!raster) throw new RangeError(`No raster for frame ${frame}`);
    const samples = { raster, band: chooseBand(band.band, raster.bands) };
    const dtype = samples.band < 0 ? 'uint8' : raster.dtype;
    const range = await inputs.memo.getRange(band, frame, () =>
      resolveRange(band, { index: samples.band, dtype, white: inputs.white }, () => inputs.survey(frame)),
    );
    const colors = new BandColors(band, range);
    // A table is not worth making if it has more colors than there are pixels.
    const size = tableSize(dtype);
    const isWorthwhile = size !== null && size <= Math.max(256, raster.width * raster.height);
    const table = isWorthwhile ? inputs.memo.getTable(band, range, dtype, () => makeColorTable(colors, dtype)) : null;
    layers.push({ samples, colors, table });
    if (isSliceOver()) await nextSlice();
  }
  return layers;
}

/**
 * The index of the band with a name or number; -1 for the alpha of an image without alpha. If the image has no such band, the
 * result is green in a color image, and otherwise the first band.
 */
function chooseBand(band: number | string | null, bandCount: number): number {
  const hasColors = bandCount >= 3;
  if (typeof band === 'number' && Number.isInteger(band) && band >= 1 && band <= bandCount) return band - 1;
  if (band === 'alpha') return hasAlpha({ bands: bandCount }) ? bandCount - 1 : -1;
  if (hasColors && band === 'red') return 0;
  if (hasColors && band === 'blue') return 2;
  return hasColors ? 1 : 0;
}
