import type { Coordinate } from '../../../../annotation-format/schema/common.js';
import type { PaintColor } from './colors.js';
import { Coverage } from './coverage.js';
import type { Stroke } from './shape.js';

/** The part of the image that is drawn. `left` and `top` are in base-layer pixels. */
export interface View {
  left: number;
  top: number;
  /** Base-layer pixels per pixel of the picture. */
  scale: number;
  /** Size of the picture in pixels. */
  width: number;
  height: number;
}

/** Vertices closer than this to the last drawn vertex are skipped, in pixels. */
const minStepPixels = 0.05;

/** Lines with at least this width in pixels have rounded corners. On thinner lines, the gap at a corner is invisible. */
const minRoundedWidthPixels = 2;

/** Number of vertices of the disc that rounds a corner. */
const discVertices = 12;

/**
 * A transparent picture on which shapes are drawn one over the other. Its pixels are stored row by row. Each pixel has four numbers: red,
 * green and blue (0 to 255, multiplied by the alpha), and the alpha (0 to 1).
 */
export class Canvas {
  readonly view: View;
  readonly pixels: Float32Array;
  readonly #coverage = new Coverage();

  /** @param pixels the pixels of another canvas of the same view, if its drawing continues here. */
  constructor(view: View, pixels: Float32Array = new Float32Array(view.width * view.height * 4)) {
    this.view = view;
    this.pixels = pixels;
  }

  /** Fills closed outlines by the even-odd rule. Positions are in base-layer pixels. */
  fill(rings: readonly (readonly Coordinate[])[], color: PaintColor): void {
    const { left, top, scale } = this.view;
    if (!this.#beginShape(rings, 0)) return;
    for (const ring of rings) {
      const lastPoint = ring[ring.length - 1];
      if (lastPoint === undefined) continue;
      let fromX = (lastPoint[0] - left) / scale;
      let fromY = (lastPoint[1] - top) / scale;
      for (let i = 0; i < ring.length; i += 1) {
        const point = ring[i] as Coordinate;
        const x = (point[0] - left) / scale;
        const y = (point[1] - top) / scale;
        // The last vertex is never skipped, because the outline must end at its start.
        if (i < ring.length - 1 && Math.abs(x - fromX) < minStepPixels && Math.abs(y - fromY) < minStepPixels) continue;
        this.#coverage.addEdge(fromX, fromY, x, y);
        fromX = x;
        fromY = y;
      }
    }
    this.#paintShape('even-odd', color);
  }

  /** Draws lines. The width is in pixels of the picture. The color does not get darker where lines cross. */
  stroke(strokes: readonly Stroke[], width: number, color: PaintColor): void {
    const halfWidth = width / 2;
    const lines = strokes.map(({ points }) => points);
    if (!this.#beginShape(lines, halfWidth)) return;
    for (const { points, closed } of strokes) this.#addLine(points, closed, halfWidth);
    this.#paintShape('union', color);
  }

  #addLine(points: readonly Coordinate[], closed: boolean, halfWidth: number): void {
    const { left, top, scale, width, height } = this.view;
    const start = points[closed ? points.length - 1 : 0];
    if (start === undefined) return;
    let fromX = (start[0] - left) / scale;
    let fromY = (start[1] - top) / scale;
    for (let i = closed ? 0 : 1; i < points.length; i += 1) {
      const point = points[i] as Coordinate;
      const x = (point[0] - left) / scale;
      const y = (point[1] - top) / scale;
      if (i < points.length - 1 && Math.abs(x - fromX) < minStepPixels && Math.abs(y - fromY) < minStepPixels) continue;
      const isVisible =
        Math.max(fromX, x) + halfWidth > 0 &&
        Math.min(fromX, x) - halfWidth < width &&
        Math.max(fromY, y) + halfWidth > 0 &&
        Math.min(fromY, y) - halfWidth < height;
      if (isVisible) this.#addSegment(fromX, fromY, x, y, halfWidth, closed || i < points.length - 1);
      fromX = x;
      fromY = y;
    }
  }

  /**
   * Adds a rectangle along a segment, and a disc at its end if `isRounded`. All have the same orientation, so that overlaps add up and
   * never cancel out.
   */
  #addSegment(x0: number, y0: number, x1: number, y1: number, halfWidth: number, isRounded: boolean): void {
    const length = Math.hypot(x1 - x0, y1 - y0);
    const coverage = this.#coverage;
    if (length > 0) {
      const nx = (-(y1 - y0) / length) * halfWidth;
      const ny = ((x1 - x0) / length) * halfWidth;
      coverage.addEdge(x0 + nx, y0 + ny, x1 + nx, y1 + ny);
      coverage.addEdge(x1 + nx, y1 + ny, x1 - nx, y1 - ny);
      coverage.addEdge(x1 - nx, y1 - ny, x0 - nx, y0 - ny);
      coverage.addEdge(x0 - nx, y0 - ny, x0 + nx, y0 + ny);
    }
    if (!isRounded || halfWidth * 2 < minRoundedWidthPixels) return;
    let [px, py] = [x1 + halfWidth, y1];
    for (let i = 1; i <= discVertices; i += 1) {
      const angle = (-2 * Math.PI * i) / discVertices;
      const [x, y] = [x1 + halfWidth * Math.cos(angle), y1 + halfWidth * Math.sin(angle)];
      coverage.addEdge(px, py, x, y);
      [px, py] = [x, y];
    }
  }

