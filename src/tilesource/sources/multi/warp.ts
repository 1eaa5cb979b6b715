import { TileSourceError } from '../../../errors.js';
import type { Point } from './multi-description.js';

/** Maps a point. */
export type Mapping = (point: Point) => Point;

/**
 * Solves a system of linear equations for several right sides. @throws TileSourceError if the system has no unique solution.
 */
function solveLinear(matrix: readonly (readonly number[])[], rightSides: readonly (readonly number[])[]): number[][] {
  const count = matrix.length;
  const rows = matrix.map((row, i) => [...row, ...rightSides[i]!]);
  const largestCoefficient = Math.max(...rows.map((row) => Math.max(...row.slice(0, count).map(Math.abs))));
  for (let column = 0; column < count; column++) {
    let pivot = column;
    for (let row = column + 1; row < count; row++) {
      if (Math.abs(rows[row]![column]!) > Math.abs(rows[pivot]![column]!)) pivot = row;
    }
    if (!(Math.abs(rows[pivot]![column]!) > largestCoefficient * 1e-12)) {
      throw new TileSourceError('The warp of a source is invalid: its points are on one line, or are equal.');
    }
    [rows[column], rows[pivot]] = [rows[pivot]!, rows[column]!];
    for (let row = 0; row < count; row++) {
      if (row === column) continue;
      const factor = rows[row]![column]! / rows[column]![column]!;
      if (factor === 0) continue;
      for (let at = column; at < rows[row]!.length; at++) rows[row]![at]! -= factor * rows[column]![at]!;
    }
  }
  return rows.map((row, i) => row.slice(count).map((value) => value / row[i]!));
}

/** The affine mapping that maps each of three points of `from` to its point of `to`. */
export function fitAffine(from: readonly Point[], to: readonly Point[]): Affine {
  const [first, second, third] = solveLinear(
    from.map(([x, y]) => [x, y, 1]),
    to.map(([x, y]) => [x, y]),
  );
  return { a: first![0]!, b: second![0]!, c: first![1]!, d: second![1]!, x: third![0]!, y: third![1]! };
}

/** The rotation, scaling and translation that map the points p and q to the points r and s. */
export function fitSimilarity([p, q]: readonly Point[], [r, s]: readonly Point[]): Affine {
  const [dx, dy] = [q![0] - p![0], q![1] - p![1]];
  const [ex, ey] = [s![0] - r![0], s![1] - r![1]];
  const length = dx * dx + dy * dy;
  if (!(length > 0)) throw new TileSourceError('The warp of a source is invalid: its two points are equal.');
  const [a, c] = [(dx * ex + dy * ey) / length, (dx * ey - dy * ex) / length];
  return { a, b: -c, c, d: a, x: r![0] - a * p![0] + c * p![1], y: r![1] - c * p![0] - a * p![1] };
}

/** The basis function of a thin-plate spline for the square of a distance. */
function radial(squaredDistance: number): number {
  return squaredDistance === 0 ? 0 : squaredDistance * Math.log(squaredDistance);
}

/** The thin-plate spline, which is the smoothest mapping that maps each point of `from` to its point of `to`. */
export function fitThinPlate(from: readonly Point[], to: readonly Point[]): Mapping {
  const count = from.length;
  // The points are moved and scaled to be around zero with size one. Otherwise the equations lose accuracy.
  const center = [0, 1].map((axis) => from.reduce((sum, each) => sum + each[axis]!, 0) / count);
  const extent = Math.max(...from.flatMap(([x, y]) => [Math.abs(x - center[0]!), Math.abs(y - center[1]!)])) || 1;
  const normalize = ([x, y]: Point): Point => [(x - center[0]!) / extent, (y - center[1]!) / extent];
  const knots = from.map(normalize);
  const rows = knots.map(([x, y]) => [...knots.map(([u, v]) => radial((x - u) ** 2 + (y - v) ** 2)), 1, x, y]);
  const constraints = [knots.map(() => 1), knots.map(([x]) => x), knots.map(([, y]) => y)].map((row) => [...row, 0, 0, 0]);
  const weights = solveLinear([...rows, ...constraints], [...to.map(([x, y]) => [x, y]), [0, 0], [0, 0], [0, 0]]);
  const [constant, byX, byY] = [weights[count]!, weights[count + 1]!, weights[count + 2]!];
  return (point) => {
    const [x, y] = normalize(point);
    let u = constant[0]! + byX[0]! * x + byY[0]! * y;
    let v = constant[1]! + byX[1]! * x + byY[1]! * y;
    for (let i = 0; i < count; i++) {
      const [px, py] = knots[i]!;
      const bend = radial((x - px) ** 2 + (y - py) ** 2);
      u += weights[i]![0]! * bend;
      v += weights[i]![1]! * bend;
    }
    return [u, v];
  };
}

/** An affine mapping: the matrix (a b; c d) and the translation (x, y). */
export interface Affine {
  a: number;
  b: number;
  c: number;
  d: number;
  x: number;
  y: number;
}
