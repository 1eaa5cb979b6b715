import { TileSourceError } from '../../../errors.js';
import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import { adobeRgbSegment, jpegSegments, markers } from '../../codecs/jpeg-segments.js';
import { readJpeg2000Coding } from '../../codecs/jpeg2000-coding.js';
import type { LossyCodec, StoredColors, StoredLevel } from '../../tile-source.js';
import { readCodeStreamSize, isYCbCr } from './decoding/jpeg2000.js';
import { defaultYCbCr } from './decoding/stored-ycbcr.js';
import { compressions, photometrics } from './file/tags.js';
import { hasEndMarker } from './stored-tile.js';
import { jpeg2000Compressions, type ImageLayout } from './tiff-layout.js';
import { loadChunkTable, readStoredChunk, type ChunkReader } from './region.js';

/** Number of tiles that are checked between checks of the time. */
const tilesPerTimeCheck = 65_536;

/** How the tiles of a level are stored, according to the first tile. */
interface TileForm {
  encoding: StoredLevel['encoding'];
  colors: StoredColors;
  /** Bytes that replace the first `droppedBytes` bytes of each tile. */
  prefix: Uint8Array;
  droppedBytes: number;
  /** Whether bytes are a complete tile of this form. */
  isIntact(bytes: Uint8Array): boolean;
}

/**
 * The tiles of a level as stored in the file, if all of them are JPEG or JPEG 2000; otherwise `null`. Each JPEG gets the tables that
 * the tiles of a TIFF share, and a marker if its components are red, green and blue. All other bytes stay unchanged.
 */
export async function findStoredLevel(reader: ChunkReader, layout: ImageLayout): Promise<StoredLevel | null> {
  const isSimple = layout.tiled && layout.planes === 1 && layout.orientation === 1 && layout.fillOrder !== 2;
  if (!isSimple || layout.sampleFormat !== 1) return null;
  const { offsets, lengths } = await loadChunkTable(reader, layout);
  const count = layout.chunksAcross * layout.chunksDown;
  if (offsets.length < count || lengths.length < count) return null;
  for (let tile = 0; tile < count; tile++) {
    if (tile % tilesPerTimeCheck === 0 && isSliceOver()) await nextSlice(reader.signal);
    if (offsets[tile] === 0 || lengths[tile] === 0) return null;
  }
  const firstTile = await readStoredChunk(reader, layout, 0);
  const form = firstTile && tileFormOf(firstTile, layout);
  if (form === null) return null;
  const { prefix, droppedBytes } = form;
  return {
    encoding: form.encoding,
    colors: form.colors,
    lengthOf: (tile) => lengths[tile]! - droppedBytes + prefix.length,
    async read(tile, signal) {
      const { signal: _ignored, ...withoutSignal } = reader;
      const storedTile = await readStoredChunk(signal === undefined ? withoutSignal : { ...withoutSignal, signal }, layout, tile);
      if (storedTile === null || !form.isIntact(storedTile))
        throw new TileSourceError(`Corrupt TIFF: tile ${tile} is not a valid ${form.encoding} tile.`);
      if (prefix.length === 0) return storedTile.subarray(droppedBytes);
      const bytes = new Uint8Array(prefix.length + storedTile.length - droppedBytes);
      bytes.set(prefix);
      bytes.set(storedTile.subarray(droppedBytes), prefix.length);
      return bytes;
    },
  };
}

const lossyCodecByCompression: Readonly<Record<number, LossyCodec>> = {
  [compressions.oldJpeg]: 'jpeg',
  [compressions.jpeg]: 'jpeg',
  [compressions.webp]: 'webp',
  [compressions.jpegXr]: 'jpegxr',
  [compressions.jpegXrNdpi]: 'jpegxr',
  [compressions.jpegXl]: 'jpegxl',
  [compressions.jpegXlDng]: 'jpegxl',
};

/** The lossy codec of an image; `null` if it has none. JPEG 2000 is lossless if the code stream says so. */
export async function lossyCodecOf(reader: ChunkReader, layout: ImageLayout): Promise<LossyCodec | null> {
  if (!jpeg2000Compressions.has(layout.compression)) return lossyCodecByCompression[layout.compression] ?? null;
  const firstTile = await readStoredChunk(reader, layout, 0);
  return firstTile !== null && readJpeg2000Coding(firstTile)?.isReversible === true ? null : 'jpeg2000';
}

function tileFormOf(firstTile: Uint8Array, layout: ImageLayout): TileForm | null {
  if (layout.compression === compressions.jpeg) return jpegForm(firstTile, layout);
  return jpeg2000Compressions.has(layout.compression) ? jpeg2000Form(firstTile, layout) : null;
}

interface JpegHeader {
  frameMarker: number;
  components: number;
  sampling: readonly number[];
  /** Whether markers declare the components as RGB; `null` if no marker says what they are. */
  declaresRgb: boolean | null;
  fitsLayout: boolean;
}

