import { BadParameterError } from '../../errors.js';
import { describeValue } from '../messages.js';
import type { Coordinate } from '../schema/common.js';

/** A geometry as in GeoJSON; positions are in base-layer pixels. */
export type Geometry = (
  | { type: 'Point'; coordinates: Coordinate }
  | { type: 'MultiPoint' | 'LineString'; coordinates: Coordinate[] }
  | { type: 'MultiLineString' | 'Polygon'; coordinates: Coordinate[][] }
  | { type: 'MultiPolygon'; coordinates: Coordinate[][][] }
) & {
  /** QuPath: the polygon represents the ellipse that fills its box. */
  isEllipse?: boolean;
  /** QuPath: channel, z and t of the image plane. */
  plane?: unknown;
};

/** Number of nested lists around the positions of each geometry type. */
const nestingByType = { Point: 0, MultiPoint: 1, LineString: 1, MultiLineString: 2, Polygon: 2, MultiPolygon: 3 } as const;

/** Whether a text names a geometry from which elements can be made. */
export function isGeometryType(type: unknown): type is Geometry['type'] {
  return typeof type === 'string' && Object.hasOwn(nestingByType, type);
}

/** The error for a feature that cannot be read, with its position in the input. */
export function featureError(featureIndex: number, detail: string): BadParameterError {
  return new BadParameterError(`GeoJSON feature ${featureIndex}: ${detail}`);
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function parsePosition(value: unknown, path: string, featureIndex: number): Coordinate {
  if (!Array.isArray(value) || value.length < 2)
    throw featureError(featureIndex, `${path} must be a position of 2 or 3 numbers, not ${describeValue(value)}`);
  const [x, y, z = 0] = value as unknown[];
  if (!isFiniteNumber(x) || !isFiniteNumber(y) || !isFiniteNumber(z)) {
    throw featureError(featureIndex, `${path} must be a position of finite numbers, not ${describeValue(value)}`);
  }
  return [x, y, z];
}

type NestedPositions = Coordinate | NestedPositions[];

function parseCoordinates(value: unknown, depth: number, path: string, featureIndex: number): NestedPositions {
  if (depth === 0) return parsePosition(value, path, featureIndex);
  if (!Array.isArray(value))
    throw featureError(
      featureIndex,
      `${path} must be a list of ${depth === 1 ? 'positions' : 'lists'}, not ${describeValue(value)}`,
    );
  return value.map((entry: unknown, at) => parseCoordinates(entry, depth - 1, `${path}[${at}]`, featureIndex));
}

/** Whether a value is a list without any numbers, even in nested lists. Positions are nested in at most four lists. */
function isEmptyList(value: unknown, levels = 4): boolean {
  return levels > 0 && Array.isArray(value) && value.every((part) => isEmptyList(part, levels - 1));
}

/** Maximum number of levels of nested collections. */
const maxCollectionDepth = 16;

/**
 * Splits a geometry of RFC 7946 into geometries that can be parsed: the parts of a GeometryCollection, or the geometry itself. There are
 * none if it is null or has no positions. The geometries are not checked.
 */
export function splitGeometry(value: unknown, featureIndex: number, depth = 0): unknown[] {
  if (value === null) return [];
  const { type, coordinates, geometries } = (typeof value === 'object' ? value : {}) as Record<string, unknown>;
  if (type === 'GeometryCollection') {
    if (!Array.isArray(geometries))
      throw featureError(featureIndex, `geometries of a collection must be a list, not ${describeValue(geometries)}`);
    if (depth === maxCollectionDepth)
      throw featureError(featureIndex, `collections can be nested at most ${maxCollectionDepth} times`);
    return geometries.flatMap((part: unknown) => splitGeometry(part, featureIndex, depth + 1));
  }
  if (!isGeometryType(type) || !Array.isArray(coordinates)) return [value];
  if (isEmptyList(coordinates)) return [];
  // Parts of a Multi geometry can be empty too, and so can the holes of a polygon.
  const nonEmptyParts = nestingByType[type] < 2 ? coordinates : coordinates.filter((part: unknown) => !isEmptyList(part));
  if (type === 'Polygon' && isEmptyList(coordinates[0])) return [];
  return [nonEmptyParts.length === coordinates.length ? value : { ...value, coordinates: nonEmptyParts }];
}

/**
 * Checks a geometry and converts its positions to three numbers. Further numbers of a position are dropped, as GeoJSON recommends.
 *
 * @throws BadParameterError that names the feature if the geometry is missing, is of an unknown type, is a GeometryCollection (see
 * {@link splitGeometry}), or has positions at the wrong nesting level or numbers that are not finite.
 */
export function parseGeometry(value: unknown, featureIndex: number): Geometry {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw featureError(featureIndex, `geometry must be an object, not ${describeValue(value)}`);
  }
  const { type, coordinates, isEllipse } = value as Record<string, unknown>;
  if (!isGeometryType(type)) {
    throw featureError(
      featureIndex,
      `geometry type must be one of ${Object.keys(nestingByType).join(', ')}, not ${describeValue(type)}`,
    );
  }
  // The nesting of the list was checked for this type.
  const geometry = {
    type,
    coordinates: parseCoordinates(coordinates, nestingByType[type], 'geometry.coordinates', featureIndex),
  } as Geometry;
  return isEllipse === true ? { ...geometry, isEllipse } : geometry;
}

