/** How overlapping parts of a shape are filled: `even-odd` makes holes, `union` fills each pixel once. */
export type FillRule = 'even-odd' | 'union';

/** Receives the covered shares (at most 1) of `length` consecutive pixels of one row, from column `left` on. */
export type RowSink = (row: number, left: number, coverage: Float32Array, length: number) => void;

/** Coordinates in pixels are clipped to ± this value, which is far outside every picture, but small enough for exact arithmetic. */
const maxCoordinate = 2 ** 26;

/** Smallest share of a pixel that counts as covered. Smaller shares are rounding errors. */
const minShare = 2 ** -20;

function clampCoordinate(value: number): number {
  return value > maxCoordinate ? maxCoordinate : value < -maxCoordinate ? -maxCoordinate : value;
}

/**
 * Computes the exact coverage of pixels by polygons. Every edge adds its signed area to the pixels that it crosses. A running sum along
 * each row then gives, for each pixel, the winding number times the covered share. Coordinates are in pixels of the raster.
 */
export class Coverage {
  #signedAreas = new Float32Array(0);
  #rowShares = new Float32Array(0);
  #left = 0;
  #top = 0;
  #width = 0;
  #height = 0;
  #stride = 0;

  /**
   * Starts a shape within this box (pixels, fractions allowed) on a raster of this size.
   *
   * @returns false if the box is outside the raster. Then no edges must be added.
   */
  beginShape(
    box: { left: number; top: number; right: number; bottom: number },
    raster: { width: number; height: number },
  ): boolean {
    const left = Math.max(0, Math.floor(clampCoordinate(box.left)));
    const top = Math.max(0, Math.floor(clampCoordinate(box.top)));
    const width = Math.min(raster.width, Math.ceil(clampCoordinate(box.right))) - left;
    const height = Math.min(raster.height, Math.ceil(clampCoordinate(box.bottom))) - top;
    if (!(width > 0 && height > 0)) return false;
    this.#left = left;
    this.#top = top;
    this.#width = width;
    this.#height = height;
    // There are two more columns, because an edge at the right border also adds to the column right of it.
    this.#stride = width + 2;
    const size = this.#stride * height;
    if (this.#signedAreas.length < size) this.#signedAreas = new Float32Array(size);
    else this.#signedAreas.fill(0, 0, size);
    if (this.#rowShares.length < width) this.#rowShares = new Float32Array(width);
    return true;
  }

  /** Adds an edge of a closed outline. */
  addEdge(fromX: number, fromY: number, toX: number, toY: number): void {
    let x0 = clampCoordinate(fromX) - this.#left;
    let y0 = clampCoordinate(fromY) - this.#top;
    let x1 = clampCoordinate(toX) - this.#left;
    let y1 = clampCoordinate(toY) - this.#top;
    if (y0 === y1) return;
    let direction = 1;
    if (y0 > y1) {
      [x0, y0, x1, y1] = [x1, y1, x0, y0];
      direction = -1;
    }
    if (y1 <= 0 || y0 >= this.#height) return;
    const slope = (x1 - x0) / (y1 - y0);
    if (y0 < 0) {
      x0 -= y0 * slope;
      y0 = 0;
    }
    if (y1 > this.#height) {
      x1 = x0 + (this.#height - y0) * slope;
      y1 = this.#height;
    }
    this.#addClipped(x0, y0, x1, y1, slope, direction);
  }

  /**
   * Clips an edge to the columns of the box. A part left of the box acts like an edge along the left border. A part right of the box has no
   * effect.
   */
  #addClipped(x0: number, y0: number, x1: number, y1: number, slope: number, direction: number): void {
    const width = this.#width;
    if (x0 >= width && x1 >= width) return;
    if (x0 <= 0 && x1 <= 0) return this.#addInside(0, y0, 0, y1, 0, direction);
    if (x0 >= 0 && x1 >= 0 && x0 <= width && x1 <= width) return this.#addInside(x0, y0, x1, y1, slope, direction);
    // The edge crosses a border, so its parts before and after the crossing are added separately.
    const border = x0 < 0 || x1 < 0 ? 0 : width;
    const y = Math.min(y1, Math.max(y0, y0 + (border - x0) / slope));
    if (y > y0) this.#addClipped(x0, y0, border, y, slope, direction);
    if (y < y1) this.#addClipped(border, y, x1, y1, slope, direction);
  }

  #addInside(x0: number, y0: number, _x1: number, y1: number, slope: number, direction: number): void {
    const sums = this.#signedAreas;
    const lastRow = Math.min(this.#height, Math.ceil(y1));
    let x = x0;
    for (let row = Math.floor(y0); row < lastRow; row += 1) {
      const height = Math.min(row + 1, y1) - Math.max(row, y0);
      if (height <= 0) continue;
      const nextX = Math.min(this.#width, Math.max(0, x + slope * height));
      this.#addRow(sums, row * this.#stride, x, nextX, height * direction);
      x = nextX;
    }
  }

  /** Adds the signed areas of an edge within one row, from x = `from` to x = `to`. @param start index of the row's first pixel in `sums`. */
  #addRow(sums: Float32Array, start: number, from: number, to: number, signedHeight: number): void {
    const low = from < to ? from : to;
    const high = from < to ? to : from;
    const first = Math.floor(low);
    const end = Math.ceil(high);
    const firstIndex = start + first;
    if (end <= first + 1) {
      const middle = 0.5 * (low + high) - first;
      sums[firstIndex]! += signedHeight * (1 - middle);
      sums[firstIndex + 1]! += signedHeight * middle;
      return;
    }
    // The edge rises equally in each column that it crosses completely, and half of such a column is to the right of the edge.
    const perColumn = 1 / (high - low);
    const firstWidth = 1 - (low - first);
    const firstArea = 0.5 * perColumn * firstWidth * firstWidth;
    const lastWidth = high - end + 1;
    const lastArea = 0.5 * perColumn * lastWidth * lastWidth;
    sums[firstIndex]! += signedHeight * firstArea;
    if (end === first + 2) {
      sums[firstIndex + 1]! += signedHeight * (1 - firstArea - lastArea);
    } else {
      const second = perColumn * (1.5 - (low - first));
      sums[firstIndex + 1]! += signedHeight * (second - firstArea);
      for (let column = first + 2; column < end - 1; column += 1) sums[start + column]! += signedHeight * perColumn;
      const sumBefore = second + (end - first - 3) * perColumn;
      sums[start + end - 1]! += signedHeight * (1 - sumBefore - lastArea);
    }
    sums[start + end]! += signedHeight * lastArea;
  }

  /** Ends the shape, and passes the rows that the shape covers to the sink. */
  finishShape(rule: FillRule, sink: RowSink): void {
    const shares = this.#rowShares;
    for (let y = 0; y < this.#height; y += 1) {
      const start = y * this.#stride;
      let sum = 0;
      let first = -1;
      let last = -1;
      for (let x = 0; x < this.#width; x += 1) {
        sum += this.#signedAreas[start + x]!;
        let share = Math.abs(sum);
        if (rule === 'even-odd') {
          share %= 2;
          if (share > 1) share = 2 - share;
        } else if (share > 1) share = 1;
        if (share < minShare) share = 0;
        else {
          if (first < 0) first = x;
          last = x;
        }
        shares[x] = share;
      }
      if (first >= 0) sink(this.#top + y, this.#left + first, shares.subarray(first, last + 1), last + 1 - first);
    }
  }
}
