import { TileSourceError } from '../../../errors.js';
import { isInstalled, describeMissingPackages } from '../../../optional-packages.js';
import type { CodecThreads } from '../../codecs/threads/codec-threads.js';
import type { SampleType } from '../../raster.js';
import type { Directory, TagNumbers } from './file/directory.js';
import { readYCbCr, defaultYCbCr, type YCbCrConversion } from './decoding/stored-ycbcr.js';
import { compressions, photometrics, tags } from './file/tags.js';

/**
 * Maximum number of bytes of the decoded samples of a tile, or of an untiled image. This limits the memory for a single request.
 */
export const maxDecodedBytes = 256 * 1024 * 1024;
/** Longest side of an image in pixels, similar to the limit of libvips. */
const maxSide = 10_000_000;
/**
 * Maximum number of tiles or strips of a directory. With tiles of 256 pixels this is about 700,000 by 700,000 pixels, and 100 MB of
 * offsets.
 */
const maxChunks = 8 * 1024 * 1024;

/** How stored bytes are decoded to samples. */
type Decoding =
  /** The bytes are only decompressed, and the samples are interpreted here, so that any depth stays unchanged. */
  | 'bytes'
  /** libvips decodes to 8-bit pictures. */
  | 'picture'
  | 'webp'
  | 'jpeg2000'
  | 'jpegxl'
  /** Old-style JPEG that is one complete picture of the size of the image. */
  | 'interchange';

/** How a directory stores its pixels, checked for consistency. A chunk is a tile or a strip. */
export interface ImageLayout {
  directory: Directory;
  width: number;
  height: number;
  tiled: boolean;
  chunkWidth: number;
  chunkHeight: number;
  chunksAcross: number;
  chunksDown: number;
  /** Number of separately stored planes: 1, or samples per pixel for planar configuration 2. */
  planes: number;
  samplesPerPixel: number;
  /** Bits per stored sample. */
  bits: number;
  /** 1 unsigned, 2 signed, 3 floating point. */
  sampleFormat: number;
  compression: number;
  photometric: number;
  predictor: number;
  fillOrder: number;
  /** The value of the tag Orientation, from 1 to 8. */
  orientation: number;
  extraSamples: readonly number[];
  decoding: Decoding;
  /** Type of the samples after decoding and color interpretation. */
  dtype: SampleType;
  /** Number of samples per pixel after decoding and color interpretation. */
  bands: number;
  /** All reds, then all greens, then all blues, of 16 bits each. */
  colorMap: TagNumbers | null;
  jpegTables: Uint8Array | null;
  /** Position of the complete picture of old-style JPEG. */
  interchange: { offset: number; length: number } | null;
  /** Additional compression around LERC. */
  lercPacking: 'none' | 'deflate' | 'zstd';
  subsampling: readonly [number, number];
  yCbCr: YCbCrConversion;
  /** The tag T4Options, or T6Options with compression `ccittFax4`. */
  t4Options: number;
  inkSet: number;
  icc: Uint8Array | null;
}

const byteCompressions: ReadonlySet<number> = new Set([
  compressions.none,
  compressions.lzw,
  compressions.deflate,
  compressions.deflateOld,
  compressions.packbits,
  compressions.zstd,
  compressions.lerc,
]);
const compressionsWithPredictor: ReadonlySet<number> = new Set([
  compressions.lzw,
  compressions.deflate,
  compressions.deflateOld,
  compressions.zstd,
]);
/** Compressions of JPEG XR, whose tiles are complete files that decode to plain samples. */
export const jpegXrCompressions: ReadonlySet<number> = new Set([compressions.jpegXr, compressions.jpegXrNdpi]);
const jpegXlCompressions: ReadonlySet<number> = new Set([compressions.jpegXl, compressions.jpegXlDng]);
const faxCompressions: ReadonlySet<number> = new Set([compressions.ccittRle, compressions.ccittFax3, compressions.ccittFax4]);
export const jpeg2000Compressions: ReadonlySet<number> = new Set([
  compressions.jpeg2000YCbCr,
  compressions.jpeg2000Lossy,
  compressions.jpeg2000Rgb,
  compressions.jpeg2000,
]);

const jpeg2000Photometrics: ReadonlySet<number> = new Set([photometrics.blackIsZero, photometrics.rgb, photometrics.yCbCr]);

function refuse(message: string): never {
  throw new TileSourceError(`Cannot read this TIFF image: ${message}.`);
}

/**
 * The type of decoded samples for a sample format and depth. Half floats become float32; 64-bit integers become float64 (exact to
 * 2^53).
 */
