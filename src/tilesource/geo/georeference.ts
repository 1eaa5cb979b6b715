/**
 * Six numbers that convert pixels to coordinates: x = t0 + t1 · column + t2 · row, and y = t3 + t4 · column + t5 · row. Columns and
 * rows count from the upper left corner of a pixel.
 */
export type Affine = readonly [number, number, number, number, number, number];

/** The position of an image on the earth. */
export interface GeoReference {
  /** From base-layer pixels to coordinates of the projection. */
  transform: Affine;
  /** Name of the projection, such as `epsg:32633`; `null` if the projection has no name. */
  projection: string | null;
  /** Definition of the projection for proj4; `null` if coordinates cannot be computed. */
  proj4: string | null;
}

/** A position, in pixels or in coordinates of a projection. */
export interface Point {
  x: number;
  y: number;
}

/** Extent of an image in coordinates of a projection, and the positions of its corners (lower left, upper left, …). */
export interface Bounds {
  xmin: number;
  xmax: number;
  ymin: number;
  ymax: number;
  ll: Point;
  ul: Point;
  ur: Point;
  lr: Point;
  /** Name or definition of the projection. */
  srs: string | null;
}

/** The coordinates of a position in pixels. */
export function toCoordinates([t0, t1, t2, t3, t4, t5]: Affine, { x, y }: Point): Point {
  return { x: t0 + t1 * x + t2 * y, y: t3 + t4 * x + t5 * y };
}

/** The transform from coordinates to pixels; `null` if the transform has no inverse. */
export function inverseOf([t0, t1, t2, t3, t4, t5]: Affine): Affine | null {
  const determinant = t1 * t5 - t2 * t4;
  const inverse: Affine = [
    (t2 * t3 - t0 * t5) / determinant,
    t5 / determinant,
    -t2 / determinant,
    (t0 * t4 - t1 * t3) / determinant,
    -t4 / determinant,
    t1 / determinant,
  ];
  return inverse.every(Number.isFinite) ? inverse : null;
}

/**
 * The extent of an image in coordinates.
 *
 * @param locate returns the coordinates of a position in pixels.
 */
export function boundsOf(
  { width, height }: { width: number; height: number },
  locate: (pixel: Point) => Point,
  srs: string | null,
): Bounds {
  const corner = (x: number, y: number) => locate({ x: x * width, y: y * height });
  // Edges may be curved in the projection, so the extent includes points along the edges, not only the corners.
  const stepsPerEdge = 16;
  const edgePoints = Array.from({ length: stepsPerEdge + 1 }, (_, i) => i / stepsPerEdge).flatMap((fraction) => [
    corner(fraction, 0),
    corner(fraction, 1),
    corner(0, fraction),
    corner(1, fraction),
  ]);
  const [xs, ys] = [edgePoints.map(({ x }) => x), edgePoints.map(({ y }) => y)];
  return {
    xmin: Math.min(...xs),
    xmax: Math.max(...xs),
    ymin: Math.min(...ys),
    ymax: Math.max(...ys),
    ll: corner(0, 1),
    ul: corner(0, 0),
    ur: corner(1, 0),
    lr: corner(1, 1),
    srs,
  };
}
