import { isAscii } from 'node:buffer';
import type { AnnotationElement } from '../../../annotation-format/schema/document.js';
import { bufferOf } from '../../../core/buffer-of.js';
import { PackColumns } from '../elements/packs/pack.js';
import { windowPositions } from '../elements/packs/pack-index.js';
import { lineShape, shapeOf, type Shape } from './shapes.js';
import type { PacksInput } from './table-thread.js';

const [key, opened, closed] = ['"points":', '[[', ']]'] as const;
/** Bytes of `{"id":"…",` at the beginning of most elements. */
const idLength = 33;
/** Most texts of elements without id and points that are remembered. Elements without measurements have few different ones. */
const mostKnown = 256;

type Line = Parameters<typeof lineShape>[0];

/** The texts of the elements of a window, from which their shapes are made. */
export class ShapeTexts {
  readonly #packs: { text: Buffer; ascii: string | null; offsets: Float64Array }[] = [];
  /** Pack and row of the element at a position, from 1. */
  readonly #packAt = new Uint32Array(windowPositions);
  readonly #rowAt = new Uint32Array(windowPositions);
  readonly #known = new Map<string, Line>();

  constructor(packs: PacksInput['packs']) {
    for (const pack of packs) {
      const columns = new PackColumns(bufferOf(pack.columns));
      const text = bufferOf(pack.text);
      const ascii = isAscii(text) ? text.toString('latin1') : null;
      this.#packs.push({ text, ascii, offsets: columns.offsets() });
      for (let row = 0; row < columns.count; row += 1) {
        const position = columns.positions[row] as number;
        this.#packAt[position] = this.#packs.length;
        this.#rowAt[position] = row;
      }
    }
  }

  /** The shape of the element at a position in the window. */
  shapeAt(position: number): Shape {
    const pack = this.#packs[(this.#packAt[position] as number) - 1];
    if (pack === undefined) throw new Error(`No element at position ${position}`);
    const { text, ascii, offsets } = pack;
    const row = this.#rowAt[position] as number;
    const [start, end] = [offsets[row], offsets[row + 1]];
    const json = ascii === null ? text.toString('utf8', start, end) : ascii.slice(start, end);
    // Stored elements have been checked.
    return this.#lineShape(json) ?? shapeOf(JSON.parse(json) as AnnotationElement);
  }

  /**
   * The shape of a line or polygon without holes, without parsing its positions one by one; `null` for all others. In compact JSON,
   * the sequence that is searched for is a key and the beginning of its value: quotes in texts have a backslash before them.
   */
  #lineShape(json: string): Shape | null {
    const from = json.indexOf(key + opened) + key.length;
    if (from < key.length) return null;
    const to = json.indexOf(closed, from) + closed.length;
    const before = json.slice(0, from);
    const rest = `${before.startsWith('{"id":"') ? `{${before.slice(idLength)}` : before}0${json.slice(to)}`;
    let line = this.#known.get(rest);
    if (line === undefined) {
      const element = JSON.parse(rest) as Omit<AnnotationElement, 'points'> & { points?: unknown; holes?: unknown };
      // The key can be one in `user`.
      if (element.points !== 0 || element.holes !== undefined) return null;
      if (element.type !== 'polyline' && element.type !== 'arrow') return null;
      line = element as Line;
      if (this.#known.size < mostKnown) this.#known.set(rest, line);
    }
    const numbers = JSON.parse(`[${json.slice(from, to).replaceAll(/[[\]]/g, '')}]`) as number[];
    return lineShape(line, numbers);
  }
}
