import { TileSourceError } from '../../../errors.js';
import { codecThreads } from '../../codecs/threads/codec-threads.js';
import { decodeJpeg } from '../../codecs/jpeg.js';
import { readJpegXrSize } from '../../codecs/jpeg-xr.js';
import { orderSamples, type SampleOrder } from '../../codecs/sample-order.js';
import type { LossyCodec } from '../../tile-source.js';
import { createRaster, sampleBytes, type Raster } from '../../raster.js';
import { blit } from '../../render/pixels.js';
import { pixelBytes, pixelTypeOf, type PixelType } from './pixel-types.js';
import { checkSegment, uint64At, type CziBytes } from './segments.js';
import type { SubBlock } from './sub-blocks.js';

/** Maximum number of bytes of a decoded sub-block. */
const maxDecodedBytes = 2 ** 28;

/**
 * Bytes at the start of a sub-block that tell the position of its pixels: the segment header, lengths, and the fixed part of the
 * directory entry.
 */
const subBlockHeadBytes = 32 + 16 + 32;

const compressionNames: Readonly<Record<number, string>> = {
  0: 'uncompressed',
  1: 'JPEG',
  2: 'LZW',
  4: 'JPEG XR',
  5: 'Zstandard',
  6: 'Zstandard with header',
};

/** The lossy codec of a sub-block; `null` if it has none. */
export function lossyCodecOf(block: SubBlock | undefined): LossyCodec | null {
  return block?.compression === 1 ? 'jpeg' : block?.compression === 4 ? 'jpegxr' : null;
}

/** Whether some rows of a sub-block can be read without its other rows. */
export function canReadRowsSeparately({ compression }: SubBlock): boolean {
  return compression === 0;
}

/** Whether decoding takes only a millisecond or two, so that caching the decoded sub-block is not worth its memory. */
export function isQuicklyDecoded({ compression }: SubBlock): boolean {
  return compression === 1;
}

/** Consecutive rows of a sub-block. */
export interface RowRange {
  top: number;
  height: number;
}

/** The bytes of a sub-block's pixels in the file. */
interface DataRange {
  offset: number;
  length: number;
}

async function findDataRange(file: CziBytes, { position }: SubBlock, signal: AbortSignal | undefined): Promise<DataRange> {
  const head = await file.readExactly(position, subBlockHeadBytes, 'a sub-block', signal);
  const segment = checkSegment({ header: head, position, name: 'ZISRAWSUBBLOCK', size: file.size });
  const metadataLength = head.getInt32(32, true);
  const length = uint64At(head, 32 + 8, 'the length of a sub-block');
  const dimensionCount = head.getInt32(32 + 16 + 28, true);
  if (metadataLength < 0 || dimensionCount < 0)
    throw new TileSourceError(`Corrupt CZI: the sub-block at byte ${position} has lengths below 0.`);
  const offset = segment.start + Math.max(256, 16 + 32 + dimensionCount * 20) + metadataLength;
  if (offset + length > file.size) {
    throw new TileSourceError(
      `Truncated or corrupt CZI: the sub-block at byte ${position} claims ${length} bytes of pixels, but the file has ${file.size}.`,
    );
  }
  return { offset, length };
}

function sampleOrderOf(type: PixelType): SampleOrder {
  if (type.storedSamples === 1) return {};
  return { blueFirst: { samplesPerPixel: type.storedSamples as 3 | 4, sampleBytes: sampleBytes(type.dtype) as 1 | 2 | 4 } };
}

/** Views bytes as samples. Missing bytes count as zero, which the format prescribes for damaged files. */
function asRaster(bytes: Uint8Array<ArrayBuffer>, type: PixelType, width: number, height: number): Raster {
  const raster = createRaster({ width, height, bands: type.bands, dtype: type.dtype });
  const { data } = raster;
  if (bytes.length >= data.byteLength && bytes.byteOffset % data.BYTES_PER_ELEMENT === 0) {
    const constructor = data.constructor as new (buffer: ArrayBuffer, offset: number, length: number) => Raster['data'];
    return { ...raster, data: new constructor(bytes.buffer, bytes.byteOffset, data.length) };
  }
  new Uint8Array(data.buffer).set(bytes.subarray(0, data.byteLength));
  return raster;
}

/** Crops a decoded picture to the size in the directory entry, or pads it with zeros. */
function fitToEntry(raster: Raster, block: SubBlock, type: PixelType): Raster {
  if (raster.dtype !== type.dtype || raster.bands !== type.bands) {
    throw new TileSourceError(
      `Corrupt CZI: a sub-block of type ${type.name} contains an image of ${raster.bands} ${raster.dtype} samples.`,
    );
  }
  if (raster.width === block.storedWidth && raster.height === block.storedHeight) return raster;
  const result = createRaster({ ...raster, width: block.storedWidth, height: block.storedHeight });
  blit(result, raster, { left: 0, top: 0 });
  return result;
}

