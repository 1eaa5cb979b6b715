import { breathe } from '../concurrency.js';
import { histogramOf, type BandStatistics } from '../histogram.js';
import { hasAlpha, type Picture } from '../pixels.js';
import type { Raster } from '../raster.js';
import { interpolateColor } from './palette.js';
import type { BandStyle, Style, StyleBound } from './parse.js';

/** What the samples of a frame are like, measured on the image reduced to at most 1024 pixels a side. */
export interface FrameSurvey {
  raster: Raster;
  statistics: readonly BandStatistics[];
}

/** Where a band gets its samples: a band of the image, or constant 255 for the alpha of an image that has none. */
interface Channel {
  raster: Raster;
  /** -1 for the constant. */
  band: number;
}

/** A band ready to be added: its samples, and their colours. */
interface Layer {
  channel: Channel;
  /** Writes the colour of a sample; `false` where it adds nothing. */
  color(sample: number, into: Float32Array): boolean;
  /** Colours of all samples there can be, four for each from `offset` on, where these are few. NaN adds nothing. */
  table: { offset: number; colors: Float32Array } | null;
  multiply: boolean;
  /** Output channels that it touches. */
  active: readonly number[];
}

/** Rasters by frame number, and what the ranges of a style need to know. */
export interface StyleInputs {
  /** Frame that was asked for. */
  frame: number;
  /** Rasters of equal size for every frame that {@link styleFrames} lists. */
  rasters: ReadonlyMap<number, Raster>;
  /** Called only for frames whose range has to be measured. */
  survey(frame: number): Promise<FrameSurvey>;
}

/** Frames that a style reads when `frame` is asked for. */
export function styleFrames(style: Style, frame: number): number[] {
  return [...new Set(style.bands.map((band) => frameOf(band, frame)))];
}

function frameOf(band: BandStyle, frame: number): number {
  return band.frame ?? frame + band.framedelta;
}

/** Pixels that are coloured in one go before other work gets its turn. */
const chunkPixels = 2 ** 16;

/** Colours a raster. The result has four bands, or one where a gray image stays gray. */
export async function styleRaster(style: Style, inputs: StyleInputs, signal?: AbortSignal): Promise<Picture> {
  const layers = await makeLayers(style, inputs);
  const shape = outputShape(style, inputs);
  const data = new Uint8Array(shape.width * shape.height * shape.bands);
  const total = shape.width * shape.height;
  if (shape.bands === 4 && layers.every((layer) => layer.table && !layer.multiply)) {
    const tables = layers.map((layer) => byteTable(layer));
    for (let first = 0; first < total; first += chunkPixels) {
      if (first > 0) await breathe();
      signal?.throwIfAborted();
      const last = Math.min(total, first + chunkPixels);
      tables.forEach((table, position) => lighten(table, data, { first, last, isFirst: position === 0 }));
    }
    return { data, width: shape.width, height: shape.height, bands: 4, dtype: 'uint8' };
  }
  const scratch = new Float32Array(Math.min(chunkPixels, total) * 4);
  for (let first = 0; first < total; first += chunkPixels) {
    if (first > 0) await breathe();
    signal?.throwIfAborted();
    const count = Math.min(chunkPixels, total - first);
    composite(layers, first, count, scratch);
    store(scratch, count, shape, data, first * shape.bands);
  }
  return { data, width: shape.width, height: shape.height, bands: shape.bands, dtype: 'uint8' };
}

/** A layer whose colours are looked up as bytes: cutting fractions off before or after taking the larger one is the same. */
interface ByteTable {
  channel: Channel;
  offset: number;
  colors: Uint8Array;
}

function byteTable({ channel, table }: Layer): ByteTable {
  const { offset = 0, colors = new Float32Array(0) } = table ?? {};
  // What adds nothing (NaN) becomes 0, which adds nothing either.
  return { channel, offset, colors: Uint8Array.from(colors, (value) => value || 0) };
}

/** Adds a layer to pixels `first` up to `last`; whole pixels are copied where nothing is there yet. */
function lighten(
  layer: ByteTable,
  out: Uint8Array,
  { first, last, isFirst }: { first: number; last: number; isFirst: boolean },
): void {
  const { data, bands } = layer.channel.raster;
  const { band } = layer.channel;
  const { colors, offset } = layer;
  if (isFirst) {
    const wide = new Uint32Array(colors.buffer);
    const target = new Uint32Array(out.buffer);
    for (let pixel = first; pixel < last; pixel += 1) {
      target[pixel] = wide[(band < 0 ? 255 : (data[pixel * bands + band] ?? 0)) - offset] ?? 0;
    }
    return;
  }
  for (let pixel = first; pixel < last; pixel += 1) {
    const from = ((band < 0 ? 255 : (data[pixel * bands + band] ?? 0)) - offset) * 4;
    const to = pixel * 4;
    for (let channel = 0; channel < 4; channel += 1) {
      const added = colors[from + channel] ?? 0;
      if (added > (out[to + channel] ?? 0)) out[to + channel] = added;
    }
  }
}

