import sharp, { type Metadata, type Sharp, type SharpOptions } from 'sharp';
import { LargeImageError, TileSourceError } from '../../../errors.js';
import { defaultMaxDecodedPixels, type SourceOptions } from '../../contract.js';
import { readExif } from './exif.js';
import { processed } from '../../process/processing.js';
import type { Raster } from '../../raster.js';
import { vipsReason } from '../../process/vips-reason.js';
import type { FileFormat } from './format.js';
import type { Material } from './material.js';

/** A file as libvips is given it. */
export type VipsFile = Pick<Material, 'input' | 'format'>;

/** Most pixels of formats of which libvips holds the whole picture while it decodes. */
const maxDecodedPixels = 2 ** 26;

/** Side of the tiles that large pictures are turned into. */
export const tileSide = 256;

/** Formats of which libvips needs the whole picture in memory. */
const decodedFormats: ReadonlySet<FileFormat> = new Set<FileFormat>(['avif', 'gif', 'svg', 'webp']);

/** Errors of libvips as what they mean for the file. */
export function explain(error: unknown): unknown {
  if (error instanceof LargeImageError || !(error instanceof Error) || error.name === 'AbortError') return error;
  return new TileSourceError(`The image cannot be read: ${vipsReason(error)}.`, { cause: error });
}

/** What libvips says of a file, checked against the limits before anything is decoded. */
export async function readFacts(material: VipsFile, settings: SharpOptions, options: SourceOptions): Promise<Metadata> {
  const facts = await sharp(material.input, settings).metadata();
  const { width, height } = facts.autoOrient;
  if (!(width >= 1 && height >= 1)) throw new TileSourceError('The image has no pixels.');
  const isDecoded = decodedFormats.has(material.format) || facts.isProgressive === true;
  const usual = options.maxDecodedPixels ?? defaultMaxDecodedPixels;
  const limit = isDecoded ? Math.min(usual, maxDecodedPixels) : usual;
  if (width * height > limit) {
    throw new TileSourceError(`The image has ${width} x ${height} pixels; at most ${limit} are decoded in a file of this kind.`);
  }
  const tilePixels = Math.ceil(width / tileSide) * Math.ceil(height / tileSide) * tileSide ** 2;
  // At the edges of usual pictures tiles are partly empty; those of a picture of two columns nearly are.
  if (tilePixels > 2 * limit) {
    throw new TileSourceError(
      `The image has ${width} x ${height} pixels, which are ${tilePixels} in tiles; at most ${2 * limit} are made of a file of this kind.`,
    );
  }
  return facts;
}

/** How samples are decoded: bands and type, and whether libvips has to convert colours (CMYK and the like) itself. */
export interface SampleForm {
  bands: 1 | 2 | 3 | 4;
  dtype: 'uint8' | 'uint16';
  converted: boolean;
}

/** Depths, by libvips name, that come through: libvips would cut all others off at 0 and 255. */
const keptDepths: ReadonlySet<string> = new Set(['uchar', 'ushort']);

/** How the samples of a file are decoded. @throws TileSourceError for depths that would come out wrong. */
export function sampleForm(facts: Metadata): SampleForm {
  if (facts.depth !== undefined && !keptDepths.has(facts.depth)) {
    throw new TileSourceError(`Samples of type ${facts.depth} are not read by libvips here, but by the tiff source.`);
  }
  const gray = facts.channels <= 2;
  const alpha = facts.hasAlpha === true;
  const converted = !['srgb', 'rgb', 'rgb16', 'b-w', 'grey16', 'scrgb'].includes(facts.space ?? '');
  return {
    bands: gray && !converted ? (alpha ? 2 : 1) : alpha ? 4 : 3,
    dtype: facts.depth === 'ushort' ? 'uint16' : 'uint8',
    converted,
  };
}

/** Opens the picture, upright unless `turn` is false, colours untouched where they can be. */
export function upright(
  material: VipsFile,
  settings: SharpOptions,
  form: SampleForm,
  page: number,
  { autoOrient = true }: { autoOrient?: boolean } = {},
): Sharp {
  const opened = sharp(material.input, { ...settings, ...(page > 0 && { page }), ignoreIcc: !form.converted });
  const image = autoOrient ? opened.autoOrient() : opened;
  if (form.dtype === 'uint16') return image.toColourspace(form.bands <= 2 ? 'grey16' : 'rgb16');
  return image.toColourspace(form.bands <= 2 ? 'b-w' : 'srgb');
}

/** Decodes one page as a whole. */
export async function decode(
  material: Material,
  settings: SharpOptions,
  { form, page, signal }: { form: SampleForm; page: number; signal?: AbortSignal | undefined },
): Promise<Raster> {
  // Of gray with alpha, libvips gives the gray alone where samples are to be raw.
  const image = upright(material, settings, form.bands === 2 ? { ...form, bands: 4 } : form, page);
  const raw = image.raw({ depth: form.dtype === 'uint16' ? 'ushort' : 'uchar' });
  const { data, info } = await processed(() => raw.toBuffer({ resolveWithObject: true }), signal);
  const samples = form.dtype === 'uint16' ? new Uint16Array(data.buffer, data.byteOffset, data.length / 2) : new Uint8Array(data);
  const raster: Raster = { data: samples, width: info.width, height: info.height, bands: info.channels, dtype: form.dtype };
  return raster.bands === form.bands ? raster : chooseBands(raster, form.bands);
}

/** Gray with alpha comes as RGB with alpha. */
function chooseBands(raster: Raster, bands: SampleForm['bands']): Raster {
  if (bands > raster.bands) throw new TileSourceError(`The image has ${raster.bands} bands where its header says ${bands}.`);
  const kept = bands === 2 ? [0, raster.bands - 1] : Array.from({ length: bands }, (_, band) => band);
  const count = raster.width * raster.height;
  const data = raster.dtype === 'uint16' ? new Uint16Array(count * bands) : new Uint8Array(count * bands);
  for (let pixel = 0; pixel < count; pixel += 1) {
    kept.forEach((band, position) => {
      data[pixel * bands + position] = raster.data[pixel * raster.bands + band] ?? 0;
    });
  }
  return { ...raster, data, bands };
}

/** What internal metadata say of a file. */
export function describeFacts(facts: Metadata): Record<string, unknown> {
  const { format, space, channels, depth, density, pages, orientation, width, height, xmpAsString: xmp } = facts;
  return {
    sharp: { format, space, channels, depth, density, pages, orientation, width, height },
    ...(facts.exif !== undefined && { exif: readExif(facts.exif) }),
    ...(xmp !== undefined && xmp.length <= maxXmpLength && { xmp }),
  };
}

const maxXmpLength = 256 * 1024;
