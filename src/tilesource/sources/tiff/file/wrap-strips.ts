import { tags, fieldTypes } from './tags.js';

/** A tag of the TIFF that is built. */
export interface WrappedTag {
  tag: number;
  type: 1 | 3 | 4 | 5 | 7;
  /** The values of the tag. For the type RATIONAL, numerators and denominators alternate. */
  values: ArrayLike<number>;
}

/** Number of bytes of an element of `values`, by the type of the tag. */
const bytesByType = { 1: 1, 3: 2, 4: 4, 5: 4, 7: 1 } as const;

/** A tag with SHORT values. */
export const shortTag = (tag: number, ...values: number[]): WrappedTag => ({ tag, type: fieldTypes.short, values });

/** A tag with one LONG value. */
export const longTag = (tag: number, value: number): WrappedTag => ({ tag, type: fieldTypes.long, values: [value] });

/** A tag with RATIONAL values, which must not be negative. */
export const rationalTag = (tag: number, values: readonly number[]): WrappedTag => ({
  tag,
  type: fieldTypes.rational,
  values: values.flatMap((value) => [Math.round(value * rationalUnit), rationalUnit]),
});

const rationalUnit = 1e6;

/**
 * Builds a little-endian TIFF of one directory whose strips are `strips`, in memory.
 *
 * Compressed bytes are thus decoded without a codec of our own: the libtiff in libvips reads the strips as if they came from a
 * file, off the event loop.
 */
export function wrapStrips(pictureTags: readonly WrappedTag[], strips: readonly Uint8Array[]): Uint8Array {
  const lengths = strips.map((strip) => strip.length);
  const entries = [
    ...pictureTags,
    { tag: tags.stripOffsets, type: fieldTypes.long, values: new Uint32Array(strips.length) },
    { tag: tags.stripByteCounts, type: fieldTypes.long, values: lengths },
  ].toSorted((a, b) => a.tag - b.tag);
  const directoryEnd = 8 + 2 + entries.length * 12 + 4;
  let position = directoryEnd;
  const valueOffsets = entries.map((entry) => {
    const bytes = entry.values.length * bytesByType[entry.type];
    if (bytes <= 4) return -1;
    const start = position;
    position += bytes + (bytes & 1);
    return start;
  });
  const totalBytes = lengths.reduce((sum, length) => sum + length, position);
  const bytes = new Uint8Array(totalBytes);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 0x49_49_2a_00);
  view.setUint32(4, 8, true);
  view.setUint16(8, entries.length, true);
  let nextStripOffset = position;
  for (const [index, entry] of entries.entries()) {
    const entryOffset = 10 + index * 12;
    view.setUint16(entryOffset, entry.tag, true);
    view.setUint16(entryOffset + 2, entry.type, true);
    view.setUint32(entryOffset + 4, entry.type === fieldTypes.rational ? entry.values.length / 2 : entry.values.length, true);
    const start = valueOffsets[index] ?? -1;
    if (start >= 0) view.setUint32(entryOffset + 8, start, true);
    let valueOffset = start >= 0 ? start : entryOffset + 8;
    for (let i = 0; i < entry.values.length; i++) {
      let number = entry.values[i] ?? 0;
      if (entry.tag === tags.stripOffsets) {
        number = nextStripOffset;
        nextStripOffset += lengths[i] ?? 0;
      }
      if (entry.type === fieldTypes.long || entry.type === fieldTypes.rational) view.setUint32(valueOffset, number, true);
      else if (entry.type === fieldTypes.short) view.setUint16(valueOffset, number, true);
      else view.setUint8(valueOffset, number);
      valueOffset += bytesByType[entry.type];
    }
  }
  for (const bytesOfStrip of strips) {
    bytes.set(bytesOfStrip, position);
    position += bytesOfStrip.length;
  }
  return bytes;
}
