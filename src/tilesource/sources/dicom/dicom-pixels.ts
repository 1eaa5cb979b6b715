import { TileSourceError } from '../../../errors.js';
import { codecThreads } from '../../codecs/threads/codec-threads.js';
import { decodeJpeg } from '../../codecs/jpeg.js';
import type { EncodedImage } from '../../tile-source.js';
import { lendReadMemory } from '../../process/read-memory.js';
import { yCbCrToRgb } from '../../codecs/ycbcr.js';
import { jpegSegments } from '../../codecs/jpeg-segments.js';
import { sampleArrays, sampleBytes, whiteOfBits, type Raster, type SampleType, type Samples } from '../../raster.js';
import { completeJpeg } from '../tiff/stored-tile.js';
import { photometrics } from '../tiff/file/tags.js';
import type { DicomHeader } from './dicom-header.js';
import type { DicomInstance } from './instance.js';

/** Maximum number of bytes of the samples of one frame. */
const maxDecodedBytes = 2 ** 28;

type Codec = 'native' | 'rle' | 'jpeg' | 'jpegls' | 'jpeg2000';

/** How frames are decoded, by the part of their transfer syntax that follows 1.2.840.10008.1.2. */
const codecBySyntaxSuffix: Readonly<Record<string, Codec>> = {
  '': 'native',
  '.1': 'native',
  '.2': 'native',
  '.5': 'rle',
  '.4.50': 'jpeg',
  '.4.51': 'jpeg',
  '.4.80': 'jpegls',
  '.4.81': 'jpegls',
  '.4.90': 'jpeg2000',
  '.4.91': 'jpeg2000',
  '.4.92': 'jpeg2000',
  '.4.93': 'jpeg2000',
  '.4.201': 'jpeg2000',
  '.4.202': 'jpeg2000',
  '.4.203': 'jpeg2000',
};

const unsupportedCodecNames: Readonly<Record<string, string>> = {
  '.4.110': 'JPEG XL',
  '.4.111': 'JPEG XL',
  '.4.112': 'JPEG XL',
  '.4.57': 'JPEG Lossless',
  '.4.70': 'JPEG Lossless',
  '.4.53': 'JPEG Spectral Selection',
};

function codecOf({ transferSyntax }: DicomHeader): Codec {
  const suffix = transferSyntax.slice('1.2.840.10008.1.2'.length);
  const codec = transferSyntax.startsWith('1.2.840.10008.1.2') ? codecBySyntaxSuffix[suffix] : undefined;
  if (codec !== undefined) return codec;
  throw new TileSourceError(
    `The DICOM file is compressed as ${unsupportedCodecNames[suffix] ?? transferSyntax}, which is not supported.`,
  );
}

const plainPhotometrics: readonly string[] = ['RGB', 'YBR_FULL', 'YBR_FULL_422'];
/** Color spaces that occur only in JPEG 2000, whose decoder converts them to RGB. */
const transformedPhotometrics: readonly string[] = ['YBR_ICT', 'YBR_RCT'];

function isKnownColor({ photometric }: DicomHeader, codec: Codec): boolean {
  // JPEG frames declare their color space themselves.
  if (codec === 'jpeg' || plainPhotometrics.includes(photometric)) return true;
  return codec === 'jpeg2000' && transformedPhotometrics.includes(photometric);
}

/** The member `white` of the metadata. Frames of JPEG always have 8 bits, and so do the colors of palettes. */
export function whiteOf(header: DicomHeader): { white?: number } {
  if (header.palette !== null) return {};
  return whiteOfBits(sampleShape(header).dtype, codecOf(header) === 'jpeg' ? 8 : header.bitsStored);
}

/**
 * Checks the header of the first frame, so that an image whose frames cannot be decoded is refused when it is opened.
 *
 * @throws TileSourceError that names the kind of JPEG.
 */
export async function checkFirstFrame(instance: DicomInstance, signal?: AbortSignal): Promise<void> {
  if (codecOf(instance.header) !== 'jpeg') return;
  const segments = jpegSegments(await instance.readFirstFragment(signal)) ?? [];
  const frameHeader = segments.find(({ marker }) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker));
  if (frameHeader === undefined) return;
  const bits = frameHeader.body[0] ?? 8;
  const kind = frameHeader.marker === 0xc3 ? 'lossless JPEG' : frameHeader.marker > 0xc2 ? 'JPEG of an unusual process' : 'JPEG';
  if (frameHeader.marker > 0xc2 || bits !== 8)
    throw new TileSourceError(
      `The DICOM file has frames of ${kind} with ${bits} bits; only baseline and progressive JPEG of 8 bits is supported.`,
    );
}