function sampleType(format: number, bits: number): SampleType {
  if (format === 3) {
    if (bits === 16 || bits === 32) return 'float32';
    if (bits === 64) return 'float64';
  } else if (format === 1 || format === 2) {
    const prefix = format === 2 ? 'int' : 'uint';
    if (bits === 8 || bits === 16 || bits === 32) return `${prefix}${bits}`;
    if (bits === 64) return 'float64';
    if (bits >= 1 && bits < 32) return `${prefix}${bits < 8 ? 8 : bits < 16 ? 16 : 32}`;
  }
  return refuse(
    `samples of format ${format} with ${bits} bits are not supported (whole numbers of 1 to 32 and 64 bits are, and floats of 16, 32 and 64)`,
  );
}

/** Reads a tag that must have the same value for all samples of a pixel. `what` names the tag in errors. */
async function readCommonValue(directory: Directory, tag: number, fallback: number, what: string): Promise<number> {
  const values = await directory.numbers(tag);
  if (values === null || values.length === 0) return fallback;
  const first = values[0] ?? fallback;
  if (values.some((value) => value !== first)) refuse(`samples of one pixel differ in ${what} (${values.join(', ')})`);
  return first;
}

/** Names of compressions that are not decoded, by code. */
const unsupportedCompressionNames: Readonly<Record<number, string>> = {
  32_809: 'ThunderScan',
  32_909: 'PixarLog',
  34_661: 'JBIG',
  34_676: 'SGI Log',
  34_677: 'SGI Log of 24 bits',
  34_892: 'lossy JPEG of DNG',
  34_925: 'LZMA',
  34_933: 'PNG',
};

function decodingOf(compression: number, isSubsampled: boolean): Decoding {
  if (jpegXrCompressions.has(compression)) return 'bytes';
  if (isSubsampled && byteCompressions.has(compression)) return 'picture';
  if (byteCompressions.has(compression)) return 'bytes';
  if (compression === compressions.jpeg || faxCompressions.has(compression)) return 'picture';
  if (compression === compressions.webp) return 'webp';
  if (jpeg2000Compressions.has(compression)) return 'jpeg2000';
  if (jpegXlCompressions.has(compression)) return 'jpegxl';
  if (compression === compressions.oldJpeg) return 'interchange';
  const name = Object.hasOwn(unsupportedCompressionNames, compression)
    ? ` (it is ${unsupportedCompressionNames[compression]})`
    : '';
  return refuse(
    `compression ${compression} is not supported${name}; none, LZW, deflate, PackBits, JPEG, JPEG 2000, JPEG XL, JPEG XR, LERC, zstd, WebP and CCITT are`,
  );
}

type SampleShape = Pick<
  ImageLayout,
  'decoding' | 'photometric' | 'samplesPerPixel' | 'bits' | 'sampleFormat' | 'compression' | 'planes'
>;

/** Whether the samples are unsigned and have 8 bits. */
function hasByteSamples({ bits, sampleFormat }: SampleShape): boolean {
  return bits === 8 && sampleFormat === 1;
}

/** {@link outputFormatOf} for strips and tiles that libvips decodes as pictures: CCITT, JPEG and YCbCr. */
function pictureFormatOf(shape: SampleShape): { bands: number; dtype: SampleType } {
  const { photometric, samplesPerPixel: samples, bits, compression, planes } = shape;
  if (faxCompressions.has(compression)) {
    if (bits !== 1 || samples !== 1) refuse(`CCITT compression requires 1-bit samples, not ${samples} of ${bits} bits`);
    return { bands: 1, dtype: 'uint8' };
  }
  if (!hasByteSamples(shape)) refuse(`${samples} samples of ${bits} bits in JPEG or YCbCr; only 8-bit ones are supported`);
  if (photometric === photometrics.yCbCr) {
    if (samples !== 3 || planes !== 1) refuse('YCbCr requires three samples, stored together');
    return { bands: 3, dtype: 'uint8' };
  }
  if (samples > 4) refuse(`JPEG supports at most four samples per pixel, not ${samples}`);
  if (photometric === photometrics.separated && samples === 4 && planes === 1) return { bands: 3, dtype: 'uint8' };
  if (photometric > photometrics.rgb) refuse(`photometric interpretation ${photometric} is not supported with JPEG`);
  return { bands: samples, dtype: 'uint8' };
}

