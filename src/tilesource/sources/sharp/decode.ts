import sharp, { type Metadata, type Sharp, type SharpOptions } from 'sharp';
import { LargeImageError, TileSourceError } from '../../../errors.js';
import { defaultMaxDecodedPixels, type SourceOptions } from '../../tile-source.js';
import { readExif } from './exif.js';
import { runProcessing } from '../../process/processing.js';
import type { Raster } from '../../raster.js';
import { vipsReason } from '../../process/vips-reason.js';
import type { FileFormat } from './format.js';
import type { PreparedFile } from './prepared-file.js';

/** The input of libvips: the path or the bytes of a file. */
export type VipsFile = Pick<PreparedFile, 'input' | 'format'>;

/** Maximum number of pixels of pictures that libvips must decode as a whole in memory. */
const maxWholePixels = 2 ** 26;

/** Side of the tiles of pyramids that are made from large pictures. */
export const tileSide = 256;

/** Formats that libvips must decode as a whole in memory. */
const wholeFormats: ReadonlySet<FileFormat> = new Set<FileFormat>(['avif', 'gif', 'svg', 'webp']);

/** Converts an error of libvips to a TileSourceError that says what is wrong with the file. Other errors are returned unchanged. */
export function toTileSourceError(error: unknown): unknown {
  if (error instanceof LargeImageError || !(error instanceof Error) || error.name === 'AbortError') return error;
  return new TileSourceError(`The image cannot be read: ${vipsReason(error)}.`, { cause: error });
}

/** Reads the header of a file with libvips, and checks the limits before anything is decoded. */
export async function readHeader(file: VipsFile, settings: SharpOptions, options: SourceOptions): Promise<Metadata> {
  // libvips would refuse too many pixels without naming the limit.
  const header = await sharp(file.input, { ...settings, limitInputPixels: false }).metadata();
  const { width, height } = header.autoOrient;
  if (!(width >= 1 && height >= 1)) throw new TileSourceError('The image has no pixels.');
  const isDecodedWhole = wholeFormats.has(file.format) || header.isProgressive === true;
  const maxPixels = options.maxDecodedPixels ?? defaultMaxDecodedPixels;
  const limit = isDecodedWhole ? Math.min(maxPixels, maxWholePixels) : maxPixels;
  if (width * height > limit) {
    throw new TileSourceError(
      `The image has ${width} x ${height} pixels; at most ${limit} are supported in a file of this kind.`,
    );
  }
  const tilePixels = Math.ceil(width / tileSide) * Math.ceil(height / tileSide) * tileSide ** 2;
  // Tiles at the edges are partly empty, so the tiles of a narrow picture may have many more pixels than the picture. Therefore the
  // pixels of tiles are limited too.
  if (tilePixels > 2 * limit) {
    throw new TileSourceError(
      `The image has ${width} x ${height} pixels, which would be ${tilePixels} pixels in tiles; at most ${2 * limit} are supported for a file of this kind.`,
    );
  }
  return header;
}

/** The form of decoded samples: bands, type, and whether libvips must convert the colors, for example from CMYK. */
export interface SampleForm {
  bands: 1 | 2 | 3 | 4;
  dtype: 'uint8' | 'uint16';
  mustConvert: boolean;
}

/**
 * Types of samples, by their names in libvips, that are decoded exactly. libvips would clamp samples of all other types to 0 … 255.
 */
const exactDepths: ReadonlySet<string> = new Set(['uchar', 'ushort']);

/** The form of the decoded samples of a file. @throws TileSourceError for types of samples that libvips would clamp. */
export function sampleFormOf(header: Metadata): SampleForm {
  if (header.depth !== undefined && !exactDepths.has(header.depth)) {
    throw new TileSourceError(`libvips cannot read samples of type ${header.depth}; the tiff source reads them.`);
  }
  const isGray = header.channels <= 2;
  const hasAlpha = header.hasAlpha === true;
  const mustConvert = !['srgb', 'rgb', 'rgb16', 'b-w', 'grey16', 'scrgb'].includes(header.space ?? '');
  return {
    bands: isGray && !mustConvert ? (hasAlpha ? 2 : 1) : hasAlpha ? 4 : 3,
    dtype: header.depth === 'ushort' ? 'uint16' : 'uint8',
    mustConvert,
  };
}

/** Opens the picture with libvips. It is rotated upright unless `autoOrient` is false. Colors are converted only if `form.mustConvert`. */
export function openUpright(
  file: VipsFile,
  settings: SharpOptions,
  form: SampleForm,
  page: number,
  { autoOrient = true }: { autoOrient?: boolean } = {},
): Sharp {
  const picture = sharp(file.input, { ...settings, ...(page > 0 && { page }), ignoreIcc: !form.mustConvert });
  const image = autoOrient ? picture.autoOrient() : picture;
  if (form.dtype === 'uint16') return image.toColourspace(form.bands <= 2 ? 'grey16' : 'rgb16');
  return image.toColourspace(form.bands <= 2 ? 'b-w' : 'srgb');
}

/** Decodes one page as a whole. */
export async function decodePage(
  file: PreparedFile,
  settings: SharpOptions,
  { form, page, signal }: { form: SampleForm; page: number; signal?: AbortSignal | undefined },
): Promise<Raster> {
  // For raw output libvips drops the alpha of gray pictures, so these are decoded as RGB with alpha.
  const image = openUpright(file, settings, form.bands === 2 ? { ...form, bands: 4 } : form, page);
  const raw = image.raw({ depth: form.dtype === 'uint16' ? 'ushort' : 'uchar' });
  const { data, info } = await runProcessing(() => raw.toBuffer({ resolveWithObject: true }), signal);
  const samples = form.dtype === 'uint16' ? new Uint16Array(data.buffer, data.byteOffset, data.length / 2) : new Uint8Array(data);
  const raster: Raster = { data: samples, width: info.width, height: info.height, bands: info.channels, dtype: form.dtype };
  return raster.bands === form.bands ? raster : dropAddedBands(raster, form.bands);
}

/** Drops bands that libvips has added: gray with alpha gets back its two bands, and other pictures keep their first bands. */
function dropAddedBands(raster: Raster, bands: SampleForm['bands']): Raster {
  if (bands > raster.bands) throw new TileSourceError(`The image has ${raster.bands} bands where its header says ${bands}.`);
  const keptBands = bands === 2 ? [0, raster.bands - 1] : Array.from({ length: bands }, (_, band) => band);
  const count = raster.width * raster.height;
  const data = raster.dtype === 'uint16' ? new Uint16Array(count * bands) : new Uint8Array(count * bands);
  for (let pixel = 0; pixel < count; pixel += 1) {
    keptBands.forEach((band, position) => {
      data[pixel * bands + position] = raster.data[pixel * raster.bands + band] ?? 0;
    });
  }
  return { ...raster, data, bands };
}

/** The internal metadata of a file. */
export function describeHeader(header: Metadata): Record<string, unknown> {
  const { format, space, channels, depth, density, pages, orientation, width, height, xmpAsString: xmp } = header;
  return {
    sharp: { format, space, channels, depth, density, pages, orientation, width, height },
    ...(header.exif !== undefined && { exif: readExif(header.exif) }),
    ...(xmp !== undefined && xmp.length <= maxXmpLength && { xmp }),
  };
}

/** Maximum number of characters of an XMP text that is shown. */
const maxXmpLength = 256 * 1024;
