import { fullValue, whiteOfBits, type Raster, type Samples } from '../../../raster.js';
import type { ImageLayout } from '../tiff-layout.js';
import { photometrics } from '../file/tags.js';
import { storedYCbCrToRgb } from './stored-ycbcr.js';

/** A value of the tag ExtraSamples. */
const premultipliedAlpha = 1;

function applyPalette(indexes: Raster, layout: ImageLayout): Raster {
  const map = layout.colorMap ?? new Uint16Array(0);
  const colorCount = map.length / 3;
  // Colors have 16 bits according to the specification, but some writers store colors of 8 bits. libtiff guesses in the same way.
  const shift = map.some((value) => value > 255) ? 8 : 0;
  const bands = 2 + indexes.bands;
  const opacityFactor = 255 / (2 ** layout.bits - 1);
  const data = new Uint8Array(indexes.width * indexes.height * bands);
  for (let i = 0, out = 0; i < indexes.data.length; i += indexes.bands, out += bands) {
    const index = indexes.data[i] ?? 0;
    for (let c = 0; c < 3; c++) data[out + c] = (map[index + c * colorCount] ?? 0) >> shift;
    if (bands === 4) data[out + 3] = Math.round((indexes.data[i + 1] ?? 0) * opacityFactor);
  }
  return { data, width: indexes.width, height: indexes.height, bands, dtype: 'uint8' };
}

function invert(data: Samples, maxSample: number, bands: number, colorBands: number): void {
  for (let i = 0; i < data.length; i += bands) {
    for (let c = 0; c < colorBands; c++) data[i + c] = maxSample - (data[i + c] ?? 0);
  }
}

/** Divides colors by alpha; colors of transparent pixels become 0. Rounds down as libvips does. */
function unpremultiply({ data, bands, dtype }: Raster, maxSample: number, alphaBand: number): void {
  const isInteger = !dtype.startsWith('float');
  for (let i = 0; i < data.length; i += bands) {
    const opacity = data[i + alphaBand] ?? 0;
    for (let c = 0; c < alphaBand; c++) {
      const value = opacity === 0 ? 0 : ((data[i + c] ?? 0) * maxSample) / opacity;
      data[i + c] = isInteger ? Math.min(maxSample, Math.floor(value)) : value;
    }
  }
}

/**
 * Converts samples to the meaning that {@link Raster} defines: black is zero, palette indexes become colors, alpha is not premultiplied. Works in
 * place if the shape stays the same. Signed samples keep their values.
 */
export function interpretColors(raster: Raster, layout: ImageLayout): Raster {
  const { photometric } = layout;
  if (photometric === photometrics.palette) return applyPalette(raster, layout);
  if (photometric === photometrics.yCbCr) storedYCbCrToRgb(raster, layout.yCbCr);
  if (raster.dtype.startsWith('int')) return raster;
  // Samples of 12 bits, for example, are not scaled to the 16 bits of their array, so that white is 4095.
  const white = layout.bits > 8 ? whiteOfBits(raster.dtype, layout.bits).white : undefined;
  const maxSample = white ?? fullValue(raster.dtype);
  const isFloat = raster.dtype.startsWith('float');
  const colorBands = photometric === photometrics.rgb || photometric === photometrics.yCbCr ? 3 : 1;
  if (photometric === photometrics.whiteIsZero && !isFloat) invert(raster.data, maxSample, raster.bands, colorBands);
  if (raster.bands === colorBands + 1 && layout.extraSamples[0] === premultipliedAlpha)
    unpremultiply(raster, maxSample, colorBands);
  return raster;
}
