/** Codes of JPEG markers. */
export const markers = {
  startOfImage: 0xd8,
  endOfImage: 0xd9,
  baselineFrame: 0xc0,
  huffmanTables: 0xc4,
  quantizationTables: 0xdb,
  restartInterval: 0xdd,
  scan: 0xda,
  jfif: 0xe0,
  adobe: 0xee,
  comment: 0xfe,
} as const;

/** The APP14 segment of Adobe with transform 0, which says that the components are red, green and blue. */
export const adobeRgbSegment = Uint8Array.from([0xff, markers.adobe, 0, 14, 0x41, 0x64, 0x6f, 0x62, 0x65, 0, 100, 0, 0, 0, 0, 0]);
/** The APP0 segment of JFIF without a density, which says that the components are YCbCr. */
export const jfifSegment = Uint8Array.from([0xff, markers.jfif, 0, 16, 0x4a, 0x46, 0x49, 0x46, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0]);

/** A marker segment of a JPEG. */
export interface JpegSegment {
  marker: number;
  /** Position of the marker. */
  start: number;
  /** Position after the last byte. */
  end: number;
  /** The content, without the marker and the length. */
  body: Uint8Array;
}

/** The segments of a JPEG up to and including the header of the first scan, or up to the end; `null` if the bytes are not a JPEG. */
export function jpegSegments(bytes: Uint8Array): JpegSegment[] | null {
  if (bytes[0] !== 0xff || bytes[1] !== markers.startOfImage) return null;
  const segments: JpegSegment[] = [];
  for (let at = 2; at + 4 <= bytes.length;) {
    if (bytes[at] !== 0xff) return null;
    const marker = bytes[at + 1] ?? 0;
    if (marker === 0xff) {
      // A byte of 0xff may fill the space before a marker.
      at += 1;
      continue;
    }
    if (marker === markers.endOfImage) return segments;
    const end = at + 2 + (((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0));
    if (end > bytes.length || end < at + 4) return null;
    segments.push({ marker, start: at, end, body: bytes.subarray(at + 4, end) });
    if (marker === markers.scan) return segments;
    at = end;
  }
  return segments;
}
