type Elements = Uint8Array<ArrayBuffer> | Int8Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | Int16Array<ArrayBuffer>;

/**
 * Weights of four successive samples for the value at the distance `shift` (0 to 1) after the second sample, on a Catmull-Rom
 * spline.
 */
function weightsAt(shift: number): [number, number, number, number] {
  const [squared, cubed] = [shift * shift, shift * shift * shift];
  return [
    -0.5 * cubed + squared - 0.5 * shift,
    1.5 * cubed - 2.5 * squared + 1,
    -1.5 * cubed + 2 * squared + 0.5 * shift,
    0.5 * cubed - 0.5 * squared,
  ];
}

/** A row or column of `count` samples. */
interface Line {
  /** Index of the first sample. */
  start: number;
  count: number;
  /** Distance between the indexes of two samples. */
  step: number;
}

/** Replaces each sample of a line by a weighted sum of four samples: the sample before it, itself, and the two samples after it. */
function resampleLine(
  data: Elements,
  line: Line,
  weights: readonly number[],
  buffer: Float64Array,
  limits: [min: number, max: number],
): void {
  const { start, count, step } = line;
  for (let i = 0; i < count; i++) buffer[i] = data[start + i * step]!;
  const lastIndex = count - 1;
  const [w0, w1, w2, w3] = weights as [number, number, number, number];
  for (let i = 0; i < count; i++) {
    const [before, after] = [buffer[i === 0 ? 0 : i - 1]!, buffer[i < lastIndex ? i + 1 : lastIndex]!];
    const value = w0 * before + w1 * buffer[i]! + w2 * after + w3 * buffer[i + 2 < count ? i + 2 : lastIndex]!;
    data[start + i * step] = Math.min(limits[1], Math.max(limits[0], Math.round(value)));
  }
}

/** A decoded picture of reduced resolution whose samples are at the upper left of their pixels. */
export interface ReducedPicture {
  width: number;
  height: number;
  bands: number;
  /** Number of times that the resolution was halved. */
  halvings: number;
  /** Smallest and largest possible sample. */
  limits: [min: number, max: number];
}

/**
 * Moves the samples of a reduced resolution of JPEG 2000 to the centers of their pixels, in place. The wavelets put the sample of
 * a reduced pixel at the first pixel of full resolution that it covers. Without this correction the picture would be displaced by
 * up to half a pixel to the lower right.
 */
export function centerSamples(data: Elements, { width, height, bands, halvings, limits }: ReducedPicture): void {
  const weights = weightsAt((1 - 2 ** -halvings) / 2);
  const buffer = new Float64Array(Math.max(width, height));
  const rowLength = width * bands;
  for (let y = 0; y < height; y++) {
    for (let band = 0; band < bands; band++) {
      resampleLine(data, { start: y * rowLength + band, count: width, step: bands }, weights, buffer, limits);
    }
  }
  for (let x = 0; x < rowLength; x++) resampleLine(data, { start: x, count: height, step: rowLength }, weights, buffer, limits);
}
