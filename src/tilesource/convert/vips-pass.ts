import sharp, { type SharpOptions } from 'sharp';
import { readFacts, sampleForm, upright, type SampleForm, type VipsFile } from '../sources/sharp/decode.js';

/** A picture that libvips turns into tiles in one pass, from its first row to its last. Plain data: it goes to a process. */
export interface VipsPass {
  input: string;
  format: VipsFile['format'];
  output: string;
  page: number;
  threads: number;
  /** `pyramid`: the finished file. `base`: uncompressed tiles of the full size as they are stored, not turned upright. */
  kind: 'pyramid' | 'base';
  tileSide: number;
  compression: 'none' | 'jpeg' | 'deflate' | 'lzw' | 'packbits' | 'webp';
  quality: number;
  predictor: boolean;
  /** As the file says it. */
  pixelsPerMm: number | null;
}

/** How a file is handed to libvips: read once from front to back, whatever its size, and not at all when it is damaged. */
export const vipsSettings: SharpOptions = { limitInputPixels: false, failOn: 'error', sequentialRead: true };

/** Bytes of a picture from which on the output is a BigTIFF, whatever the compression makes of it. */
const bigBytes = 2 ** 31;

/** The form in which a compression holds samples: JPEG has bytes, WebP bytes of three or four bands. */
function storedForm(form: SampleForm, compression: VipsPass['compression']): SampleForm {
  if (compression === 'webp') return { ...form, dtype: 'uint8', bands: form.bands % 2 === 1 ? 3 : 4 };
  return compression === 'jpeg' ? { ...form, dtype: 'uint8' } : form;
}

/** Makes the file. Runs in a process of its own, whose output says how far libvips has come. */
export async function runVipsPass(pass: VipsPass): Promise<void> {
  sharp.cache(false);
  sharp.concurrency(pass.threads);
  const file: VipsFile = { input: pass.input, format: pass.format };
  const facts = await readFacts(file, vipsSettings, { maxDecodedPixels: Infinity });
  const form = sampleForm(facts);
  const { kind, tileSide, page } = pass;
  let image = upright(file, vipsSettings, storedForm(form, pass.compression), page, { autoOrient: kind === 'pyramid' });
  if (kind === 'pyramid' && pass.compression === 'jpeg' && facts.hasAlpha) image = image.flatten({ background: '#fff' });
  // With its orientation; the like that names one also turns the samples into those of an sRGB profile.
  if (kind === 'base') image = image.keepMetadata();
  else if (!form.converted && facts.icc) image = image.keepIccProfile();
  const bytes = facts.width * facts.height * facts.channels * (form.dtype === 'uint16' ? 2 : 1);
  await image
    .tiff({
      tile: true,
      tileWidth: tileSide,
      tileHeight: tileSide,
      pyramid: kind === 'pyramid',
      bigtiff: bytes > bigBytes,
      compression: pass.compression,
      quality: Math.max(1, pass.quality),
      predictor: pass.predictor ? 'horizontal' : 'none',
      ...(pass.pixelsPerMm !== null && { xres: pass.pixelsPerMm, yres: pass.pixelsPerMm }),
    })
    .toFile(pass.output);
}
