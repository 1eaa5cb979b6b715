import sharp, { type SharpOptions } from 'sharp';
import { readHeader, sampleFormOf, openUpright, type SampleForm, type VipsFile } from '../../sources/sharp/decode.js';

/** A pass of libvips that reads an image once, from the first row to the last, and writes tiles. Plain data for another process. */
export interface VipsPass {
  input: string;
  format: VipsFile['format'];
  output: string;
  page: number;
  threads: number;
  /** `pyramid` writes the finished file. `base` writes only full resolution, and does not turn the pixels upright. */
  kind: 'pyramid' | 'base';
  tileSide: number;
  compression: 'none' | 'jpeg' | 'deflate' | 'lzw' | 'packbits' | 'webp';
  quality: number;
  predictor: boolean;
  /** Resolution to write into the file; `null` if the resolution is unknown. */
  pixelsPerMm: number | null;
}

/** Settings of libvips: the file is read once from front to back, its size is not limited, and damaged files are refused. */
export const vipsSettings: SharpOptions = { limitInputPixels: false, failOn: 'error', sequentialRead: true };

/** An image with more uncompressed bytes than this becomes a BigTIFF, because the compressed size is not known in advance. */
const maxClassicBytes = 2 ** 31;

/** The form in which a compression can store the samples: JPEG stores bytes, and WebP stores bytes of three or four bands. */
function storedForm(form: SampleForm, compression: VipsPass['compression']): SampleForm {
  if (compression === 'webp') return { ...form, dtype: 'uint8', bands: form.bands % 2 === 1 ? 3 : 4 };
  return compression === 'jpeg' ? { ...form, dtype: 'uint8' } : form;
}

/** Runs a pass. Must be called in a separate process, because libvips prints its progress to the standard output. */
export async function runVipsPass(pass: VipsPass): Promise<void> {
  sharp.cache(false);
  sharp.concurrency(pass.threads);
  const file: VipsFile = { input: pass.input, format: pass.format };
  const header = await readHeader(file, vipsSettings, { maxDecodedPixels: Infinity });
  const form = sampleFormOf(header);
  const { kind, tileSide, page } = pass;
  let image = openUpright(file, vipsSettings, storedForm(form, pass.compression), page, { autoOrient: kind === 'pyramid' });
  if (kind === 'pyramid' && pass.compression === 'jpeg' && header.hasAlpha) image = image.flatten({ background: '#fff' });
  // Keeps the orientation for the reader of the base file. sharp's method that keeps only the orientation would convert samples to
  // sRGB.
  if (kind === 'base') image = image.keepMetadata();
  else if (!form.mustConvert && header.icc) image = image.keepIccProfile();
  const uncompressedBytes = header.width * header.height * header.channels * (form.dtype === 'uint16' ? 2 : 1);
  await image
    .tiff({
      tile: true,
      tileWidth: tileSide,
      tileHeight: tileSide,
      pyramid: kind === 'pyramid',
      bigtiff: uncompressedBytes > maxClassicBytes,
      compression: pass.compression,
      quality: Math.max(1, pass.quality),
      predictor: pass.predictor ? 'horizontal' : 'none',
      ...(pass.pixelsPerMm !== null && { xres: pass.pixelsPerMm, yres: pass.pixelsPerMm }),
    })
    .toFile(pass.output);
}