  #beginShape(lines: readonly (readonly Coordinate[])[], margin: number): boolean {
    let [lowX, lowY, highX, highY] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const line of lines) {
      for (const point of line) {
        const [x, y] = point;
        if (x < lowX) lowX = x;
        if (x > highX) highX = x;
        if (y < lowY) lowY = y;
        if (y > highY) highY = y;
      }
    }
    const { left, top, scale } = this.view;
    return this.#coverage.beginShape(
      {
        left: (lowX - left) / scale - margin,
        top: (lowY - top) / scale - margin,
        right: (highX - left) / scale + margin,
        bottom: (highY - top) / scale + margin,
      },
      this.view,
    );
  }

  #paintShape(rule: 'even-odd' | 'union', [red, green, blue, alpha]: PaintColor): void {
    const { pixels } = this;
    const rowLength = this.view.width * 4;
    this.#coverage.finishShape(rule, (row, left, shares, length) => {
      let offset = row * rowLength + left * 4;
      for (let i = 0; i < length; i += 1, offset += 4) {
        const opacity = shares[i]! * alpha;
        if (opacity === 0) continue;
        const transparency = 1 - opacity;
        pixels[offset] = pixels[offset]! * transparency + red * opacity;
        pixels[offset + 1] = pixels[offset + 1]! * transparency + green * opacity;
        pixels[offset + 2] = pixels[offset + 2]! * transparency + blue * opacity;
        pixels[offset + 3] = pixels[offset + 3]! * transparency + opacity;
      }
    });
  }

  /** Paints a color over one pixel. */
  paintPixel(column: number, row: number, [red, green, blue, alpha]: PaintColor): void {
    const offset = (row * this.view.width + column) * 4;
    const { pixels } = this;
    const transparency = 1 - alpha;
    pixels[offset] = pixels[offset]! * transparency + red * alpha;
    pixels[offset + 1] = pixels[offset + 1]! * transparency + green * alpha;
    pixels[offset + 2] = pixels[offset + 2]! * transparency + blue * alpha;
    pixels[offset + 3] = pixels[offset + 3]! * transparency + alpha;
  }

  /** Returns the pixels as red, green, blue and alpha from 0 to 255, not premultiplied, as PNG needs them. */
  toRgba(): Uint8Array<ArrayBuffer> {
    const { pixels } = this;
    const bytes = new Uint8Array(pixels.length);
    for (let offset = 0; offset < pixels.length; offset += 4) {
      const alpha = pixels[offset + 3]!;
      if (alpha <= 0) continue;
      bytes[offset] = Math.min(255, Math.round(pixels[offset]! / alpha));
      bytes[offset + 1] = Math.min(255, Math.round(pixels[offset + 1]! / alpha));
      bytes[offset + 2] = Math.min(255, Math.round(pixels[offset + 2]! / alpha));
      bytes[offset + 3] = Math.min(255, Math.round(alpha * 255));
    }
    return bytes;
  }
}
