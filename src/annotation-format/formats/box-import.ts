import type { Coordinate } from '../schema/common.js';
import type { ElementType } from '../schema/document.js';
import { boxCorners, distance, ellipseOutline, meanPosition, isSameOutline, type BoxPlacement } from './geometry.js';

type JsonObject = Record<string, unknown>;
type BoxType = Extract<ElementType, 'circle' | 'ellipse' | 'rectangle' | 'rectanglegrid'>;
type BoxShape = JsonObject & { type: BoxType };

function isLength(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function isCoordinate(value: unknown): value is Coordinate {
  return Array.isArray(value) && value.length === 3 && value.every((entry) => typeof entry === 'number');
}

/** Center and size of the upright box around some vertices. */
function uprightBoxOf(ring: readonly Coordinate[]): { center: Coordinate; width: number; height: number } {
  let [lowx, lowy, highx, highy] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of ring) {
    [lowx, lowy] = [Math.min(lowx, x), Math.min(lowy, y)];
    [highx, highy] = [Math.max(highx, x), Math.max(highy, y)];
  }
  return { center: [(lowx + highx) / 2, (lowy + highy) / 2, ring[0]?.[2] ?? 0], width: highx - lowx, height: highy - lowy };
}

/** Reads center, size and rotation of the shape from its properties; `null` if they do not contain its size. */
function readPlacement(type: BoxType, ring: readonly Coordinate[], properties: JsonObject): BoxPlacement | null {
  const center = isCoordinate(properties.center)
    ? properties.center
    : ring.length === 4
      ? meanPosition(ring)
      : uprightBoxOf(ring).center;
  if (type === 'circle') {
    const { radius } = properties;
    return isLength(radius) ? { center, width: radius * 2, height: radius * 2 } : null;
  }
  const { width, height, rotation } = properties;
  if (!isLength(width) || !isLength(height)) return null;
  return { center, width, height, rotation: typeof rotation === 'number' ? rotation : undefined };
}

function makeBox(type: BoxType, { center, width, height, rotation }: BoxPlacement): BoxShape {
  if (type === 'circle') return { type, center, radius: width / 2 };
  return { type, center, width, height, ...(rotation === undefined ? {} : { rotation }) };
}

/**
 * Makes the shape from its vertices alone. Four corners give its center, the lengths of two edges, and the direction of the first edge.
 * More vertices give only the upright box around them.
 */
function boxFromVertices(type: BoxType, ring: readonly Coordinate[]): BoxShape {
  const [a, b, c] = ring as [Coordinate, Coordinate, Coordinate];
  if (ring.length !== 4) {
    const { center, width, height } = uprightBoxOf(ring);
    return makeBox(type, { center, width: type === 'circle' ? Math.max(width, height) : width, height });
  }
  if (type === 'circle') {
    const { width } = uprightBoxOf(ring);
    return { type, center: [...meanPosition(ring).slice(0, 2), a[2]], radius: width / 2 };
  }
  const rotation = Math.atan2(b[1] - a[1], b[0] - a[0]);
  return makeBox(type, { center: meanPosition(ring), width: distance(a, b), height: distance(b, c), rotation });
}

/**
 * Makes the shape that a ring represents. If the properties contain a size and rotation that agree with the ring, the properties are used,
 * because they are exact. Otherwise another program has changed the ring, and the ring is used.
 *
 * @param ring vertices without the repeated first one: four corners, or for circles and ellipses more vertices of the outline.
 * @returns `null` if the ring cannot represent such a shape.
 */
export function boxFromRing(type: BoxType, ring: readonly Coordinate[], properties: JsonObject): BoxShape | null {
  const isRound = type === 'circle' || type === 'ellipse';
  if (ring.length !== 4 && !(isRound && ring.length > 4)) return null;
  if (type === 'rectanglegrid' && (properties.widthSubdivisions === undefined || properties.heightSubdivisions === undefined))
    return null;
  const placement = readPlacement(type, ring, properties);
  if (placement !== null) {
    const expectedOutline = ring.length === 4 ? boxCorners(placement) : ellipseOutline(placement);
    if (isSameOutline(expectedOutline, ring)) return makeBox(type, placement);
  }
  return boxFromVertices(type, ring);
}