/** The type of samples and the number of bands of decoded frames. */
export function sampleShape(header: DicomHeader): { dtype: SampleType; bands: 1 | 3 } {
  const { bitsAllocated, bitsStored, samples, isSigned, photometric } = header;
  const codec = codecOf(header);
  if (header.isFloat) {
    if (samples !== 1 || codec !== 'native' || (bitsAllocated !== 32 && bitsAllocated !== 64))
      throw new TileSourceError(
        `The DICOM file has ${samples} floats of ${bitsAllocated} bits per pixel, which is not supported.`,
      );
    return { dtype: `float${bitsAllocated}`, bands: 1 };
  }
  if (![8, 16, 32].includes(bitsAllocated) || bitsStored < 1 || bitsStored > bitsAllocated) {
    throw new TileSourceError(`The DICOM file has samples of ${bitsStored} of ${bitsAllocated} bits, which is not supported.`);
  }
  if (samples !== 1 && samples !== 3)
    throw new TileSourceError(`The DICOM file has ${samples} samples per pixel; 1 and 3 are supported.`);
  if (codec === 'jpeg' && bitsStored > 8)
    throw new TileSourceError(`The DICOM file has JPEG frames of ${bitsStored} bits; only frames of 8 bits are supported.`);
  if (samples === 3 && !isKnownColor(header, codec))
    throw new TileSourceError(
      `The DICOM file has colors in the color space ${photometric || '(not stated)'}, which is not supported.`,
    );
  if (photometric === 'PALETTE COLOR') {
    if (header.palette === null) throw new TileSourceError('The DICOM file has PALETTE COLOR without its palette.');
    return { dtype: 'uint8', bands: 3 };
  }
  const dtype = `${isSigned ? 'int' : 'uint'}${bitsAllocated}` as SampleType;
  return { dtype, bands: samples };
}

/** Views little-endian bytes as samples of a type. They are copied only if they are not aligned. */
function viewSamples(bytes: Uint8Array, dtype: SampleType, count: number): Samples {
  const constructor = sampleArrays[dtype];
  const length = count * constructor.BYTES_PER_ELEMENT;
  const alignedBytes = bytes.byteOffset % constructor.BYTES_PER_ELEMENT === 0 ? bytes : bytes.slice();
  if (alignedBytes.length < length)
    throw new TileSourceError(`Corrupt DICOM: ${alignedBytes.length} bytes of samples where ${length} are needed.`);
  return new constructor(alignedBytes.buffer as ArrayBuffer, alignedBytes.byteOffset, count);
}

/**
 * Decodes a frame of PackBits segments. There is one segment for each byte of a pixel's samples, the most significant byte first
 * (PS3.5, annex G).
 */
function decodeRle(bytes: Uint8Array, header: DicomHeader): Uint8Array {
  const { rows, columns, samples, bitsAllocated } = header;
  const [pixelCount, bytesPerSample] = [rows * columns, bitsAllocated / 8];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const segmentCount = bytes.length >= 64 ? view.getUint32(0, true) : 0;
  if (segmentCount !== samples * bytesPerSample)
    throw new TileSourceError(`Corrupt DICOM: ${segmentCount} RLE segments where ${samples * bytesPerSample} are needed.`);
  const out = new Uint8Array(pixelCount * samples * bytesPerSample);
  for (let segment = 0; segment < segmentCount; segment++) {
    const start = view.getUint32(4 + segment * 4, true);
    const end = segment + 1 < segmentCount ? view.getUint32(8 + segment * 4, true) : bytes.length;
    const stride = samples * bytesPerSample;
    let to = Math.floor(segment / bytesPerSample) * bytesPerSample + (bytesPerSample - 1 - (segment % bytesPerSample));
    const writeByte = (value: number): void => {
      if (to < out.length) out[to] = value;
      to += stride;
    };
    for (let at = start; at < Math.min(end, bytes.length) && to < out.length;) {
      const control = view.getInt8(at++);
      if (control >= 0) for (let i = 0; i <= control && at < bytes.length; i++) writeByte(bytes[at++]!);
      else if (control > -128 && at < bytes.length) {
        const value = bytes[at++]!;
        for (let i = 0; i < 1 - control; i++) writeByte(value);
      }
    }
  }
  return out;
}

function swapBytes(bytes: Uint8Array, sampleSize: number): void {
  if (sampleSize === 2) Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength & ~1).swap16();
  else if (sampleSize === 4) Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength & ~3).swap32();
  else if (sampleSize === 8) Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength & ~7).swap64();
}

