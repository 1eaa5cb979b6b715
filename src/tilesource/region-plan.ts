import { BadValueError } from '../errors.js';
import {
  type Box,
  type PyramidShape,
  type Size,
  boxAtLevel,
  neededLevel,
  preferredLevel,
  roundHalfEven,
  roundOctaves,
} from './geometry.js';
import type { ImageMetadata } from './tile-source.js';

/** A rectangle as requests state it. {@link parseUnits} knows the names of units. */
export interface RegionBounds {
  /** Negative values of `left`, `top`, `right` and `bottom` count from the opposite edge. `right` and `bottom` are exclusive. */
  left?: number;
  top?: number;
  right?: number;
  bottom?: number;
  regionWidth?: number;
  regionHeight?: number;
  /** Units of all six numbers; default `base_pixels`. */
  units?: string;
  /** Units of `regionWidth` and `regionHeight` alone, which then take precedence over `right` and `bottom`. */
  unitsWH?: string;
}

/** Units of region coordinates. `mm` is the length of a unit in millimeters. */
export type Units = { kind: 'base' } | { kind: 'magnified' } | { kind: 'fraction' } | { kind: 'length'; mm: number };

const mmByUnit: Readonly<Record<string, number>> = {
  nm: 1e-6,
  nanometer: 1e-6,
  nanometers: 1e-6,
  um: 1e-3,
  μm: 1e-3,
  µm: 1e-3,
  micron: 1e-3,
  microns: 1e-3,
  micrometer: 1e-3,
  micrometers: 1e-3,
  mm: 1,
  millimeter: 1,
  millimeters: 1,
  m: 1e3,
  meter: 1e3,
  meters: 1e3,
  km: 1e6,
  kilometer: 1e6,
  kilometers: 1e6,
};
const baseUnits = new Set(['', 'base', 'base_pixel', 'base_pixels']);
const magnifiedUnits = new Set(['pixel', 'pixels', 'mag_pixel', 'mag_pixels', 'magnification_pixel', 'magnification_pixels']);

/**
 * Parses the name of units.
 *
 * @throws BadValueError for an unknown name. Geospatial units are unknown here; `regionInPixels` converts them before.
 */
export function parseUnits(name: string | undefined): Units {
  const key = (name ?? '').toLowerCase();
  if (baseUnits.has(key)) return { kind: 'base' };
  if (magnifiedUnits.has(key)) return { kind: 'magnified' };
  if (key === 'fraction') return { kind: 'fraction' };
  const mm = Object.hasOwn(mmByUnit, key) ? mmByUnit[key] : undefined;
  if (mm === undefined) throw new BadValueError(`Invalid units '${name}'`);
  return { kind: 'length', mm };
}

/** Magnification and pixel size of an image. */
export type Calibration = Pick<ImageMetadata, 'magnification' | 'mmX' | 'mmY'>;

/** Objective power of an image: as declared by the file, or estimated from the pixel size. `null` if both are unknown. */
export function nativeMagnification(image: Calibration): number | null {
  if (image.magnification != null) return image.magnification;
  return image.mmX == null ? null : 0.01 / image.mmX;
}

/** A scale that a request has asked for. */
export interface RequestedScale {
  /** Octaves from the base layer to the scale: 0 is full resolution, -1 half. `null` if no scale was requested. */
  octaves: number | null;
  /** Whether all requested values mean the same whole number of octaves. */
  isExact: boolean;
}

/**
 * The scale that a request states as magnification or pixel size. A value is ignored if the image lacks the value to compare with.
 */
export function requestedScale(
  image: Calibration,
  requested: { magnification?: number; mmX?: number; mmY?: number },
): RequestedScale {
  const octaves: number[] = [];
  const addOctaves = (ratio: number) => {
    if (Number.isFinite(ratio) && ratio > 0) octaves.push(roundOctaves(Math.log2(ratio)));
  };
  const native = nativeMagnification(image);
  if (requested.magnification && native) addOctaves(requested.magnification / native);
  if (requested.mmX && image.mmX) addOctaves(image.mmX / requested.mmX);
  if (requested.mmY && image.mmY) addOctaves(image.mmY / requested.mmY);
  const first = octaves[0];
  if (first === undefined) return { octaves: null, isExact: true };
  return {
    octaves: octaves.reduce((sum, value) => sum + value, 0) / octaves.length,
    isExact: Number.isInteger(first) && octaves.every((value) => value === first),
  };
}

/**
 * The rectangle of base-layer pixels that a request selects, clipped to the image. Its width or height is 0 if nothing is selected.
 *
 * @throws BadValueError for unknown units, or units that this image has no calibration for.
 */
export function regionBox(
  image: PyramidShape & Calibration,
  bounds: RegionBounds,
  scale: { magnification?: number; mmX?: number; mmY?: number } = {},
): Box {
  const units = parseUnits(bounds.units);
  const sizeUnits = bounds.unitsWH === undefined ? units : parseUnits(bounds.unitsWH);
  const sizeTakesPrecedence = bounds.unitsWH !== undefined;
  const positionFactors = pixelsPerUnit(image, units, scale);
  const sizeFactors = pixelsPerUnit(image, sizeUnits, scale);
  const [left, right] = resolveInterval(
    image.sizeX,
    {
      from: multiplyIfGiven(bounds.left, positionFactors.x),
      to: multiplyIfGiven(bounds.right, positionFactors.x),
      length: multiplyIfGiven(bounds.regionWidth, sizeFactors.x),
    },
    sizeTakesPrecedence,
  );
  const [top, bottom] = resolveInterval(
    image.sizeY,
    {
      from: multiplyIfGiven(bounds.top, positionFactors.y),
      to: multiplyIfGiven(bounds.bottom, positionFactors.y),
      length: multiplyIfGiven(bounds.regionHeight, sizeFactors.y),
    },
    sizeTakesPrecedence,
  );
  return { left, top, width: right - left, height: bottom - top };
}