function readJpegHeader(bytes: Uint8Array, layout: ImageLayout): JpegHeader | null {
  const segments = jpegSegments(bytes);
  if (segments === null || segments.at(-1)?.marker !== markers.scan || !hasEndMarker(bytes)) return null;
  const frame = segments.find(({ marker }) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker));
  if (frame === undefined) return null;
  const { body } = frame;
  const components = body[5] ?? 0;
  if (body.length < 6 + components * 3) return null;
  const adobe = segments.find(
    ({ marker, body: header }) => marker === markers.adobe && header.length >= 12 && header[0] === 0x41,
  );
  const isJfif = segments.some(({ marker, body: header }) => marker === markers.jfif && header[0] === 0x4a);
  const width = ((body[3] ?? 0) << 8) + (body[4] ?? 0);
  const height = ((body[1] ?? 0) << 8) + (body[2] ?? 0);
  return {
    frameMarker: frame.marker,
    components,
    sampling: Array.from({ length: components }, (_, i) => body[7 + i * 3] ?? 0),
    declaresRgb: isJfif ? false : adobe === undefined ? null : adobe.body[11] === 0,
    fitsLayout:
      body[0] === 8 && width === layout.chunkWidth && height === layout.chunkHeight && components === layout.samplesPerPixel,
  };
}

function jpegForm(firstTile: Uint8Array, layout: ImageLayout): TileForm | null {
  if (layout.bits !== 8) return null;
  const header = readJpegHeader(firstTile, layout);
  // The transfer syntax of DICOM is for baseline JPEG.
  if (header === null || !header.fitsLayout || header.frameMarker !== markers.baselineFrame) return null;
  const { photometric, samplesPerPixel } = layout;
  const isGray = samplesPerPixel === 1 && photometric === photometrics.blackIsZero;
  const isRgb = samplesPerPixel === 3 && photometric === photometrics.rgb;
  const hasDefaultReference = layout.yCbCr.reference.every((value, index) => value === defaultYCbCr.reference[index]);
  const isStandardYCbCr = samplesPerPixel === 3 && photometric === photometrics.yCbCr && hasDefaultReference;
  if (!isGray && !isRgb && !isStandardYCbCr) return null;
  if ((isRgb && header.declaresRgb === false) || (isStandardYCbCr && header.declaresRgb === true)) return null;
  if (isRgb && header.sampling.some((each) => each !== header.sampling[0])) return null;
  const tables = layout.jpegTables === null ? new Uint8Array() : sharedTables(layout.jpegTables);
  if (tables === null) return null;
  const colorMarker = isRgb && header.declaresRgb === null ? adobeRgbSegment : new Uint8Array();
  const isUnchanged = tables.length + colorMarker.length === 0;
  return {
    encoding: 'jpeg',
    // DICOM has no other word for YCbCr in the JPEG of slides, whatever the sampling (PS3.3 C.8.12.4.1.5).
    colors: isGray ? 'MONOCHROME2' : isRgb ? 'RGB' : 'YBR_FULL_422',
    prefix: isUnchanged ? new Uint8Array() : Buffer.concat([Uint8Array.of(0xff, markers.startOfImage), colorMarker, tables]),
    droppedBytes: isUnchanged ? 0 : 2,
    isIntact: (bytes) => {
      const ownHeader = readJpegHeader(bytes, layout);
      return (
        ownHeader !== null &&
        ownHeader.fitsLayout &&
        ownHeader.frameMarker === header.frameMarker &&
        ownHeader.declaresRgb === header.declaresRgb
      );
    },
  };
}

/** The segments with the tables, without the markers around them; `null` if `jpeg` is invalid. */
function sharedTables(jpeg: Uint8Array): Uint8Array | null {
  const segments = jpegSegments(jpeg);
  const last = segments?.at(-1);
  return last === undefined ? null : jpeg.subarray(2, last.end);
}

function jpeg2000Form(firstTile: Uint8Array, layout: ImageLayout): TileForm | null {
  if (layout.bits !== 8 && layout.bits !== 16) return null;
  const isIntactStream = (bytes: Uint8Array): boolean => {
    const size = readCodeStreamSize(bytes);
    return (
      size !== null &&
      bytes[0] === 0xff &&
      bytes[1] === 0x4f &&
      size.width === layout.chunkWidth &&
      size.height === layout.chunkHeight &&
      size.components.length === layout.bands &&
      size.components.every(({ bits, dx, dy, signed }) => bits === layout.bits && dx === 1 && dy === 1 && !signed)
    );
  };
  const size = readCodeStreamSize(firstTile);
  const coding = readJpeg2000Coding(firstTile);
  if (size === null || coding === null || !isIntactStream(firstTile) || (layout.bands !== 1 && layout.bands !== 3)) return null;
  if (layout.bands === 3 && layout.bits !== 8) return null;
  // Slides in DICOM cannot have components that are YCbCr before the code stream mixes them (PS3.3 C.8.12.4.1.5), and most viewers would show them as RGB.
  if (layout.bands === 3 && isYCbCr(firstTile, layout, size)) return null;
  const mixedColors = coding.isReversible ? 'YBR_RCT' : 'YBR_ICT';
  return {
    encoding: coding.isReversible ? 'jpeg2000-lossless' : 'jpeg2000',
    colors: layout.bands === 1 ? 'MONOCHROME2' : coding.hasColorTransform ? mixedColors : 'RGB',
    prefix: new Uint8Array(),
    droppedBytes: 0,
    isIntact: isIntactStream,
  };
}
