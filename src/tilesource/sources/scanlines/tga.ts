import { TileSourceError } from '../../../errors.js';
import { bytewise, fielded, fieldOf, indexed, type HeaderReader, type Rows } from './rows.js';

/** Reads the header of a TGA file, which nothing but its name and its plausibility show to be one. */
export const readTga: HeaderReader = ({ name, head, size }) => {
  if (!/\.(tga|icb|vda|vst)$/i.test(name) || head.length < 18) return null;
  const [idBytes, mapType, kind] = [head[0]!, head[1]!, head[2]!];
  const [mapLength, mapBits] = [head.readUInt16LE(5), head[7]!];
  const [width, height, bits, descriptor] = [head.readUInt16LE(12), head.readUInt16LE(14), head[16]!, head[17]!];
  if (kind >= 9 && kind <= 11) throw new TileSourceError('The TGA is compressed (RLE), which is not supported.');
  if (kind < 1 || kind > 3 || mapType > 1 || width < 1 || height < 1) {
    throw new TileSourceError(`Corrupt or unsupported TGA: type ${kind} of ${width} by ${height} pixels.`);
  }
  if ((descriptor & 0x10) !== 0) throw new TileSourceError('The TGA has rows from right to left, which is not supported.');
  const mapBytes = mapType === 1 ? mapLength * Math.ceil(mapBits / 8) : 0;
  const start = 18 + idBytes + mapBytes;
  const rowBytes = width * Math.ceil(bits / 8);
  if (start + rowBytes * height > size)
    throw new TileSourceError(`Truncated or corrupt TGA: ${size} bytes for ${width} by ${height} pixels.`);
  const isTopDown = (descriptor & 0x20) !== 0;
  return {
    format: 'TGA',
    width,
    height,
    dtype: 'uint8',
    frames: 1,
    pixelBits: Math.ceil(bits / 8) * 8,
    first: () => start + (isTopDown ? 0 : rowBytes * (height - 1)),
    step: isTopDown ? rowBytes : -rowBytes,
    header: { kind, bits },
    ...colours(head, { kind, bits, descriptor, mapAt: 18 + idBytes, mapLength, mapBits }),
  };
};

function colours(
  head: Buffer,
  tga: { kind: number; bits: number; descriptor: number; mapAt: number; mapLength: number; mapBits: number },
): Pick<Rows, 'bands' | 'unpack'> {
  const { kind, bits, descriptor, mapAt, mapLength, mapBits } = tga;
  if (kind === 3 && bits === 8) return { bands: 1, unpack: bytewise([0], 1) };
  if (kind === 3 && bits === 16) return { bands: 2, unpack: bytewise([0, 1], 2) };
  if (kind === 2 && bits === 24) return { bands: 3, unpack: bytewise([2, 1, 0], 3) };
  if (kind === 2 && bits === 32) {
    const hasAlpha = (descriptor & 15) > 0;
    return { bands: hasAlpha ? 4 : 3, unpack: bytewise(hasAlpha ? [2, 1, 0, 3] : [2, 1, 0], 4) };
  }
  if (kind === 2 && (bits === 15 || bits === 16)) return { bands: 3, unpack: fielded([0x7c_00, 0x3_e0, 0x1f].map(fieldOf), 2) };
  const entryBytes = mapBits / 8;
  if (
    kind === 1 &&
    bits === 8 &&
    (entryBytes === 3 || entryBytes === 4) &&
    mapLength > 0 &&
    mapAt + mapLength * entryBytes <= head.length
  ) {
    const palette = new Uint8Array(mapLength * 3);
    for (let i = 0; i < mapLength; i++) {
      for (let band = 0; band < 3; band++) palette[i * 3 + band] = head[mapAt + i * entryBytes + 2 - band]!;
    }
    return indexed(palette, 8);
  }
  throw new TileSourceError(`The TGA has pixels of type ${kind} with ${bits} bits, which is not supported.`);
}
