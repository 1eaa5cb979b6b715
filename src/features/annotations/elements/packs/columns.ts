/** Powers of ten that may make the decimals of a column whole numbers. */
const scales = [1, 10, 100, 1000, 10_000];
/** Marks a column of doubles that no scale fits. */
const unscaled = 0;
/** Bytes of a value that is stored as a double. */
const doubleBytes = 8;

function bytesFor(range: number): number {
  if (range === 0) return 0;
  if (range < 2 ** 8) return 1;
  if (range < 2 ** 16) return 2;
  if (range < 2 ** 24) return 3;
  return range < 2 ** 32 ? 4 : doubleBytes;
}

/**
 * Writes columns of numbers one after another, each in as few bytes as its range needs: the difference from the smallest value, in
 * 0 (all equal) to 4 or in 8 bytes. Every value is read back exactly, except that -0 becomes 0.
 */
export class ColumnWriter {
  #buffer: Buffer;
  #length = 0;

  constructor(expectedBytes = 4096) {
    this.#buffer = Buffer.allocUnsafe(expectedBytes);
  }

  #reserve(bytes: number): number {
    const start = this.#length;
    this.#length += bytes;
    if (this.#length > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#length, this.#buffer.length * 2));
      this.#buffer.copy(larger, 0, 0, start);
      this.#buffer = larger;
    }
    return start;
  }

  count(value: number): void {
    // Reserving space may replace the buffer, so it comes first.
    const at = this.#reserve(4);
    this.#buffer.writeUInt32LE(value, at);
  }

  text(value: string): void {
    const bytes = Buffer.byteLength(value);
    this.count(bytes);
    const at = this.#reserve(bytes);
    this.#buffer.write(value, at, 'utf8');
  }

  /** Whole numbers of at most 53 bits. */
  integers(values: ArrayLike<number>): void {
    let [low, high] = [Infinity, -Infinity];
    for (let i = 0; i < values.length; i += 1) {
      const value = values[i] as number;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    if (values.length === 0) low = high = 0;
    const width = bytesFor(high - low);
    let at = this.#reserve(1 + doubleBytes + width * values.length);
    const buffer = this.#buffer;
    buffer[at] = width;
    buffer.writeDoubleLE(low, at + 1);
    at += 1 + doubleBytes;
    for (let i = 0; i < values.length; i += 1) {
      const offset = (values[i] as number) - low;
      if (width === 1) buffer[at] = offset;
      else if (width === 2) buffer.writeUInt16LE(offset, at);
      else if (width === 3) buffer.writeUIntLE(offset, at, 3);
      else if (width === 4) buffer.writeUInt32LE(offset, at);
      else if (width === doubleBytes) buffer.writeDoubleLE(values[i] as number, at);
      at += width;
    }
  }

  /** Two columns of finite numbers, with `high` at least `low`. Numbers with up to four decimals are stored as whole numbers. */
  ranges(low: Float64Array, high: Float64Array): void {
    const scaledLow = new Float64Array(low.length);
    const extent = new Float64Array(low.length);
    for (const scale of scales) {
      if (!fitsScale(low, scale, scaledLow) || !fitsScale(high, scale, extent)) continue;
      for (let i = 0; i < low.length; i += 1) extent[i] = (extent[i] as number) - (scaledLow[i] as number);
      this.count(scale);
      this.integers(scaledLow);
      this.integers(extent);
      return;
    }
    this.count(unscaled);
    this.#doubles(low);
    this.#doubles(high);
  }

  /** A column of numbers in which `NaN` is for rows without one. */
  numbers(values: Float64Array): void {
    let present = 0;
    for (let i = 0; i < values.length; i += 1) if (!Number.isNaN(values[i])) present += 1;
    this.count(present);
    let kept = values;
    if (present > 0 && present < values.length) {
      // Bits of the rows that have a number, then these numbers.
      const bytes = (values.length + 7) >>> 3;
      const at = this.#reserve(bytes);
      this.#buffer.fill(0, at, at + bytes);
      kept = new Float64Array(present);
      let next = 0;
      for (let i = 0; i < values.length; i += 1) {
        const value = values[i] as number;
        if (Number.isNaN(value)) continue;
        this.#buffer[at + (i >>> 3)]! |= 1 << (i & 7);
        kept[next++] = value;
      }
    }
    if (present === 0) return;
    const scaled = new Float64Array(present);
    const scale = scales.find((candidate) => fitsScale(kept, candidate, scaled));
    this.count(scale ?? unscaled);
    if (scale !== undefined) this.integers(scaled);
    else this.#doubles(kept);
  }

  #doubles(values: Float64Array): void {
    let at = this.#reserve(doubleBytes * values.length);
    for (let i = 0; i < values.length; i += 1) {
      this.#buffer.writeDoubleLE(values[i] as number, at);
      at += doubleBytes;
    }
  }

  /** Returns the written bytes. */
  finish(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }
}

