import type { Size } from '../geometry.js';
import { boundsOf, toCoordinates, type Affine, type Bounds, type GeoReference, type Point } from './georeference.js';
import { isGeographic, createTransformer, type Transformer } from './projections.js';

/** Half the width of the map in web Mercator. */
export const halfWorldMeters = Math.PI * 6_378_137;

/** The position of an image on the world map in web Mercator. */
export interface MapPosition {
  /** Extent in meters. An image that contains a pole or crosses the 180th meridian takes the full width of the map. */
  bounds: Bounds;
  /** Size on the map, in meters, of the smallest pixel of the image; `null` if no pixel is on the map. */
  smallestPixelMeters: number | null;
  /**
   * Returns a function that converts positions on the map near `center` to pixels of the image. If the image's coordinates are
   * degrees, a position has many longitudes, 360° apart. The function uses the longitude of `center` that is nearest to the image,
   * and for other positions the longitude that is nearest to `center`.
   */
  createPixelFinder: (center: Point) => Transformer;
  /**
   * Distance in pixels between a position and the same position one revolution (360°) further east; `null` if coordinates are not
   * degrees.
   */
  revolution: Point | null;
}

/** The size of pixels is measured at this many positions along each side of an image. */
const positionsPerSide = 8;

/**
 * Finds the position of an image on the map. The bounds are not finite if the image is not on the map.
 *
 * @throws as {@link createTransformer} does.
 */
export function positionOnMap({ width, height }: Size, geo: GeoReference & { proj4: string }, inverse: Affine): MapPosition {
  const [toMap, fromMap] = [createTransformer(geo.proj4, 'EPSG:3857'), createTransformer('EPSG:3857', geo.proj4)];
  const fromLonLat = createTransformer('EPSG:4326', geo.proj4);
  const project = (pixel: Point) => toMap(toCoordinates(geo.transform, pixel));
  const middle = toCoordinates(geo.transform, { x: width / 2, y: height / 2 });
  const isInDegrees = isGeographic(geo.proj4);
  const moveToNearLongitude = (longitude: number, { x, y }: Point): Point =>
    isInDegrees ? { x: wrapNear(longitude, x, 360), y } : { x, y };
  const pixelOf = (point: Point, longitude = middle.x) => toCoordinates(inverse, moveToNearLongitude(longitude, point));
  const isInside = ({ x, y }: Point) => x >= 0 && y >= 0 && x <= width && y <= height;
  const bounds = boundsOf({ width, height }, (pixel) => clipToMap(project(pixel)), 'epsg:3857');
  const [showsNorthPole, showsSouthPole] = [90, -90].map((latitude) => isInside(pixelOf(fromLonLat({ x: 0, y: latitude }))));
  if (showsNorthPole) bounds.ymax = halfWorldMeters;
  if (showsSouthPole) bounds.ymin = -halfWorldMeters;
  if (showsNorthPole || showsSouthPole || crossesAntimeridian({ width, height }, project))
    [bounds.xmin, bounds.xmax] = [-halfWorldMeters, halfWorldMeters];
  return {
    bounds,
    smallestPixelMeters: measureSmallestPixel({ width, height }, project),
    createPixelFinder(center) {
      const { x: longitude } = moveToNearLongitude(middle.x, fromMap(center));
      return (point) => pixelOf(fromMap(point), longitude + ((point.x - center.x) / halfWorldMeters) * 180);
    },
    revolution: isInDegrees ? { x: inverse[1] * 360, y: inverse[4] * 360 } : null,
  };
}

/** Adds or subtracts multiples of `period` until the value is nearest to `target`. */
function wrapNear(target: number, value: number, period: number): number {
  return value + period * Math.round((target - value) / period);
}

/** Clips a position to the square map, because the poles are at infinity. */
function clipToMap({ x, y }: Point): Point {
  const clip = (value: number) => Math.min(halfWorldMeters, Math.max(-halfWorldMeters, value));
  return { x: Number.isNaN(x) ? x : clip(x), y: Number.isNaN(y) ? y : clip(y) };
}

/**
 * Whether an image crosses the 180th meridian. Then the map position jumps from one side of the map to the other somewhere along
 * the edges or middle lines of the image.
 */
function crossesAntimeridian({ width, height }: Size, project: Transformer): boolean {
  const stepsPerLine = 4 * positionsPerSide;
  const lines = [0, 0.5, 1].flatMap((fixed): ((moving: number) => Point)[] => [
    (moving) => ({ x: moving * width, y: fixed * height }),
    (moving) => ({ x: fixed * width, y: moving * height }),
  ]);
  return lines.some((pointAt) => {
    const xs = Array.from({ length: stepsPerLine + 1 }, (_, i) => project(pointAt(i / stepsPerLine)).x);
    return xs.some((x, i) => i > 0 && Math.abs(x - xs[i - 1]!) > halfWorldMeters);
  });
}

/** Measures pixels at a grid of positions in the image, and returns the smallest size on the map, in meters. */
function measureSmallestPixel({ width, height }: Size, project: Transformer): number | null {
  let smallest = Infinity;
  for (let i = 0; i < positionsPerSide * positionsPerSide; i++) {
    const pixel = {
      x: (((i % positionsPerSide) + 0.5) * width) / positionsPerSide,
      y: ((Math.floor(i / positionsPerSide) + 0.5) * height) / positionsPerSide,
    };
    const [position, neighbor] = [project(pixel), project({ x: pixel.x + 1, y: pixel.y })];
    const meters = Math.hypot(wrapNear(0, neighbor.x - position.x, 2 * halfWorldMeters), neighbor.y - position.y);
    if (Math.abs(position.y) <= halfWorldMeters && meters > 0 && meters < smallest) smallest = meters;
  }
  return Number.isFinite(smallest) ? smallest : null;
}