/** Bands and type after color interpretation. Color spaces that browsers cannot display become 8-bit sRGB, converted by libvips. */
function outputFormatOf(shape: SampleShape): { bands: number; dtype: SampleType } {
  const { decoding, photometric, samplesPerPixel: samples, bits, sampleFormat } = shape;
  if (decoding === 'picture') return pictureFormatOf(shape);
  if (decoding === 'interchange') {
    if (!hasByteSamples(shape) || (samples !== 1 && samples !== 3) || shape.planes !== 1)
      refuse('old-style JPEG requires one or three 8-bit samples, stored together');
    return { bands: samples, dtype: 'uint8' };
  }
  if (decoding === 'jpegxl') {
    if ((bits !== 8 && bits !== 16) || sampleFormat !== 1 || samples > 4 || shape.planes !== 1)
      refuse(`JPEG XL requires one to four samples of 8 or 16 bits, stored together, not ${samples} of ${bits} bits`);
    if (photometric !== photometrics.blackIsZero && photometric !== photometrics.rgb)
      refuse(`JPEG XL with photometric interpretation ${photometric} is not supported`);
    return { bands: samples, dtype: sampleType(sampleFormat, bits) };
  }
  if (decoding === 'webp') {
    if (!hasByteSamples(shape) || (samples !== 3 && samples !== 4) || shape.planes !== 1)
      refuse('WebP requires three or four 8-bit samples, stored together');
    return { bands: samples, dtype: 'uint8' };
  }
  if (decoding === 'jpeg2000') {
    if (bits < 8 || bits > 16 || sampleFormat === 3) refuse(`JPEG 2000 with ${bits}-bit samples is not supported (8 to 16 are)`);
    if (shape.planes !== 1) refuse('JPEG 2000 with planes stored apart is not supported');
    if (samples > 4) refuse(`JPEG 2000 with ${samples} samples per pixel is not supported (1 to 4 are)`);
    if (!jpeg2000Photometrics.has(photometric))
      refuse(`JPEG 2000 with photometric interpretation ${photometric} is not supported`);
    return { bands: samples, dtype: sampleType(sampleFormat, bits) };
  }
  if (jpegXrCompressions.has(shape.compression)) {
    const samplesPerPlane = shape.planes === 1 ? samples : 1;
    const isSupported = (sampleFormat === 1 && (bits === 8 || bits === 16)) || (sampleFormat === 3 && bits === 32);
    if (!isSupported || (samplesPerPlane !== 1 && samplesPerPlane !== 3))
      refuse(`JPEG XR requires one or three samples of 8 or 16 bits or 32-bit floats, not ${samples} of ${bits} bits`);
    if (photometric > photometrics.rgb) refuse(`JPEG XR with photometric interpretation ${photometric} is not supported`);
  }
  if (photometric === photometrics.palette) {
    if (sampleFormat !== 1 || bits > 16 || samples > 2) refuse(`a palette with ${samples} samples of ${bits} bits`);
    return { bands: 2 + samples, dtype: 'uint8' };
  }
  if (photometric === photometrics.separated || photometric === photometrics.cieLab) {
    const neededSamples = photometric === photometrics.separated ? 4 : 3;
    const isInteger = neededSamples === 4 ? bits <= 16 && sampleFormat === 1 : (bits === 8 || bits === 16) && sampleFormat !== 3;
    // libvips writes L*a*b* as 32-bit floats, and leaves the sample format out.
    const isFloatLab = neededSamples === 3 && bits === 32;
    if (samples === neededSamples && (isInteger || isFloatLab)) return { bands: 3, dtype: 'uint8' };
    refuse(`${neededSamples === 4 ? 'CMYK' : 'CIE L*a*b*'} with ${samples} samples of ${bits} bits is not supported`);
  }
  if (photometric === photometrics.yCbCr) {
    if (hasByteSamples(shape) && (samples === 3 || samples === 4)) return { bands: samples, dtype: 'uint8' };
    refuse(`YCbCr with ${samples} samples of ${bits} bits is not supported (three or four of 8 bits are)`);
  }
  if (photometric > photometrics.mask) refuse(`photometric interpretation ${photometric} is not supported`);
  return { bands: samples, dtype: sampleType(sampleFormat, bits) };
}

/** Reads the predictor. With compressions that use no predictor, the tag has no meaning. */
async function readPredictor(directory: Directory, { compression, bits, sampleFormat }: SampleShape): Promise<number> {
  const predictor = compressionsWithPredictor.has(compression) ? await directory.number(tags.predictor, 1) : 1;
  const isSupported =
    predictor === 1 || (predictor === 2 && [8, 16, 32, 64].includes(bits)) || (predictor === 3 && sampleFormat === 3);
  if (!isSupported) refuse(`predictor ${predictor} does not support ${bits}-bit samples of format ${sampleFormat}`);
  return predictor;
}

