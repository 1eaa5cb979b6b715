import { adobeRgbSegment, jfifSegment, jpegSegments, markers, type JpegSegment } from '../codecs/jpeg-segments.js';
import { createRaster, type Raster } from '../raster.js';
import { tagOf, type Tag } from '../pyramid/container.js';
import { packTile } from '../pyramid/tiles.js';

/**
 * The properties that all JPEG tiles of a directory must share, because the directory's tags state them: color space and chroma
 * subsampling.
 */
export interface JpegForm {
  color: 'gray' | 'rgb' | 'yCbCr';
  /** Horizontal and vertical subsampling: number of samples of the first component for each sample of the other components. */
  sampling: readonly [number, number];
}

/** The segments of a JPEG up to the header of its first scan; `null` for other bytes, and if there are gaps between segments. */
function segmentsOf(bytes: Uint8Array): JpegSegment[] | null {
  const segments = jpegSegments(bytes);
  if (segments?.at(-1)?.marker !== markers.scan) return null;
  return segments.every(({ start }, index) => start === (segments[index - 1]?.end ?? 2)) ? segments : null;
}

/** The form of a complete 8-bit JPEG of this size. `null` for other bytes, and for a JPEG that tags of TIFF cannot describe. */
export function jpegFormOf(bytes: Uint8Array, size: { width: number; height: number }): JpegForm | null {
  const segments = segmentsOf(bytes);
  const frameHeader = segments?.find(
    ({ marker }) => marker >= markers.baselineFrame && marker <= markers.baselineFrame + 2,
  )?.body;
  if (segments === null || frameHeader === undefined || frameHeader[0] !== 8) return null;
  const [, heightHigh = 0, heightLow = 0, widthHigh = 0, widthLow = 0, componentCount = 0] = frameHeader;
  if (heightHigh * 256 + heightLow !== size.height || widthHigh * 256 + widthLow !== size.width) return null;
  if (componentCount === 1) return { color: 'gray', sampling: [1, 1] };
  if (componentCount !== 3 || frameHeader.length < 15) return null;
  // The horizontal and vertical sampling factors of each component share a byte.
  const [factors1 = 0, factors2 = 0, factors3 = 0] = [7, 10, 13].map((at) => frameHeader[at]);
  const sampling = [factors1 >> 4, factors1 & 15] as const;
  if (factors2 !== 0x11 || factors3 !== 0x11 || sampling.some((factor) => factor !== 1 && factor !== 2 && factor !== 4))
    return null;
  const adobe = segments.find(({ marker, body }) => marker === markers.adobe && body.length >= 12 && body[0] === 0x41);
  const isRgb = adobe?.body[11] === 0 && !segments.some(({ marker }) => marker === markers.jfif);
  return { color: isRgb ? 'rgb' : 'yCbCr', sampling };
}

export function isSameForm(a: JpegForm, b: JpegForm): boolean {
  return a.color === b.color && a.sampling[0] === b.sampling[0] && a.sampling[1] === b.sampling[1];
}

/** The tags of a directory that describe JPEG tiles of a form. */
export function jpegFormTags({ color, sampling }: JpegForm): Tag[] {
  const bands = color === 'gray' ? 1 : 3;
  return [
    tagOf.short(258, ...Array.from({ length: bands }, () => 8)), // BitsPerSample
    tagOf.short(259, 7), // Compression: JPEG
    tagOf.short(262, color === 'gray' ? 1 : color === 'rgb' ? 2 : 6), // PhotometricInterpretation
    tagOf.short(277, bands), // SamplesPerPixel
    ...(color === 'yCbCr' ? [tagOf.short(530, ...sampling)] : []), // YCbCrSubSampling
  ];
}

/**
 * Encodes a tile with 8-bit samples as a JPEG of this form. libvips can write neither RGB nor subsampling in one direction alone,
 * so each component is encoded as a grayscale JPEG, and the three results become the scans of one JPEG.
 *
 * @param tile has one band if the form is gray, otherwise three. Its sides are multiples of 16.
 */