/** Coloured samples of a raster's first pixel, 0 to 255 with fractions. */
export async function stylePixel(style: Style, inputs: StyleInputs): Promise<number[]> {
  const layers = await makeLayers(style, inputs);
  const shape = outputShape(style, inputs);
  const scratch = new Float32Array(4);
  composite(layers, 0, 1, scratch);
  const values = [...scratch].map((value) => Math.round(value * 1e4) / 1e4);
  return shape.bands === 1 ? [values[shape.from] ?? 0] : values;
}

function store(scratch: Float32Array, count: number, shape: { bands: number; from: number }, data: Uint8Array, at: number): void {
  if (shape.bands === 4) {
    for (let position = 0; position < count * 4; position += 1) data[at + position] = scratch[position] ?? 0;
  } else {
    for (let pixel = 0; pixel < count; pixel += 1) data[at + pixel] = scratch[pixel * 4 + shape.from] ?? 0;
  }
}

function outputShape(style: Style, inputs: StyleInputs) {
  const [first] = inputs.rasters.values();
  const { width = 0, height = 0, bands = 0 } = first ?? {};
  if (style.axis !== null) return { width, height, bands: 1 as const, from: style.axis };
  const gray = bands === 1 && style.bands.length === 1 && style.bands[0]?.plain === true;
  return { width, height, bands: gray ? (1 as const) : (4 as const), from: 0 };
}

async function makeLayers(style: Style, inputs: StyleInputs): Promise<Layer[]> {
  const layers: Layer[] = [];
  for (const band of style.bands) {
    const frame = frameOf(band, inputs.frame);
    const raster = inputs.rasters.get(frame);
    if (!raster) throw new RangeError(`No raster for frame ${frame}`);
    const channel = chooseChannel(band.band, raster);
    const [min, max] = await resolveRange(band, channel, () => inputs.survey(frame));
    layers.push(makeLayer(band, channel, min, max));
  }
  return layers;
}

/** The band that a name or number means; what the image does not have is its usual band: green of colours, else the first. */
export function chooseBand(band: number | string | null, bandCount: number): number {
  const colors = bandCount >= 3;
  if (typeof band === 'number' && Number.isInteger(band) && band >= 1 && band <= bandCount) return band - 1;
  if (band === 'alpha') return hasAlpha({ bands: bandCount }) ? bandCount - 1 : -1;
  if (colors && band === 'red') return 0;
  if (colors && band === 'blue') return 2;
  return colors ? 1 : 0;
}

function chooseChannel(band: number | string | null, raster: Raster): Channel {
  return { raster, band: chooseBand(band, raster.bands) };
}

async function resolveRange(band: BandStyle, channel: Channel, survey: () => Promise<FrameSurvey>): Promise<[number, number]> {
  if (channel.band < 0) return [0, 255];
  const resolve = async (bound: StyleBound, isMin: boolean): Promise<number> => {
    if (bound.kind === 'number') return bound.value;
    if (bound.kind === 'full') return isMin ? 0 : fullScale(channel.raster);
    const { raster, statistics } = await survey();
    const facts = statistics[channel.band] ?? { min: 0, max: 255 };
    if (bound.kind === 'threshold') return quantile(raster, channel.band, bound.fraction, isMin);
    if (bound.kind !== 'auto') return facts[bound.kind];
    const eightBit = statistics.every(({ min, max }) => min >= 0 && min <= 254 && max >= 2 && max <= 255);
    if (eightBit) return isMin ? 0 : 255;
    return isMin ? facts.min : facts.max;
  };
  return [await resolve(band.min, true), await resolve(band.max, false)];
}

function fullScale({ dtype }: Raster): number {
  if (dtype === 'uint16' || dtype === 'int16') return 65_535;
  if (dtype === 'uint32' || dtype === 'int32') return 2 ** 32 - 1;
  return dtype === 'uint8' || dtype === 'int8' ? 255 : 1;
}

