import { TileSourceError } from '../../../errors.js';
import { bitsAt, type HeaderReader, type RowLayout } from './rows.js';

/**
 * Reads `count` words of a header, and the position of the samples that follow. `null` if the text ends too early. `#` begins a
 * comment.
 */
function readWords(text: string, start: number, count: number): { words: string[]; end: number } | null {
  const pattern = /(?:[\t\n\v\f\r ]|#[^\n]*\n)*([^\t\n\v\f\r #]+)/y;
  const words: string[] = [];
  let end = start;
  while (words.length < count) {
    pattern.lastIndex = end;
    const match = pattern.exec(text);
    if (match === null) return null;
    words.push(match[1]!);
    end = pattern.lastIndex;
  }
  // Exactly one whitespace character separates the header from the samples.
  return { words, end: end + 1 };
}

interface NetpbmHeader {
  width: number;
  height: number;
  bands: number;
  maxValue: number;
  /** Position of the samples in the file. */
  start: number;
}

function readPamHeader(text: string): (NetpbmHeader & { type: string }) | null {
  const end = text.indexOf('ENDHDR\n');
  if (end < 0) return null;
  const values = new Map(
    text
      .slice(3, end)
      .split('\n')
      .map((line): [string, string] => {
        const [key = '', ...remaining] = line.trim().split(/\s+/);
        return [key, remaining.join(' ')];
      }),
  );
  const [width = 0, height = 0, bands = 0, maxValue = 0] = ['WIDTH', 'HEIGHT', 'DEPTH', 'MAXVAL'].map((key) =>
    Number(values.get(key)),
  );
  return { width, height, bands, maxValue, start: end + 7, type: values.get('TUPLTYPE') ?? '' };
}

/**
 * A converter for integers of one or two bytes, big-endian. Samples of one byte are scaled to the range from 0 to 255. Samples of
 * two bytes keep their values, and `white` is the maximum that the file declares.
 */
function createIntegerConverter(bands: number, maxValue: number): Pick<RowLayout, 'dtype' | 'white' | 'pixelBits' | 'unpack'> {
  const bytesPerSample = maxValue > 255 ? 2 : 1;
  const factor = bytesPerSample === 2 ? 1 : 255 / maxValue;
  return {
    ...(bytesPerSample === 2 && maxValue < 65_535 ? { white: maxValue } : {}),
    dtype: bytesPerSample === 2 ? 'uint16' : 'uint8',
    pixelBits: bands * bytesPerSample * 8,
    unpack: (row, { skip, count }, out, at) => {
      if (bytesPerSample === 1 && factor === 1) {
        out.set(row.subarray(skip * bands, (skip + count) * bands), at);
        return;
      }
      for (let i = 0; i < count * bands; i++) {
        const sample = bytesPerSample === 2 ? row.readUInt16BE((skip * bands + i) * 2) : row[skip * bands + i]!;
        out[at + i] = factor === 1 ? Math.min(sample, maxValue) : Math.round(Math.min(sample, maxValue) * factor);
      }
    },
  };
}

function createFloatConverter(bands: number, isBigEndian: boolean): Pick<RowLayout, 'dtype' | 'pixelBits' | 'unpack'> {
  return {
    dtype: 'float32',
    pixelBits: bands * 32,
    unpack: (row, { skip, count }, out, at) => {
      for (let i = 0; i < count * bands; i++) {
        const offset = (skip * bands + i) * 4;
        out[at + i] = isBigEndian ? row.readFloatBE(offset) : row.readFloatLE(offset);
      }
    },
  };
}

/** In bitmaps, 1 is black. */
const bitmapConverter: Pick<RowLayout, 'dtype' | 'pixelBits' | 'unpack'> = {
  dtype: 'uint8',
  pixelBits: 1,
  unpack: (row, { skip, count }, out, at) => {
    for (let i = 0; i < count; i++) out[at + i] = bitsAt(row, skip + i, 1) === 1 ? 0 : 255;
  },
};

function readNetpbmHeader(kind: string, text: string): NetpbmHeader | null {
  if (kind === 'P7') return readPamHeader(text);
  const result = readWords(text, 2, kind === 'P4' ? 2 : 3);
  if (result === null) return null;
  const [width = 0, height = 0, maxValue = 1] = result.words.map(Number);
  return { width, height, bands: kind === 'P6' || kind === 'PF' ? 3 : 1, maxValue, start: result.end };
}

/** Reads the header of a binary PBM, PGM, PPM, PAM or PFM file. */
export const readNetpbm: HeaderReader = ({ head, size }) => {
  const text = head.toString('latin1');
  const kind = /^P[1-7Ff](?=[\s#])/.exec(text)?.[0];
  if (kind === undefined) return null;
  if (['P1', 'P2', 'P3'].includes(kind)) throw new TileSourceError('Netpbm files that are written as text are not supported.');
  const header = readNetpbmHeader(kind, text);
  if (header === null) throw new TileSourceError('Corrupt Netpbm file: its header does not end.');
  const { width, height, bands, maxValue, start } = header;
  const isFloat = kind === 'PF' || kind === 'Pf';
  const isPossible = [width, height, bands].every((value) => Number.isSafeInteger(value) && value > 0) && bands <= 64;
  if (
    !isPossible ||
    !Number.isFinite(maxValue) ||
    (!isFloat && !(Number.isInteger(maxValue) && maxValue > 0 && maxValue < 65_536))
  ) {
    throw new TileSourceError(
      `Corrupt Netpbm file: it claims ${width} by ${height} pixels of ${bands} samples up to ${maxValue}.`,
    );
  }
  const converter = isFloat
    ? createFloatConverter(bands, maxValue > 0)
    : kind === 'P4'
      ? bitmapConverter
      : createIntegerConverter(bands, maxValue);
  const rowBytes = Math.ceil((width * converter.pixelBits) / 8);
  if (start + rowBytes * height > size) {
    throw new TileSourceError(
      `Truncated Netpbm file: it has ${size} of the ${start + rowBytes * height} bytes that its header needs.`,
    );
  }
  return {
    format: 'Netpbm',
    width,
    height,
    bands,
    frames: 1,
    ...converter,
    // In files with floats the lowest row is first.
    findTopRow: () => start + (isFloat ? rowBytes * (height - 1) : 0),
    rowStep: isFloat ? -rowBytes : rowBytes,
    header: { kind, most: maxValue },
  };
};