/** Interleaves the samples of three planes. */
function interleavePlanes(data: Samples): Samples {
  const pixelCount = data.length / 3;
  const out = data.slice();
  for (let i = 0; i < pixelCount; i++) for (let band = 0; band < 3; band++) out[i * 3 + band] = data[band * pixelCount + i]!;
  return out;
}

/** Expands frames in which each pair of pixels is stored as Y1, Y2, Cb and Cr to three samples per pixel. */
function undoSubsampling(bytes: Uint8Array, { rows, columns }: DicomHeader): Uint8Array {
  const pairsPerRow = Math.ceil(columns / 2);
  const out = new Uint8Array(rows * columns * 3);
  if (bytes.length < rows * pairsPerRow * 4) throw new TileSourceError(`Corrupt DICOM: a frame has ${bytes.length} bytes.`);
  for (let y = 0, at = 0; y < rows; y++) {
    for (let x = 0; x < columns; x++, at += 3) {
      const pair = (y * pairsPerRow + (x >> 1)) * 4;
      out[at] = bytes[pair + (x & 1)]!;
      out[at + 1] = bytes[pair + 2]!;
      out[at + 2] = bytes[pair + 3]!;
    }
  }
  return out;
}

/** Converts samples from YCbCr to RGB in place, if necessary. */
function convertToRgb(data: Samples, { photometric, bitsStored, samples }: DicomHeader): void {
  const isYCbCr = samples === 3 && (photometric === 'YBR_FULL' || photometric === 'YBR_FULL_422');
  if (isYCbCr && (data instanceof Uint8Array || data instanceof Uint16Array || data instanceof Uint32Array))
    yCbCrToRgb(data, bitsStored);
}

/**
 * Sets all bits above the lowest `bitsStored` bits, which are not part of a sample's value, to the sign bit, or to 0 if samples are
 * unsigned.
 */
function extendSign(data: Samples, { bitsAllocated, isSigned }: DicomHeader, bitsStored: number): void {
  if (bitsStored === bitsAllocated) return;
  const shift = 32 - bitsStored;
  for (let i = 0; i < data.length; i++) data[i] = isSigned ? (data[i]! << shift) >> shift : (data[i]! << shift) >>> shift;
}

/** Inverts samples of MONOCHROME1, in which 0 is white. */
function invertSamples(data: Samples, { bitsStored, isSigned }: DicomHeader): void {
  const max = isSigned ? -1 : 2 ** bitsStored - 1;
  for (let i = 0; i < data.length; i++) data[i] = max - data[i]!;
}

function applyPalette(data: Samples, palette: NonNullable<DicomHeader['palette']>): Uint8Array {
  const last = palette.colors.length / 3 - 1;
  const out = new Uint8Array(data.length * 3);
  for (let i = 0; i < data.length; i++) {
    const entry = Math.max(0, Math.min(last, data[i]! - palette.firstSample)) * 3;
    out.set(palette.colors.subarray(entry, entry + 3), i * 3);
  }
  return out;
}

function jpegShape({ samples, columns, rows, photometric }: DicomHeader) {
  const colors = photometric === 'RGB' ? photometrics.rgb : photometrics.yCbCr;
  return {
    photometric: samples === 1 ? photometrics.blackIsZero : colors,
    samplesPerPixel: samples,
    chunkWidth: columns,
    chunkHeight: rows,
    jpegTables: null,
  };
}

/** The stored bytes of a frame if they are a JPEG that browsers show with the right colors; otherwise `null`. */
export async function readStoredJpeg(instance: DicomInstance, frame: number, signal?: AbortSignal): Promise<EncodedImage | null> {
  const { header } = instance;
  const isPlain =
    codecOf(header) === 'jpeg' &&
    header.bitsAllocated === 8 &&
    !header.isSigned &&
    !['MONOCHROME1', 'PALETTE COLOR'].includes(header.photometric);
  if (!isPlain) return null;
  const bytes = completeJpeg(await instance.readFrameBytes(frame, { signal }), jpegShape(header));
  return bytes && { encoding: 'JPEG', bytes, width: header.columns, height: header.rows };
}

