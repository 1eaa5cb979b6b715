import type { AnnotationElement } from '../../../annotation-format/schema/document.js';

/** Kinds of shapes of an annotation group (PS3.3 C.37.1.2). */
export type GraphicType = 'POINT' | 'POLYLINE' | 'POLYGON' | 'RECTANGLE' | 'ELLIPSE';

/** The kind of shape for an element; `null` if DICOM has none. */
export function graphicTypeOf(element: AnnotationElement): GraphicType | null {
  switch (element.type) {
    case 'point':
      return 'POINT';
    case 'arrow':
      return 'POLYLINE';
    case 'polyline':
      return element.closed === true ? 'POLYGON' : 'POLYLINE';
    case 'rectangle':
      return 'RECTANGLE';
    case 'ellipse':
    case 'circle':
      return 'ELLIPSE';
    default:
      return null;
  }
}

/** Writes x and y of the points of a shape from index `start` on. @returns the index after the last coordinate. */
export function writeShape(element: AnnotationElement, coordinates: Float32Array | Float64Array, start: number): number {
  let nextIndex = start;
  const writePoint = (x: number, y: number): void => {
    coordinates[nextIndex++] = x;
    coordinates[nextIndex++] = y;
  };
  switch (element.type) {
    case 'point':
      writePoint(element.center[0], element.center[1]);
      break;
    case 'arrow':
    case 'polyline':
      for (const point of element.points) writePoint(point[0]!, point[1]!);
      break;
    case 'rectangle': {
      const rotate = rotationAround(element.center, element.rotation ?? 0);
      const [w, h] = [element.width / 2, element.height / 2];
      for (const [x, y] of [
        [-w, -h],
        [w, -h],
        [w, h],
        [-w, h],
      ] as const)
        writePoint(...rotate(x, y));
      break;
    }
    case 'ellipse': {
      // The ends of the longer axis come first.
      const [w, h] = [element.width / 2, element.height / 2];
      const rotate = rotationAround(element.center, element.rotation ?? 0);
      const [horizontalEnds, verticalEnds] = [
        [
          [-w, 0],
          [w, 0],
        ],
        [
          [0, -h],
          [0, h],
        ],
      ] as const;
      for (const [x, y] of w >= h ? [...horizontalEnds, ...verticalEnds] : [...verticalEnds, ...horizontalEnds])
        writePoint(...rotate(x, y));
      break;
    }
    case 'circle': {
      const { radius } = element;
      const [x, y] = element.center;
      writePoint(x - radius, y);
      writePoint(x + radius, y);
      writePoint(x, y - radius);
      writePoint(x, y + radius);
      break;
    }
    default:
  }
  return nextIndex;
}

/** Number of coordinates of a shape: two for each of its points. */
export function coordinateCount(element: AnnotationElement): number {
  if (element.type === 'polyline' || element.type === 'arrow') return element.points.length * 2;
  return element.type === 'point' ? 2 : 8;
}

/** @returns a function that rotates an offset from the center, and adds the center. @param rotation in radians, as in elements. */
function rotationAround(center: readonly number[], rotation: number): (x: number, y: number) => [number, number] {
  const [cos, sin] = [Math.cos(rotation), Math.sin(rotation)];
  const [cx = 0, cy = 0] = center;
  return (x, y) => [cx + x * cos - y * sin, cy + x * sin + y * cos];
}
