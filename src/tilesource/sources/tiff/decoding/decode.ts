import sharp from 'sharp';
import { TileSourceError } from '../../../../errors.js';
import { runProcessing } from '../../../process/processing.js';
import type { Raster, Samples } from '../../../raster.js';
import { vipsReason } from '../../../process/vips-reason.js';
import { cmykToRgb, type Pixels } from './cmyk.js';
import { interpretColors } from './color.js';
import { decodeJpeg2000 } from './jpeg2000.js';
import { decodeJpegXl } from './jpeg-xl.js';
import { decompressJpegXr } from './jpeg-xr.js';
import { decompressLerc } from './lerc.js';
import { jpegXrCompressions, type DecodeContext, type ImageLayout } from '../tiff-layout.js';
import { interleave, interpretSamples, joinStrips } from './samples.js';
import { completeJpeg, storedEncoding } from '../stored-tile.js';
import { compressions, photometrics, tags, fieldTypes } from '../file/tags.js';
import { longTag, rationalTag, shortTag, wrapStrips, type WrappedTag } from '../file/wrap-strips.js';

/** Decodes a picture with libvips to gray, CMYK or sRGB. `what` names the picture in errors. */
async function decodePicture(
  bytes: Uint8Array,
  {
    what,
    isGray,
    isCmyk = false,
    pixelCount,
    signal,
  }: { what: string; isGray: boolean; isCmyk?: boolean; pixelCount?: number; signal: AbortSignal | undefined },
): Promise<Pixels> {
  try {
    // Sizes were checked with the layout, and the limit of libvips would refuse long rows of bytes. Warnings are ignored, because
    // libtiff also warns of harmless peculiarities of writers.
    const picture = sharp(bytes, { failOn: 'error', limitInputPixels: false, sequentialRead: true });
    if (isCmyk) picture.pipelineColourspace('cmyk');
    const raw = picture.toColourspace(isCmyk ? 'cmyk' : isGray ? 'b-w' : 'srgb').raw({ depth: 'uchar' });
    const { data, info } = await runProcessing(() => raw.toBuffer({ resolveWithObject: true }), signal, pixelCount);
    return {
      data: new Uint8Array(data.buffer, data.byteOffset, data.length),
      width: info.width,
      height: info.height,
      channels: info.channels,
    };
  } catch (cause) {
    signal?.throwIfAborted();
    throw new TileSourceError(`Corrupt TIFF: ${what} cannot be decoded (${vipsReason(cause)}).`, { cause });
  }
}

/** Name of the compression for messages. */
function compressionName({ compression }: ImageLayout): string {
  return Object.entries(compressions).find(([, number]) => number === compression)?.[0] ?? `compression ${compression}`;
}

/**
 * Decompresses zstd and PackBits in codec threads, because the libtiff of sharp is built without zstd, and cuts off runs of
 * PackBits at the end of a row.
 */
async function decompressInThreads(
  codec: 'zstd' | 'packbits',
  layout: ImageLayout,
  strips: readonly Uint8Array[],
  { rows, rowBytes }: { rows: number; rowBytes: number },
  context: DecodeContext,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for (const [index, strip] of strips.entries()) {
    const size = rowBytes * Math.min(layout.chunkHeight, rows - index * layout.chunkHeight);
    const { data: part } = await context.threads.decode({ codec, bytes: strip, size }, 'a tile or strip', context.signal);
    if (part.length !== size) throw new TileSourceError(`Corrupt TIFF: ${part.length} decoded bytes where ${size} are needed.`);
    parts.push(part);
  }
  return joinStrips(parts);
}

/**
 * Decompresses consecutive strips, which have `rows` rows in total. libtiff handles most compressions: it gets the strips as a TIFF
 * of 8-bit gray pixels that is `rowBytes` wide.
 */
