import type { Raster } from '../../../raster.js';
import type { Directory } from '../file/directory.js';
import { tags } from '../file/tags.js';

/** How to convert YCbCr to RGB: the tags YCbCrCoefficients and ReferenceBlackWhite. */
export interface YCbCrConversion {
  /** Shares of red, green and blue in the luminance. */
  coefficients: readonly number[];
  /** The samples for black and white in Y, then for 0 and the maximum in Cb and in Cr. */
  reference: readonly number[];
}

/** The defaults of the tags: the values of ITU-R BT.601 in full range. */
export const defaultYCbCr: YCbCrConversion = { coefficients: [0.299, 0.587, 0.114], reference: [0, 255, 128, 255, 128, 255] };

/** Reads the conversion of YCbCr to RGB from a directory. */
export async function readYCbCr(directory: Directory): Promise<YCbCrConversion> {
  const coefficients = await directory.rationals(tags.yCbCrCoefficients);
  const reference = await directory.rationals(tags.referenceBlackWhite);
  const isUsable = (values: number[] | null, count: number): values is number[] =>
    values?.length === count && values.every((value) => Number.isFinite(value));
  return {
    coefficients: isUsable(coefficients, 3) && coefficients[1]! > 0 ? coefficients : defaultYCbCr.coefficients,
    reference:
      isUsable(reference, 6) && [0, 2, 4].every((at) => reference[at] !== reference[at + 1]) ? reference : defaultYCbCr.reference,
  };
}

/** Converts the first three bands from YCbCr to RGB, in place, with the formulas of TIFF 6.0 (section 21) and the rounding of libtiff. */
export function storedYCbCrToRgb({ data, bands }: Raster, { coefficients, reference }: YCbCrConversion): void {
  const [red, green, blue] = coefficients as [number, number, number];
  const [black, white, zeroBlue, maxBlue, zeroRed, maxRed] = reference as [number, number, number, number, number, number];
  const lumaFactor = 255 / (white - black);
  const [blueFactor, redFactor] = [127 / (maxBlue - zeroBlue), 127 / (maxRed - zeroRed)];
  const clamp = (value: number): number => Math.max(0, Math.min(255, Math.round(value)));
  for (let i = 0; i + 2 < data.length; i += bands) {
    const y = (data[i]! - black) * lumaFactor;
    const b = y + (data[i + 1]! - zeroBlue) * blueFactor * (2 - 2 * blue);
    const r = y + (data[i + 2]! - zeroRed) * redFactor * (2 - 2 * red);
    data[i] = clamp(r);
    data[i + 1] = clamp((y - blue * b - red * r) / green);
    data[i + 2] = clamp(b);
  }
}
