import { TileSourceError } from '../../../errors.js';
import type { Point, Position } from './multi-description.js';
import type { Member } from './members.js';
import type { MemberMetadata } from './member-metadata.js';
import { fitAffine, fitSimilarity, fitThinPlate, type Affine, type Mapping } from './warp.js';

/** A rectangle by its edges. */
export interface Edges {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** The position of a source in the image. All coordinates are pixels of full resolution. */
export interface Placement {
  /** Maps a point of the image to the source. */
  toSource: Mapping;
  /** `toSource` as an affine mapping; `null` for a warp of more than three points. */
  affineToSource: Affine | null;
  /** The part of the source that is shown. */
  crop: Edges;
  /** The rectangle of the image that the source covers. */
  box: Edges;
}

/** Number of points along each side of the crop that are mapped to find the rectangle which a warped source covers. */
const perimeterPoints = 16;

function applyAffine({ a, b, c, d, x, y }: Affine, [px, py]: Point): Point {
  return [a * px + b * py + x, c * px + d * py + y];
}

/** The mapping that applies `inner` first, then `outer`. */
function composeAffine(outer: Affine, inner: Affine): Affine {
  const [x, y] = applyAffine(outer, [inner.x, inner.y]);
  return {
    a: outer.a * inner.a + outer.b * inner.c,
    b: outer.a * inner.b + outer.b * inner.d,
    c: outer.c * inner.a + outer.d * inner.c,
    d: outer.c * inner.b + outer.d * inner.d,
    x,
    y,
  };
}

function invert({ a, b, c, d, x, y }: Affine): Affine {
  const determinant = a * d - b * c;
  const magnitude = Math.max(Math.abs(a), Math.abs(b), Math.abs(c), Math.abs(d));
  if (!(Math.abs(determinant) > 1e-12 * magnitude * magnitude)) {
    throw new TileSourceError(`The position of a source is invalid: the matrix (${a} ${b}; ${c} ${d}) has no inverse.`);
  }
  const inverse = { a: d / determinant, b: -b / determinant, c: -c / determinant, d: a / determinant };
  return { ...inverse, x: -(inverse.a * x + inverse.b * y), y: -(inverse.c * x + inverse.d * y) };
}

function affineOf({ x = 0, y = 0, scale = 1, s11 = 1, s12 = 0, s21 = 0, s22 = 1 }: Position): Affine {
  return { a: s11 * scale, b: s12 * scale, c: s21 * scale, d: s22 * scale, x, y };
}

function cropOf({ crop }: Position, { width, height }: { width: number; height: number }): Edges {
  const clamp = (value: number, min: number, max: number): number => Math.min(max, Math.max(min, value));
  const left = clamp(crop?.left ?? 0, 0, width);
  const top = clamp(crop?.top ?? 0, 0, height);
  return {
    left,
    top,
    right: clamp(crop?.right ?? width, left, width),
    bottom: clamp(crop?.bottom ?? height, top, height),
  };
}

function boxOf(points: readonly Point[]): Edges {
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const box = { left: Math.min(...xs), top: Math.min(...ys), right: Math.max(...xs), bottom: Math.max(...ys) };
  if (Object.values(box).every((value) => Number.isFinite(value) && Math.abs(value) < 2 ** 31)) return box;
  throw new TileSourceError('The position of a source is invalid: it is more than 2147483648 pixels away.');
}

/** Pairs the points of a warp. Names that only one of `src` and `dst` has are left out. */
function pairLandmarks({ src, dst }: NonNullable<Position['warp']>): { from: Point[]; to: Point[] } {
  if (Array.isArray(src) !== Array.isArray(dst)) {
    throw new TileSourceError('The warp of a source is invalid: src and dst must both be lists, or both be objects with names.');
  }
  const names = Object.keys(src).filter((name) => Object.hasOwn(dst, name));
  const [from, to] = [Object.entries(src), Object.entries(dst)];
  if (Array.isArray(src) && from.length !== to.length) {
    throw new TileSourceError(
      `The warp of a source is invalid: src has ${from.length} points and dst ${to.length}; both need the same number.`,
    );
  }
  if (names.length === 0) throw new TileSourceError('The warp of a source is invalid: src and dst have no points in common.');
  const pointsInOrder = (entries: [string, Point][]): Point[] => {
    const pointsByName = new Map(entries);
    return names.map((name) => pointsByName.get(name)!);
  };
  return { from: pointsInOrder(from), to: pointsInOrder(to) };
}

/** Points along the edges. */
function perimeter({ left, top, right, bottom }: Edges): Point[] {
  const points: Point[] = [];
  for (let i = 0; i <= perimeterPoints; i++) {
    const [x, y] = [left + ((right - left) * i) / perimeterPoints, top + ((bottom - top) * i) / perimeterPoints];
    points.push([x, top], [x, bottom], [left, y], [right, y]);
  }
  return points;
}

/**
 * The placement of a source. A warp of one point is a translation that is added to the matrix. A warp of two points replaces the
 * matrix. A warp of three points is an affine map that is applied after the matrix. A warp of more points is a spline, which maps
 * each point of `src` to the point to which the matrix maps the corresponding point of `dst`.
 *
 * @throws TileSourceError for an impossible position.
 */
export function placementOf(position: Position = {}, size: { width: number; height: number }): Placement {
  const crop = cropOf(position, size);
  let affineToImage = affineOf(position);
  if (position.warp !== undefined) {
    const { from, to } = pairLandmarks(position.warp);
    if (from.length === 1)
      affineToImage = {
        ...affineToImage,
        x: affineToImage.x + to[0]![0] - from[0]![0],
        y: affineToImage.y + to[0]![1] - from[0]![1],
      };
    else if (from.length === 2) affineToImage = fitSimilarity(from, to);
    else if (from.length === 3) affineToImage = composeAffine(fitAffine(from, to), affineToImage);
    else {
      const targetPoints = to.map((each) => applyAffine(affineToImage, each));
      const box = boxOf(perimeter(crop).map(fitThinPlate(from, targetPoints)));
      return { toSource: fitThinPlate(targetPoints, from), affineToSource: null, crop, box };
    }
  }
  const affineToSource = invert(affineToImage);
  const corners: Point[] = [
    [crop.left, crop.top],
    [crop.right, crop.top],
    [crop.left, crop.bottom],
    [crop.right, crop.bottom],
  ];
  return {
    toSource: (at) => applyAffine(affineToSource, at),
    affineToSource,
    crop,
    box: boxOf(corners.map((corner) => applyAffine(affineToImage, corner))),
  };
}

/** The translation from the image to the source if the placement is only a translation by whole pixels; otherwise `null`. */
export function shiftOf({ affineToSource }: Placement): { x: number; y: number } | null {
  if (affineToSource === null) return null;
  const { a, b, c, d, x, y } = affineToSource;
  const isTranslation = a === 1 && b === 0 && c === 0 && d === 1;
  return isTranslation && Number.isInteger(x) && Number.isInteger(y) ? { x, y } : null;
}

/** A source of the image, with its metadata and its placement. */
export interface MultiMember extends Member {
  metadata: MemberMetadata;
  placement: Placement;
}
