import { fromVectorTileJs, type VectorTileFeatureLike, type VectorTileLayerLike } from '@maplibre/vt-pbf';
import Point from '@mapbox/point-geometry';
import { clipPolygon, clipPolyline } from 'lineclip';
import type { Coordinate } from '../../../../annotation-format/schema/common.js';
import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import type { View } from './canvas.js';
import { hexColor } from './colors.js';
import type { DensityPoint } from './density/density-layer.js';
import { isOutlined, paintOf, shapeOf, type ShapeColor } from './shape.js';

/** Number of units along the width of a vector tile. */
export const vectorExtent = 4096;

/** Shapes are cut this far outside the border of their tile, in units. Renderers show nothing outside the border, so the cuts are invisible. */
const bufferUnits = 128;

/** Vertices closer than this to the previous vertex are left out. In units: 4 units are a quarter of a pixel of a 256-pixel tile. */
const minStepUnits = 4;

/** Maximum number of features in a layer. */
export const maxFeatures = 20_000;

type Properties = Record<string, number | string | boolean>;
type Feature = Pick<VectorTileFeatureLike, 'type' | 'properties'> & { geometry: Point[][] };
type Position = [x: number, y: number];

const clipBox: [number, number, number, number] = [
  -bufferUnits,
  -bufferUnits,
  vectorExtent + bufferUnits,
  vectorExtent + bufferUnits,
];
const [pointType, lineType, polygonType] = [1, 2, 3] as const;

/**
 * A Mapbox vector tile (version 2). Its layer `elements` contains shapes, and its layer `density` contains shapes that are too small to be
 * drawn. Coordinates are in units of the tile, whose width is 4096 units. y grows downwards.
 */
export class VectorTile {
  readonly #view: View;
  readonly #elements: Feature[] = [];
  readonly #density: Feature[] = [];

  /** @param view the tile, whose `width` in pixels corresponds to 4096 units. */
  constructor(view: View) {
    this.#view = view;
  }

  /** Adds an element if it overlaps the tile. Heat maps, grid data, images and pixelmaps are left out. */
  addElement(element: AnnotationElement, color: ShapeColor): void {
    if (!isOutlined(element)) return;
    const { fill, line, lineWidth } = paintOf(element, color);
    const properties: Properties = {
      ...(element.id !== undefined && { id: element.id }),
      type: element.type,
      ...(element.group !== undefined && { group: element.group }),
      ...(element.label !== undefined && { label: element.label.value }),
      ...(fill !== null && { fillColor: hexColor(fill), fillOpacity: fill[3] }),
      ...(line !== null && { lineColor: hexColor(line), lineOpacity: line[3], lineWidth }),
    };
    if (element.type === 'point') {
      const [x, y] = this.#toUnits(element.center);
      if (x >= clipBox[0] && x <= clipBox[2] && y >= clipBox[1] && y <= clipBox[3])
        this.#addFeature(pointType, properties, [[new Point(x, y)]]);
      return;
    }
    const shape = shapeOf(element, this.#view.scale);
    if (shape.rings.length > 0) this.#addFeature(polygonType, properties, this.#clipRings(shape.rings));
    const openStrokes = shape.strokes.filter(({ closed }) => !closed);
    if (openStrokes.length > 0) this.#addFeature(lineType, properties, this.#clipLines(openStrokes.map(({ points }) => points)));
  }

  addDensity({ x, y, coverage, group, color }: DensityPoint): void {
    const position = this.#toUnits([x, y, 0]);
    const properties: Properties = {
      type: 'density',
      coverage,
      ...(group != null && { group }),
      fillColor: hexColor(color),
      fillOpacity: color[3],
    };
    this.#density.push({ type: pointType, properties, geometry: [[new Point(position[0], position[1])]] });
  }

  #addFeature(type: 1 | 2 | 3, properties: Properties, geometry: Point[][]): void {
    if (geometry.length > 0) this.#elements.push({ type, properties, geometry });
  }

