import { TileSourceError } from '../../../errors.js';
import type { SampleType } from '../../raster.js';
import type { HeaderReader, RowLayout } from './rows.js';

const blockBytes = 2880;
const cardBytes = 80;
/** Maximum number of blocks of one header. */
const maxBlocks = 1000;
/** Maximum number of headers that are read to find an image. */
const maxHeaders = 1000;
const maxFrames = 100_000;

/** The values of a header by their keywords. The format calls each line of a header a card. */
type Cards = ReadonlyMap<string, string>;

/** How samples are stored, by their depth in the header (BITPIX). */
const sampleFormats: Readonly<Record<string, { dtype: SampleType; read: (bytes: Buffer, at: number) => number }>> = {
  8: { dtype: 'uint8', read: (bytes, at) => bytes[at]! },
  16: { dtype: 'int16', read: (bytes, at) => bytes.readInt16BE(at) },
  32: { dtype: 'int32', read: (bytes, at) => bytes.readInt32BE(at) },
  64: { dtype: 'float64', read: (bytes, at) => Number(bytes.readBigInt64BE(at)) },
  '-32': { dtype: 'float32', read: (bytes, at) => bytes.readFloatBE(at) },
  '-64': { dtype: 'float64', read: (bytes, at) => bytes.readDoubleBE(at) },
};

/**
 * Types by depth and offset (BZERO). With such an offset, files store unsigned numbers as signed numbers, and signed bytes as
 * unsigned bytes.
 */
const shiftedTypes: Readonly<Record<string, SampleType>> = { '8/-128': 'int8', '16/32768': 'uint16', '32/2147483648': 'uint32' };

async function readCards(
  read: (offset: number, length: number) => Promise<Buffer>,
  start: number,
): Promise<{ cards: Cards; end: number } | null> {
  const cards = new Map<string, string>();
  for (let block = 0; block < maxBlocks; block++) {
    const bytes = await read(start + block * blockBytes, blockBytes);
    if (bytes.length < blockBytes) return null;
    for (let at = 0; at < blockBytes; at += cardBytes) {
      const card = bytes.toString('latin1', at, at + cardBytes);
      const key = card.slice(0, 8).trim();
      if (key === 'END') return { cards, end: start + (block + 1) * blockBytes };
      const value = /^'([^']*)'/.exec(card.slice(10).trim())?.[1] ?? card.slice(10).split('/')[0];
      if (card.startsWith('= ', 8) && !cards.has(key)) cards.set(key, value?.trim() ?? '');
    }
  }
  throw new TileSourceError(`The FITS file has a header of more than ${maxBlocks * blockBytes} bytes.`);
}

function readSizes(cards: Cards): number[] {
  const axes = Number(cards.get('NAXIS') ?? 0);
  if (!Number.isInteger(axes) || axes < 0 || axes > 20) throw new TileSourceError(`Corrupt FITS: it claims ${axes} axes.`);
  const sizes = Array.from({ length: axes }, (_, i) => Number(cards.get(`NAXIS${i + 1}`)));
  if (sizes.some((size) => !Number.isSafeInteger(size) || size < 0))
    throw new TileSourceError('Corrupt FITS: an axis has no length.');
  return sizes;
}

function layOutImage(cards: Cards, pixelsOffset: number, fileSize: number): RowLayout {
  const [width = 0, height = 0, ...otherLengths] = readSizes(cards);
  const depth = cards.get('BITPIX') ?? '';
  const format = sampleFormats[depth];
  if (format === undefined) throw new TileSourceError(`The FITS file has samples of ${depth} bits, which is not supported.`);
  const bytesPerSample = Math.abs(Number(depth)) / 8;
  const frames = otherLengths.reduce((product, length) => product * length, 1);
  if (frames < 1 || frames > maxFrames)
    throw new TileSourceError(`The FITS file has ${frames} planes; at most ${maxFrames} are supported.`);
  const rowBytes = width * bytesPerSample;
  if (pixelsOffset + rowBytes * height * frames > fileSize)
    throw new TileSourceError(`Truncated FITS: its ${fileSize} bytes are too few for ${frames} planes.`);
  const [zero, scale] = [Number(cards.get('BZERO') ?? 0), Number(cards.get('BSCALE') ?? 1)];
  const shiftedType = scale === 1 ? shiftedTypes[`${depth}/${zero}`] : undefined;
  const isUnscaled = zero === 0 && scale === 1;
  const dtype = isUnscaled ? format.dtype : (shiftedType ?? (bytesPerSample > 2 ? 'float64' : 'float32'));
  return {
    format: 'FITS',
    width,
    height,
    bands: 1,
    dtype,
    frames,
    pixelBits: bytesPerSample * 8,
    // The first row in the file is the lowest row of the picture.
    findTopRow: (frame) => pixelsOffset + rowBytes * (height * (frame + 1) - 1),
    rowStep: -rowBytes,
    unpack: (row, { skip, count }, out, at) => {
      for (let i = 0; i < count; i++) {
        const value = format.read(row, (skip + i) * bytesPerSample);
        out[at + i] = isUnscaled ? value : value * scale + zero;
      }
    },
    header: Object.fromEntries([...cards].slice(0, 500)),
  };
}

/** Reads the first image of a FITS file. Axes beyond x and y become frames. */
export const readFits: HeaderReader = async ({ head, size, read }) => {
  if (!head.toString('latin1', 0, 10).startsWith('SIMPLE  = ')) return null;
  let start = 0;
  for (let headerIndex = 0; headerIndex < maxHeaders && start < size; headerIndex++) {
    const header = await readCards(read, start);
    if (header === null) break;
    const { cards, end } = header;
    const sizes = readSizes(cards);
    const isImage = headerIndex === 0 || cards.get('XTENSION') === 'IMAGE';
    if (isImage && sizes.length >= 2 && sizes.every((length) => length > 0)) return layOutImage(cards, end, size);
    if (cards.get('ZIMAGE') === 'T')
      throw new TileSourceError('The FITS file contains a compressed image, which is not supported.');
    const valueCount = sizes.length === 0 ? 0 : sizes.reduce((product, length) => product * length, 1);
    const length = (Math.abs(Number(cards.get('BITPIX') ?? 8)) / 8) * (valueCount + Number(cards.get('PCOUNT') ?? 0));
    if (!Number.isSafeInteger(length) || length < 0) throw new TileSourceError('Corrupt FITS: a part of it has no length.');
    start = end + Math.ceil(length / blockBytes) * blockBytes;
  }
  throw new TileSourceError('The FITS file contains no image of two or more axes.');
};
