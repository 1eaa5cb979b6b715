import { isAscii, isUtf8 } from 'node:buffer';
import { pointsBeginning, pointsKeyBytes, textWithoutPoints } from '../../../../annotation-format/formats/points-text.js';
import { PositionReader, type Positions } from '../../../../annotation-format/positions.js';
import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import type { ElementValidator } from '../../../../annotation-format/validate.js';
import { LargeImageError } from '../../../../errors.js';
import type { ElementSlice } from './body-scanner.js';
import { countKeys } from './json-text.js';

type Line = Extract<AnnotationElement, { type: 'polyline' | 'arrow' }>;

/** Takes the place of a line's points while the rest of the line is checked. */
const placeholderPoints = [
  [0, 0, 0],
  [0, 0, 0],
];
/**
 * Maximum number of texts to remember, and maximum length of each. Ids and points are left out of these texts, so that elements without
 * measurements have few different texts.
 */
const maxKnownTexts = 256;
const maxKnownTextLength = 4096;

/** A line without its points. */
interface KnownLine {
  line: Line;
  /** Number of keys in the line, at all depths. */
  keyCount: number;
}

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
 * Reads arrows, and polylines without holes, from texts that can be stored unchanged. It makes no objects for positions, because these
 * would take most of the time.
 */
export class LineTexts {
  readonly #reader = new PositionReader();
  /** Checked lines by their text without id, in which a 0 replaces the points. `null` for texts of other elements and of invalid lines. */
  readonly #knownLines = new Map<string, KnownLine | null>();
  #bytes: Buffer = Buffer.alloc(0);
  #encoding: 'latin1' | 'utf8' | null = null;
  /** Offset at which {@link pointsBeginning} occurs next. */
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
      const foundOffset = this.#bytes.indexOf(pointsBeginning, start);
      this.#nextPointsOffset = foundOffset < 0 ? Infinity : foundOffset;
    }
    if (this.#nextPointsOffset >= end) return null;
    const pointsStart = this.#nextPointsOffset + pointsKeyBytes;
    const positions = this.#reader.read(this.#bytes, pointsStart);
    if (positions === null) return null;
    const points = { start: pointsStart, end: positions.end };
    const { text, id } = textWithoutPoints(this.#bytes, { start, end }, points, this.#encoding);
    const knownLine = this.#findOrParseLine(text, firstIndex + i);
    if (knownLine === null) return null;
    const { line, keyCount } = knownLine;
    // If a key is repeated, the text has more keys than the element.
    if (keyCount + (id === undefined ? 0 : 1) !== keyCounts[i] || (id !== undefined && line.id !== undefined)) return null;
    const count = (positions.to - positions.from) / 3;
    if (line.type === 'arrow' ? count !== 2 : count < 2) return null;
    return new LineText(line, id ?? line.id, positions);
  }

  #findOrParseLine(text: string, index: number): KnownLine | null {
    let knownLine = this.#knownLines.get(text);
    if (knownLine === undefined) {
      knownLine = this.#parseLine(text, index);
      if (this.#knownLines.size < maxKnownTexts && text.length <= maxKnownTextLength) this.#knownLines.set(text, knownLine);
    }
    return knownLine;
  }

  #parseLine(text: string, index: number): KnownLine | null {
    try {
      const value = JSON.parse(text) as Record<string, unknown>;
      // The points that were replaced may belong to a key `points` in `user` instead of to the line.
      if (value.points !== 0 || value.holes !== undefined) return null;
      const keyCount = countKeys(value);
      value.points = placeholderPoints;
      const line = this.validate(value, index);
      // If the validator dropped something, it returns another object.
      const isUnchanged = (line as unknown) === value;
      return isUnchanged && (line.type === 'polyline' || line.type === 'arrow') ? { line, keyCount } : null;
    } catch (error) {
      // The caller then parses the whole element, which throws the error.
      if (error instanceof SyntaxError || error instanceof LargeImageError) return null;
      throw error;
    }
  }
}
