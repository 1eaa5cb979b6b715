import { BadValueError, TileSourceError } from '../../errors.js';
import type { RegionBounds } from '../region-plan.js';
import { inverseOf, toCoordinates, type GeoReference, type Point } from './georeference.js';
import { isGeographic, projectionNamed, requireProjections, createTransformer } from './projections.js';

interface LocatedImage {
  sizeX: number;
  sizeY: number;
  geo?: GeoReference;
}

/**
 * The definition for proj4 of the projection that units name; `null` for other units.
 *
 * @throws BadValueError if the image is not georeferenced; TileSourceError if its projection is unknown.
 */
function projectionOf(units: string | undefined, geo: GeoReference | undefined): string | null {
  const word = units?.trim().toLowerCase() ?? '';
  const isImageProjection = word === 'projection' || word === 'proj';
  const projection = isImageProjection ? (geo?.proj4 ?? '') : projectionNamed(word === '' ? '' : units!);
  if (projection === null) return null;
  if (geo === undefined) throw new BadValueError(`Invalid units '${units}': the image is not georeferenced`);
  if (geo.proj4 === null && !isImageProjection) {
    requireProjections();
    throw new TileSourceError('The projection of this image is not supported.');
  }
  return projection;
}

interface PixelFinder {
  /** @param wrap degrees that are added to the longitude. */
  toPixel(point: Point, wrap?: number): Point;
  toUnits(pixel: Point): Point;
  /** Degrees to try as `wrap`: the same position may have different longitudes in the request and in the image. */
  wraps: readonly number[];
}

/** Converts between pixels and coordinates of the projection that units name; `null` for other units. */
function createPixelFinder(image: LocatedImage, units: string | undefined): PixelFinder | null {
  const projection = projectionOf(units, image.geo);
  if (projection === null) return null;
  const { transform, proj4 } = image.geo!;
  const inverse = inverseOf(transform);
  if (inverse === null) throw new TileSourceError('The georeference of this image is not valid.');
  const imageProjection = proj4 ?? projection;
  const [toImage, fromImage] = [createTransformer(projection, imageProjection), createTransformer(imageProjection, projection)];
  return {
    toPixel(point, wrap = 0) {
      const { x, y } = toImage(point);
      return toCoordinates(inverse, { x: x + wrap, y });
    },
    toUnits: (pixel) => fromImage(toCoordinates(transform, pixel)),
    wraps: isGeographic(imageProjection) ? [0, 360, -360] : [0],
  };
}

/** Converts a position from coordinates of a projection to base-layer pixels. A position in other units is returned unchanged. */
export function positionInPixels<P extends { left?: number; top?: number; units?: string }>(image: LocatedImage, position: P): P {
  const finder = createPixelFinder(image, position.units);
  if (finder === null) return position;
  const pixels = finder.wraps.map((wrap) => finder.toPixel({ x: position.left ?? 0, y: position.top ?? 0 }, wrap));
  const isInside = ({ x, y }: Point) => x >= 0 && y >= 0 && x < image.sizeX && y < image.sizeY;
  const { x, y } = pixels.find(isInside) ?? pixels[0]!;
  const { units: _units, ...rest } = position;
  // A position that is not in the image becomes one just outside it.
  const toPixelIndex = (value: number, size: number) => (Number.isFinite(value) && value >= 0 ? Math.floor(value) : size);
  return { ...rest, left: toPixelIndex(x, image.sizeX), top: toPixelIndex(y, image.sizeY) } as P;
}

/**
 * Converts a region from coordinates of a projection to base-layer pixels: the smallest rectangle of pixels that contains it. `top`
 * is the northern edge. A region in other units is returned unchanged.
 *
 * @throws BadValueError if the image is not georeferenced or is outside the projection.
 */
export function regionInPixels<R extends RegionBounds>(image: LocatedImage, region: R): R {
  const finder = createPixelFinder(image, region.units);
  if (finder === null) {
    if (createPixelFinder(image, region.unitsWH) === null) return region;
    throw new BadValueError(`Invalid unitsWH '${region.unitsWH}': units must also name the projection`);
  }
  const corners = [0, 1].flatMap((x) => [0, 1].map((y) => finder.toUnits({ x: x * image.sizeX, y: y * image.sizeY })));
  const { left, right, top, bottom, regionWidth, regionHeight, units: _units, unitsWH: _unitsWH, ...rest } = region;
  const west =
    left ?? (right !== undefined && regionWidth !== undefined ? right - regionWidth : Math.min(...corners.map(({ x }) => x)));
  const north =
    top ?? (bottom !== undefined && regionHeight !== undefined ? bottom + regionHeight : Math.max(...corners.map(({ y }) => y)));
  const east = right ?? (regionWidth === undefined ? Math.max(...corners.map(({ x }) => x)) : west + regionWidth);
  const south = bottom ?? (regionHeight === undefined ? Math.min(...corners.map(({ y }) => y)) : north - regionHeight);
  const box = { west, north, east, south };
  const [first, ...wrapped] = finder.wraps.map((wrap) => pixelBounds(image, box, (point) => finder.toPixel(point, wrap)));
  const isEmpty = ({ left: l, right: r, top: t, bottom: b }: ReturnType<typeof pixelBounds>) => l >= r || t >= b;
  const pixels = isEmpty(first!) ? (wrapped.find((each) => !isEmpty(each)) ?? first) : first;
  return { ...rest, ...pixels } as unknown as R;
}

/** The smallest rectangle of pixels that contains a box in coordinates, clipped to the image. @throws BadValueError if the box cannot be projected. */
function pixelBounds(
  image: LocatedImage,
  { west, north, east, south }: { west: number; north: number; east: number; south: number },
  toPixel: (point: Point) => Point,
): { left: number; right: number; top: number; bottom: number } {
  const steps = 8;
  const pixels = Array.from({ length: steps + 1 }, (_, i) => i / steps).flatMap((part) => {
    const [x, y] = [west + (east - west) * part, south + (north - south) * part];
    return [toPixel({ x, y: north }), toPixel({ x, y: south }), toPixel({ x: west, y }), toPixel({ x: east, y })];
  });
  const finite = pixels.filter(({ x, y }) => Number.isFinite(x) && Number.isFinite(y));
  if (finite.length === 0) throw new BadValueError('The region cannot be converted to the projection of the image');
  const clip = (value: number, size: number) => Math.min(size, Math.max(0, value));
  const [xs, ys] = [finite.map(({ x }) => clip(x, image.sizeX)), finite.map(({ y }) => clip(y, image.sizeY))];
  return { left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
}
