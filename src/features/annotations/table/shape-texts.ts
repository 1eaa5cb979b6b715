import { pointsBeginning, pointsKeyBytes, textWithoutPoints } from '../../../annotation-format/formats/points-text.js';
import { PositionReader } from '../../../annotation-format/positions.js';
import type { AnnotationElement } from '../../../annotation-format/schema/document.js';
import { bufferOf } from '../../../core/buffer-of.js';
import { PackColumns } from '../elements/packs/pack.js';
import { windowPositions } from '../elements/packs/pack-index.js';
import { lineShape, shapeOf, type Shape } from './shapes.js';
import type { PacksInput } from './table-thread.js';

const memoryBlockBytes = 1024 * 1024;
/**
 * Maximum number of lines to remember by their text. Ids and points are left out of these texts, so that lines without measurements have
 * few different texts.
 */
const maxKnownLines = 256;

type Line = Parameters<typeof lineShape>[0];

/** The texts of the elements of a window, from which their shapes are made. */
export class ShapeTexts {
  readonly #packs: { text: Buffer; offsets: Float64Array }[] = [];
  /** The number of the pack with the element at each position in the window, counted from 1. 0 if the position has no element. */
  readonly #packNumberAt = new Uint32Array(windowPositions);
  /** The row, in its pack, of the element at each position in the window. */
  readonly #rowAt = new Uint32Array(windowPositions);
  readonly #linesByText = new Map<string, Line>();
  readonly #positions = new PositionReader();
  #memory = new Uint8Array(0);
  #usedBytes = 0;

  constructor(packs: PacksInput['packs']) {
    for (const pack of packs) {
      const columns = new PackColumns(bufferOf(pack.columns));
      this.#packs.push({ text: bufferOf(pack.text), offsets: columns.textOffsets() });
      for (let row = 0; row < columns.count; row += 1) {
        const position = columns.positions[row] as number;
        this.#packNumberAt[position] = this.#packs.length;
        this.#rowAt[position] = row;
      }
    }
  }

  /** Allocates memory for a shape as a part of a larger block. */
  readonly #allocate = (bytes: number): Uint8Array => {
    if (this.#usedBytes + bytes > this.#memory.length) {
      this.#memory = new Uint8Array(Math.max(memoryBlockBytes, bytes));
      this.#usedBytes = 0;
    }
    this.#usedBytes += bytes;
    return this.#memory.subarray(this.#usedBytes - bytes, this.#usedBytes);
  };

  /** Makes the shape of the element at a position in the window. */
  shapeAt(position: number): Shape {
    const pack = this.#packs[(this.#packNumberAt[position] as number) - 1];
    if (pack === undefined) throw new Error(`No element at position ${position}`);
    const { text, offsets } = pack;
    const row = this.#rowAt[position] as number;
    const [start, end] = [offsets[row] as number, offsets[row + 1] as number];
    // The cast is safe, because stored elements have been checked.
    return this.#readLineShape(text, start, end) ?? shapeOf(JSON.parse(text.toString('utf8', start, end)) as AnnotationElement);
  }

  /**
   * Makes the shape of a line or a polygon without holes. Its positions are not parsed one by one, which is faster. Returns `null` for other
   * elements. In compact JSON, `"points":[[` can only be a key and the beginning of its value, because quotes inside of texts are escaped.
   */
  #readLineShape(text: Buffer, start: number, end: number): Shape | null {
    const from = text.indexOf(pointsBeginning, start) + pointsKeyBytes;
    if (from < pointsKeyBytes || from > end) return null;
    this.#positions.clear();
    const points = this.#positions.read(text, from);
    if (points === null) return null;
    const { text: restText } = textWithoutPoints(text, { start, end }, { start: from, end: points.end });
    let line = this.#linesByText.get(restText);
    if (line === undefined) {
      const element = JSON.parse(restText) as Omit<AnnotationElement, 'points'> & { points?: unknown; holes?: unknown };
      // The `points` that were found may lie inside of `user`.
      if (element.points !== 0 || element.holes !== undefined) return null;
      if (element.type !== 'polyline' && element.type !== 'arrow') return null;
      line = element as Line;
      if (this.#linesByText.size < maxKnownLines) this.#linesByText.set(restText, line);
    }
    return lineShape(line, points, this.#allocate);
  }
}
