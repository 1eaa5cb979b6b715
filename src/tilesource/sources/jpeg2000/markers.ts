import { bufferOf } from '../../../core/buffer-of.js';
import { TileSourceError } from '../../../errors.js';
import type { ByteReader } from '../../tile-source.js';

/** Numbers of the markers of a code stream (ISO 15444-1, table A.2). */
export const markers = {
  soc: 0xff_4f,
  siz: 0xff_51,
  cod: 0xff_52,
  coc: 0xff_53,
  tlm: 0xff_55,
  plm: 0xff_57,
  ppm: 0xff_60,
  crg: 0xff_63,
  com: 0xff_64,
  sot: 0xff_90,
  sod: 0xff_93,
  eoc: 0xff_d9,
} as const;

/**
 * Maximum number of segments of a main header. A header has at most 256 lists of tile-parts (TLM), and usually few other segments.
 */
const maxSegments = 2000;
/** Maximum number of bytes of all segments of a main header together. */
const maxHeaderBytes = 2 ** 25;

/** A range of bytes of the file. */
export interface ByteRange {
  offset: number;
  length: number;
}

export interface MarkerSegment {
  marker: number;
  /** The whole segment: marker, length and content. */
  bytes: Buffer;
}

/** The segments between SOC and the first tile-part. */
export interface MainHeader {
  segments: MarkerSegment[];
  /** Position of the first tile-part. */
  end: number;
}

/** Reads exactly `length` bytes from `offset`. `what` names them in errors. @throws TileSourceError if the file ends too early. */
export async function readExactly(
  reader: ByteReader,
  { offset, length }: ByteRange,
  what: string,
  signal?: AbortSignal,
): Promise<Buffer> {
  if (offset + length > reader.size) {
    throw new TileSourceError(
      `Truncated or corrupt JPEG 2000 file: ${what} should be at byte ${offset}, ${length} bytes long, but the file has ${reader.size}.`,
    );
  }
  const bytes = await reader.read(offset, length, signal === undefined ? {} : { signal });
  if (bytes.length < length) throw new TileSourceError(`The file has become shorter while ${what} was read.`);
  return bufferOf(bytes);
}

/** Reads the main header. @throws TileSourceError if it is damaged, too long, or of a kind that is not supported. */
export async function readMainHeader(reader: ByteReader, stream: ByteRange, signal?: AbortSignal): Promise<MainHeader> {
  const streamEnd = stream.offset + stream.length;
  const start = await readExactly(reader, { offset: stream.offset, length: 4 }, 'the code stream', signal);
  if (start.readUInt16BE(0) !== markers.soc || start.readUInt16BE(2) !== markers.siz) {
    throw new TileSourceError('Not a JPEG 2000 code stream: it does not start with the markers SOC and SIZ.');
  }
  const segments: MarkerSegment[] = [];
  let at = stream.offset + 2;
  for (;;) {
    const head = await readExactly(reader, { offset: at, length: 4 }, 'the main header', signal);
    const marker = head.readUInt16BE(0);
    if (marker === markers.sot) return { segments, end: at };
    const length = head.readUInt16BE(2);
    if (marker < 0xff_01 || length < 2 || at + 2 + length > streamEnd || marker === markers.sod || marker === markers.eoc) {
      throw new TileSourceError(`Corrupt JPEG 2000 file: there is no marker segment at byte ${at} of its main header.`);
    }
    if (marker === markers.ppm) {
      throw new TileSourceError('The JPEG 2000 file has all packet headers in its main header (PPM), which is not supported.');
    }
    if (segments.length >= maxSegments || at - stream.offset > maxHeaderBytes) {
      throw new TileSourceError(
        `The main header of the JPEG 2000 file has more than ${maxSegments} segments or ${maxHeaderBytes} bytes.`,
      );
    }
    segments.push({ marker, bytes: await readExactly(reader, { offset: at, length: 2 + length }, 'the main header', signal) });
    at += 2 + length;
  }
}

/** A component of the image, as SIZ describes it. */
interface Component {
  bits: number;
  signed: boolean;
  /** Distance between neighboring samples along x, in units of the reference grid. */
  dx: number;
  /** Distance between neighboring samples along y, in units of the reference grid. */
  dy: number;
}

/** The contents of SIZ. Sizes are in units of the reference grid. */
export interface GridSize {
  left: number;
  top: number;
  right: number;
  bottom: number;
  tileLeft: number;
  tileTop: number;
  tileWidth: number;
  tileHeight: number;
  components: Component[];
}

/** Maximum number of components of an image. */
const maxComponents = 64;

/** Reads SIZ. @throws TileSourceError if it contradicts itself. */
export function readGridSize({ bytes }: MarkerSegment): GridSize {
  const count = bytes.length >= 40 ? bytes.readUInt16BE(38) : 0;
  if (count < 1 || count > maxComponents || bytes.length < 40 + 3 * count) {
    throw new TileSourceError(`Corrupt or unsupported JPEG 2000 file: SIZ of ${bytes.length} bytes has ${count} components.`);
  }
  const [right = 0, bottom = 0, left = 0, top = 0, tileWidth = 0, tileHeight = 0, tileLeft = 0, tileTop = 0] = Array.from(
    { length: 8 },
    (_, i) => bytes.readUInt32BE(6 + 4 * i),
  );
  const isPossible = right > left && bottom > top && tileWidth > 0 && tileHeight > 0 && tileLeft <= left && tileTop <= top;
  if (!isPossible || tileLeft + tileWidth <= left || tileTop + tileHeight <= top) {
    throw new TileSourceError('Corrupt JPEG 2000 file: the sizes of image and tiles contradict each other.');
  }
  const components = Array.from({ length: count }, (_, i): Component => {
    const depth = bytes.readUInt8(40 + 3 * i);
    const [dx, dy] = [bytes.readUInt8(41 + 3 * i), bytes.readUInt8(42 + 3 * i)];
    if (dx < 1 || dy < 1) throw new TileSourceError('Corrupt JPEG 2000 file: a component has no samples.');
    return { bits: (depth & 0x7f) + 1, signed: depth > 0x7f, dx, dy };
  });
  return { left, top, right, bottom, tileLeft, tileTop, tileWidth, tileHeight, components };
}

/** The smallest number of decomposition levels that a component has, according to COD and COC of the main header. */
export function countDecompositions(segments: readonly MarkerSegment[], componentCount: number): number {
  const codBytes = segments.find(({ marker }) => marker === markers.cod)?.bytes;
  if (codBytes === undefined || codBytes.length < 14)
    throw new TileSourceError('Corrupt JPEG 2000 file: it has no coding style (COD).');
  let minDecompositions = codBytes.readUInt8(9);
  const extraBytes = componentCount > 256 ? 1 : 0;
  for (const { marker, bytes } of segments) {
    if (marker === markers.coc && bytes.length > 6 + extraBytes)
      minDecompositions = Math.min(minDecompositions, bytes.readUInt8(6 + extraBytes));
  }
  if (minDecompositions > 32) throw new TileSourceError(`Corrupt JPEG 2000 file: it claims ${minDecompositions} decompositions.`);
  return minDecompositions;
}
