import { OtherFormatError, TileSourceError } from '../../../errors.js';
import type { ByteReader } from '../../tile-source.js';
import { readExactly, type ByteRange } from './markers.js';

const maxBoxes = 10_000;
/** Maximum number of bytes of the header box. */
const maxHeaderBytes = 2 ** 24;
/** Maximum number of bytes of an XML box that is read. */
const maxTextBytes = 2 ** 20;
/** Maximum number of XML boxes that are read. */
const maxTexts = 100;
/** Maximum number of code streams that are read. */
const maxCodeStreams = 10_000;

/** A box: its type, and the position of its content. */
interface BoxEntry extends ByteRange {
  type: string;
}

interface Palette {
  /**
   * The colors by their indexes. Each color has one sample for each column of the palette. Samples of less than 8 bits are scaled
   * to a byte.
   */
  entries: readonly (readonly number[])[];
  /** Bits of a sample in the file. */
  bits: number;
}

/** The meaning of the samples in the code streams, as the boxes of the file state it. */
export interface ColorInterpretation {
  /** Number of the enumerated color space; `null` if the file names none. */
  colorSpace: number | null;
  profile: Uint8Array | null;
  palette: Palette | null;
  /** The component of each output channel; `null` if components and channels have the same order. */
  componentOrder: readonly number[] | null;
  /** Number of samples per meter along x; `null` if unknown. */
  perMeterX: number | null;
  /** Number of samples per meter along y; `null` if unknown. */
  perMeterY: number | null;
}

/** The code streams of a file, and the contents of its boxes. */
export interface FileContents extends ColorInterpretation {
  codeStreams: ByteRange[];
  /** Texts of XML boxes. */
  xml: string[];
  /** The brand of the file, such as `jp2`; `null` for a plain code stream. */
  brand: string | null;
}

const noContents: Omit<FileContents, 'codeStreams'> = {
  colorSpace: null,
  profile: null,
  palette: null,
  componentOrder: null,
  perMeterX: null,
  perMeterY: null,
  xml: [],
  brand: null,
};

/**
 * Parses the header of the box at `offset`, whose first bytes are `head`. The file or the parent box ends at `end`.
 *
 * @returns `null` if `head` is shorter than a header.
 */
function parseBoxHeader(head: Buffer, offset: number, end: number): (BoxEntry & { next: number }) | null {
  if (head.length < 8) return null;
  const shortLength = head.readUInt32BE(0);
  const type = head.toString('latin1', 4, 8);
  let headBytes = 8;
  let length = shortLength;
  if (shortLength === 1) {
    if (head.length < 16) return null;
    headBytes = 16;
    length = Number(head.readBigUInt64BE(8));
  } else if (shortLength === 0) length = end - offset;
  if (length < headBytes || !Number.isSafeInteger(length)) {
    throw new TileSourceError(`Corrupt JPEG 2000 file: the box at byte ${offset} claims ${length} bytes.`);
  }
  const next = Math.min(end, offset + length);
  return { type, offset: offset + headBytes, length: next - offset - headBytes, next };
}

function parseBoxes(bytes: Buffer): { type: string; content: Buffer }[] {
  const boxes: { type: string; content: Buffer }[] = [];
  for (let at = 0; at < bytes.length && boxes.length < maxBoxes;) {
    const box = parseBoxHeader(bytes.subarray(at, at + 16), at, bytes.length);
    if (box === null) break;
    boxes.push({ type: box.type, content: bytes.subarray(box.offset, box.offset + box.length) });
    at = box.next;
  }
  return boxes;
}

function readPalette(content: Buffer): Palette | null {
  if (content.length < 3) return null;
  const [entryCount, columnCount] = [content.readUInt16BE(0), content.readUInt8(2)];
  if (entryCount < 1 || entryCount > 1024 || columnCount < 1 || content.length < 3 + columnCount) return null;
  const depths = Array.from({ length: columnCount }, (_, i) => content.readUInt8(3 + i));
  const bits = (depths[0]! & 0x7f) + 1;
  if (bits > 16 || depths.some((depth) => depth !== bits - 1)) {
    throw new TileSourceError(
      'The palette of the JPEG 2000 file has samples of different depths or signs, which is not supported.',
    );
  }
  const bytesPerSample = bits > 8 ? 2 : 1;
  if (content.length < 3 + columnCount + entryCount * columnCount * bytesPerSample) {
    throw new TileSourceError('Truncated or corrupt JPEG 2000 file: its palette is shorter than its entries.');
  }
  // The samples of code streams are scaled in the same way.
  const white = 2 ** bits - 1;
  const scaleSample = (value: number) => (bits < 8 ? Math.round((Math.min(value, white) * 255) / white) : value);
  const entries = Array.from({ length: entryCount }, (_, entry) =>
    Array.from({ length: columnCount }, (_column, i) =>
      scaleSample(content.readUIntBE(3 + columnCount + (entry * columnCount + i) * bytesPerSample, bytesPerSample)),
    ),
  );
  return { entries, bits };
}