async function decodePicture(
  codec: 'jpegls' | 'jpeg2000',
  bytes: Uint8Array,
  header: DicomHeader,
  signal?: AbortSignal,
): Promise<Samples> {
  const { rows, columns, samples, bitsAllocated, bitsStored } = header;
  const { info, data } = await codecThreads.decodePicture({ codec, bytes }, 'a DICOM frame', signal);
  if (info.width !== columns || info.height !== rows || info.componentCount !== samples) {
    throw new TileSourceError(
      `Corrupt DICOM: a frame has ${info.width} by ${info.height} pixels of ${info.componentCount} samples.`,
    );
  }
  if (info.bitsPerSample > Math.min(16, bitsAllocated))
    throw new TileSourceError(`Corrupt DICOM: a frame has samples of ${info.bitsPerSample} bits.`);
  const decodedType = `${info.isSigned ? 'int' : 'uint'}${info.bitsPerSample > 8 ? 16 : 8}` as const;
  const count = rows * columns * samples;
  const decodedSamples = viewSamples(data, decodedType, count);
  const out = convertType(decodedSamples, integerType(header), count);
  // Writers often pass signed samples to the codec as unsigned samples with the same bits. The sign is then the highest bit that
  // the codec knows.
  extendSign(out, header, Math.min(bitsStored, info.bitsPerSample));
  return out;
}

/** Converts whole numbers to another integer type. Samples of the same size keep their bits. */
function convertType(data: Samples, dtype: SampleType, count: number): Samples {
  const constructor = sampleArrays[dtype];
  if (data instanceof constructor) return data;
  if (data.BYTES_PER_ELEMENT === constructor.BYTES_PER_ELEMENT)
    return new constructor(data.buffer as ArrayBuffer, data.byteOffset, count);
  const out = new constructor(count);
  out.set(data);
  return out;
}

function integerType({ isSigned, bitsAllocated }: DicomHeader): SampleType {
  return `${isSigned ? 'int' : 'uint'}${bitsAllocated}` as SampleType;
}

async function decodeJpegFrame(bytes: Uint8Array, header: DicomHeader, signal?: AbortSignal): Promise<Samples> {
  const { rows, columns, samples } = header;
  const bands = samples === 1 ? 1 : 3;
  const jpeg = completeJpeg(bytes, jpegShape(header)) ?? bytes;
  const picture = await decodeJpeg(jpeg, { bands, what: 'a DICOM frame', maxPixels: rows * columns }, signal);
  if (picture.width === columns && picture.height === rows) {
    const data = convertType(picture.data, integerType(header), rows * columns * samples);
    extendSign(data, header, 8);
    return data;
  }
  throw new TileSourceError(`Corrupt DICOM: a frame has ${picture.width} by ${picture.height} pixels.`);
}

/** Whether frames are decoded in a millisecond or two, so that caching decoded frames is not worth their memory. */
export function areQuicklyDecoded(header: DicomHeader): boolean {
  return codecOf(header) === 'jpeg';
}

/** Decodes a frame of an instance. Frames are counted from 0. @throws TileSourceError if the frame is corrupt or too large. */
export async function readFrame(instance: DicomInstance, frame: number, signal?: AbortSignal): Promise<Raster> {
  const { header } = instance;
  const { rows, columns, samples, bitsAllocated, bitsStored, photometric } = header;
  const shape = sampleShape(header);
  const count = rows * columns * samples;
  if (count * sampleBytes(shape.dtype) > maxDecodedBytes) {
    throw new TileSourceError(`A frame of the DICOM file has ${columns} by ${rows} pixels, which is too large to be decoded.`);
  }
  const codec = codecOf(header);
  const toRaster = (data: Samples): Raster => ({ ...shape, data, width: columns, height: rows });
  let data: Samples;
  if (codec === 'jpeg')
    data = await lendReadMemory(async (into) =>
      decodeJpegFrame(await instance.readFrameBytes(frame, { signal, into }), header, signal),
    );
  else if (codec === 'native' || codec === 'rle') {
    const bytes = await instance.readFrameBytes(frame, { signal });
    const isSubsampled = codec === 'native' && instance.isSubsampled;
    const raw = codec === 'rle' ? decodeRle(bytes, header) : isSubsampled ? undoSubsampling(bytes, header) : bytes;
    if (header.isBigEndian) swapBytes(raw, bitsAllocated / 8);
    data = viewSamples(raw, header.isFloat ? shape.dtype : integerType(header), count);
    if (!header.isFloat) extendSign(data, header, bitsStored);
    if (samples === 3 && header.isPlanar && codec === 'native' && !isSubsampled) data = interleavePlanes(data);
    convertToRgb(data, header);
  } else {
    data = await decodePicture(codec, await instance.readFrameBytes(frame, { signal }), header, signal);
    convertToRgb(data, header);
  }
  if (photometric === 'MONOCHROME1' && !header.isFloat) invertSamples(data, header);
  if (header.palette !== null) data = applyPalette(data, header.palette);
  return toRaster(data);
}
