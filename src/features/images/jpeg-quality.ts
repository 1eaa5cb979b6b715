import type { ByteReader } from '../../tilesource/tile-source.js';

/** The luminance quantization table of ITU-T T.81, table K.1, in zigzag order. Encoders scale its values by the quality. */
const standardLuminance = [
  16, 11, 12, 14, 12, 10, 16, 14, 13, 14, 18, 17, 16, 19, 24, 40, 26, 24, 22, 22, 24, 49, 35, 37, 29, 40, 58, 51, 61, 60, 57, 51,
  56, 55, 64, 72, 92, 78, 64, 68, 87, 69, 55, 56, 80, 109, 81, 87, 95, 98, 103, 104, 103, 62, 77, 113, 121, 112, 100, 120, 92,
  101, 103, 99,
];

const markers = { startOfImage: 0xffd8, quantization: 0xffdb, startOfScan: 0xffda };

/** No picture of a camera or scanner has more segments than this. */
const maxSegments = 1000;

/**
 * The quality, 1 to 100, with which a JPEG file was written, if its encoder scaled the tables of the standard; `null`
 * for other tables and for files that are not JPEG.
 */
export async function readJpegQuality(reader: ByteReader): Promise<number | null> {
  const table = await readLuminanceTable(reader);
  if (table === null) return null;
  for (let quality = 100; quality >= 1; quality -= 1) {
    const scalePercent = quality < 50 ? Math.floor(5000 / quality) : 200 - 2 * quality;
    const scaleValue = (value: number) => Math.min(255, Math.max(1, Math.floor((value * scalePercent + 50) / 100)));
    if (standardLuminance.every((value, i) => scaleValue(value) === table[i])) return quality;
  }
  return null;
}

/** The 8-bit quantization table 0, in zigzag order; `null` if the file has none. */
async function readLuminanceTable(reader: ByteReader): Promise<Uint8Array | null> {
  let offset = 2;
  if ((await readUint16(reader, 0)) !== markers.startOfImage) return null;
  for (let count = 0; count < maxSegments; count += 1) {
    const markerCode = await readUint16(reader, offset);
    const length = await readUint16(reader, offset + 2);
    if (markerCode === markers.startOfScan || markerCode < 0xff00 || length < 2) return null;
    if (markerCode === markers.quantization) {
      const table = findTable0(await reader.read(offset + 4, length - 2));
      if (table !== null) return table;
    }
    offset += 2 + length;
  }
  return null;
}

function findTable0(segment: Uint8Array): Uint8Array | null {
  for (let offset = 0; offset < segment.length;) {
    const precisionAndId = segment[offset] ?? 0;
    const tableBytes = precisionAndId >> 4 === 0 ? 64 : 128;
    if (precisionAndId === 0 && offset + 65 <= segment.length) return segment.subarray(offset + 1, offset + 65);
    offset += 1 + tableBytes;
  }
  return null;
}

/** A big-endian number of two bytes; 0 beyond the end. */
async function readUint16(reader: ByteReader, offset: number): Promise<number> {
  const [high = 0, low = 0] = await reader.read(offset, 2);
  return high * 256 + low;
}
