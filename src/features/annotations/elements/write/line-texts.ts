import { isAscii, isUtf8 } from 'node:buffer';
import { pointsBeginning, pointsKeyBytes, textWithoutPoints } from '../../../../annotation-format/formats/points-text.js';
import { PositionReader, type Positions } from '../../../../annotation-format/positions.js';
import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import type { ElementValidator } from '../../../../annotation-format/validate.js';
import { LargeImageError } from '../../../../errors.js';
import type { ElementSlice } from './body-scanner.js';
import { countKeys } from './json-text.js';

type Line = Extract<AnnotationElement, { type: 'polyline' | 'arrow' }>;

/** Replaces the points of a line while everything else in it is checked. */
const placeholderPoints = [
  [0, 0, 0],
  [0, 0, 0],
];
/**
 * Maximum number of texts to remember, and maximum length of each. These are texts without id and points, so elements without
 * measurements have few different ones.
 */
const maxKnownTexts = 256;
const maxKnownTextLength = 4096;

/** A valid polyline or arrow of a slice, whose points were read directly from its text. */
export class LineText {
  constructor(
    /** The element without its id, and with placeholders instead of its points. */
    readonly element: Line,
    readonly id: string | undefined,
    readonly positions: Positions,
  ) {}

  get isClosed(): boolean {
    return this.element.type === 'polyline' && this.element.closed === true;
  }
}

/**
 * Reads arrows, and polylines without holes, from texts that can be stored unchanged. Makes no object for each position, which would take
 * most of the time.
 */
export class LineTexts {
  readonly #reader = new PositionReader();
  /** Checked elements by their text without id, in which a 0 replaces the points; `null` for texts of other or invalid elements. */
  readonly #knownLines = new Map<string, { line: Line; keys: number } | null>();
  #bytes: Buffer = Buffer.alloc(0);
  #encoding: 'latin1' | 'utf8' | null = null;
  /** Offset of the next {@link pointsBeginning}. */
  #nextPointsOffset = 0;

  constructor(private readonly validate: ElementValidator) {}

  /** Begins to read a slice. Every {@link LineText} of the previous slice becomes invalid. */
  begin({ bytes, ends, count }: ElementSlice): void {
    this.#reader.clear();
    this.#bytes = bytes.subarray(0, ends[count - 1]);
    this.#encoding = isAscii(this.#bytes) ? 'latin1' : isUtf8(this.#bytes) ? 'utf8' : null;
    this.#nextPointsOffset = 0;
  }

  /** Reads element `i` of the slice. Elements must be read in order. @returns `null` if the element must be parsed. */
  read({ starts, ends, keyCounts, isCanonical, firstIndex }: ElementSlice, i: number): LineText | null {
    const [start, end] = [starts[i] as number, ends[i] as number];
    if (isCanonical[i] !== 1 || this.#encoding === null) return null;
    if (this.#nextPointsOffset < start) {
      const next = this.#bytes.indexOf(pointsBeginning, start);
      this.#nextPointsOffset = next < 0 ? Infinity : next;
    }
    if (this.#nextPointsOffset >= end) return null;
    const pointsStart = this.#nextPointsOffset + pointsKeyBytes;
    const positions = this.#reader.read(this.#bytes, pointsStart);
    if (positions === null) return null;
    const points = { start: pointsStart, end: positions.end };
    const { text, id } = textWithoutPoints(this.#bytes, { start, end }, points, this.#encoding);
    const known = this.#findOrParseLine(text, firstIndex + i);
    if (known === null) return null;
    const { line } = known;
    // If a key is repeated, the text has more keys than the element.
    if (known.keys + (id === undefined ? 0 : 1) !== keyCounts[i] || (id !== undefined && line.id !== undefined)) return null;
    const count = (positions.to - positions.from) / 3;
    if (line.type === 'arrow' ? count !== 2 : count < 2) return null;
    return new LineText(line, id ?? line.id, positions);
  }

  #findOrParseLine(rest: string, index: number): { line: Line; keys: number } | null {
    let known = this.#knownLines.get(rest);
    if (known === undefined) {
      known = this.#parseLine(rest, index);
      if (this.#knownLines.size < maxKnownTexts && rest.length <= maxKnownTextLength) this.#knownLines.set(rest, known);
    }
    return known;
  }

  #parseLine(rest: string, index: number): { line: Line; keys: number } | null {
    try {
      const value = JSON.parse(rest) as Record<string, unknown>;
      // `points` may have been a key in `user` instead of the key of the line.
      if (value.points !== 0 || value.holes !== undefined) return null;
      const keys = countKeys(value);
      value.points = placeholderPoints;
      const line = this.validate(value, index);
      // If the validator dropped something, it returns another object.
      const isSame = (line as unknown) === value;
      return isSame && (line.type === 'polyline' || line.type === 'arrow') ? { line, keys } : null;
    } catch (error) {
      // The caller then parses the whole element, which throws the error.
      if (error instanceof SyntaxError || error instanceof LargeImageError) return null;
      throw error;
    }
  }
}
