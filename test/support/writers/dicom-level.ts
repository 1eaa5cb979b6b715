import sharp from 'sharp';
import { writeDicom } from './dicom-writer.js';

/** A file of a slide of 128 by 128 pixels of one shade of gray, reduced by the factor `step`. */
export async function level(step: number, shade: number, seriesUid = '1.2.3'): Promise<Buffer> {
  const side = 128 / step;
  const tile = await sharp({ create: { width: 64, height: 64, channels: 3, background: { r: shade, g: shade, b: shade } } })
    .jpeg({ quality: 95 })
    .toBuffer();
  return writeDicom({
    rows: 64,
    columns: 64,
    frames: Array.from({ length: (side / 64) ** 2 }, () => tile),
    transferSyntax: '1.2.840.10008.1.2.4.50',
    photometric: 'YBR_FULL_422',
    samples: 3,
    bits: 8,
    matrix: { columns: side, rows: side },
    instanceUid: `1.2.3.4.${step}`,
    seriesUid,
  }).file;
}
