import type { SampleType, Samples } from '../../raster.js';

/** A picture whose file holds its rows one after the other. */
export interface Rows {
  format: string;
  width: number;
  height: number;
  bands: number;
  dtype: SampleType;
  frames: number;
  /** Bits of a pixel in the file; fewer than 8 lie from the highest bit down. */
  pixelBits: number;
  /** Where the upper row of a frame begins, and how far it is from one row to the next below: negative where they lie upside down. */
  first: (frame: number) => number;
  step: number;
  /** Turns pixels into samples: `count` of them from the pixel `skip` of these bytes. */
  unpack: (bytes: Buffer, pixels: { skip: number; count: number }, out: Samples, at: number) => void;
  /** The rows, where the file holds them packed: `first` is a place in them. */
  unpacked?: Buffer;
  /** What the header says, for internal metadata. */
  header: Record<string, unknown>;
}

/** Reads the header of a format. `null` where the bytes are of another. */
export type HeaderReader = (file: HeaderBytes) => Promise<Rows | null> | Rows | null;

/** The beginning of a file, and how to read more of it. */
export interface HeaderBytes {
  name: string;
  size: number;
  /** The first bytes, some thousand of them. */
  head: Buffer;
  read: (offset: number, length: number) => Promise<Buffer>;
}

/** Indexes of colours, which are bytes side by side; a palette of grays alone gives one band. */
export function indexed(palette: Uint8Array, bits: number): Pick<Rows, 'bands' | 'unpack'> {
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

/** A field of some bits of a pixel, spread over a byte. */
export interface BitField {
  shift: number;
  bits: number;
}

/** The field that a mask covers. */
export function fieldOf(mask: number): BitField {
  const unsigned = mask >>> 0;
  if (unsigned === 0) return { shift: 0, bits: 0 };
  const shift = 31 - Math.clz32(unsigned & -unsigned);
  return { shift, bits: 32 - Math.clz32(unsigned >>> shift) };
}

/** Pixels of 16 or 32 bits with a field for each band. */
export function fielded(fields: readonly BitField[], bytesPerPixel: 2 | 4): Rows['unpack'] {
  return (bytes, { skip, count }, out, at) => {
    for (let i = 0; i < count; i++) {
      const value = bytes.readUIntLE((skip + i) * bytesPerPixel, bytesPerPixel);
      for (const [band, { shift, bits }] of fields.entries()) {
        const most = 2 ** bits - 1;
        out[at + i * fields.length + band] = bits === 0 ? 0 : Math.round((((value >>> shift) & most) >>> 0) * (255 / most));
      }
    }
  };
}

/** Bytes in another order: `order[band]` is where the byte of a band lies in a pixel. */
export function bytewise(order: readonly number[], bytesPerPixel: number): Rows['unpack'] {
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