async function decompress(
  layout: ImageLayout,
  strips: readonly Uint8Array[],
  { rows, rowBytes }: { rows: number; rowBytes: number },
  context: DecodeContext,
): Promise<Uint8Array> {
  const neededBytes = rowBytes * rows;
  if (layout.compression === compressions.zstd) return decompressInThreads('zstd', layout, strips, { rows, rowBytes }, context);
  if (layout.compression === compressions.packbits && layout.fillOrder !== 2) {
    return decompressInThreads('packbits', layout, strips, { rows, rowBytes }, context);
  }
  if (layout.compression === compressions.lerc) return decompressLerc(layout, strips, rows, context);
  if (jpegXrCompressions.has(layout.compression)) return decompressJpegXr(layout, strips, rows, context);
  if (layout.compression === compressions.none && layout.fillOrder !== 2) {
    const bytes = joinStrips(strips);
    if (bytes.length < neededBytes) {
      throw new TileSourceError(`Corrupt TIFF: ${neededBytes} bytes of samples are needed, but ${bytes.length} are stored.`);
    }
    return bytes.subarray(0, neededBytes);
  }
  const tiff = wrapStrips(
    [
      longTag(tags.imageWidth, rowBytes),
      longTag(tags.imageLength, rows),
      shortTag(tags.bitsPerSample, 8),
      shortTag(tags.compression, layout.compression),
      shortTag(tags.photometric, photometrics.blackIsZero),
      shortTag(tags.fillOrder, layout.fillOrder === 2 ? 2 : 1),
      shortTag(tags.samplesPerPixel, 1),
      longTag(tags.rowsPerStrip, layout.chunkHeight),
    ],
    strips,
  );
  const { data } = await decodePicture(tiff, {
    what: `a tile or strip of ${compressionName(layout)}`,
    isGray: true,
    signal: context.signal,
  });
  if (data.length !== neededBytes)
    throw new TileSourceError(`Corrupt TIFF: ${data.length} decoded bytes where ${neededBytes} are needed.`);
  return data;
}

/**
 * Decodes a JPEG tile as a complete JPEG, which takes libvips two thirds of the time of the same tile in a TIFF and gives the same
 * pixels. Returns `null` if the tile cannot be made a complete JPEG, or is corrupt; libtiff then decodes as much of it as possible.
 */
async function decodeStoredJpeg(
  layout: ImageLayout,
  planes: readonly Uint8Array[][],
  { signal }: DecodeContext,
): Promise<Pixels | null> {
  const [strip, ...otherStrips] = planes[0] ?? [];
  if (strip === undefined || otherStrips.length > 0 || storedEncoding(layout) !== 'JPEG') return null;
  const jpeg = completeJpeg(strip, layout);
  if (jpeg === null) return null;
  try {
    const pixelCount = layout.chunkWidth * layout.chunkHeight;
    return await decodePicture(jpeg, { what: 'a tile', isGray: layout.samplesPerPixel === 1, pixelCount, signal });
  } catch {
    signal?.throwIfAborted();
    return null;
  }
}