async function decodeZstd(bytes: Uint8Array, block: SubBlock, type: PixelType, signal?: AbortSignal): Promise<Raster> {
  const { storedWidth, storedHeight } = block;
  const size = storedWidth * storedHeight * pixelBytes(type);
  let [headerBytes, hiLo] = [0, false];
  if (block.compression === 6) {
    // The header begins with its own length, 1 or 3 bytes. In a header of 3 bytes, a chunk of type 1 says whether the low and the
    // high bytes of the samples are stored separately.
    headerBytes = bytes[0] ?? 0;
    const isKnownHeader = headerBytes === 1 || (headerBytes === 3 && bytes[1] === 1);
    if (!isKnownHeader)
      throw new TileSourceError(`Corrupt CZI: a Zstandard sub-block has an unknown header of ${headerBytes} bytes.`);
    hiLo = headerBytes === 3 && ((bytes[2] ?? 0) & 1) === 1;
  }
  const order: SampleOrder = { ...sampleOrderOf(type), hiLo };
  const { data } = await codecThreads.decode(
    { codec: 'zstd', bytes: bytes.subarray(headerBytes), size, order },
    'a sub-block',
    signal,
  );
  return asRaster(data, type, storedWidth, storedHeight);
}

/** Number of pixels by which even a small picture may exceed the size in its directory entry. */
const maxExtraPixels = 2 ** 20;

/** Maximum number of pixels of a picture in a sub-block, before the picture is cropped to the size in the directory entry. */
function maxPicturePixels({ storedWidth, storedHeight }: SubBlock): number {
  return 2 * storedWidth * storedHeight + maxExtraPixels;
}

async function decodeJpegXr(bytes: Uint8Array, block: SubBlock, type: PixelType, signal?: AbortSignal): Promise<Raster> {
  const size = readJpegXrSize(bytes, 'a sub-block');
  if (size.width * size.height > Math.min(maxPicturePixels(block), maxDecodedBytes / pixelBytes(type))) {
    throw new TileSourceError(`A sub-block of the CZI has ${size.width} by ${size.height} pixels, which is too large.`);
  }
  const { info, data } = await codecThreads.decodePicture({ codec: 'jpegxr', bytes }, 'a sub-block', signal);
  const dtype = info.isFloat === true ? 'float32' : info.bitsPerSample === 16 ? 'uint16' : 'uint8';
  // The actual type of the picture. `fitToEntry` compares it with the type in the directory entry.
  const actualType: PixelType = { ...type, dtype, storedSamples: info.componentCount, bands: info.componentCount === 1 ? 1 : 3 };
  if (info.componentCount !== actualType.bands)
    throw new TileSourceError(`A JPEG XR sub-block has ${info.componentCount} bands.`);
  return asRaster(data, actualType, info.width, info.height);
}

/**
 * Decodes a sub-block, or only `rows` if {@link canReadRowsSeparately}.
 *
 * @throws TileSourceError if the sub-block is corrupt or too large, or has an unsupported compression.
 */
export async function readBlock(file: CziBytes, block: SubBlock, rows: RowRange | null, signal?: AbortSignal): Promise<Raster> {
  const type = pixelTypeOf(block.pixelType);
  const { storedWidth, storedHeight, compression } = block;
  const { top, height } = rows ?? { top: 0, height: storedHeight };
  const decodedBytes = storedWidth * height * Math.max(pixelBytes(type), 1);
  if (decodedBytes > maxDecodedBytes) {
    throw new TileSourceError(
      `A sub-block of the CZI has ${storedWidth} by ${storedHeight} pixels, which is too large to be decoded.`,
    );
  }
  const dataRange = await findDataRange(file, block, signal);
  const readRange = async (offset: number, length: number): Promise<Uint8Array> => {
    if (length > maxDecodedBytes) throw new TileSourceError(`Corrupt CZI: a sub-block claims ${length} compressed bytes.`);
    const view = await file.readExactly(offset, length, 'the pixels of a sub-block', signal);
    return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  };
  switch (compression) {
    case 0: {
      const skippedBytes = Math.min(dataRange.length, top * storedWidth * pixelBytes(type));
      const bytes = await readRange(dataRange.offset + skippedBytes, Math.min(dataRange.length - skippedBytes, decodedBytes));
      return asRaster(orderSamples(bytes as Uint8Array<ArrayBuffer>, sampleOrderOf(type)), type, storedWidth, height);
    }
    case 1: {
      const expectation = {
        bands: type.bands,
        what: 'a sub-block',
        maxPixels: Math.min(maxPicturePixels(block), Math.floor(maxDecodedBytes / type.bands)),
      };
      return fitToEntry(await decodeJpeg(await readRange(dataRange.offset, dataRange.length), expectation, signal), block, type);
    }
    case 4:
      return fitToEntry(
        await decodeJpegXr(await readRange(dataRange.offset, dataRange.length), block, type, signal),
        block,
        type,
      );
    case 5:
    case 6:
      return decodeZstd(await readRange(dataRange.offset, dataRange.length), block, type, signal);
    default:
      throw new TileSourceError(
        `The CZI has sub-blocks compressed as ${compressionNames[compression] ?? `number ${compression}`}, which is not supported.`,
      );
  }
}