/** Reads the samples per meter. A resolution box stores two fractions with exponents, the vertical resolution first. */
function readResolution(content: Buffer): { x: number; y: number } | null {
  if (content.length < 10) return null;
  const readFraction = (offset: number, exponentOffset: number): number =>
    (content.readUInt16BE(offset) / content.readUInt16BE(offset + 2)) * 10 ** content.readInt8(exponentOffset);
  const [y, x] = [readFraction(0, 8), readFraction(4, 9)];
  return Number.isFinite(x) && Number.isFinite(y) && x > 0 && y > 0 ? { x, y } : null;
}

function readHeaderBox(bytes: Buffer): ColorInterpretation {
  const interpretation: { -readonly [K in keyof ColorInterpretation]: ColorInterpretation[K] } = { ...noContents };
  let hasComponentMapping = false;
  for (const { type, content } of parseBoxes(bytes)) {
    if (type === 'colr' && content.length >= 3 && interpretation.colorSpace === null && interpretation.profile === null) {
      const method = content.readUInt8(0);
      if (method === 1 && content.length >= 7) interpretation.colorSpace = content.readUInt32BE(3);
      if ((method === 2 || method === 3) && content.length > 3 + 128)
        interpretation.profile = Uint8Array.from(content.subarray(3));
    } else if (type === 'pclr') interpretation.palette = readPalette(content);
    else if (type === 'cmap') hasComponentMapping = true;
    else if (type === 'cdef' && content.length >= 2) {
      const count = Math.min(content.readUInt16BE(0), Math.floor((content.length - 2) / 6));
      const channels = Array.from({ length: count }, (_, i) => ({
        channel: content.readUInt16BE(2 + i * 6),
        type: content.readUInt16BE(4 + i * 6),
        color: content.readUInt16BE(6 + i * 6),
      }));
      // Color channels are sorted by the number of their color. Channels for the whole picture, such as alpha, are last.
      const rank = (each: { type: number; color: number }): number =>
        each.type === 0 && each.color > 0 && each.color < 65_535 ? each.color : 65_535;
      interpretation.componentOrder = channels.toSorted((a, b) => rank(a) - rank(b)).map(({ channel }) => channel);
    } else if (type === 'res ') {
      const parts = parseBoxes(content);
      const resolution = parts.find((part) => part.type === 'resc') ?? parts.find((part) => part.type === 'resd');
      const perMeter = resolution === undefined ? null : readResolution(resolution.content);
      interpretation.perMeterX = perMeter?.x ?? null;
      interpretation.perMeterY = perMeter?.y ?? null;
    }
  }
  // Without a component mapping the components are not indexes of a palette.
  if (!hasComponentMapping) interpretation.palette = null;
  return interpretation;
}

/** Finds the code streams of a file and reads its boxes. @throws TileSourceError if the file is damaged or not JPEG 2000. */
export async function readFileContents(reader: ByteReader, signal?: AbortSignal): Promise<FileContents> {
  if (reader.size < 12) throw new OtherFormatError('Not a JPEG 2000 file: it is too short.');
  const start = await readExactly(reader, { offset: 0, length: 12 }, 'the beginning of the file', signal);
  if (start.readUInt32BE(0) === 0xff_4f_ff_51) return { ...noContents, codeStreams: [{ offset: 0, length: reader.size }] };
  if (start.toString('latin1', 4, 8) !== 'jP  ' || start.readUInt32BE(8) !== 0x0d_0a_87_0a) {
    throw new OtherFormatError('Not a JPEG 2000 file: it starts neither with a signature box nor with a code stream.');
  }
  let [interpretation, brand]: [ColorInterpretation, string | null] = [noContents, null];
  const [codeStreams, xml]: [ByteRange[], string[]] = [[], []];
  for (let at = 0, count = 0; at + 8 <= reader.size; count++) {
    if (count >= maxBoxes) throw new TileSourceError(`The JPEG 2000 file has more than ${maxBoxes} boxes.`);
    const head = await readExactly(reader, { offset: at, length: Math.min(16, reader.size - at) }, 'a box', signal);
    const box = parseBoxHeader(head, at, reader.size);
    if (box === null) break;
    const { type, offset, length } = box;
    if (type === 'jp2h') {
      if (length > maxHeaderBytes) throw new TileSourceError(`The JPEG 2000 file has a header of ${length} bytes.`);
      interpretation = readHeaderBox(await readExactly(reader, box, 'the header box', signal));
    } else if (type === 'jp2c' && codeStreams.length < maxCodeStreams) codeStreams.push({ offset, length });
    else if (type === 'ftyp' && length >= 4) {
      brand = (await readExactly(reader, { offset, length: 4 }, 'the file type', signal)).toString('latin1').trim();
    } else if (type === 'xml ' && length <= maxTextBytes && xml.length < maxTexts) {
      xml.push((await readExactly(reader, box, 'an XML box', signal)).toString('utf8'));
    }
    at = box.next;
  }
  if (codeStreams.length === 0) throw new TileSourceError('The JPEG 2000 file contains no code stream.');
  return { ...interpretation, brand, codeStreams, xml };
}
