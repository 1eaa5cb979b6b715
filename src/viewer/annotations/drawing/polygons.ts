import type { Path64, Paths64, PolyPath64 } from 'clipper2-ts';
import type { Coordinate, Element, Point } from '../annotation-model.js';
import { cornersOf, isArea, rotateVector } from './shapes.js';

/** The outline of an area, and its holes. */
export interface Polygon {
  points: Coordinate[];
  holes: Coordinate[][];
}

/** The library counts in whole numbers: hundredths of a pixel. */
const unitsPerPixel = 100;
/** Number of vertices of the outline of a round shape. */
const roundVertices = 96;
/** Parts with a smaller area, in square pixels, are dropped, because they are results of rounding. */
const minArea = 0.01;

/** Returns operations on polygons, and loads their library when it is called for the first time. */
export async function loadPolygonTools() {
  const { Clipper64, ClipperOffset, ClipType, EndType, FillRule, JoinType, PolyTree64, area, ramerDouglasPeucker } =
    await import('clipper2-ts');

  function combinePaths(type: number, subject: Paths64, clip: Paths64): Polygon[] {
    const clipper = new Clipper64();
    clipper.addSubject(subject);
    clipper.addClip(clip);
    const tree = new PolyTree64();
    clipper.execute(type, FillRule.NonZero, tree);
    const polygons: Polygon[] = [];
    const collect = (node: PolyPath64) => {
      for (let index = 0; index < node.count; index += 1) {
        const outer = node.child(index);
        const holes = Array.from({ length: outer.count }, (_, at) => outer.child(at));
        if (outer.poly && Math.abs(area(outer.poly)) >= minArea * unitsPerPixel * unitsPerPixel) {
          const largeHoles = holes.flatMap(({ poly }) =>
            poly && Math.abs(area(poly)) >= minArea * unitsPerPixel * unitsPerPixel ? [poly] : [],
          );
          polygons.push({ points: fromPath(outer.poly), holes: largeHoles.map(fromPath) });
        }
        // Islands in holes are separate polygons.
        for (const hole of holes) collect(hole);
      }
    };
    collect(tree);
    return polygons;
  }

  /** The paths of an area. Outlines turn one way and holes the other. */
  function pathsOf(polygons: readonly Polygon[]): Paths64 {
    const paths: Paths64 = [];
    for (const { points, holes } of polygons) {
      const clipper = new Clipper64();
      clipper.addSubject([points, ...holes].map(toPath));
      const cleanPaths: Paths64 = [];
      // Areas whose outlines cross themselves are filled by the even-odd rule, which also applies when they are drawn.
      clipper.execute(ClipType.Union, FillRule.EvenOdd, cleanPaths);
      paths.push(...cleanPaths);
    }
    return paths;
  }

  /** Removes vertices of a ring or a line that hardly change its shape. Each removed vertex is at most `distance` away from the result. */
  function simplify(points: readonly Coordinate[], distance: number, isClosed: boolean): Coordinate[] {
    const path = toPath(points);
    // The first vertex is repeated at the end, because the library keeps both ends of a path.
    const simplifiedPath = ramerDouglasPeucker(isClosed ? [...path, ...path.slice(0, 1)] : path, distance * unitsPerPixel);
    const simplified = fromPath(isClosed ? simplifiedPath.slice(0, -1) : simplifiedPath);
    return simplified.length < (isClosed ? 3 : 2) ? [...points] : simplified;
  }

  /** The paths of areas that have grown by a distance, or have shrunk if the distance is negative. */
  function growOrShrink(paths: Paths64, distance: number): Paths64 {
    const offset = new ClipperOffset();
    offset.addPaths(paths, JoinType.Miter, EndType.Polygon);
    const resultPaths: Paths64 = [];
    offset.execute(distance * unitsPerPixel, resultPaths);
    return resultPaths;
  }

  /** The area that some polygons cover together. Gaps between them that are narrower than `maxGap` are filled. */
  const bridge = (polygons: readonly Polygon[], maxGap: number): Polygon[] => {
    const paths = growOrShrink(growOrShrink(pathsOf(polygons), maxGap / 2), -maxGap / 2);
    const smooth = (ring: Coordinate[]) => simplify(ring, maxGap, true);
    return combinePaths(ClipType.Union, paths, []).map(({ points, holes }) => ({
      points: smooth(points),
      holes: holes.map(smooth),
    }));
  };

  return {
    simplify,
    bridge,
    /** The area that some polygons cover together. */
    unite: (polygons: readonly Polygon[]) => combinePaths(ClipType.Union, pathsOf(polygons), []),
    /** The part of an area that is outside other areas. */
    subtract: (from: readonly Polygon[], subtracted: readonly Polygon[]) =>
      combinePaths(ClipType.Difference, pathsOf(from), pathsOf(subtracted)),
    /** The area within a distance of a line. */
    thickenLine(line: readonly Point[], radius: number): Polygon[] {
      const offset = new ClipperOffset(2, Math.max(1, radius * unitsPerPixel * 0.01));
      offset.addPath(
        line.map(({ x, y }) => ({ x: Math.round(x * unitsPerPixel), y: Math.round(y * unitsPerPixel) })),
        JoinType.Round,
        EndType.Round,
      );
      const paths: Paths64 = [];
      offset.execute(radius * unitsPerPixel, paths);
      return combinePaths(ClipType.Union, paths, []);
    },
  };
}

