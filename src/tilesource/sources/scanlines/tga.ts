import { forEachRange } from '../../../core/concurrency/slices.js';
import { TileSourceError } from '../../../errors.js';
import {
  createByteConverter,
  createFieldConverter,
  bitFieldOf,
  createPaletteConverter,
  type HeaderReader,
  type RowLayout,
} from './rows.js';

/** Reads the header of a TGA file. The format has no signature, so files are recognized by their name and by a plausible header. */
export const readTga: HeaderReader = async ({ name, head, size, read }) => {
  if (!/\.(tga|icb|vda|vst)$/i.test(name) || head.length < 18) return null;
  const [idBytes, mapType] = [head[0]!, head[1]!];
  const isPacked = (head[2]! & packedFlag) !== 0;
  const kind = head[2]! & ~packedFlag;
  const [mapLength, mapBits] = [head.readUInt16LE(5), head[7]!];
  const [width, height, bits, descriptor] = [head.readUInt16LE(12), head.readUInt16LE(14), head[16]!, head[17]!];
  if (kind < 1 || kind > 3 || mapType > 1 || width < 1 || height < 1) {
    throw new TileSourceError(`Corrupt or unsupported TGA: type ${head[2]} of ${width} by ${height} pixels.`);
  }
  if ((descriptor & 0x10) !== 0) throw new TileSourceError('The TGA has rows from right to left, which is not supported.');
  const mapBytes = mapType === 1 ? mapLength * Math.ceil(mapBits / 8) : 0;
  const pixelsOffset = 18 + idBytes + mapBytes;
  const pixelBytes = Math.ceil(bits / 8);
  const rowBytes = width * pixelBytes;
  if (!isPacked && pixelsOffset + rowBytes * height > size)
    throw new TileSourceError(`Truncated or corrupt TGA: ${size} bytes for ${width} by ${height} pixels.`);
  const isTopDown = (descriptor & 0x20) !== 0;
  const colorFormat = readColors(head, { kind, bits, descriptor, mapOffset: 18 + idBytes, mapLength, mapBits });
  const unpacked = isPacked
    ? await unpackRuns({ pixelBytes, length: rowBytes * height }, (maxBytes) => read(pixelsOffset, maxBytes))
    : null;
  const start = unpacked === null ? pixelsOffset : 0;
  return {
    format: 'TGA',
    width,
    height,
    dtype: 'uint8',
    frames: 1,
    pixelBits: Math.ceil(bits / 8) * 8,
    findTopRow: () => start + (isTopDown ? 0 : rowBytes * (height - 1)),
    rowStep: isTopDown ? rowBytes : -rowBytes,
    header: { kind: head[2], bits },
    ...(unpacked && { unpacked }),
    ...colorFormat,
  };
};

/**
 * The bit of the image type that means run-length encoding: the pixels are stored as runs of equal pixels and sequences of unequal
 * pixels.
 */
const packedFlag = 8;
/** Red, green and blue in two bytes. */
const fifteenBitFields = [0x7c_00, 0x3_e0, 0x1f].map(bitFieldOf);
/**
 * Maximum number of bytes of unpacked pixels. The whole picture is unpacked and kept, because positions of rows in packed data are
 * unknown.
 */
const maxUnpackedBytes = 2 ** 26;
/** Number of bytes that are unpacked before other work on the event loop can run. */
const bytesPerSlice = 2 ** 16;

async function unpackRuns(
  { pixelBytes, length }: { pixelBytes: number; length: number },
  read: (maxBytes: number) => Promise<Buffer>,
): Promise<Buffer> {
  if (length > maxUnpackedBytes)
    throw new TileSourceError(
      `The TGA is compressed (RLE) and has ${length} bytes of pixels; at most ${maxUnpackedBytes} are supported.`,
    );
  // In the worst case, each pixel is a separate sequence, with one more byte.
  const bytes = await read(length + Math.ceil(length / pixelBytes));
  const out = Buffer.alloc(length);
  let [at, to] = [0, 0];
  await forEachRange(length, bytesPerSlice, (_from, until) => {
    while (to < until) {
      const runHeader = bytes[at++];
      const count = ((runHeader ?? 0) & 0x7f) + 1;
      const isRun = ((runHeader ?? 0) & 0x80) !== 0;
      const storedBytes = pixelBytes * (isRun ? 1 : count);
      if (runHeader === undefined || at + storedBytes > bytes.length)
        throw new TileSourceError('Truncated TGA: its pixels end too early.');
      const end = Math.min(length, to + count * pixelBytes);
      if (isRun) out.fill(bytes.subarray(at, at + pixelBytes), to, end);
      else bytes.copy(out, to, at, at + end - to);
      at += storedBytes;
      to = end;
    }
  });
  return out;
}

function readColors(
  head: Buffer,
  tga: { kind: number; bits: number; descriptor: number; mapOffset: number; mapLength: number; mapBits: number },
): Pick<RowLayout, 'bands' | 'unpack'> {
  const { kind, bits, descriptor, mapOffset, mapLength, mapBits } = tga;
  if (kind === 3 && bits === 8) return { bands: 1, unpack: createByteConverter([0], 1) };
  if (kind === 3 && bits === 16) return { bands: 2, unpack: createByteConverter([0, 1], 2) };
  if (kind === 2 && bits === 24) return { bands: 3, unpack: createByteConverter([2, 1, 0], 3) };
  if (kind === 2 && bits === 32) {
    const hasAlpha = (descriptor & 15) > 0;
    return { bands: hasAlpha ? 4 : 3, unpack: createByteConverter(hasAlpha ? [2, 1, 0, 3] : [2, 1, 0], 4) };
  }
  if (kind === 2 && (bits === 15 || bits === 16)) return { bands: 3, unpack: createFieldConverter(fifteenBitFields, 2) };
  const entryBytes = Math.ceil(mapBits / 8);
  // The palette may begin with a later index than 0. Indexes outside the palette are black.
  const firstIndex = head.readUInt16LE(3);
  const isSupportedPalette =
    [15, 16, 24, 32].includes(mapBits) && mapLength > 0 && mapOffset + mapLength * entryBytes <= head.length;
  if (kind === 1 && bits === 8 && isSupportedPalette) {
    const palette = new Uint8Array(256 * 3);
    const entries = head.subarray(mapOffset, mapOffset + mapLength * entryBytes);
    const unpack = entryBytes === 2 ? createFieldConverter(fifteenBitFields, 2) : createByteConverter([2, 1, 0], entryBytes);
    const count = Math.min(mapLength, 256 - firstIndex);
    if (count > 0) unpack(entries, { skip: 0, count }, palette, firstIndex * 3);
    return createPaletteConverter(palette, 8);
  }
  throw new TileSourceError(`The TGA has pixels of type ${kind} with ${bits} bits, which is not supported.`);
}
