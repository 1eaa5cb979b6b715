import { createRaster, type Raster, type SampleType } from '../raster.js';
import { halfSize } from './levels.js';

type Mean = (a: number, b: number, c: number, d: number) => number;

/** Sums of four need more than 32 bits. */
const wideMean: Mean = (a, b, c, d) => Math.floor((a + b + c + d + 2) / 4);

/** NaN stands for no value: the mean is that of the others. */
const floatMean: Mean = (a, b, c, d) => {
  const mean = (a + b + c + d) / 4;
  if (!Number.isNaN(mean)) return mean;
  const values = [a, b, c, d].filter((value) => !Number.isNaN(value));
  return values.reduce((sum, value) => sum + value, 0) / values.length;
};

/** `undefined` where shifting does it. */
const means: { [T in SampleType]?: Mean } = { uint32: wideMean, int32: wideMean, float32: floatMean, float64: floatMean };

/** Half the size: each pixel the mean of four, or the first of them. An odd last row or column is dropped. */
export function halve(raster: Raster, nearest: boolean): Raster {
  const { bands, data } = raster;
  const { width, height } = halfSize(raster);
  const out = createRaster({ ...raster, width, height });
  const to = out.data;
  const right = raster.width > 1 ? bands : 0;
  const down = raster.height > 1 ? raster.width * bands : 0;
  const mean = means[raster.dtype];
  let at = 0;
  for (let y = 0; y < height; y += 1) {
    let from = y * 2 * raster.width * bands;
    for (let x = 0; x < width; x += 1) {
      for (let band = 0; band < bands; band += 1, from += 1) {
        const first = data[from] ?? 0;
        if (nearest) {
          to[at++] = first;
          continue;
        }
        const second = data[from + right] ?? 0;
        const third = data[from + down] ?? 0;
        const fourth = data[from + right + down] ?? 0;
        to[at++] = mean === undefined ? (first + second + third + fourth + 2) >> 2 : mean(first, second, third, fourth);
      }
      from += bands;
    }
  }
  return out;
}