export type PolygonTools = Awaited<ReturnType<typeof loadPolygonTools>>;

function toPath(points: readonly Coordinate[]): Path64 {
  return points.map(([x, y]) => ({ x: Math.round(x * unitsPerPixel), y: Math.round(y * unitsPerPixel) }));
}

function fromPath(path: Path64): Coordinate[] {
  return path.map(({ x, y }) => [x / unitsPerPixel, y / unitsPerPixel, 0]);
}

/** The area of a shape as a polygon; `null` for lines and points. */
export function polygonOf(element: Element): Polygon | null {
  if (!isArea(element)) return null;
  const { type, points = [], holes = [], center = [0, 0, 0], radius = 0, width = 0, height = 0, rotation } = element;
  if (type === 'polyline') return { points, holes };
  if (type !== 'circle' && type !== 'ellipse')
    return { points: cornersOf(element).map(({ x, y }): Coordinate => [x, y, center[2]]), holes: [] };
  const [across, down] = type === 'circle' ? [radius, radius] : [width / 2, height / 2];
  const outline = Array.from({ length: roundVertices }, (_, index): Coordinate => {
    const angle = (index * 2 * Math.PI) / roundVertices;
    const { x, y } = rotateVector(across * Math.cos(angle), down * Math.sin(angle), rotation);
    return [center[0] + x, center[1] + y, center[2]];
  });
  return { points: outline, holes: [] };
}

/** A copy of a shape that has the area of a polygon. The copy keeps the colors, the group and other fields of the shape. */
export function asPolygon(element: Element, { points, holes }: Polygon): Element {
  const {
    center,
    radius: _r,
    width: _w,
    height: _h,
    rotation: _turn,
    widthSubdivisions: _across,
    heightSubdivisions: _down,
    ...otherMembers
  } = element;
  const z = element.points?.[0]?.[2] ?? center?.[2] ?? 0;
  const { holes: _former, ...membersToKeep } = otherMembers as Element & { normal?: unknown };
  delete membersToKeep.normal;
  const withDepth = (ring: Coordinate[]) => ring.map(([x, y]): Coordinate => [x, y, z]);
  return {
    ...membersToKeep,
    type: 'polyline',
    closed: true,
    points: withDepth(points),
    ...(holes.length > 0 && { holes: holes.map(withDepth) }),
  };
}

/** The area within an outline, without regard to its holes. */
export function areaOf({ points }: Pick<Polygon, 'points'>) {
  const doubleArea = points.reduce((sum, [x, y], index) => {
    const [nextX, nextY] = points[(index + 1) % points.length] ?? [0, 0];
    return sum + x * nextY - nextX * y;
  }, 0);
  return Math.abs(doubleArea / 2);
}