function checkPalette({ photometric, decoding, colorMap, bits }: ImageLayout): void {
  if (photometric === photometrics.palette && decoding === 'bytes' && (colorMap?.length ?? 0) < 3 * 2 ** bits) {
    refuse(`its palette has ${colorMap?.length ?? 0} numbers where ${3 * 2 ** bits} are needed`);
  }
}

function checkTileSize({ tiled, chunkWidth, chunkHeight, bits, samplesPerPixel, bands }: ImageLayout): void {
  const decodedBytes = chunkWidth * chunkHeight * Math.max(1, bits / 8) * Math.max(samplesPerPixel, bands);
  if (tiled && decodedBytes > maxDecodedBytes) {
    refuse(`one tile of ${chunkWidth} by ${chunkHeight} would take ${decodedBytes} bytes, more than ${maxDecodedBytes}`);
  }
}

/**
 * Reads and checks how a directory stores its pixels.
 *
 * @param inheritedValues values of the full-size image for missing tags. libvips leaves the sample format out of reduced images.
 * @throws TileSourceError if tags contradict each other, declare impossible sizes, or use unsupported features.
 */
export async function readLayout(directory: Directory, inheritedValues: { sampleFormat?: number } = {}): Promise<ImageLayout> {
  const chunks = await readChunkShape(directory);
  const shape = await readSampleShape(directory, inheritedValues);
  const { photometric, compression } = shape;
  const orientation = await directory.number(tags.orientation, 1);
  const isYCbCr = photometric === photometrics.yCbCr;
  const layout: ImageLayout = {
    ...shape,
    ...outputFormatOf(shape),
    directory,
    ...chunks,
    predictor: await readPredictor(directory, shape),
    fillOrder: await directory.number(tags.fillOrder, 1),
    // Some writers write 0. As in libtiff, any value outside 1 to 8 counts as 1.
    orientation: orientation >= 1 && orientation <= 8 ? orientation : 1,
    extraSamples: [...((await directory.numbers(tags.extraSamples)) ?? [])],
    colorMap: photometric === photometrics.palette ? await directory.numbers(tags.colorMap, 3 * 65_536) : null,
    jpegTables: compression === compressions.jpeg ? await directory.bytes(tags.jpegTables) : null,
    lercPacking: compression === compressions.lerc ? await readLercPacking(directory) : 'none',
    ...(await readSubsampling(directory)),
    yCbCr: isYCbCr ? await readYCbCr(directory) : defaultYCbCr,
    t4Options: await directory.number(compression === compressions.ccittFax4 ? tags.t6Options : tags.t4Options, 0),
    inkSet: await directory.number(tags.inkSet, 1),
    icc: await directory.bytes(tags.iccProfile),
  };
  checkPalette(layout);
  checkTileSize(layout);
  checkChunkCounts(layout);
  return layout;
}

/** Reads the size of the picture and of its tiles or strips. A complete picture of old-style JPEG counts as one strip. */
async function readChunkShape(
  directory: Directory,
): Promise<
  Pick<ImageLayout, 'width' | 'height' | 'tiled' | 'chunkWidth' | 'chunkHeight' | 'chunksAcross' | 'chunksDown' | 'interchange'>
> {
  const { width, height } = await directory.size();
  if (width < 1 || height < 1 || width > maxSide || height > maxSide) refuse(`its size is ${width} by ${height} pixels`);
  const interchange = await readInterchange(directory);
  const tiled = directory.isTiled && interchange === null;
  const rowsPerStrip = await directory.number(tags.rowsPerStrip, height);
  const chunkWidth = tiled ? await directory.number(tags.tileWidth, 0) : width;
  const stripHeight = interchange === null ? Math.min(height, rowsPerStrip) : height;
  const chunkHeight = tiled ? await directory.number(tags.tileLength, 0) : stripHeight;
  if (chunkWidth < 1 || chunkHeight < 1) refuse(`its tiles or strips are ${chunkWidth} by ${chunkHeight} pixels`);
  const [chunksAcross, chunksDown] = [Math.ceil(width / chunkWidth), Math.ceil(height / chunkHeight)];
  return { width, height, tiled, chunkWidth, chunkHeight, chunksAcross, chunksDown, interchange };
}