/** Decodes 8-bit pictures including their color space with libvips: JPEG, CCITT, YCbCr. */
async function decodeAsTiff(
  layout: ImageLayout,
  strips: readonly Uint8Array[],
  rows: number,
  { signal }: DecodeContext,
): Promise<Pixels> {
  const samples = layout.planes > 1 ? 1 : layout.samplesPerPixel;
  const photometric = layout.planes > 1 ? photometrics.blackIsZero : layout.photometric;
  const wrappedTags: WrappedTag[] = [
    longTag(tags.imageWidth, layout.chunkWidth),
    longTag(tags.imageLength, rows),
    shortTag(tags.bitsPerSample, ...Array.from({ length: samples }, () => layout.bits)),
    shortTag(tags.compression, layout.compression),
    shortTag(tags.photometric, photometric),
    shortTag(tags.fillOrder, layout.fillOrder === 2 ? 2 : 1),
    shortTag(tags.samplesPerPixel, samples),
    longTag(tags.rowsPerStrip, layout.chunkHeight),
    shortTag(tags.planarConfiguration, 1),
  ];
  if (layout.jpegTables !== null)
    wrappedTags.push({ tag: tags.jpegTables, type: fieldTypes.undefined, values: layout.jpegTables });
  if (photometric === photometrics.yCbCr) {
    wrappedTags.push(shortTag(tags.yCbCrSubSampling, ...layout.subsampling));
    // libjpeg converts the colors of JPEG.
    if (layout.compression !== compressions.jpeg) {
      const { coefficients, reference } = layout.yCbCr;
      wrappedTags.push(rationalTag(tags.yCbCrCoefficients, coefficients), rationalTag(tags.referenceBlackWhite, reference));
    }
  }
  if (photometric === photometrics.separated) wrappedTags.push(shortTag(tags.inkSet, layout.inkSet), ...iccTag(layout));
  const colorBands = photometric === photometrics.rgb ? 3 : photometric === photometrics.blackIsZero ? 1 : samples;
  if (samples > colorBands) {
    const extras = Array.from({ length: samples - colorBands }, (_, i) => layout.extraSamples[i] ?? 0);
    wrappedTags.push(shortTag(tags.extraSamples, ...extras));
  }
  if (layout.compression === compressions.ccittFax3) wrappedTags.push(longTag(tags.t4Options, layout.t4Options));
  if (layout.compression === compressions.ccittFax4) wrappedTags.push(longTag(tags.t6Options, layout.t4Options));
  const isGray = photometric <= photometrics.blackIsZero && samples === 1;
  const isCmyk = photometric === photometrics.separated && samples === 4;
  const what = `a tile or strip of ${compressionName(layout)}`;
  const picture = await decodePicture(wrapStrips(wrappedTags, strips), { what, isGray, isCmyk, signal });
  return isCmyk && picture.channels === 4 ? inksToRgb(picture, layout) : picture;
}

function inksToRgb(inks: Pixels, layout: ImageLayout): Promise<Pixels> {
  // Several tiles may wait for the same grid of colors, so the abort of one request must not stop the conversion.
  const convert = (data: Uint8Array, width: number, height: number) =>
    convertWithVips({ data, width, height, bands: 4, dtype: 'uint8' }, { layout, bits: 8, signal: undefined });
  return cmykToRgb(inks, layout.icc, convert);
}

function iccTag(layout: ImageLayout): WrappedTag[] {
  return layout.icc === null ? [] : [{ tag: tags.iccProfile, type: fieldTypes.undefined, values: layout.icc }];
}

/** Converts CMYK and L*a*b* samples to sRGB, by the file's ICC profile if it has one. */
async function toRgb(layout: ImageLayout, raster: Raster, { signal }: DecodeContext): Promise<Pixels> {
  const isLab = layout.photometric === photometrics.cieLab;
  if (!isLab && raster.bands === 4) {
    const max = 2 ** layout.bits - 1;
    const inks =
      layout.bits <= 8 ? (raster.data as Uint8Array) : Uint8Array.from(raster.data, (value) => (value * 255) / max + 0.5);
    return inksToRgb({ ...raster, data: inks, channels: 4 }, layout);
  }
  // libvips 8.18 refuses 8-bit L*a*b*, which earlier versions read. Depths below 8 are scaled already.
  const mustWiden = layout.bits === 8 ? isLab : layout.bits > 8 && layout.bits < 16;
  const widen = isLab
    ? widenLab
    : (data: Samples) => Uint16Array.from(data, (value) => value * (65_535 / (2 ** layout.bits - 1)));
  const data = mustWiden ? widen(raster.data) : raster.data;
  const bits = mustWiden ? 16 : Math.max(8, layout.bits);
  return convertWithVips({ ...raster, data }, { layout, bits, signal });
}

