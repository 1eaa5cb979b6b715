import { bufferOf } from '../../../core/buffer-of.js';
import { adobeRgbSegment, jfifSegment, jpegSegments, markers, type JpegSegment } from '../../codecs/jpeg-segments.js';
import type { EncodedImage } from '../../tile-source.js';
import type { ImageLayout } from './tiff-layout.js';
import { compressions, photometrics } from './file/tags.js';

/** Ids of the tables in a DQT or DHT segment; `null` if its lengths are wrong. */
function tableIds(bytes: Uint8Array, { marker, start, end }: JpegSegment): string[] | null {
  const ids: string[] = [];
  let at = start + 4;
  while (at < end) {
    const head = bytes[at] ?? 0;
    ids.push(`${marker}:${marker === markers.quantizationTables ? head & 15 : head}`);
    if (marker === markers.quantizationTables) {
      at += 1 + (head >> 4 === 0 ? 64 : 128);
    } else {
      let length = 17;
      for (let i = 1; i <= 16; i++) length += bytes[at + i] ?? 0;
      at += length;
    }
  }
  return at === end ? ids : null;
}

function definedTableIds(bytes: Uint8Array, segments: readonly JpegSegment[]): Set<string> {
  return new Set(
    segments.flatMap((segment) =>
      segment.marker === markers.quantizationTables || segment.marker === markers.huffmanTables
        ? (tableIds(bytes, segment) ?? [])
        : [],
    ),
  );
}

/** Whether a JPEG has its end marker. Zeros that some writers add after the marker are ignored. */
export function hasEndMarker(bytes: Uint8Array): boolean {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end -= 1;
  return end >= 2 && bytes[end - 2] === 0xff && bytes[end - 1] === markers.endOfImage;
}

function joinParts(parts: readonly Uint8Array[]): Uint8Array {
  const result = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}

const isApplicationOrComment = ({ marker }: JpegSegment): boolean =>
  (marker >= 0xe0 && marker <= 0xef) || marker === markers.comment;

/**
 * Whether every decoder reads a JPEG as gray or YCbCr, so that its bytes need not be changed: its components have the ids 1, 2 and 3, and it has
 * no application or comment segments, or only a JFIF segment without a thumbnail.
 */
function isUnambiguous(segments: readonly JpegSegment[], header: Uint8Array): boolean {
  const [first, second] = segments.filter(isApplicationOrComment);
  const isPlain =
    first === undefined || (second === undefined && Buffer.from(first.body.subarray(0, 5)).toString('latin1') === 'JFIF\0');
  const isPlainColor = header[5] === 1 || (header[5] === 3 && [6, 9, 12].every((at, index) => header[at] === index + 1));
  return isPlain && (first?.body.length ?? 14) === 14 && isPlainColor;
}

/** Properties of a JPEG tile according to its directory. */
export type JpegShape = Pick<ImageLayout, 'photometric' | 'samplesPerPixel' | 'chunkWidth' | 'chunkHeight' | 'jpegTables'>;

/**
 * Makes a JPEG tile a complete JPEG: adds the tables of the directory, and a marker with the color space of the TIFF, which browsers would guess
 * otherwise. All application and comment segments are dropped, because libtiff ignores them too, and they might turn or recolor the picture.
 * Returns `null` if the bytes are not an 8-bit baseline or progressive JPEG of exactly the layout's shape.
 */
