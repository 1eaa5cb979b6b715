import type { SampleType, Samples } from '../../raster.js';

/** A picture whose rows are stored one after the other. */
export interface RowLayout {
  format: string;
  width: number;
  height: number;
  bands: number;
  dtype: SampleType;
  /** The value of white, if it is less than the largest value of `dtype`. */
  white?: number;
  frames: number;
  /** Bits of a pixel in the file. With fewer than 8 bits, the first pixel has the highest bits of a byte. */
  pixelBits: number;
  /** Returns the position of the uppermost row of a frame, in bytes. */
  findTopRow: (frame: number) => number;
  /** Number of bytes from the start of a row to the start of the row below it. Negative if the lowest row is stored first. */
  rowStep: number;
  /**
   * Converts `count` pixels of `bytes` to samples, after skipping `skip` pixels, and writes the samples to `out` from index `at`.
   */
  unpack: (bytes: Buffer, pixels: { skip: number; count: number }, out: Samples, at: number) => void;
  /** The unpacked rows, if the file contains them packed. Positions of rows are then positions in these bytes. */
  unpacked?: Buffer;
  /** The ICC profile of the colors. */
  profile?: Buffer;
  /** Data of the header for the internal metadata. */
  header: Record<string, unknown>;
}

/** Reads the header of a format; `null` if the file has a different format. */
export type HeaderReader = (file: HeaderBytes) => Promise<RowLayout | null> | RowLayout | null;

/** The name, size and first bytes of a file, and a function that reads more. */
export interface HeaderBytes {
  name: string;
  size: number;
  /** The first bytes of the file: several thousand, or all bytes of a smaller file. */
  head: Buffer;
  read: (offset: number, length: number) => Promise<Buffer>;
}

/** A converter for indexes of a palette, whose colors are consecutive bytes. A palette with only grays gives one band. */
export function createPaletteConverter(palette: Uint8Array, bits: number): Pick<RowLayout, 'bands' | 'unpack'> {
  const last = palette.length / 3 - 1;
  const isGray = palette.every((value, i) => value === palette[i - (i % 3)]);
  const bands = isGray ? 1 : 3;
  return {
    bands,
    unpack: (bytes, { skip, count }, out, at) => {
      for (let i = 0; i < count; i++) {
        const entry = Math.min(last, bitsAt(bytes, skip + i, bits)) * 3;
        for (let band = 0; band < bands; band++) out[at + i * bands + band] = palette[entry + band]!;
      }
    },
  };
}

/** The value of a pixel of 1, 2, 4 or 8 bits. */
export function bitsAt(bytes: Buffer, pixel: number, bits: number): number {
  const bit = pixel * bits;
  return (bytes[bit >> 3]! >> (8 - bits - (bit & 7))) & (2 ** bits - 1);
}

/** The bits of a pixel that hold the sample of one band. */
export interface BitField {
  /** Number of bits of the pixel below the field. */
  shift: number;
  bits: number;
}

/** The field that a mask covers. */
export function bitFieldOf(mask: number): BitField {
  const unsigned = mask >>> 0;
  if (unsigned === 0) return { shift: 0, bits: 0 };
  const shift = 31 - Math.clz32(unsigned & -unsigned);
  return { shift, bits: 32 - Math.clz32(unsigned >>> shift) };
}

/** A converter for pixels of 16 or 32 bits with a field for each band. Samples are scaled to a byte. */
export function createFieldConverter(fields: readonly BitField[], bytesPerPixel: 2 | 4): RowLayout['unpack'] {
  return (bytes, { skip, count }, out, at) => {
    for (let i = 0; i < count; i++) {
      const value = bytes.readUIntLE((skip + i) * bytesPerPixel, bytesPerPixel);
      for (const [band, { shift, bits }] of fields.entries()) {
        const max = 2 ** bits - 1;
        out[at + i * fields.length + band] = bits === 0 ? 0 : Math.round((((value >>> shift) & max) >>> 0) * (255 / max));
      }
    }
  };
}

/** A converter for bytes in a different order. `order[band]` is the position of the byte of a band in a pixel. */
export function createByteConverter(order: readonly number[], bytesPerPixel: number): RowLayout['unpack'] {
  if (order.length === bytesPerPixel && order.every((from, band) => from === band)) {
    return (bytes, { skip, count }, out, at) => {
      out.set(bytes.subarray(skip * bytesPerPixel, (skip + count) * bytesPerPixel), at);
    };
  }
  if (order.length === 3) {
    const [red = 0, green = 0, blue = 0] = order;
    return (bytes, { skip, count }, out, at) => {
      const end = at + count * 3;
      for (let to = at, from = skip * bytesPerPixel; to < end; to += 3, from += bytesPerPixel) {
        out[to] = bytes[from + red]!;
        out[to + 1] = bytes[from + green]!;
        out[to + 2] = bytes[from + blue]!;
      }
    };
  }
  return (bytes, { skip, count }, out, at) => {
    for (let i = 0; i < count; i++) {
      for (let band = 0; band < order.length; band++)
        out[at + i * order.length + band] = bytes[(skip + i) * bytesPerPixel + order[band]!]!;
    }
  };
}