/** Converts CMYK or L*a*b* samples to sRGB with libvips. */
async function convertWithVips(
  { data, width, height, bands: samples }: Raster,
  { layout, bits, signal }: { layout: ImageLayout; bits: number; signal: AbortSignal | undefined },
): Promise<Pixels> {
  const wrappedTags = [
    longTag(tags.imageWidth, width),
    longTag(tags.imageLength, height),
    shortTag(tags.bitsPerSample, ...Array.from({ length: samples }, () => bits)),
    shortTag(tags.compression, compressions.none),
    shortTag(tags.photometric, layout.photometric),
    shortTag(tags.samplesPerPixel, samples),
    shortTag(tags.sampleFormat, ...Array.from({ length: samples }, () => layout.sampleFormat)),
    longTag(tags.rowsPerStrip, height),
    shortTag(tags.planarConfiguration, 1),
    ...(layout.photometric === photometrics.separated ? [shortTag(tags.inkSet, layout.inkSet), ...iccTag(layout)] : []),
  ];
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return decodePicture(wrapStrips(wrappedTags, [bytes]), { what: 'a tile or strip', isGray: false, signal });
}

/** Converts 8-bit L*a*b* to 16 bits (TIFF 6.0, section 23): L* uses the full range, a* and b* are signed. */
function widenLab(data: Samples): Int16Array {
  return Int16Array.from(data, (value, i) => (i % 3 === 0 ? value * 257 : ((value << 24) >> 24) * 256));
}

/** Checks the size of decoded pixels, and drops bands that the layout does not declare. */
function asRaster(pixels: Pixels, layout: ImageLayout, bands: number, rows: number): Raster {
  const { width, height, channels } = pixels;
  if (width !== layout.chunkWidth || height !== rows) {
    throw new TileSourceError(
      `Corrupt TIFF: a tile or strip has ${width} by ${height} pixels where ${layout.chunkWidth} by ${rows} are declared.`,
    );
  }
  if (channels === bands) return { data: pixels.data, width, height, bands, dtype: 'uint8' };
  if (channels < bands) throw new TileSourceError(`Corrupt TIFF: ${channels} decoded bands where ${bands} are declared.`);
  // libvips adds an alpha band if it uses libtiff's RGBA interface.
  const data = new Uint8Array(width * height * bands);
  for (let from = 0, to = 0; to < data.length; from += channels, to += bands) {
    for (let band = 0; band < bands; band++) data[to + band] = pixels.data[from + band] ?? 0;
  }
  return { data, width, height, bands, dtype: 'uint8' };
}

/** Adds the alpha that encoders of WebP leave out of opaque pictures. */
function withOpaqueAlpha(pixels: Pixels, bands: number): Pixels {
  if (bands !== 4 || pixels.channels !== 3) return pixels;
  const data = new Uint8Array((pixels.data.length / 3) * 4);
  for (let from = 0, to = 0; from < pixels.data.length; from += 3, to += 4) {
    data.set(pixels.data.subarray(from, from + 3), to);
    data[to + 3] = 255;
  }
  return { ...pixels, data, channels: 4 };
}

async function decodeStoredSamples(
  layout: ImageLayout,
  planes: readonly Uint8Array[][],
  rows: number,
  context: DecodeContext,
): Promise<Raster> {
  const { chunkWidth: width, dtype: outputType } = layout;
  const samples = layout.planes > 1 ? 1 : layout.samplesPerPixel;
  const rowBytes = Math.ceil((width * samples * layout.bits) / 8);
  const decodedPlanes = await Promise.all(
    planes.map(async (strips) => {
      const bytes = await decompress(layout, strips, { rows, rowBytes }, context);
      // The decoders of LERC and JPEG XR return little-endian samples, whatever the byte order of the file.
      const isDecodedLittleEndian = layout.compression === compressions.lerc || jpegXrCompressions.has(layout.compression);
      const littleEndian = context.littleEndian || isDecodedLittleEndian;
      return interpretSamples({ bytes, width, rows, samples, littleEndian }, layout);
    }),
  );
  const [firstPlane] = decodedPlanes;
  if (firstPlane === undefined) throw new TileSourceError('Corrupt TIFF: it contains no samples.');
  // Indexes of palettes, and samples of color spaces that are still to be converted, have types that differ from the type of the
  // image.
  const dtype = firstPlane instanceof Uint16Array ? 'uint16' : firstPlane instanceof Uint8Array ? 'uint8' : outputType;
  if (decodedPlanes.length === 1) return { data: firstPlane, width, height: rows, bands: samples, dtype };
  return interleave(decodedPlanes, { width, height: rows, dtype });
}

