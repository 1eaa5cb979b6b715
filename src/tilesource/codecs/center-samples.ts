type Elements = Uint8Array<ArrayBuffer> | Int8Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | Int16Array<ArrayBuffer>;

/** Weights of four neighboring samples for the value at distance `shift` (0 to 1) after the second of them (Catmull-Rom spline). */
function weightsAt(shift: number): [number, number, number, number] {
  const [squared, cubed] = [shift * shift, shift * shift * shift];
  return [
    -0.5 * cubed + squared - 0.5 * shift,
    1.5 * cubed - 2.5 * squared + 1,
    -1.5 * cubed + 2 * squared + 0.5 * shift,
    0.5 * cubed - 0.5 * squared,
  ];
}

/** A line of `count` samples, which are `step` apart in the array. */
interface Line {
  start: number;
  count: number;
  step: number;
}

function moveLine(data: Elements, line: Line, weights: readonly number[], buffer: Float64Array, limits: [number, number]): void {
  const { start, count, step } = line;
  for (let i = 0; i < count; i++) buffer[i] = data[start + i * step]!;
  const last = count - 1;
  const [w0, w1, w2, w3] = weights as [number, number, number, number];
  for (let i = 0; i < count; i++) {
    const [before, after] = [buffer[i === 0 ? 0 : i - 1]!, buffer[i < last ? i + 1 : last]!];
    const value = w0 * before + w1 * buffer[i]! + w2 * after + w3 * buffer[i + 2 < count ? i + 2 : last]!;
    data[start + i * step] = Math.min(limits[1], Math.max(limits[0], Math.round(value)));
  }
}

/** A decoded picture of reduced resolution whose samples are at the upper left of their pixels. */
export interface ReducedPicture {
  width: number;
  height: number;
  bands: number;
  /** Number of times that the resolution was halved. */
  reduce: number;
  /** Smallest and largest allowed sample. */
  limits: [number, number];
}

/**
 * Moves the samples of a reduced resolution of JPEG 2000 to the centers of their pixels, in place. The wavelets put the sample of
 * a reduced pixel at the first pixel of full resolution that it covers. Without this correction the picture would be displaced by
 * up to half a pixel to the lower right.
 */
export function centerSamples(data: Elements, { width, height, bands, reduce, limits }: ReducedPicture): void {
  const weights = weightsAt((1 - 2 ** -reduce) / 2);
  const buffer = new Float64Array(Math.max(width, height));
  const rowLength = width * bands;
  for (let y = 0; y < height; y++) {
    for (let band = 0; band < bands; band++) {
      moveLine(data, { start: y * rowLength + band, count: width, step: bands }, weights, buffer, limits);
    }
  }
  for (let x = 0; x < rowLength; x++) moveLine(data, { start: x, count: height, step: rowLength }, weights, buffer, limits);
}
