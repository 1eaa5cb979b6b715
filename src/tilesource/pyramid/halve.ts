import { createRaster, type Raster } from '../raster.js';
import { halfSize } from './levels.js';

/** The mean of the values that are not NaN, which marks missing values. */
function meanOfNumbers(...values: readonly number[]): number {
  const numbers = values.filter((value) => !Number.isNaN(value));
  return numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
}

/** Halves a raster. Each new pixel is the mean of four, or with `nearest` the first of them. An odd last row or column is dropped. */
export function halve(raster: Raster, nearest: boolean): Raster {
  const { bands, data } = raster;
  const { width, height } = halfSize(raster);
  const out = createRaster({ ...raster, width, height });
  const stride = raster.width * bands;
  const right = raster.width > 1 ? bands : 0;
  const down = raster.height > 1 ? stride : 0;
  const isFloat = raster.dtype.startsWith('float');
  // Rows are copied to arrays of doubles, because code that sees a single type of array is compiled to faster code.
  const upper = new Float64Array(stride);
  const lower = new Float64Array(stride);
  const row = new Float64Array(width * bands);
  for (let y = 0; y < height; y += 1) {
    const start = y * 2 * stride;
    upper.set(data.subarray(start, start + stride));
    lower.set(data.subarray(start + down, start + down + stride));
    let at = 0;
    for (let from = 0; at < row.length; from += bands) {
      for (let band = 0; band < bands; band += 1, from += 1, at += 1) {
        const first = upper[from]!;
        if (nearest) {
          row[at] = first;
          continue;
        }
        const sum = first + upper[from + right]! + lower[from]! + lower[from + right]!;
        if (!isFloat) row[at] = Math.floor((sum + 2) / 4);
        else if (Number.isNaN(sum)) row[at] = meanOfNumbers(first, upper[from + right]!, lower[from]!, lower[from + right]!);
        else row[at] = sum / 4;
      }
    }
    out.data.set(row, y * row.length);
  }
  return out;
}