export function completeJpeg(storedBytes: Uint8Array, layout: JpegShape): Uint8Array | null {
  const segments = jpegSegments(storedBytes);
  const scan = segments?.at(-1);
  if (segments === null || scan?.marker !== markers.scan || !hasEndMarker(storedBytes)) return null;
  const frames = segments.filter(
    ({ marker }) => marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc,
  );
  const [frame] = frames;
  if (frames.length !== 1 || frame === undefined || frame.marker > 0xc2) return null;
  const header = storedBytes.subarray(frame.start + 4, frame.end);
  const components = header[5] ?? 0;
  const isRgb = layout.photometric === photometrics.rgb;
  if (header[0] !== 8 || header.length < 6 + 3 * components || components !== layout.samplesPerPixel) return null;
  if (((header[1] ?? 0) << 8) + (header[2] ?? 0) !== layout.chunkHeight) return null;
  if (((header[3] ?? 0) << 8) + (header[4] ?? 0) !== layout.chunkWidth) return null;
  // libtiff refuses subsampled RGB, so decoding reports the error.
  if (isRgb && [7, 10, 13].some((at) => header[at] !== header[7])) return null;

  if (layout.jpegTables === null && !isRgb && isUnambiguous(segments, header)) return storedBytes;
  const parts: Uint8Array[] = [Uint8Array.of(0xff, markers.startOfImage)];
  if (components === 3) parts.push(isRgb ? adobeRgbSegment : jfifSegment);
  const ownTableIds = definedTableIds(storedBytes, segments);
  if (layout.jpegTables !== null) {
    const { jpegTables } = layout;
    const sharedSegments = jpegSegments(jpegTables);
    if (sharedSegments === null) return null;
    for (const segment of sharedSegments) {
      if (segment.marker === markers.quantizationTables || segment.marker === markers.huffmanTables) {
        const ids = tableIds(jpegTables, segment);
        if (ids === null) return null;
        if (ids.every((id) => ownTableIds.has(id))) continue;
      } else if (segment.marker !== markers.restartInterval) continue;
      parts.push(jpegTables.subarray(segment.start, segment.end));
    }
  }
  for (const segment of segments) {
    if (!isApplicationOrComment(segment) && segment !== scan) parts.push(storedBytes.subarray(segment.start, segment.end));
  }
  parts.push(storedBytes.subarray(scan.start));
  return joinParts(parts);
}

/** Whether bytes are a still WebP picture of exactly this size, without profile and orientation. */
function isPlainWebp(bytes: Uint8Array, width: number, height: number, hasAlpha: boolean): boolean {
  const buffer = bufferOf(bytes);
  if (buffer.length < 30 || buffer.toString('latin1', 0, 4) !== 'RIFF' || buffer.toString('latin1', 8, 12) !== 'WEBP')
    return false;
  if (buffer.readUInt32LE(4) + 8 > buffer.length) return false;
  switch (buffer.toString('latin1', 12, 16)) {
    case 'VP8 ': {
      const isKeyFrame = buffer.readUIntBE(23, 3) === 0x9d_01_2a;
      return (
        isKeyFrame && !hasAlpha && (buffer.readUInt16LE(26) & 0x3f_ff) === width && (buffer.readUInt16LE(28) & 0x3f_ff) === height
      );
    }
    case 'VP8L': {
      const bits = buffer.readUInt32LE(21);
      const alpha = (bits >>> 28) & 1;
      return (
        buffer[20] === 0x2f &&
        (bits & 0x3f_ff) + 1 === width &&
        ((bits >>> 14) & 0x3f_ff) + 1 === height &&
        (hasAlpha || alpha === 0)
      );
    }
    case 'VP8X': {
      const flags = buffer[20] ?? 0;
      // Only the alpha flag (16) may be set. Animation, EXIF, XMP and ICC would change the display.
      const isPlain = (flags & ~16) === 0 && (hasAlpha || flags === 0);
      return isPlain && buffer.readUIntLE(24, 3) + 1 === width && buffer.readUIntLE(27, 3) + 1 === height;
    }
    default: {
      return false;
    }
  }
}

/** The encoding in which tiles of this layout can be sent unchanged; `null` if they must be decoded. */
export function storedEncoding(layout: ImageLayout): 'JPEG' | 'WEBP' | null {
  if (!layout.tiled || layout.planes > 1 || layout.orientation !== 1 || layout.bits !== 8 || layout.fillOrder === 2) return null;
  if (layout.compression === compressions.webp) return layout.photometric === photometrics.rgb ? 'WEBP' : null;
  if (layout.compression !== compressions.jpeg) return null;
  const { photometric, samplesPerPixel } = layout;
  if (samplesPerPixel === 1) return photometric === photometrics.blackIsZero ? 'JPEG' : null;
  return samplesPerPixel === 3 && (photometric === photometrics.rgb || photometric === photometrics.yCbCr) ? 'JPEG' : null;
}

/** The stored bytes of a tile as a picture to send; `null` if they cannot be sent unchanged. */
export function storedPicture(bytes: Uint8Array, layout: ImageLayout): EncodedImage | null {
  const shape = { width: layout.chunkWidth, height: layout.chunkHeight };
  const encoding = storedEncoding(layout);
  if (encoding === 'JPEG') {
    const jpeg = completeJpeg(bytes, layout);
    return jpeg === null ? null : { encoding, bytes: jpeg, ...shape };
  }
  if (encoding === 'WEBP' && isPlainWebp(bytes, shape.width, shape.height, layout.bands === 4))
    return { encoding, bytes, ...shape };
  return null;
}
