import { BadValueError, TileSourceError } from '../../errors.js';
import type { RegionBounds } from '../region-plan.js';
import { inverseOf, toCoordinates, type GeoReference, type Point } from './georeference.js';
import { isGeographic, parseProjectionName, requireProjections, createTransformer } from './projections.js';

interface LocatedImage {
  sizeX: number;
  sizeY: number;
  geo?: GeoReference;
}

/**
 * The definition for proj4 of the projection that `units` names; `null` for units that are not a projection.
 *
 * @throws BadValueError if the image is not georeferenced, and TileSourceError if the image's projection is unknown.
 */
function projectionOf(units: string | undefined, geo: GeoReference | undefined): string | null {
  const word = units?.trim().toLowerCase() ?? '';
  const isImageProjection = word === 'projection' || word === 'proj';
  const projection = isImageProjection ? (geo?.proj4 ?? '') : parseProjectionName(word === '' ? '' : units!);
  if (projection === null) return null;
  if (geo === undefined) throw new BadValueError(`Invalid units '${units}': the image is not georeferenced`);
  if (geo.proj4 === null && !isImageProjection) {
    requireProjections();
    throw new TileSourceError('The projection of this image is not supported.');
  }
  return projection;
}

/** Converts between pixels of an image and coordinates in units. */
interface UnitConverter {
  /** @param longitudeOffset degrees that are added to the longitude. */
  toPixel(point: Point, longitudeOffset?: number): Point;
  toUnits(pixel: Point): Point;
  /** Values of `longitudeOffset` to try, because a position may have different longitudes in the request and in the image. */
  longitudeOffsets: readonly number[];
}

/** Creates the converter for units that are a projection; `null` for other units. */
function createUnitConverter(image: LocatedImage, units: string | undefined): UnitConverter | null {
  const projection = projectionOf(units, image.geo);
  if (projection === null) return null;
  const { transform, proj4 } = image.geo!;
  const inverse = inverseOf(transform);
  if (inverse === null) throw new TileSourceError('The georeference of this image is not valid.');
  const imageProjection = proj4 ?? projection;
  const [toImage, fromImage] = [createTransformer(projection, imageProjection), createTransformer(imageProjection, projection)];
  return {
    toPixel(point, longitudeOffset = 0) {
      const { x, y } = toImage(point);
      return toCoordinates(inverse, { x: x + longitudeOffset, y });
    },
    toUnits: (pixel) => fromImage(toCoordinates(transform, pixel)),
    longitudeOffsets: isGeographic(imageProjection) ? [0, 360, -360] : [0],
  };
}

/** Converts a position from coordinates of a projection to base-layer pixels. A position in other units is returned unchanged. */
export function positionInPixels<P extends { left?: number; top?: number; units?: string }>(image: LocatedImage, position: P): P {
  const converter = createUnitConverter(image, position.units);
  if (converter === null) return position;
  const point = { x: position.left ?? 0, y: position.top ?? 0 };
  const pixels = converter.longitudeOffsets.map((offset) => converter.toPixel(point, offset));
  const isInside = ({ x, y }: Point) => x >= 0 && y >= 0 && x < image.sizeX && y < image.sizeY;
  const { x, y } = pixels.find(isInside) ?? pixels[0]!;
  const { units: _units, ...otherParameters } = position;
  // Negative positions would count from the opposite edge, so they are moved to just outside that edge.
  const toPixelIndex = (value: number, size: number) => (Number.isFinite(value) && value >= 0 ? Math.floor(value) : size);
  return { ...otherParameters, left: toPixelIndex(x, image.sizeX), top: toPixelIndex(y, image.sizeY) } as P;
}

/**
 * Converts a region from coordinates of a projection to the smallest rectangle of base-layer pixels that contains the region. `top`
 * is the northern edge. A region in other units is returned unchanged.
 *
 * @throws BadValueError if the image is not georeferenced or is outside the projection.
 */
export function regionInPixels<R extends RegionBounds>(image: LocatedImage, region: R): R {
  const converter = createUnitConverter(image, region.units);
  if (converter === null) {
    if (createUnitConverter(image, region.unitsWH) === null) return region;
    throw new BadValueError(`Invalid unitsWH '${region.unitsWH}': units must also name the projection`);
  }
  const corners = [0, 1].flatMap((x) => [0, 1].map((y) => converter.toUnits({ x: x * image.sizeX, y: y * image.sizeY })));
  const { left, right, top, bottom, regionWidth, regionHeight, units: _units, unitsWH: _unitsWH, ...otherParameters } = region;
  const west =
    left ?? (right !== undefined && regionWidth !== undefined ? right - regionWidth : Math.min(...corners.map(({ x }) => x)));
  const north =
    top ?? (bottom !== undefined && regionHeight !== undefined ? bottom + regionHeight : Math.max(...corners.map(({ y }) => y)));
  const east = right ?? (regionWidth === undefined ? Math.max(...corners.map(({ x }) => x)) : west + regionWidth);
  const south = bottom ?? (regionHeight === undefined ? Math.min(...corners.map(({ y }) => y)) : north - regionHeight);
  const box = { west, north, east, south };
  const [boundsWithoutOffset, ...boundsWithOffset] = converter.longitudeOffsets.map((offset) =>
    pixelBounds(image, box, (point) => converter.toPixel(point, offset)),
  );
  const isEmpty = ({ left: l, right: r, top: t, bottom: b }: ReturnType<typeof pixelBounds>) => l >= r || t >= b;
  const pixels = isEmpty(boundsWithoutOffset!)
    ? (boundsWithOffset.find((bounds) => !isEmpty(bounds)) ?? boundsWithoutOffset)
    : boundsWithoutOffset;
  return { ...otherParameters, ...pixels } as unknown as R;
}

/**
 * The smallest rectangle of pixels that contains a box in coordinates, clipped to the image.
 *
 * @throws BadValueError if the box cannot be projected.
 */
function pixelBounds(
  image: LocatedImage,
  { west, north, east, south }: { west: number; north: number; east: number; south: number },
  toPixel: (point: Point) => Point,
): { left: number; right: number; top: number; bottom: number } {
  const stepsPerEdge = 8;
  const pixels = Array.from({ length: stepsPerEdge + 1 }, (_, i) => i / stepsPerEdge).flatMap((fraction) => {
    const [x, y] = [west + (east - west) * fraction, south + (north - south) * fraction];
    return [toPixel({ x, y: north }), toPixel({ x, y: south }), toPixel({ x: west, y }), toPixel({ x: east, y })];
  });
  const finitePixels = pixels.filter(({ x, y }) => Number.isFinite(x) && Number.isFinite(y));
  if (finitePixels.length === 0) throw new BadValueError('The region cannot be converted to the projection of the image');
  const clip = (value: number, size: number) => Math.min(size, Math.max(0, value));
  const [xs, ys] = [finitePixels.map(({ x }) => clip(x, image.sizeX)), finitePixels.map(({ y }) => clip(y, image.sizeY))];
  return { left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
}
