/** Digits of a whole number that a double holds exactly. */
const exactDigits = 15;
const positionNumbers = 3;
/** The powers of ten by which a number with up to this many decimals is divided; a double holds each exactly. */
const powers = Array.from({ length: exactDigits + 1 }, (_, decimals) => Number(`1e${decimals}`));
const [opened, closed, comma, minus, point, zero] = [0x5b, 0x5d, 0x2c, 0x2d, 0x2e, 0x30];

/** Reads lists of positions from compact JSON, `[[1,2.5,0],[3,4,0]]`: as `JSON.parse` does, but without a list for each position. */
export class NumberReader {
  #numbers = new Float64Array(1024);

  /**
   * @returns the numbers, with the first position repeated at the end; their count without the repeated ones; and where the list ends.
   * The array is reused by the next call. `null` if the list contains anything else.
   */
  read(json: Buffer, from: number): { numbers: Float64Array; count: number; end: number } | null {
    let at = from;
    let count = 0;
    while (at < json.length) {
      let sign = json[at] as number;
      if (sign === opened || sign === comma) {
        at += 1;
        continue;
      }
      if (sign === closed) {
        at += 1;
        if (json[at] === closed) break;
        continue;
      }
      const start = at;
      const isNegative = sign === minus;
      if (isNegative) sign = json[++at] as number;
      let [value, digits, decimals] = [0, 0, 0];
      let isDecimal = false;
      for (; ; sign = json[++at] as number) {
        const digit = sign - zero;
        if (digit >= 0 && digit <= 9) {
          value = value * 10 + digit;
          digits += 1;
          if (isDecimal) decimals += 1;
        } else if (sign === point) isDecimal = true;
        else break;
      }
      if (digits <= exactDigits && (sign === comma || sign === closed)) {
        // Both are exact, so their quotient is the number that is closest to the text.
        if (decimals > 0) value /= powers[decimals] as number;
        if (isNegative) value = -value;
      } else {
        // The text has an exponent or too many digits to be exact, or is not a number.
        while (at < json.length && json[at] !== comma && json[at] !== closed) at += 1;
        value = Number(json.toString('latin1', start, at));
        if (Number.isNaN(value)) return null;
      }
      if (count + positionNumbers >= this.#numbers.length) this.#grow();
      this.#numbers[count] = value;
      count += 1;
    }
    const end = at + 1;
    this.#numbers.copyWithin(count, 0, Math.min(count, positionNumbers));
    return json[end] === closed ? null : { numbers: this.#numbers, count, end };
  }

  #grow(): void {
    const larger = new Float64Array(this.#numbers.length * 2);
    larger.set(this.#numbers);
    this.#numbers = larger;
  }
}