/** Reads the type, number, compression and interpretation of the samples. */
async function readSampleShape(directory: Directory, inheritedValues: { sampleFormat?: number }): Promise<SampleShape> {
  const compression = await directory.number(tags.compression, compressions.none);
  const bits = await readCommonValue(directory, tags.bitsPerSample, 1, 'depth');
  const samplesPerPixel = await directory.number(tags.samplesPerPixel, 1);
  if (samplesPerPixel < 1 || samplesPerPixel > 1024) refuse(`it has ${samplesPerPixel} samples per pixel`);
  const photometric = await directory.number(
    tags.photometric,
    samplesPerPixel >= 3 ? photometrics.rgb : photometrics.blackIsZero,
  );
  const planar = await directory.number(tags.planarConfiguration, 1);
  if (planar !== 1 && planar !== 2) refuse(`planar configuration ${planar} does not exist`);
  const { subsampling } = await readSubsampling(directory);
  const isSubsampled = photometric === photometrics.yCbCr && subsampling.some((factor) => factor !== 1);
  const decoding = decodingOf(compression, isSubsampled);
  const decoderPackage = decoding === 'jpegxl' ? 'jxl-oxide-wasm' : compression === compressions.lerc ? 'lerc' : null;
  if (decoderPackage !== null && !isInstalled(decoderPackage)) refuse(describeMissingPackages(decoderPackage));
  // Pictures have only unsigned samples, so the tag has no meaning for them.
  const isPicture = decoding === 'picture' || decoding === 'webp' || decoding === 'interchange';
  const format = isPicture
    ? 1
    : await readCommonValue(directory, tags.sampleFormat, inheritedValues.sampleFormat ?? 1, 'sample format');
  return {
    decoding,
    photometric,
    samplesPerPixel,
    bits,
    // Undefined (4) is treated as unsigned, as libtiff does.
    sampleFormat: format === 4 ? 1 : format,
    compression,
    planes: planar === 2 ? samplesPerPixel : 1,
  };
}

/** Reads the subsampling of YCbCr. If the tag is missing, the subsampling is 2 by 2 according to the specification. */
async function readSubsampling(directory: Directory): Promise<Pick<ImageLayout, 'subsampling'>> {
  const values = await directory.numbers(tags.yCbCrSubSampling);
  return { subsampling: [values?.[0] ?? 2, values?.[1] ?? 2] };
}

async function readLercPacking(directory: Directory): Promise<ImageLayout['lercPacking']> {
  const packing = (await directory.numbers(tags.lercParameters))?.[1] ?? 0;
  return lercPackings[packing] ?? refuse('LERC is packed in an unknown way');
}

const lercPackings = ['none', 'deflate', 'zstd'] as const;

/** Position of the complete picture of old-style JPEG; `null` for other compressions. */
async function readInterchange(directory: Directory): Promise<ImageLayout['interchange']> {
  if ((await directory.number(tags.compression, compressions.none)) !== compressions.oldJpeg) return null;
  const [offset, length] = [
    await directory.number(tags.jpegInterchangeFormat, 0),
    await directory.number(tags.jpegInterchangeFormatLength, 0),
  ];
  if (offset > 0 && length > 0) return { offset, length };
  return refuse('old-style JPEG (compression 6) without a whole picture (tags 513 and 514) is not supported');
}

function checkChunkCounts(layout: ImageLayout): void {
  const { directory, tiled } = layout;
  if (layout.interchange !== null) return;
  const neededChunks = layout.chunksAcross * layout.chunksDown * layout.planes;
  const what = tiled ? 'tiles' : 'strips';
  if (neededChunks > maxChunks) refuse(`it would have ${neededChunks} ${what}; at most ${maxChunks} are supported`);
  const { chunkTags } = directory;
  const offsets = directory.count(chunkTags.offsets);
  const lengths = directory.count(chunkTags.lengths);
  // More chunks than needed are harmless, and some writers reserve them. With fewer, parts of the image would be missing.
  if (offsets < neededChunks) refuse(`its size requires ${neededChunks} ${what}, but it has only ${offsets} offsets`);
  // If all lengths are missing, they are computed.
  const lengthsMayBeMissing = lengths === 0 && !tiled;
  if (lengths < neededChunks && !lengthsMayBeMissing)
    refuse(`its size requires ${neededChunks} ${what}, but it has only ${lengths} lengths`);
}

/** Data that decoders need besides the layout. */
export interface DecodeContext {
  littleEndian: boolean;
  threads: CodecThreads;
  signal?: AbortSignal | undefined;
}
