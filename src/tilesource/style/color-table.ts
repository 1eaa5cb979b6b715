import { LRUCache } from 'lru-cache';
import type { Raster } from '../raster.js';
import type { BandStyle } from './parse.js';
import type { SampleRange } from './range.js';

/** Red, green, blue and alpha. */
export const channels = [0, 1, 2, 3] as const;

/** Converts the samples of a band to colors. */
export class BandColors {
  readonly isMultiplied: boolean;
  readonly #colors: BandStyle['palette'];
  /** The palette as four numbers for each color. Made when first needed, because most tiles are colored by existing tables. */
  #palette: Float64Array | undefined;
  readonly #last: number;
  readonly #min: number;
  readonly #divisor: number;
  readonly #nodata: number | null;
  readonly #clamp: boolean;
  readonly #discrete: boolean;
  readonly #gamma: number;

  constructor({ palette, nodata, clamp, discrete, composite, gamma }: BandStyle, [min, max]: SampleRange) {
    this.isMultiplied = composite === 'multiply';
    this.#colors = palette;
    this.#last = palette.length - 1;
    this.#min = min;
    this.#divisor = max === min ? 1 : max - min;
    this.#nodata = nodata;
    this.#clamp = clamp;
    this.#discrete = discrete;
    this.#gamma = gamma;
  }

  /**
   * Writes the color of a sample to four positions of `into` from `at` on, as values from 0 to 255 with fractions.
   *
   * @returns false if the sample has no color, because it has no value or is outside the range.
   */
  writeColor(sample: number, into: Float32Array, at: number): boolean {
    if (Number.isNaN(sample) || sample === this.#nodata) return false;
    const linear = (sample - this.#min) / this.#divisor;
    if (!this.#clamp && (linear < 0 || linear > 1)) return false;
    const value = this.#gamma === 1 || linear <= 0 ? linear : linear ** this.#gamma;
    const palette = (this.#palette ??= Float64Array.from(this.#colors.flat()));
    const last = this.#last;
    if (this.#discrete) {
      const from = Math.min(last, Math.max(0, Math.floor(value * (last + 1)))) * 4;
      for (let channel = 0; channel < 4; channel += 1) into[at + channel] = palette[from + channel]!;
      return true;
    }
    const position = Math.min(1, Math.max(0, value)) * last;
    const lower = Math.min(last - 1, Math.floor(position));
    const part = position - lower;
    const from = lower * 4;
    for (let channel = 0; channel < 4; channel += 1) {
      const low = palette[from + channel]!;
      into[at + channel] = low + (palette[from + 4 + channel]! - low) * part;
    }
    return true;
  }
}

/**
 * The color of every possible sample of a type. Its index is `sample - offset`. Samples without a color get values that do not
 * change other colors.
 */
export interface ColorTable {
  offset: number;
  /** Colors with one byte per channel, with red in the lowest byte. */
  words: Int32Array;
  /** Values of each channel, from 0 to 255 with fractions. */
  planes: readonly Float32Array[];
  /** Minimum and maximum value of each channel. */
  lows: readonly number[];
  highs: readonly number[];
}

/** Sample types with so few possible values that all values can be colored in advance. */
const tableRanges: Partial<Record<Raster['dtype'], { offset: number; size: number }>> = {
  uint8: { offset: 0, size: 256 },
  int8: { offset: -128, size: 256 },
  uint16: { offset: 0, size: 65_536 },
  int16: { offset: -32_768, size: 65_536 },
};

/** Number of colors in a table for samples of a type; `null` if a table would have too many colors. */
export function tableSize(dtype: Raster['dtype']): number | null {
  return tableRanges[dtype]?.size ?? null;
}

/** Makes the table for a sample type. @throws RangeError for a type without {@link tableSize}. */
export function makeColorTable(colors: BandColors, dtype: Raster['dtype']): ColorTable {
  const range = tableRanges[dtype];
  if (!range) throw new RangeError(`No table for samples of type ${dtype}`);
  const { offset, size } = range;
  const bytes = new Uint8Array(size * 4);
  const planes = channels.map(() => new Float32Array(size));
  const entry = new Float32Array(4);
  const neutral = colors.isMultiplied ? 255 : 0;
  for (let index = 0; index < size; index += 1) {
    if (!colors.writeColor(index + offset, entry, 0)) entry.fill(neutral);
    for (const channel of channels) {
      planes[channel]![index] = entry[channel]!;
      bytes[index * 4 + channel] = entry[channel]!;
    }
  }
  const extremes = (start: number, choose: (a: number, b: number) => number) =>
    planes.map((plane) => plane.reduce((best, value) => choose(best, value), start));
  return {
    offset,
    words: new Int32Array(bytes.buffer),
    planes,
    lows: extremes(255, Math.min),
    highs: extremes(0, Math.max),
  };
}

/**
 * Maximum bytes of color tables that are cached for one image: enough for some tables of 16-bit samples, or thousands of tables of
 * 8-bit samples.
 */
const maxTableBytes = 2 ** 23;

/** Maximum number of tables for pairs of bands that are cached for one image. Each takes 256 KiB. */
const maxPairs = 8;

/** Caches results for the styles of one image: measured ranges, and tables of colors. */
export class StyleMemo {
  /** Ranges by band of a style, then by frame. Entries are dropped together with the style. */
  readonly #ranges = new WeakMap<BandStyle, Map<number, SampleRange>>();
  readonly #tables = new LRUCache<string, ColorTable>({
    maxSize: maxTableBytes,
    sizeCalculation: ({ words }) => words.byteLength * 5,
  });
  readonly #numbers = new WeakMap<BandStyle, number>();
  readonly #pairs: { tables: readonly [ColorTable, ColorTable]; colors: Int32Array }[] = [];
  #nextNumber = 0;

  /**
   * The range of a band in a frame. Simultaneous callers do not share a call of `resolve`, because a call ends early if its own
   * request ends.
   */
  async getRange(band: BandStyle, frame: number, resolve: () => Promise<SampleRange>): Promise<SampleRange> {
    const frames = this.#ranges.get(band) ?? new Map<number, SampleRange>();
    this.#ranges.set(band, frames);
    const cached = frames.get(frame);
    if (cached) return cached;
    const range = await resolve();
    frames.set(frame, range);
    return range;
  }

  /** The color table of a band, cached while there is capacity. */
  getTable(band: BandStyle, range: SampleRange, dtype: Raster['dtype'], make: () => ColorTable): ColorTable {
    const number = this.#numbers.get(band) ?? this.#nextNumber++;
    this.#numbers.set(band, number);
    const key = `${number}/${dtype}/${range[0]}/${range[1]}`;
    const cached = this.#tables.get(key);
    if (cached) return cached;
    const table = make();
    this.#tables.set(key, table);
    return table;
  }

  /** The combined colors of two bands, cached for the last few pairs. */
  getPairColors(a: ColorTable, b: ColorTable, make: () => Int32Array): Int32Array {
    const cached = this.#pairs.find(({ tables }) => tables[0] === a && tables[1] === b);
    if (cached) return cached.colors;
    const colors = make();
    this.#pairs.unshift({ tables: [a, b], colors });
    this.#pairs.length = Math.min(this.#pairs.length, maxPairs);
    return colors;
  }
}