/** Whether two positions are the same. */
export function isSamePosition(a: Coordinate | undefined, b: Coordinate | undefined): boolean {
  return a !== undefined && b !== undefined && a[0] === b[0] && a[1] === b[1] && a[2] === b[2];
}

/** Returns the vertices of a ring: leaves out the last position if it repeats the first. */
export function openRing(ring: Coordinate[]): Coordinate[] {
  return ring.length > 1 && isSamePosition(ring[0], ring.at(-1)) ? ring.slice(0, -1) : ring;
}

/** Returns the ring of some vertices: repeats the first vertex at the end. */
export function closeRing(vertices: readonly Coordinate[]): Coordinate[] {
  return vertices.length === 0 ? [] : [...vertices, vertices[0] as Coordinate];
}

/** Position, size and rotation in radians of a rectangle or ellipse. */
export interface BoxPlacement {
  center: Coordinate;
  width: number;
  height: number;
  rotation?: number | undefined;
}

/**
 * The corners of a box: left-top, right-top, right-bottom, left-bottom, rotated around the center, with the z of the center.
 */
export function boxCorners({ center: [x, y, z], width, height, rotation = 0 }: BoxPlacement): Coordinate[] {
  const cos = Math.cos(rotation);
  const sin = Math.sin(rotation);
  const [halfWidth, halfHeight] = [width / 2, height / 2];
  const offsets = [
    [-halfWidth, -halfHeight],
    [halfWidth, -halfHeight],
    [halfWidth, halfHeight],
    [-halfWidth, halfHeight],
  ] as const;
  return offsets.map(([dx, dy]) => [x + dx * cos - dy * sin, y + dx * sin + dy * cos, z]);
}

/** Number of vertices of an ellipse's outline. QuPath uses the same number. */
const defaultVertexCount = 96;

/** The vertices of a polygon that approximates an ellipse. The first vertex is at the end of the ellipse's first axis. */
export function ellipseOutline(
  { center: [x, y, z], width, height, rotation = 0 }: BoxPlacement,
  vertexCount = defaultVertexCount,
): Coordinate[] {
  const cos = Math.cos(rotation);
  const sin = Math.sin(rotation);
  return Array.from({ length: vertexCount }, (_, i) => {
    const angle = (2 * Math.PI * i) / vertexCount;
    const dx = (width / 2) * Math.cos(angle);
    const dy = (height / 2) * Math.sin(angle);
    return [x + dx * cos - dy * sin, y + dx * sin + dy * cos, z] as Coordinate;
  });
}

/** Mean of at least one position. */
export function meanPosition(positions: readonly Coordinate[]): Coordinate {
  const sum: Coordinate = [0, 0, 0];
  for (const [x, y, z] of positions) {
    sum[0] += x;
    sum[1] += y;
    sum[2] += z;
  }
  const count = positions.length;
  return [sum[0] / count, sum[1] / count, sum[2] / count];
}

/** Distance of two positions in x and y. */
export function distance(a: Coordinate, b: Coordinate): number {
  return Math.hypot(b[0] - a[0], b[1] - a[1]);
}

/**
 * Two coordinates count as equal if they differ by at most this share of the larger one: the precision of texts with 7 digits.
 */
const relativeTolerance = 1e-6;

/** Whether two lists of positions are equal, except for rounding in another program. */
export function isSameOutline(a: readonly Coordinate[], b: readonly Coordinate[]): boolean {
  if (a.length !== b.length) return false;
  return a.every((position, at) => {
    const other = b[at] as Coordinate;
    return position.every((value, axis) => {
      const otherValue = other[axis] as number;
      return Math.abs(value - otherValue) <= relativeTolerance * Math.max(1, Math.abs(value), Math.abs(otherValue));
    });
  });
}
