/** Factors to try, in this order, to turn all decimals of a column into whole numbers. */
const scales = [1, 10, 100, 1000, 10_000, 100_000];
/** Stored in place of a scale if no scale fits, so that the column is stored as doubles. */
const unscaled = 0;
/** Number of bytes of a value that is stored as a double. */
const doubleBytes = 8;

function bytesPerValue(range: number): number {
  if (range === 0) return 0;
  if (range < 2 ** 8) return 1;
  if (range < 2 ** 16) return 2;
  if (range < 2 ** 24) return 3;
  return range < 2 ** 32 ? 4 : doubleBytes;
}

/**
 * Writes columns of numbers one after another. Each value is stored as its difference from the smallest value of the column, in as few
 * bytes as the largest difference needs: 0 (all values are equal) to 4. If 4 bytes are too few, values are stored as doubles. Every value
 * is read back exactly, except that -0 becomes 0.
 */
export class ColumnWriter {
  #buffer: Buffer;
  #writtenLength = 0;

  constructor(expectedBytes = 4096) {
    this.#buffer = Buffer.allocUnsafe(expectedBytes);
  }

  /** Reserves space at the end of the buffer. @returns the offset of the space. */
  #reserve(bytes: number): number {
    const start = this.#writtenLength;
    this.#writtenLength += bytes;
    if (this.#writtenLength > this.#buffer.length) {
      const largerBuffer = Buffer.allocUnsafe(Math.max(this.#writtenLength, this.#buffer.length * 2));
      this.#buffer.copy(largerBuffer, 0, 0, start);
      this.#buffer = largerBuffer;
    }
    return start;
  }

  writeUint32(value: number): void {
    // Reserving space may replace the buffer, so it comes first.
    const offset = this.#reserve(4);
    this.#buffer.writeUInt32LE(value, offset);
  }

  writeText(value: string): void {
    const bytes = Buffer.byteLength(value);
    this.writeUint32(bytes);
    const offset = this.#reserve(bytes);
    this.#buffer.write(value, offset, 'utf8');
  }

  /** Writes a column of whole numbers of at most 53 bits. */
  writeIntegers(values: ArrayLike<number>): void {
    let [low, high] = [Infinity, -Infinity];
    for (let i = 0; i < values.length; i += 1) {
      const value = values[i] as number;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    if (values.length === 0) low = high = 0;
    const width = bytesPerValue(high - low);
    const offset = this.#reserve(1 + doubleBytes + width * values.length);
    this.#buffer[offset] = width;
    this.#buffer.writeDoubleLE(low, offset + 1);
    writeValues(viewAt(this.#buffer, offset + 1 + doubleBytes, width * values.length), width, low, values);
  }

  /**
   * Writes two columns of finite numbers; `high` is at least `low` in each row. Numbers with up to five decimals are stored as whole
   * numbers.
   */
  writeRanges(low: Float64Array, high: Float64Array): void {
    const scaledLow = new Float64Array(low.length);
    const extent = new Float64Array(low.length);
    for (const scale of scales) {
      if (!tryScale(low, scale, scaledLow) || !tryScale(high, scale, extent)) continue;
      for (let i = 0; i < low.length; i += 1) extent[i] = (extent[i] as number) - (scaledLow[i] as number);
      this.writeUint32(scale);
      this.writeIntegers(scaledLow);
      this.writeIntegers(extent);
      return;
    }
    this.writeUint32(unscaled);
    this.#writeDoubles(low);
    this.#writeDoubles(high);
  }

  /** Writes a column of numbers, in which `NaN` marks rows without a number. */
  writeNumbers(values: Float64Array): void {
    let presentCount = 0;
    for (let i = 0; i < values.length; i += 1) if (!Number.isNaN(values[i])) presentCount += 1;
    this.writeUint32(presentCount);
    let presentValues = values;
    if (presentCount > 0 && presentCount < values.length) {
      // One bit for each row tells whether the row has a number. The numbers follow after these bits.
      const bytes = (values.length + 7) >>> 3;
      const offset = this.#reserve(bytes);
      this.#buffer.fill(0, offset, offset + bytes);
      presentValues = new Float64Array(presentCount);
      let nextIndex = 0;
      for (let i = 0; i < values.length; i += 1) {
        const value = values[i] as number;
        if (Number.isNaN(value)) continue;
        this.#buffer[offset + (i >>> 3)]! |= 1 << (i & 7);
        presentValues[nextIndex++] = value;
      }
    }
    if (presentCount === 0) return;
    const scaledValues = new Float64Array(presentCount);
    const scale = scales.find((candidate) => tryScale(presentValues, candidate, scaledValues));
    this.writeUint32(scale ?? unscaled);
    if (scale !== undefined) this.writeIntegers(scaledValues);
    else this.#writeDoubles(presentValues);
  }

  #writeDoubles(values: Float64Array): void {
    const bytes = doubleBytes * values.length;
    const offset = this.#reserve(bytes);
    writeValues(viewAt(this.#buffer, offset, bytes), doubleBytes, 0, values);
  }

  writtenBytes(): Buffer {
    return this.#buffer.subarray(0, this.#writtenLength);
  }
}

/** Writes `values` × `scale` to `scaledValues`. @returns false if some value cannot be restored from its scaled value. */
function tryScale(values: Float64Array, scale: number, scaledValues: Float64Array): boolean {
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i] as number;
    const rounded = Math.round(value * scale);
    // A reader divides by the scale like here. Only half of the range of safe integers is used, because differences must fit into it, too.
    if (Math.abs(rounded) > 2 ** 52 || rounded / scale !== value) return false;
    scaledValues[i] = rounded;
  }
  return true;
}

function viewAt({ buffer, byteOffset }: Buffer, offset: number, bytes: number): DataView {
  return new DataView(buffer, byteOffset + offset, bytes);
}

/**
 * Writes the difference of each number from `low`, or the number itself if the width is 8 bytes. Separate loops for the widths take a
 * fraction of the time that a single loop would.
 */
function writeValues(view: DataView, width: number, low: number, values: ArrayLike<number>): void {
  const { length } = values;
  if (width === 1) for (let i = 0; i < length; i += 1) view.setUint8(i, (values[i] as number) - low);
  else if (width === 2) for (let i = 0; i < length; i += 1) view.setUint16(i * 2, (values[i] as number) - low, true);
  else if (width === 3) {
    for (let i = 0; i < length; i += 1) {
      const difference = (values[i] as number) - low;
      view.setUint16(i * 3, difference, true);
      view.setUint8(i * 3 + 2, difference >>> 16);
    }
  } else if (width === 4) for (let i = 0; i < length; i += 1) view.setUint32(i * 4, (values[i] as number) - low, true);
  else if (width === doubleBytes) for (let i = 0; i < length; i += 1) view.setFloat64(i * doubleBytes, values[i] as number, true);
}

/** Reads what {@link writeValues} wrote. */
function readValues(view: DataView, width: number, low: number, values: Float64Array): void {
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
  #offset = 0;

  constructor(private readonly buffer: Buffer) {}

  readUint32(): number {
    const value = this.buffer.readUInt32LE(this.#offset);
    this.#offset += 4;
    return value;
  }

  readText(): string {
    const bytes = this.readUint32();
    this.#offset += bytes;
    return this.buffer.toString('utf8', this.#offset - bytes, this.#offset);
  }

  readIntegers(length: number): Float64Array {
    const width = this.buffer[this.#offset] as number;
    const low = this.buffer.readDoubleLE(this.#offset + 1);
    const values = new Float64Array(length);
    readValues(viewAt(this.buffer, this.#offset + 1 + doubleBytes, width * length), width, low, values);
    this.#offset += 1 + doubleBytes + width * length;
    return values;
  }

  readRanges(length: number): { low: Float64Array; high: Float64Array } {
    const scale = this.readUint32();
    if (scale === unscaled) return { low: this.#readDoubles(length), high: this.#readDoubles(length) };
    const low = this.readIntegers(length);
    const high = this.readIntegers(length);
    for (let i = 0; i < length; i += 1) {
      high[i] = ((low[i] as number) + (high[i] as number)) / scale;
      low[i] = (low[i] as number) / scale;
    }
    return { low, high };
  }

  /** Reads a column of numbers, with `NaN` in rows without a number. */
  readNumbers(length: number): Float64Array {
    const presentCount = this.readUint32();
    if (presentCount === 0) return new Float64Array(length).fill(NaN);
    const presenceBitsOffset = this.#offset;
    if (presentCount < length) this.#offset += (length + 7) >>> 3;
    const scale = this.readUint32();
    const presentValues = scale === unscaled ? this.#readDoubles(presentCount) : this.readIntegers(presentCount);
    if (scale > 1) for (let i = 0; i < presentCount; i += 1) presentValues[i] = (presentValues[i] as number) / scale;
    if (presentCount === length) return presentValues;
    const values = new Float64Array(length).fill(NaN);
    let nextIndex = 0;
    for (let i = 0; i < length; i += 1) {
      if ((this.buffer[presenceBitsOffset + (i >>> 3)]! >>> (i & 7)) & 1) values[i] = presentValues[nextIndex++] as number;
    }
    return values;
  }

  #readDoubles(length: number): Float64Array {
    const values = new Float64Array(length);
    readValues(viewAt(this.buffer, this.#offset, doubleBytes * length), doubleBytes, 0, values);
    this.#offset += doubleBytes * length;
    return values;
  }
}
