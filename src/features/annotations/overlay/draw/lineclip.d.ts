declare module 'lineclip' {
  type Position = [x: number, y: number];
  type Box = [lowX: number, lowY: number, highX: number, highY: number];
  /** The parts of a line that are within a box. */
  export function clipPolyline(points: Position[], box: Box): Position[][];
  /** The part of a polygon within a box: one ring, which may run along the border. */
  export function clipPolygon(points: Position[], box: Box): Position[];
}
