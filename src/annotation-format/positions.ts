/** A double holds every whole number of up to this many digits exactly. */
const exactDigits = 15;
const axisCount = 3;
/** Powers of ten by exponent. A double holds each of them exactly. */
const powersOfTen = Array.from({ length: exactDigits + 1 }, (_, decimals) => Number(`1e${decimals}`));
const [openBracket, closeBracket, comma, minus, plus, point, zero] = [0x5b, 0x5d, 0x2c, 0x2d, 0x2b, 0x2e, 0x30];
const lowerCaseE = 0x65;
/** Setting this bit turns `E` into `e`. */
const lowerCaseBit = 0x20;

/** The positions of a line, ring or heatmap: x, y and z of each, one after another in `numbers`. */
export interface Positions {
  numbers: Float64Array;
  /** Index of the first number. */
  from: number;
  /** Index after the last number. */
  to: number;
}

/** Copies the x, y and z of parsed positions. */
export function positionsOf(points: readonly (readonly number[])[]): Positions {
  const numbers = new Float64Array(points.length * axisCount);
  for (let i = 0; i < points.length; i += 1) {
    const position = points[i] as readonly number[];
    for (let axis = 0; axis < axisCount; axis += 1) numbers[i * axisCount + axis] = position[axis] as number;
  }
  return { numbers, from: 0, to: numbers.length };
}

function isDigit(byte: number): boolean {
  return byte >= zero && byte <= 0x39;
}

/** Index after the digits that begin at an index. */
function skipDigits(json: Buffer, from: number): number {
  let at = from;
  while (isDigit(json[at] as number)) at += 1;
  return at;
}

/**
 * Reads lists of positions from compact JSON, such as `[[1,2.5,0],[3,4,0]]`. Reads the same numbers as `JSON.parse`, but makes no list for
 * each position.
 */
export class PositionReader {
  #numbers = new Float64Array(1024);
  #numberCount = 0;
  /** Index of the byte after the number that was read last. */
  #nextByte = 0;

  /** Forgets the positions that were read before. */
  clear(): void {
    this.#numberCount = 0;
  }

  /**
   * Reads the list that begins at an offset.
   *
   * @returns the positions, which are valid until {@link clear}, and the offset after the list. The first position is repeated after
   * `to`. Returns `null` unless there is a list of at least one position, each of three finite numbers, without white space.
   */
  read(json: Buffer, from: number): (Positions & { end: number }) | null {
    if (json[from] !== openBracket) return null;
    const start = this.#numberCount;
    let end = start;
    let at = from;
    do {
      at += 1;
      if (json[at] !== openBracket) return null;
      // This leaves room for the first position, which is repeated at the end.
      if (end + 2 * axisCount > this.#numbers.length) this.#grow();
      for (let axis = 0; axis < axisCount; axis += 1) {
        const value = this.#readNumber(json, at + 1);
        at = this.#nextByte;
        if (!Number.isFinite(value) || json[at] !== (axis === axisCount - 1 ? closeBracket : comma)) return null;
        this.#numbers[end] = value;
        end += 1;
      }
      at += 1;
    } while (json[at] === comma);
    if (json[at] !== closeBracket) return null;
    this.#numbers.copyWithin(end, start, start + axisCount);
    this.#numberCount = end + axisCount;
    return { numbers: this.#numbers, from: start, to: end, end: at + 1 };
  }

  /** Reads a number and sets `#nextByte` to the index after the number. @returns `NaN` if the text is not a number. */
  #readNumber(json: Buffer, from: number): number {
    let at = from;
    let byte = json[at] as number;
    const isNegative = byte === minus;
    if (isNegative) byte = json[++at] as number;
    const firstDigit = at;
    let value = 0;
    for (; isDigit(byte); byte = json[++at] as number) value = value * 10 + byte - zero;
    let digitCount = at - firstDigit;
    // A number has no leading zeros.
    if (digitCount === 0 || (digitCount > 1 && json[firstDigit] === zero)) return NaN;
    let decimalCount = 0;
    if (byte === point) {
      const start = at + 1;
      for (byte = json[++at] as number; isDigit(byte); byte = json[++at] as number) value = value * 10 + byte - zero;
      decimalCount = at - start;
      if (decimalCount === 0) return NaN;
      digitCount += decimalCount;
    }
    const hasExponent = (byte | lowerCaseBit) === lowerCaseE;
    if (hasExponent) {
      const start = json[at + 1] === minus || json[at + 1] === plus ? at + 2 : at + 1;
      at = skipDigits(json, start);
      if (at === start) return NaN;
    }
    this.#nextByte = at;
    if (hasExponent || digitCount > exactDigits) return Number(json.toString('latin1', from, at));
    // A double holds `value` and the power of ten exactly, so their quotient is the number that is closest to the text.
    if (decimalCount > 0) value /= powersOfTen[decimalCount] as number;
    return isNegative ? -value : value;
  }

  #grow(): void {
    const largerArray = new Float64Array(this.#numbers.length * 2);
    largerArray.set(this.#numbers);
    this.#numbers = largerArray;
  }
}