/** The sample below (or above) which at most a fraction of the samples lies. */
function quantile(raster: Raster, band: number, fraction: number, fromBelow: boolean): number {
  const spread = histogramOf(raster, { bins: 1 })[band];
  if (!spread || spread.samples === 0) return 0;
  const whole = !raster.dtype.startsWith('float');
  const span = spread.max - spread.min + 1;
  const bins = whole && span <= 65_536 ? span : 4096;
  const range = { rangeMin: spread.min, rangeMax: whole ? spread.max + 1 : spread.max + Number.EPSILON * Math.abs(spread.max) };
  if (range.rangeMax <= range.rangeMin) return spread.min;
  const counted = histogramOf(raster, { bins, ...range })[band];
  if (!counted) return 0;
  let left = fraction * counted.samples;
  const order = fromBelow ? counted.hist : counted.hist.toReversed();
  let bin = 0;
  while (bin < bins - 1 && (order[bin] ?? 0) <= left) left -= order[bin++] ?? 0;
  const index = fromBelow ? bin : bins - 1 - bin;
  const exact = whole && bins === span;
  return counted.bin_edges[fromBelow || exact ? index : index + 1] ?? 0;
}

/** Types whose samples are few enough to colour each of them beforehand. */
const tableRanges: Partial<Record<Raster['dtype'], { offset: number; size: number }>> = {
  uint8: { offset: 0, size: 256 },
  int8: { offset: -128, size: 256 },
  uint16: { offset: 0, size: 65_536 },
  int16: { offset: -32_768, size: 65_536 },
};

function makeLayer(band: BandStyle, channel: Channel, min: number, max: number): Layer {
  const { palette, nodata, clamp, discrete } = band;
  const divisor = max === min ? 1 : max - min;
  const color = (sample: number, into: Float32Array): boolean => {
    if (Number.isNaN(sample) || sample === nodata) return false;
    const value = (sample - min) / divisor;
    if (!clamp && (value < 0 || value > 1)) return false;
    if (discrete) {
      const index = Math.min(palette.length - 1, Math.max(0, Math.floor(value * palette.length)));
      into.set(palette[index] ?? [0, 0, 0, 0]);
    } else into.set(interpolateColor(palette, value));
    return true;
  };
  const neutral = band.composite === 'multiply' ? 255 : 0;
  const channels = [0, 1, 2, 3] as const;
  const active = channels.filter((index) => palette.some((entry) => entry[index] !== neutral));
  const layer: Layer = { channel, color, table: null, multiply: band.composite === 'multiply', active };
  const range = channel.band < 0 ? tableRanges.uint8 : tableRanges[channel.raster.dtype];
  // A table of 65536 colours pays only where there are more pixels than that.
  if (range && range.size <= Math.max(256, channel.raster.width * channel.raster.height)) {
    const colors = new Float32Array(range.size * 4);
    const entry = new Float32Array(4);
    for (let index = 0; index < range.size; index += 1) {
      if (color(index + range.offset, entry)) colors.set(entry, index * 4);
      else colors.fill(NaN, index * 4, index * 4 + 4);
    }
    layer.table = { offset: range.offset, colors };
  }
  return layer;
}

function composite(layers: readonly Layer[], first: number, count: number, out: Float32Array): void {
  out.fill(0, 0, count * 4);
  layers.forEach((layer, position) => {
    // There is nothing to multiply with yet.
    if (position === 0 && layer.multiply) return;
    if (layer.table) addByTable(layer, layer.table, first, count, out);
    else addComputed(layer, first, count, out);
  });
}

function addByTable(layer: Layer, table: NonNullable<Layer['table']>, first: number, count: number, out: Float32Array): void {
  const { data, bands } = layer.channel.raster;
  const { band } = layer.channel;
  const { colors, offset } = table;
  for (const channel of layer.active) {
    for (let pixel = 0; pixel < count; pixel += 1) {
      const sample = band < 0 ? 255 : (data[(first + pixel) * bands + band] ?? 0);
      const color = colors[(sample - offset) * 4 + channel] ?? NaN;
      const at = pixel * 4 + channel;
      // Comparisons with NaN are false, so what adds nothing changes nothing.
      if (layer.multiply) {
        if (color >= 0) out[at] = ((out[at] ?? 0) * color) / 255;
      } else if (color > (out[at] ?? 0)) out[at] = color;
    }
  }
}

function addComputed(layer: Layer, first: number, count: number, out: Float32Array): void {
  const { data, bands } = layer.channel.raster;
  const { band } = layer.channel;
  const color = new Float32Array(4);
  for (let pixel = 0; pixel < count; pixel += 1) {
    const sample = band < 0 ? 255 : (data[(first + pixel) * bands + band] ?? 0);
    if (!layer.color(sample, color)) continue;
    for (const channel of layer.active) {
      const at = pixel * 4 + channel;
      const former = out[at] ?? 0;
      const added = color[channel] ?? 0;
      out[at] = layer.multiply ? (former * added) / 255 : Math.max(former, added);
    }
  }
}