function multiplyIfGiven(value: number | undefined, factor: number): number | undefined {
  return value === undefined ? undefined : value * factor;
}

/** Base-layer pixels per unit. */
function pixelsPerUnit(
  image: PyramidShape & Calibration,
  units: Units,
  scale: { magnification?: number; mmX?: number; mmY?: number },
): { x: number; y: number } {
  switch (units.kind) {
    case 'base':
      return { x: 1, y: 1 };
    case 'fraction':
      return { x: image.sizeX, y: image.sizeY };
    case 'length':
      if (!image.mmX || !image.mmY) throw new BadValueError('No mm_x or mm_y to use for units');
      return { x: units.mm / image.mmX, y: units.mm / image.mmY };
    case 'magnified': {
      const { octaves } = requestedScale(image, scale);
      const hasScale = scale.magnification !== undefined || scale.mmX !== undefined || scale.mmY !== undefined;
      if (octaves === null && hasScale && nativeMagnification(image) === null) {
        throw new BadValueError('No magnification to use for units');
      }
      // Without a scale, a pixel is a base-layer pixel.
      const factor = 2 ** -(octaves ?? 0);
      return { x: factor, y: factor };
    }
  }
}

function resolveInterval(
  size: number,
  bounds: { from?: number; to?: number; length?: number },
  lengthTakesPrecedence: boolean,
): [from: number, to: number] {
  const resolveNegative = (value: number | undefined) => (value !== undefined && value < 0 ? value + size : value);
  let from = resolveNegative(bounds.from);
  let to = resolveNegative(bounds.to);
  if (bounds.length !== undefined) {
    if (from === undefined && to !== undefined) from = to - bounds.length;
    else if (to === undefined || lengthTakesPrecedence) to = (from ?? 0) + bounds.length;
  }
  const roundAndClip = (value: number) => Math.min(size, Math.max(0, roundHalfEven(value)));
  const start = roundAndClip(from ?? 0);
  return [start, Math.max(start, roundAndClip(to ?? size))];
}

/** If only one side of a box is given, the other side can be this many times as long. */
const maxAspect = 16;

/** The largest size with the aspect of `content` within a box; at least 1 by 1. It can be larger than the content. */
export function fitSize(content: Size, box: { width?: number; height?: number }): Size {
  const width = box.width ?? (box.height ?? content.width) * maxAspect;
  const height = box.height ?? width * (box.width === undefined ? 1 : maxAspect);
  if (content.width * height > content.height * width) {
    return { width, height: Math.max(1, Math.floor((content.height * width) / content.width)) };
  }
  return { width: Math.max(1, Math.floor((content.width * height) / content.height)), height };
}

/** How to make the picture of a region: read `levelBox` of `level`, and scale it to `output`. */
export interface RegionPlan {
  /** The region in base-layer pixels. */
  region: Box;
  level: number;
  /** The region in pixels of the level. */
  levelBox: Box;
  /** Size of the picture before padding. */
  output: Size;
}

/** Requested size or scale of a region. */
export interface RequestedOutput {
  /** Maximum output size in pixels; the aspect is kept. */
  width?: number;
  height?: number;
  /** Scale, used if neither `width` nor `height` is given. */
  magnification?: number;
  mmX?: number;
  mmY?: number;
  /** Whether the result is empty if the scale is not exactly the scale of a level. */
  exact?: boolean;
}

/** Default of the maximum number of pixels that are read from a level finer than needed. */
const defaultMaxReadPixels = 2 ** 26;

/**
 * Plans from which level a region is read, and the size of its picture. `null` if the region is empty, or if `exact` is requested
 * and no stored level has exactly the requested scale.
 *
 * @param maxReadPixels maximum number of pixels that are read from a level finer than needed. If the region has more pixels there,
 * the tiles of the needed level are made instead.
 * @throws BadValueError for sizes and units that are not allowed.
 */
export function planRegion(
  image: PyramidShape & Calibration,
  populatedLevels: readonly number[],
  requested: RegionBounds & RequestedOutput,
  maxReadPixels = defaultMaxReadPixels,
): RegionPlan | null {
  for (const side of [requested.width, requested.height]) {
    if (side === undefined) continue;
    if (!Number.isSafeInteger(side) || side < 0) {
      throw new BadValueError('Invalid output width or height.  Minimum value is 0.');
    }
    if (side === 0) throw new BadValueError('Invalid output width or height.  A picture cannot have 0 pixels.');
  }
  const region = regionBox(image, requested, requested);
  if (region.width === 0 || region.height === 0) return null;
  const { octaves, isExact } = requestedScale(image, requested);
  let output: Size = { width: region.width, height: region.height };
  if (requested.width !== undefined || requested.height !== undefined) output = fitSize(region, requested);
  else if (octaves !== null) {
    if (requested.exact && !isExact) return null;
    const scale = 2 ** octaves;
    output = { width: Math.max(1, Math.floor(region.width * scale)), height: Math.max(1, Math.floor(region.height * scale)) };
  }
  const needed = neededLevel(image, region, output);
  const level = preferredLevel(populatedLevels, needed);
  const outputOctaves = roundOctaves(Math.log2(Math.min(output.width / region.width, output.height / region.height)));
  if (requested.exact && (level !== image.levels - 1 + outputOctaves || !populatedLevels.includes(level))) return null;
  const levelBox = boxAtLevel(image, region, level);
  if (level > needed && levelBox.width * levelBox.height > maxReadPixels) {
    return { region, level: needed, levelBox: boxAtLevel(image, region, needed), output };
  }
  return { region, level, levelBox, output };
}
