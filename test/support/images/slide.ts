import { join } from 'node:path';
import sharp from 'sharp';
import { sampleFile } from './data.js';

/**
 * A slide of about half a micrometer per pixel: a real one if it is available, or else a generated pyramidal TIFF with varying
 * colors.
 *
 * @returns path of the file
 */
export async function slideFile(folder: string): Promise<string> {
  const real = sampleFile('CMU-1-Small-Region.svs');
  if (real !== null) return real;
  const width = 2000;
  const height = 1500;
  const pixels = Buffer.alloc(width * height * 3);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) pixels.set([(x / 8) & 255, (y / 8) & 255, ((x + y) / 16) & 255], (y * width + x) * 3);
  }
  const path = join(folder, 'generated-slide.tif');
  const pixelsPerMm = 2000;
  await sharp(pixels, { raw: { width, height, channels: 3 } })
    .tiff({
      tile: true,
      tileWidth: 256,
      tileHeight: 256,
      pyramid: true,
      compression: 'lzw',
      xres: pixelsPerMm,
      yres: pixelsPerMm,
    })
    .toFile(path);
  return path;
}
