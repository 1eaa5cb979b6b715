import type { BoundingBox } from '../../../annotation-format/bounding-box.js';
import type { CommonKey } from './columns.js';
import type { RowKey } from './table.js';

/** Two boxes count as equal if none of their sides is farther apart than this, in pixels. */
const maxDistance = 2;
const cellSize = 2 * maxDistance;
/** Maximum number of elements in a cell that are compared. */
const maxCandidates = 64;
const sideKeys = ['bbox.x0', 'bbox.y0', 'bbox.x1', 'bbox.y1'] as const;

interface Entry {
  row: RowKey;
  sides: readonly [x0: number, y0: number, x1: number, y1: number];
}

/** Finds elements by their boxes. Each element is found at most once. */
export class ElementBoxes {
  /** Entries by the cell that contains the low corner of the box. */
  readonly #cells = new Map<string, Entry[]>();

  /** Adds an element. */
  add(row: RowKey, { lowx, lowy, highx, highy }: BoundingBox): void {
    const key = cellKeyOf(lowx, lowy);
    const entry: Entry = { row, sides: [lowx, lowy, highx, highy] };
    const cell = this.#cells.get(key);
    if (cell === undefined) this.#cells.set(key, [entry]);
    else cell.push(entry);
  }

  /**
   * Finds the row of the element whose box is nearest to this box, and at most 2 pixels away. Elements that have been returned before are
   * left out. Returns `null` if there is no such element, or if not all sides of the box are known.
   */
  takeNearest(box: ReadonlyMap<CommonKey, number>): RowKey | null {
    const [x0, y0, x1, y1] = sideKeys.map((side) => box.get(side));
    if (x0 === undefined || y0 === undefined || x1 === undefined || y1 === undefined) return null;
    const boxSides = [x0, y0, x1, y1];
    let nearest: { entry: Entry; distance: number } | null = null;
    for (const dx of [-cellSize, 0, cellSize]) {
      for (const dy of [-cellSize, 0, cellSize]) {
        for (const entry of (this.#cells.get(cellKeyOf(x0 + dx, y0 + dy)) ?? []).slice(0, maxCandidates)) {
          const distance = Math.max(...entry.sides.map((side, i) => Math.abs(side - boxSides[i]!)));
          if (distance > maxDistance || (nearest !== null && nearest.distance <= distance)) continue;
          nearest = { entry, distance };
        }
      }
    }
    if (nearest === null) return null;
    this.#remove(nearest.entry);
    return nearest.entry.row;
  }

  /** Removes the entry of an element, so that the next row of a file with the same box is assigned to another element. */
  #remove(entry: Entry): void {
    const [x0, y0] = entry.sides;
    const cell = this.#cells.get(cellKeyOf(x0, y0))!;
    const position = cell.indexOf(entry);
    cell[position] = cell.at(-1)!;
    cell.pop();
  }
}

function cellKeyOf(x: number, y: number): string {
  return `${Math.floor(x / cellSize)} ${Math.floor(y / cellSize)}`;
}
