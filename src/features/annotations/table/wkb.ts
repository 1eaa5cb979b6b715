import type { Coordinate } from '../../../annotation-format/schema/common.js';

/** The geometries of elements. */
export type ElementGeometry =
  | { type: 'Point'; coordinates: Coordinate }
  | { type: 'LineString'; coordinates: readonly Coordinate[] }
  | { type: 'Polygon'; coordinates: readonly (readonly Coordinate[])[] };

const typeCodes = { Point: 1, LineString: 2, Polygon: 3 } as const;
/** Added to the code of a type whose positions have z (ISO). */
const withZ = 1000;
const littleEndian = 1;
const numberBytes = 8;

function hasZ(lines: readonly (readonly Coordinate[])[]): boolean {
  return lines.some((line) => line.some((position) => position[2] !== 0));
}

/**
 * Well-known binary of a geometry, without z where that is 0 everywhere. The package that writes Parquet would take as long for this
 * as for all else, because it looks at every position twice and makes a buffer for each geometry.
 */
export function wkbOf({ type, coordinates }: ElementGeometry): Uint8Array {
  const lines = type === 'Polygon' ? coordinates : type === 'LineString' ? [coordinates] : [[coordinates]];
  const dimensions = hasZ(lines) ? 3 : 2;
  const positions = lines.reduce((sum, { length }) => sum + length, 0);
  const counts = type === 'Point' ? 0 : lines.length + (type === 'Polygon' ? 1 : 0);
  const bytes = new Uint8Array(5 + 4 * counts + numberBytes * dimensions * positions);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, littleEndian);
  view.setUint32(1, typeCodes[type] + (dimensions === 3 ? withZ : 0), true);
  let at = 5;
  const count = (value: number) => {
    view.setUint32(at, value, true);
    at += 4;
  };
  if (type === 'Polygon') count(lines.length);
  for (const line of lines) {
    if (type !== 'Point') count(line.length);
    for (const position of line) {
      for (let axis = 0; axis < dimensions; axis += 1) {
        view.setFloat64(at, position[axis] as number, true);
        at += numberBytes;
      }
    }
  }
  return bytes;
}
