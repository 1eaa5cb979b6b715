import { TileSourceError } from '../../../errors.js';
import { codecThreads } from '../../codecs/threads/codec-threads.js';
import { yCbCrToRgb } from '../../codecs/ycbcr.js';
import type { Box } from '../../geometry.js';
import type { FileBlocks } from '../../process/decoded-blocks.js';
import { createRaster, type Raster, type SampleType } from '../../raster.js';
import { blit } from '../../render/pixels.js';
import type { ColorInterpretation } from './boxes.js';
import type { CodeStream, TileRange } from './code-stream.js';

/** Maximum number of samples that are decoded at once. The library needs more than four bytes for each. */
export const maxDecodedSamples = 2 ** 26;

/** Number of the enumerated color space sYCC. */
const sYcc = 18;

/** The form of the decoded samples of a file. */
export interface SampleShape {
  bands: number;
  dtype: SampleType;
}

/** A part of a level, in pixels of the level. */
export interface LevelPart {
  box: Box;
  /** How many times the full resolution is halved to get the level. */
  halvings: number;
}

/** Reads pixels of a code stream. Only the tiles that intersect the requested part are decoded. */
export class CodeStreamPixels {
  constructor(
    private readonly stream: CodeStream,
    private readonly colors: ColorInterpretation,
    private readonly shape: SampleShape,
    private readonly blocks: FileBlocks,
    /** Distinguishes the code stream from the file's other code streams in the cache. */
    private readonly name: string,
  ) {}

  /** @param useCache whether to take decoded tiles from the cache, and to store them there. */
  async read({ box, halvings }: LevelPart, useCache: boolean, signal?: AbortSignal): Promise<Raster> {
    const { size } = this.stream;
    const scale = 2 ** halvings;
    // The origin of the image is a multiple of the scale, so positions in pixels of the level are whole numbers.
    const [left, top] = [size.left / scale + box.left, size.top / scale + box.top];
    const range: TileRange = {
      left: Math.floor((left * scale - size.tileLeft) / size.tileWidth),
      top: Math.floor((top * scale - size.tileTop) / size.tileHeight),
      right: Math.floor(((left + box.width - 1) * scale - size.tileLeft) / size.tileWidth) + 1,
      bottom: Math.floor(((top + box.height - 1) * scale - size.tileTop) / size.tileHeight) + 1,
    };
    const result = createRaster({ ...this.shape, width: box.width, height: box.height });
    const drawTiles = async (tiles: TileRange): Promise<void> => {
      const extent = this.stream.extentOf(tiles);
      const decode = (sharedSignal: AbortSignal | undefined): Promise<Raster> => this.#decodeTiles(tiles, halvings, sharedSignal);
      const key = `${this.name}/${halvings}/${tiles.left}/${tiles.top}`;
      const raster = useCache ? await this.blocks.read(key, decode, signal) : await decode(signal);
      blit(result, raster, { left: Math.ceil(extent.left / scale) - left, top: Math.ceil(extent.top / scale) - top });
    };
    if (!useCache) await drawTiles(range);
    else {
      for (let y = range.top; y < range.bottom; y++) {
        for (let x = range.left; x < range.right; x++) await drawTiles({ left: x, top: y, right: x + 1, bottom: y + 1 });
      }
    }
    return result;
  }

  /** Decodes the tiles of `range` together. Samples that the file lacks are zero. */
  async #decodeTiles(range: TileRange, halvings: number, signal: AbortSignal | undefined): Promise<Raster> {
    const { components } = this.stream.size;
    const extent = this.stream.extentOf(range);
    const reducedLength = (end: number, start: number): number =>
      Math.ceil(end / 2 ** halvings) - Math.ceil(start / 2 ** halvings);
    const [width, height] = [reducedLength(extent.right, extent.left), reducedLength(extent.bottom, extent.top)];
    if (width < 1 || height < 1) return createRaster({ ...this.shape, width: 0, height: 0 });
    const samples = width * height * components.length;
    if (samples > maxDecodedSamples) {
      throw new TileSourceError(
        `Tiles of the JPEG 2000 file have ${samples} samples; at most ${maxDecodedSamples} are supported.`,
      );
    }
    const bytes = await this.stream.assembleTiles(range, signal);
    if (bytes === null) return createRaster({ ...this.shape, width, height });
    const { info, data } = await codecThreads.decodePicture(
      { codec: 'jpeg2000', bytes, reduced: { halvings, width, height } },
      'tiles of the file',
      signal,
    );
    const { bits, signed } = components[0]!;
    if (info.componentCount !== components.length || info.bitsPerSample !== bits || info.isSigned !== signed) {
      throw new TileSourceError('Corrupt JPEG 2000 file: the samples of its tiles differ from those in its header.');
    }
    return this.#asRaster(data, width, height);
  }

  #asRaster(data: Uint8Array<ArrayBuffer>, width: number, height: number): Raster {
    const { bits, signed } = this.stream.size.components[0]!;
    const { palette, colorSpace, componentOrder } = this.colors;
    const isWide = bits > 8;
    const samples = isWide
      ? signed
        ? new Int16Array(data.buffer)
        : new Uint16Array(data.buffer)
      : signed
        ? new Int8Array(data.buffer)
        : data;
    const raster: Raster = { ...this.shape, width, height, data: samples };
    if (palette !== null) return applyPalette(raster, palette.entries, componentOrder);
    // The library converts YCbCr with subsampled colors to RGB, and leaves YCbCr without subsampling unchanged.
    const isSubsampled = !this.stream.size.components.every(({ dx }) => dx === 1);
    if (
      colorSpace === sYcc &&
      !isSubsampled &&
      raster.bands === 3 &&
      (samples instanceof Uint8Array || samples instanceof Uint16Array)
    ) {
      yCbCrToRgb(samples, bits);
    }
    if (bits < 8) scaleToByte(samples, bits, signed);
    if (componentOrder !== null) reorderBands(raster, componentOrder);
    return raster;
  }
}

/** Scales samples of less than 8 bits to the whole range of a byte. */
function scaleToByte(samples: Raster['data'], bits: number, signed: boolean): void {
  const factor = signed ? 127 / Math.max(1, 2 ** (bits - 1) - 1) : 255 / (2 ** bits - 1);
  for (let i = 0; i < samples.length; i++) samples[i] = Math.max(signed ? -128 : 0, Math.round(samples[i]! * factor));
}

function reorderBands({ data, bands }: Raster, order: readonly number[]): void {
  if (order.length !== bands || order.every((band, i) => band === i) || order.some((band) => band >= bands)) return;
  const pixel = new Float64Array(bands);
  for (let at = 0; at < data.length; at += bands) {
    for (let band = 0; band < bands; band++) pixel[band] = data[at + order[band]!]!;
    data.set(pixel, at);
  }
}

/** Replaces indexes by colors. Indexes past the end of the palette mean its last entry, according to the standard. */
function applyPalette(indexes: Raster, entries: readonly (readonly number[])[], order: readonly number[] | null): Raster {
  const { width, height, bands, dtype } = indexes;
  const result = createRaster({ width, height, bands, dtype });
  const columns =
    order !== null && order.length === bands && order.every((band) => band < bands) ? order : [...Array(bands).keys()];
  const table = entries.map((entry) => columns.map((column) => entry[column] ?? 0));
  for (let i = 0; i < indexes.data.length; i++) {
    const entry = table[Math.min(table.length - 1, Math.max(0, indexes.data[i]!))]!;
    for (let band = 0; band < bands; band++) result.data[i * bands + band] = entry[band]!;
  }
  return result;
}
