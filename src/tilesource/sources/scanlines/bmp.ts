import { TileSourceError } from '../../../errors.js';
import {
  createByteConverter,
  createFieldConverter,
  bitFieldOf,
  createPaletteConverter,
  type BitField,
  type HeaderReader,
  type RowLayout,
} from './rows.js';

const unsupportedCompressions: Readonly<Record<number, string>> = { 1: 'RLE8', 2: 'RLE4', 4: 'JPEG', 5: 'PNG' };

/** Maximum number of bytes of a profile that is read. */
const maxProfileBytes = 4 * 1024 * 1024;

/**
 * The position of the embedded color profile, in bytes from the start of the header of a bitmap; `null` if there is none. Only headers of
 * version 5 can have one.
 */
export function findProfileRange(header: Buffer): { offset: number; length: number } | null {
  // Bytes 56 to 59 are the number with the letters MBED, lowest byte first.
  if (header.length < 124 || header.readUInt32LE(0) < 124 || header.toString('latin1', 56, 60) !== 'DEBM') return null;
  const [offset, length] = [header.readUInt32LE(112), header.readUInt32LE(116)];
  return length >= 128 && length <= maxProfileBytes ? { offset, length } : null;
}

/** Whether bytes are a complete profile of RGB. */
export function isRgbProfile(bytes: Buffer): boolean {
  return bytes.length >= 128 && bytes.readUInt32BE(0) <= bytes.length && bytes.toString('latin1', 16, 20) === 'RGB ';
}

/** Reads the header of a BMP file. */
export const readBmp: HeaderReader = async ({ head, size, read }) => {
  if (head.length < 26 || head.toString('latin1', 0, 2) !== 'BM') return null;
  const [pixelsOffset, headerBytes] = [head.readUInt32LE(10), head.readUInt32LE(14)];
  const hasOldHeader = headerBytes === 12;
  if (!hasOldHeader && (headerBytes < 40 || headerBytes > 256 || head.length < 14 + headerBytes)) return null;
  const width = hasOldHeader ? head.readUInt16LE(18) : head.readInt32LE(18);
  const signedHeight = hasOldHeader ? head.readUInt16LE(20) : head.readInt32LE(22);
  const bits = head.readUInt16LE(hasOldHeader ? 24 : 28);
  const compression = hasOldHeader ? 0 : head.readUInt32LE(30);
  const height = Math.abs(signedHeight);
  if (width < 1 || height < 1) throw new TileSourceError(`Corrupt BMP: it has ${width} by ${signedHeight} pixels.`);
  if (compression !== 0 && compression !== 3 && compression !== 6) {
    throw new TileSourceError(
      `The BMP is compressed as ${unsupportedCompressions[compression] ?? compression}, which is not supported.`,
    );
  }
  const rowBytes = Math.ceil((width * bits) / 32) * 4;
  if (pixelsOffset + rowBytes * height > size) {
    throw new TileSourceError(`Truncated or corrupt BMP: ${width} by ${height} pixels of ${bits} bits do not fit ${size} bytes.`);
  }
  const commonProperties = {
    format: 'BMP',
    width,
    height,
    dtype: 'uint8' as const,
    frames: 1,
    pixelBits: bits,
    header: { bits, compression },
  };
  const isUpsideDown = signedHeight > 0;
  const rowPositions = {
    findTopRow: () => pixelsOffset + (isUpsideDown ? rowBytes * (height - 1) : 0),
    rowStep: isUpsideDown ? -rowBytes : rowBytes,
  };
  const colors = readColors(head, { bits, compression, headerBytes, pixelsOffset });
  const profileRange = colors.bands >= 3 ? findProfileRange(head.subarray(14)) : null;
  const profile = profileRange === null ? null : await read(14 + profileRange.offset, profileRange.length);
  return { ...commonProperties, ...rowPositions, ...colors, ...(profile !== null && isRgbProfile(profile) && { profile }) };
};

function readColors(
  head: Buffer,
  {
    bits,
    compression,
    headerBytes,
    pixelsOffset,
  }: { bits: number; compression: number; headerBytes: number; pixelsOffset: number },
): Pick<RowLayout, 'bands' | 'unpack'> {
  if (bits === 24) return { bands: 3, unpack: createByteConverter([2, 1, 0], 3) };
  if (bits === 16 || bits === 32) {
    const fields = readMasks(head, { bits, compression, headerBytes });
    return { bands: fields.length, unpack: createFieldConverter(fields, bits === 16 ? 2 : 4) };
  }
  if (![1, 2, 4, 8].includes(bits)) throw new TileSourceError(`The BMP has pixels of ${bits} bits, which is not supported.`);
  const entryBytes = headerBytes === 12 ? 3 : 4;
  const at = 14 + headerBytes;
  const statedCount = headerBytes === 12 ? 0 : head.readUInt32LE(46);
  const capacity = Math.floor((Math.min(pixelsOffset, head.length) - at) / entryBytes);
  const count = Math.min(statedCount === 0 ? 2 ** bits : statedCount, 2 ** bits, Math.max(0, capacity));
  if (count === 0) throw new TileSourceError('Corrupt BMP: it has no palette.');
  // Indexes beyond the palette are black, as in browsers.
  const palette = new Uint8Array(2 ** bits * 3);
  for (let i = 0; i < count; i++) {
    for (let band = 0; band < 3; band++) palette[i * 3 + band] = head[at + i * entryBytes + 2 - band]!;
  }
  return createPaletteConverter(palette, bits);
}

function readMasks(
  head: Buffer,
  { bits, compression, headerBytes }: { bits: number; compression: number; headerBytes: number },
): BitField[] {
  if (compression === 0) {
    return bits === 16 ? [0x7c_00, 0x3_e0, 0x1f].map(bitFieldOf) : [0xff_00_00, 0xff_00, 0xff].map(bitFieldOf);
  }
  // The masks follow a header of 40 bytes. Longer headers contain them at the same position.
  const hasAlpha = headerBytes >= 56 || compression === 6;
  if (head.length < 70) throw new TileSourceError('Truncated or corrupt BMP: its masks are missing.');
  const fields = [54, 58, 62].map((at) => bitFieldOf(head.readUInt32LE(at)));
  const alpha = hasAlpha ? bitFieldOf(head.readUInt32LE(66)) : { shift: 0, bits: 0 };
  return alpha.bits === 0 ? fields : [...fields, alpha];
}
