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
 * Maximum number of texts without id and points that are remembered, and their maximum length. Elements without measurements have few
 * different ones.
 */
const maxKnownTexts = 256;
const maxKnownLength = 4096;

/** An element of a slice whose points were read from its text, and which passed validation. */
export class LineText {
  constructor(
    /** The element without its id; its points are not those of the text. */
    readonly element: Line,
    readonly id: string | undefined,
    readonly positions: Positions,
  ) {}

  get isClosed(): boolean {
    return this.element.type === 'polyline' && this.element.closed === true;
  }
}

/**
 * Reads lines and polygons without holes from their texts, if these can be stored unchanged. No object is made for each position, which would take
 * most of the time.
 */
export class LineTexts {
  readonly #reader = new PositionReader();
  /** Checked elements by their text without id and points, in which a 0 replaces the points; `null`: not a line, or refused. */
  readonly #knownLines = new Map<string, { line: Line; keys: number } | null>();
  #bytes: Buffer = Buffer.alloc(0);
  #encoding: 'latin1' | 'utf8' | null = null;
  /** Position of the next {@link pointsBeginning}. */
  #nextPointsAt = 0;

  constructor(private readonly validate: ElementValidator) {}

  /** Begins to read a slice. The lines of the previous one become invalid. */
  begin({ bytes, ends, count }: ElementSlice): void {
    this.#reader.clear();
    this.#bytes = bytes.subarray(0, ends[count - 1]);
    this.#encoding = isAscii(this.#bytes) ? 'latin1' : isUtf8(this.#bytes) ? 'utf8' : null;
    this.#nextPointsAt = 0;
  }

  /** Reads an element of the slice; each must be read after the one before it. @returns `null` if it must be parsed. */
  read({ starts, ends, keyCounts, isCanonical, first }: ElementSlice, i: number): LineText | null {
    const [start, end] = [starts[i] as number, ends[i] as number];
    if (isCanonical[i] !== 1 || this.#encoding === null) return null;
    if (this.#nextPointsAt < start) {
      const next = this.#bytes.indexOf(pointsBeginning, start);
      this.#nextPointsAt = next < 0 ? Infinity : next;
    }
    if (this.#nextPointsAt >= end) return null;
    const from = this.#nextPointsAt + pointsKeyBytes;
    const positions = this.#reader.read(this.#bytes, from);
    if (positions === null) return null;
    const points = { start: from, end: positions.end };
    const { text, id } = textWithoutPoints(this.#bytes, { start, end }, points, this.#encoding);
    const known = this.#lineOf(text, first + i);
    if (known === null) return null;
    const { line } = known;
    // A key that is repeated is in the text, but not in the element.
    if (known.keys + (id === undefined ? 0 : 1) !== keyCounts[i] || (id !== undefined && line.id !== undefined)) return null;
    const count = (positions.to - positions.from) / 3;
    if (line.type === 'arrow' ? count !== 2 : count < 2) return null;
    return new LineText(line, id ?? line.id, positions);
  }

  #lineOf(rest: string, index: number): { line: Line; keys: number } | null {
    let known = this.#knownLines.get(rest);
    if (known === undefined) {
      known = this.#check(rest, index);
      if (this.#knownLines.size < maxKnownTexts && rest.length <= maxKnownLength) this.#knownLines.set(rest, known);
    }
    return known;
  }

  #check(rest: string, index: number): { line: Line; keys: number } | null {
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
      // Parsing the whole element says what is wrong.
      if (error instanceof SyntaxError || error instanceof LargeImageError) return null;
      throw error;
    }
  }
}