export async function packJpegTile(tile: Raster, { color, sampling }: JpegForm, quality: number): Promise<Uint8Array> {
  const packing = { compression: 'jpeg', quality, halvesChroma: false, predictor: false, effort: null } as const;
  if (color === 'gray') return packTile(tile, packing);
  const planes = color === 'rgb' ? planesOf(tile) : yCbCrPlanes(tile, sampling);
  const [horizontal, vertical] = color === 'rgb' ? [1, 1] : sampling;
  const parts: Uint8Array[] = [Uint8Array.of(0xff, 0xd8), color === 'rgb' ? adobeRgbSegment : jfifSegment];
  for (const [index, plane] of planes.entries()) {
    const bytes = await packTile(plane, packing);
    const segments = segmentsOf(bytes);
    const scan = segments?.at(-1);
    const frameHeader = segments?.find(({ marker }) => marker === markers.baselineFrame);
    if (segments == null || scan === undefined || frameHeader === undefined) throw new Error('libvips wrote no baseline JPEG');
    const bytesOf = ({ start, end }: JpegSegment) => bytes.subarray(start, end);
    if (index === 0) {
      parts.push(...segments.filter(({ marker }) => marker === markers.quantizationTables).map(bytesOf));
      const components = [1, 2, 3].flatMap((id) => [id, id === 1 ? horizontal * 16 + vertical : 0x11, 0]);
      parts.push(Uint8Array.of(0xff, markers.baselineFrame, 0, 17, ...frameHeader.body.subarray(0, 5), 3, ...components));
    }
    parts.push(...segments.filter(({ marker }) => marker === markers.huffmanTables).map(bytesOf));
    parts.push(Uint8Array.of(0xff, markers.scan, 0, 8, 1, index + 1, 0, 0, 63, 0));
    parts.push(bytes.subarray(scan.end, bytes.length - 2));
  }
  return Buffer.concat([...parts, Uint8Array.of(0xff, 0xd9)]);
}

/** The planes of the first three bands. */
function planesOf(tile: Raster): Raster[] {
  return [0, 1, 2].map((band) => {
    const plane = createRaster({ ...tile, bands: 1 });
    for (let at = 0; at < plane.data.length; at += 1) plane.data[at] = tile.data[at * 3 + band] ?? 0;
    return plane;
  });
}

/** The planes Y, Cb and Cr as JFIF defines them. Cb and Cr are means over the pixels that share a sample. */
function yCbCrPlanes({ data, width, height, dtype }: Raster, [horizontal, vertical]: readonly [number, number]): Raster[] {
  const luminance = createRaster({ width, height, bands: 1, dtype });
  const [cb, cr] = [0, 0].map(() => createRaster({ width: width / horizontal, height: height / vertical, bands: 1, dtype }));
  const sums = [new Float64Array(cb!.data.length), new Float64Array(cb!.data.length)] as const;
  for (let y = 0, at = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1, at += 1) {
      const [r = 0, g = 0, b = 0] = [data[at * 3], data[at * 3 + 1], data[at * 3 + 2]];
      luminance.data[at] = Math.round(0.299 * r + 0.587 * g + 0.114 * b);
      const sharedAt = Math.floor(y / vertical) * cb!.width + Math.floor(x / horizontal);
      sums[0][sharedAt]! += 128 - 0.168_736 * r - 0.331_264 * g + 0.5 * b;
      sums[1][sharedAt]! += 128 + 0.5 * r - 0.418_688 * g - 0.081_312 * b;
    }
  }
  const pixelsPerSample = horizontal * vertical;
  for (const [plane, sum] of [
    [cb!, sums[0]],
    [cr!, sums[1]],
  ] as const) {
    for (let at = 0; at < sum.length; at += 1) plane.data[at] = Math.min(255, Math.round(sum[at]! / pixelsPerSample));
  }
  return [luminance, cb!, cr!];
}