/**
 * Decodes one tile, or consecutive strips, to a raster of `layout.chunkWidth` by `rows` pixels.
 *
 * @param planes the strips of each stored plane, in order; a tile counts as one strip.
 * @throws TileSourceError if the bytes cannot be decoded to the pixels that the layout declares.
 */
export async function decodeChunks(
  layout: ImageLayout,
  planes: readonly Uint8Array[][],
  rows: number,
  context: DecodeContext,
): Promise<Raster> {
  if (layout.decoding === 'bytes') {
    const storedSamples = await decodeStoredSamples(layout, planes, rows, context);
    if (layout.photometric === photometrics.separated || layout.photometric === photometrics.cieLab) {
      return asRaster(await toRgb(layout, storedSamples, context), layout, layout.bands, rows);
    }
    return interpretColors(storedSamples, layout);
  }
  if (layout.decoding === 'picture') {
    const decodedJpeg = await decodeStoredJpeg(layout, planes, context);
    if (decodedJpeg !== null) return asRaster(decodedJpeg, layout, layout.bands, rows);
    const pictures = await Promise.all(planes.map((strips) => decodeAsTiff(layout, strips, rows, context)));
    const [firstPicture] = pictures;
    if (firstPicture === undefined) throw new TileSourceError('Corrupt TIFF: it contains no samples.');
    if (pictures.length === 1) return asRaster(firstPicture, layout, layout.bands, rows);
    const bands = pictures.map((picture) => asRaster(picture, layout, 1, rows).data);
    return interleave(bands, { width: layout.chunkWidth, height: rows, dtype: 'uint8' });
  }
  // With other compressions, each strip is a separate picture.
  const parts: Raster[] = [];
  for (const [index, strip] of (planes[0] ?? []).entries()) {
    const partRows = Math.min(layout.chunkHeight, rows - index * layout.chunkHeight);
    if (layout.decoding === 'webp') {
      const picture = await decodePicture(strip, { what: 'a WebP tile', isGray: false, signal: context.signal });
      parts.push(asRaster(withOpaqueAlpha(picture, layout.bands), layout, layout.bands, partRows));
    } else if (layout.decoding === 'interchange') {
      const options = { what: 'the picture of old-style JPEG', isGray: layout.bands === 1, signal: context.signal };
      parts.push(asRaster(await decodePicture(strip, options), layout, layout.bands, partRows));
    } else if (layout.decoding === 'jpegxl') {
      parts.push(await decodeJpegXl(context.threads, { bytes: strip, layout, rows: partRows, signal: context.signal }));
    } else {
      parts.push(await decodeJpeg2000(context.threads, { bytes: strip, layout, rows: partRows, signal: context.signal }));
    }
  }
  return stackStrips(parts, layout, rows);
}

function stackStrips(parts: readonly Raster[], layout: ImageLayout, rows: number): Raster {
  const [firstPart] = parts;
  if (firstPart === undefined) throw new TileSourceError('Corrupt TIFF: it contains no samples.');
  if (parts.length === 1) return firstPart;
  const bytes = new Uint8Array(parts.reduce((sum, { data }) => sum + data.byteLength, 0));
  let at = 0;
  for (const { data } of parts) {
    bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), at);
    at += data.byteLength;
  }
  const shape = { ...firstPart, width: layout.chunkWidth, height: rows };
  if (firstPart.dtype === 'uint16') return { ...shape, data: new Uint16Array(bytes.buffer) };
  if (firstPart.dtype === 'int16') return { ...shape, data: new Int16Array(bytes.buffer) };
  return { ...shape, data: firstPart.dtype === 'int8' ? new Int8Array(bytes.buffer) : bytes };
}
