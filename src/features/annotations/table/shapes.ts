import type { Positions } from '../../../annotation-format/positions.js';
import { boxCorners, closeRing, ellipseOutline } from '../../../annotation-format/formats/geometry.js';
import type { Coordinate } from '../../../annotation-format/schema/common.js';
import type { AnnotationElement } from '../../../annotation-format/schema/document.js';
import { wkbOf, type ElementGeometry } from './wkb.js';

/** Columns with the numbers that describe circles, ellipses and rectangles exactly. Outlines are only approximations. */
export const shapeNumbers = ['center_x', 'center_y', 'radius', 'width', 'height', 'rotation'] as const;

type LineElement = Extract<AnnotationElement, { type: 'polyline' | 'arrow' }>;

/** The shape of an element in a Parquet file. */
export interface Shape {
  /** The outline as well-known binary. `null` for heat maps, grids and images. */
  wkb: Uint8Array | null;
  numbers: Partial<Record<(typeof shapeNumbers)[number], number>> | null;
  /** The members of the element that are in no other column, such as colors, as JSON. `null` if there are none, or if there is no outline. */
  properties: string | null;
}

/** Makes the shape of an element. */
export function shapeOf(element: AnnotationElement): Shape {
  const geometry = geometryOf(element);
  if (geometry === null) return { wkb: null, numbers: null, properties: null };
  return { wkb: wkbOf(geometry), numbers: numbersOf(element), properties: propertiesOf(element, geometry) };
}

/**
 * Makes the shape of a line or a polygon without holes.
 *
 * @param line the element. Its `points` are ignored.
 * @param positions the vertices. After the last vertex, the buffer contains the first vertex again, which closes a ring.
 * @param allocate allocates memory for the shape.
 */
export function lineShape(line: LineElement, positions: Positions, allocate: (bytes: number) => Uint8Array): Shape {
  // A ring needs three vertices.
  const isRing = line.type === 'polyline' && line.closed === true && positions.to - positions.from >= 9;
  const numbers = positions.numbers.subarray(positions.from, isRing ? positions.to + 3 : positions.to);
  const geometry: ElementGeometry = { type: isRing ? 'Polygon' : 'LineString', lines: [numbers] };
  let propertiesByType = propertiesByLine.get(line);
  if (propertiesByType === undefined) {
    propertiesByType = {};
    propertiesByLine.set(line, propertiesByType);
  }
  const properties = (propertiesByType[geometry.type] ??= { json: propertiesOf(line, geometry) });
  return { wkb: wkbOf(geometry, allocate), numbers: null, properties: properties.json };
}

/** The properties of lines, by line and by type of geometry. Lines with equal members share one object. */
const propertiesByLine = new WeakMap<LineElement, Partial<Record<ElementGeometry['type'], { json: string | null }>>>();

/** Names of the members of elements that have their own columns. */
const namesInColumns: ReadonlySet<string> = new Set([
  'id',
  'type',
  'group',
  'user',
  'points',
  'center',
  'radius',
  'width',
  'height',
]);

function propertiesOf(element: AnnotationElement, { type }: ElementGeometry): string | null {
  const properties: Record<string, unknown> = {};
  let isEmpty = true;
  for (const name in element) {
    const value = (element as unknown as Record<string, unknown>)[name];
    if (namesInColumns.has(name) || isImplied(name, value, type)) continue;
    const style = name === 'label' ? labelStyleOf(value as Record<string, unknown>) : value;
    if (style === null) continue;
    properties[name] = style;
    isEmpty = false;
  }
  return isEmpty ? null : JSON.stringify(properties);
}

/** Whether a member follows from the outline or is in another column. A rotation of 0 is kept, to distinguish it from no rotation. */
function isImplied(name: string, value: unknown, type: ElementGeometry['type']): boolean {
  if (name === 'rotation') return value !== 0;
  if (type !== 'Polygon') return false;
  return name === 'closed' || (name === 'holes' && (value as unknown[]).length > 0);
}

/** Returns a label without its text, or `null` if the label has only its text. */
function labelStyleOf({ value: _text, ...style }: Record<string, unknown>): Record<string, unknown> | null {
  return Object.keys(style).length === 0 ? null : style;
}

function geometryOf(element: AnnotationElement): ElementGeometry | null {
  switch (element.type) {
    case 'point':
      return { type: 'Point', lines: [element.center] };
    case 'arrow':
      return { type: 'LineString', lines: [element.points.flat()] };
    case 'polyline': {
      const { points, closed = false, holes = [] } = element;
      // A ring needs three vertices.
      if (!closed || points.length < 3) return { type: 'LineString', lines: [points.flat()] };
      return { type: 'Polygon', lines: [points, ...holes].map((ring) => closeRing(ring).flat()) };
    }
    case 'circle': {
      const { center, radius } = element;
      return polygonOf(ellipseOutline({ center, width: 2 * radius, height: 2 * radius }));
    }
    case 'ellipse':
      return polygonOf(ellipseOutline(element));
    case 'rectangle':
    case 'rectanglegrid':
      return polygonOf(boxCorners(element));
    case 'heatmap':
    case 'griddata':
    case 'image':
    case 'pixelmap':
      return null;
  }
}

function polygonOf(outline: Coordinate[]): ElementGeometry {
  return { type: 'Polygon', lines: [closeRing(outline).flat()] };
}

function numbersOf(element: AnnotationElement): Shape['numbers'] {
  if (element.type === 'circle') {
    const { center, radius } = element;
    return { center_x: center[0], center_y: center[1], radius };
  }
  if (element.type !== 'ellipse' && element.type !== 'rectangle' && element.type !== 'rectanglegrid') return null;
  const { center, width, height, rotation = 0 } = element;
  return { center_x: center[0], center_y: center[1], width, height, rotation };
}
