/** Powers of ten that are tried as factors to turn the decimals of a column into whole numbers. */
const scales = [1, 10, 100, 1000, 10_000, 100_000];
/** Marks a column of doubles that no scale fits. */
const unscaled = 0;
/** Bytes of a value that is stored as a double. */
const doubleBytes = 8;

function bytesPerValue(range: number): number {
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
    const width = bytesPerValue(high - low);
    const at = this.#reserve(1 + doubleBytes + width * values.length);
    this.#buffer[at] = width;
    this.#buffer.writeDoubleLE(low, at + 1);
    writeNumbers(viewAt(this.#buffer, at + 1 + doubleBytes, width * values.length), width, low, values);
  }

  /** Two columns of finite numbers, with `high` at least `low`. Numbers with up to five decimals are stored as whole numbers. */
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

  /** A column of numbers, in which `NaN` marks rows without a number. */
  numbers(values: Float64Array): void {
    let present = 0;
    for (let i = 0; i < values.length; i += 1) if (!Number.isNaN(values[i])) present += 1;
    this.count(present);
    let presentValues = values;
    if (present > 0 && present < values.length) {
      // A bit for each row says whether it has a number; the numbers follow.
      const bytes = (values.length + 7) >>> 3;
      const at = this.#reserve(bytes);
      this.#buffer.fill(0, at, at + bytes);
      presentValues = new Float64Array(present);
      let next = 0;
      for (let i = 0; i < values.length; i += 1) {
        const value = values[i] as number;
        if (Number.isNaN(value)) continue;
        this.#buffer[at + (i >>> 3)]! |= 1 << (i & 7);
        presentValues[next++] = value;
      }
    }
    if (present === 0) return;
    const scaled = new Float64Array(present);
    const scale = scales.find((candidate) => fitsScale(presentValues, candidate, scaled));
    this.count(scale ?? unscaled);
    if (scale !== undefined) this.integers(scaled);
    else this.#doubles(presentValues);
  }

  #doubles(values: Float64Array): void {
    const bytes = doubleBytes * values.length;
    const at = this.#reserve(bytes);
    writeNumbers(viewAt(this.#buffer, at, bytes), doubleBytes, 0, values);
  }

  /** Returns the written bytes. */
  writtenBytes(): Buffer {
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

function viewAt({ buffer, byteOffset }: Buffer, at: number, bytes: number): DataView {
  return new DataView(buffer, byteOffset + at, bytes);
}

/** Writes numbers: their difference from `low`, or in 8 bytes themselves. One loop for each width takes a fraction of the time of one for all. */
function writeNumbers(view: DataView, width: number, low: number, values: ArrayLike<number>): void {
  const { length } = values;
  if (width === 1) for (let i = 0; i < length; i += 1) view.setUint8(i, (values[i] as number) - low);
  else if (width === 2) for (let i = 0; i < length; i += 1) view.setUint16(i * 2, (values[i] as number) - low, true);
  else if (width === 3) {
    for (let i = 0; i < length; i += 1) {
      const offset = (values[i] as number) - low;
      view.setUint16(i * 3, offset, true);
      view.setUint8(i * 3 + 2, offset >>> 16);
    }
  } else if (width === 4) for (let i = 0; i < length; i += 1) view.setUint32(i * 4, (values[i] as number) - low, true);
  else if (width === doubleBytes) for (let i = 0; i < length; i += 1) view.setFloat64(i * doubleBytes, values[i] as number, true);
}

/** Reads what {@link writeNumbers} wrote. */
function readNumbers(view: DataView, width: number, low: number, values: Float64Array): void {
  const { length } = values;
  if (width === 0) values.fill(low);
  else if (width === 1) for (let i = 0; i < length; i += 1) values[i] = low + view.getUint8(i);
  else if (width === 2) for (let i = 0; i < length; i += 1) values[i] = low + view.getUint16(i * 2, true);
  else if (width === 3) {
    for (let i = 0; i < length; i += 1) values[i] = low + (view.getUint16(i * 3, true) | (view.getUint8(i * 3 + 2) << 16));
  } else if (width === 4) for (let i = 0; i < length; i += 1) values[i] = low + view.getUint32(i * 4, true);
  else for (let i = 0; i < length; i += 1) values[i] = view.getFloat64(i * doubleBytes, true);
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
    const width = this.buffer[this.#at] as number;
    const low = this.buffer.readDoubleLE(this.#at + 1);
    const values = new Float64Array(length);
    readNumbers(viewAt(this.buffer, this.#at + 1 + doubleBytes, width * length), width, low, values);
    this.#at += 1 + doubleBytes + width * length;
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
    const presenceBitsAt = this.#at;
    if (present < length) this.#at += (length + 7) >>> 3;
    const scale = this.count();
    const presentValues = scale === unscaled ? this.#doubles(present) : this.integers(present);
    if (scale > 1) for (let i = 0; i < present; i += 1) presentValues[i] = (presentValues[i] as number) / scale;
    if (present === length) return presentValues;
    const values = new Float64Array(length).fill(NaN);
    let next = 0;
    for (let i = 0; i < length; i += 1) {
      if ((this.buffer[presenceBitsAt + (i >>> 3)]! >>> (i & 7)) & 1) values[i] = presentValues[next++] as number;
    }
    return values;
  }

  #doubles(length: number): Float64Array {
    const values = new Float64Array(length);
    readNumbers(viewAt(this.buffer, this.#at, doubleBytes * length), doubleBytes, 0, values);
    this.#at += doubleBytes * length;
    return values;
  }
}
