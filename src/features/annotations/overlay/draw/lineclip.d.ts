declare module 'lineclip' {
  type Position = [x: number, y: number];
  type Box = [lowX: number, lowY: number, highX: number, highY: number];
  /** Returns the parts of a line that are within a box. */
  export function clipPolyline(points: Position[], box: Box): Position[][];
  /** Returns the part of a polygon that is within a box as one ring, which may run along the border. */
  export function clipPolygon(points: Position[], box: Box): Position[];
}