  #toUnits([x, y]: Coordinate): Position {
    const unitPixels = (this.#view.scale * this.#view.width) / vectorExtent;
    return [Math.round((x - this.#view.left) / unitPixels), Math.round((y - this.#view.top) / unitPixels)];
  }

  #simplify(points: readonly Coordinate[]): Position[] {
    const positions: Position[] = [];
    let lastPosition: Position | undefined;
    for (const [i, point] of points.entries()) {
      const position = this.#toUnits(point);
      const isNear =
        lastPosition !== undefined &&
        Math.abs(position[0] - lastPosition[0]) < minStepUnits &&
        Math.abs(position[1] - lastPosition[1]) < minStepUnits;
      if (isNear && i < points.length - 1) continue;
      positions.push(position);
      lastPosition = position;
    }
    return positions;
  }

  #clipLines(lines: readonly (readonly Coordinate[])[]): Point[][] {
    return lines
      .flatMap((points) => clipPolyline(this.#simplify(points), clipBox))
      .map((line) => toDistinctPoints(line))
      .filter((line) => line.length > 1);
  }

  /**
   * Clips rings, and gives them the orientation that the format demands: the outer ring is clockwise on the screen, holes are
   * counter-clockwise.
   */
  #clipRings(rings: readonly (readonly Coordinate[])[]): Point[][] {
    const clippedRings: Point[][] = [];
    for (const [i, ring] of rings.entries()) {
      const points = withoutClosingPoint(toDistinctPoints(clipPolygon(this.#simplify(ring), clipBox)));
      const area = signedArea(points);
      if (points.length < 3 || area === 0) {
        // A polygon without its outer ring has no holes either.
        if (i === 0) return [];
        continue;
      }
      if (area > 0 !== (i === 0)) points.reverse();
      points.push(points[0] as Point);
      clippedRings.push(points);
    }
    return clippedRings;
  }

  /** Encodes the tile. Returns no bytes if the tile has no features. */
  encode(): Uint8Array {
    const layers: Record<string, VectorTileLayerLike> = {};
    if (this.#elements.length > 0) layers.elements = layerOf('elements', this.#elements);
    if (this.#density.length > 0) layers.density = layerOf('density', this.#density);
    return fromVectorTileJs({ layers });
  }
}

/** Rounds positions, and leaves out points that repeat the previous point. */
function toDistinctPoints(positions: readonly Position[]): Point[] {
  const points: Point[] = [];
  for (const [x, y] of positions) {
    const [column, row] = [Math.round(x), Math.round(y)];
    const lastPoint = points.at(-1);
    if (lastPoint === undefined || lastPoint.x !== column || lastPoint.y !== row) points.push(new Point(column, row));
  }
  return points;
}

/** Leaves out the last point of a ring if it repeats the first point. */
function withoutClosingPoint(ring: Point[]): Point[] {
  const [first, last] = [ring[0], ring.at(-1)];
  const isRepeated = ring.length > 3 && first !== undefined && last !== undefined && first.x === last.x && first.y === last.y;
  return isRepeated ? ring.slice(0, -1) : ring;
}

/** Computes twice the area of a ring. The area is positive if the ring is clockwise on a screen, where y grows downwards. */
function signedArea(ring: readonly Point[]): number {
  let sum = 0;
  for (let i = 0, before = ring.length - 1; i < ring.length; before = i, i += 1) {
    const [a, b] = [ring[before] as Point, ring[i] as Point];
    sum += a.x * b.y - b.x * a.y;
  }
  return sum;
}

function layerOf(name: string, features: readonly Feature[]): VectorTileLayerLike {
  return {
    version: 2,
    name,
    extent: vectorExtent,
    length: features.length,
    feature(i: number): VectorTileFeatureLike {
      const { type, properties, geometry } = features[i] as Feature;
      return { id: undefined, type, extent: vectorExtent, properties, loadGeometry: () => geometry };
    },
  };
}
