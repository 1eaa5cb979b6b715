import type { Size } from '../geometry.js';
import { boundsOf, toModel, type Affine, type Bounds, type GeoReference, type Point } from './georeference.js';
import { isGeographic, transformer, type Transformer } from './projections.js';

/** Half the width of the world in metres of the web Mercator projection. */
export const halfWorld = Math.PI * 6_378_137;

/** An image on the map of the world. */
export interface MapPlace {
  /** Where it lies in metres; all the width of the map where it crosses its border, or goes around a pole. */
  bounds: Bounds;
  /** The finest of its pixels, in metres on the map; `null` where none of it lies on the map. */
  metresPerPixel: number | null;
  /**
   * The pixels of positions on the map around one of them. Where coordinates are longitudes, which come again after a turn around the earth, neighbours
   * are never a turn apart, and the middle is as near to the image as it can be.
   */
  pixelsAround: (middle: Point) => Transformer;
  /** From a pixel to that of the same place a turn to the east; `null` where coordinates are no longitudes. */
  turn: Point | null;
}

/** Positions along each side at which the size of pixels is looked at. */
const looks = 8;

/** Finds an image on the map. Its bounds are not finite where it has no place there. @throws as {@link transformer} does. */
export function placeOnMap({ width, height }: Size, geo: GeoReference & { proj4: string }, inverse: Affine): MapPlace {
  const [there, back] = [transformer(geo.proj4, 'EPSG:3857'), transformer('EPSG:3857', geo.proj4)];
  const fromLonLat = transformer('EPSG:4326', geo.proj4);
  const project = (pixel: Point) => there(toModel(geo.transform, pixel));
  const middle = toModel(geo.transform, { x: width / 2, y: height / 2 });
  const isGlobe = isGeographic(geo.proj4);
  const near = (longitude: number, { x, y }: Point): Point => (isGlobe ? { x: turnedTo(longitude, x, 360), y } : { x, y });
  const pixelOf = (point: Point, longitude = middle.x) => toModel(inverse, near(longitude, point));
  const isInside = ({ x, y }: Point) => x >= 0 && y >= 0 && x <= width && y <= height;
  const bounds = boundsOf({ width, height }, (pixel) => onMap(project(pixel)), 'epsg:3857');
  const poles = [90, -90].map((y) => isInside(pixelOf(fromLonLat({ x: 0, y }))));
  if (poles[0]) bounds.ymax = halfWorld;
  if (poles[1]) bounds.ymin = -halfWorld;
  if (poles.includes(true) || crossesBorder({ width, height }, project)) [bounds.xmin, bounds.xmax] = [-halfWorld, halfWorld];
  return {
    bounds,
    metresPerPixel: finestPixel({ width, height }, project),
    pixelsAround(centre) {
      const { x: longitude } = near(middle.x, back(centre));
      return (point) => pixelOf(back(point), longitude + ((point.x - centre.x) / halfWorld) * 180);
    },
    turn: isGlobe ? { x: inverse[1] * 360, y: inverse[4] * 360 } : null,
  };
}

/** A number plus as many turns as bring it nearest to another one. */
function turnedTo(near: number, value: number, turn: number): number {
  return value + turn * Math.round((near - value) / turn);
}

/** Poles lie at infinity; maps end before. */
function onMap({ x, y }: Point): Point {
  const within = (value: number) => Math.min(halfWorld, Math.max(-halfWorld, value));
  return { x: Number.isNaN(x) ? x : within(x), y: Number.isNaN(y) ? y : within(y) };
}

/** Whether the map is left at the right and entered again at the left somewhere along the edges and the middle of an image. */
function crossesBorder({ width, height }: Size, project: Transformer): boolean {
  const steps = 4 * looks;
  const lines = [0, 0.5, 1].flatMap((part): ((at: number) => Point)[] => [
    (at) => ({ x: at * width, y: part * height }),
    (at) => ({ x: part * width, y: at * height }),
  ]);
  return lines.some((place) => {
    const along = Array.from({ length: steps + 1 }, (_, i) => project(place(i / steps)).x);
    return along.some((x, i) => i > 0 && Math.abs(x - along[i - 1]!) > halfWorld);
  });
}

function finestPixel({ width, height }: Size, project: Transformer): number | null {
  let finest = Infinity;
  for (let i = 0; i < looks * looks; i++) {
    const pixel = { x: (((i % looks) + 0.5) * width) / looks, y: ((Math.floor(i / looks) + 0.5) * height) / looks };
    const [here, beside] = [project(pixel), project({ x: pixel.x + 1, y: pixel.y })];
    const metres = Math.hypot(turnedTo(0, beside.x - here.x, 2 * halfWorld), beside.y - here.y);
    if (Math.abs(here.y) <= halfWorld && metres > 0 && metres < finest) finest = metres;
  }
  return Number.isFinite(finest) ? finest : null;
}