function fitsScale(values: Float64Array, scale: number, scaled: Float64Array): boolean {
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i] as number;
    const rounded = Math.round(value * scale);
    // Reading the column divides the same way. Only half of the safe range is used, because differences are stored too.
    if (Math.abs(rounded) > 2 ** 52 || rounded / scale !== value) return false;
    scaled[i] = rounded;
  }
  return true;
}

/** Reads the columns that {@link ColumnWriter} wrote, in the same order. */
export class ColumnReader {
  #at = 0;

  constructor(private readonly buffer: Buffer) {}

  count(): number {
    const value = this.buffer.readUInt32LE(this.#at);
    this.#at += 4;
    return value;
  }

  text(): string {
    const bytes = this.count();
    this.#at += bytes;
    return this.buffer.toString('utf8', this.#at - bytes, this.#at);
  }

  integers(length: number): Float64Array {
    const buffer = this.buffer;
    const width = buffer[this.#at] as number;
    const low = buffer.readDoubleLE(this.#at + 1);
    let at = this.#at + 1 + doubleBytes;
    const values = new Float64Array(length);
    for (let i = 0; i < length; i += 1) {
      if (width === 0) values[i] = low;
      else if (width === 1) values[i] = low + (buffer[at] as number);
      else if (width === 2) values[i] = low + ((buffer[at] as number) | ((buffer[at + 1] as number) << 8));
      else if (width === 3) values[i] = low + buffer.readUIntLE(at, 3);
      else if (width === 4) values[i] = low + buffer.readUInt32LE(at);
      else values[i] = buffer.readDoubleLE(at);
      at += width;
    }
    this.#at = at;
    return values;
  }

  ranges(length: number): { low: Float64Array; high: Float64Array } {
    const scale = this.count();
    if (scale === unscaled) return { low: this.#doubles(length), high: this.#doubles(length) };
    const low = this.integers(length);
    const high = this.integers(length);
    for (let i = 0; i < length; i += 1) {
      high[i] = ((low[i] as number) + (high[i] as number)) / scale;
      low[i] = (low[i] as number) / scale;
    }
    return { low, high };
  }

  /** A column of numbers, `NaN` where there is none. */
  numbers(length: number): Float64Array {
    const present = this.count();
    if (present === 0) return new Float64Array(length).fill(NaN);
    const bits = this.#at;
    if (present < length) this.#at += (length + 7) >>> 3;
    const scale = this.count();
    const kept = scale === unscaled ? this.#doubles(present) : this.integers(present);
    if (scale > 1) for (let i = 0; i < present; i += 1) kept[i] = (kept[i] as number) / scale;
    if (present === length) return kept;
    const values = new Float64Array(length).fill(NaN);
    let next = 0;
    for (let i = 0; i < length; i += 1) {
      if ((this.buffer[bits + (i >>> 3)]! >>> (i & 7)) & 1) values[i] = kept[next++] as number;
    }
    return values;
  }

  #doubles(length: number): Float64Array {
    const values = new Float64Array(length);
    for (let i = 0; i < length; i += 1) {
      values[i] = this.buffer.readDoubleLE(this.#at);
      this.#at += doubleBytes;
    }
    return values;
  }
}
