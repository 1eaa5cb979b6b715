import sharp from 'sharp';
import { TileSourceError } from '../../../errors.js';
import { codecThreads } from '../../codecs/threads/codec-threads.js';
import type { PictureTask } from '../../codecs/whole-pictures.js';
import type { ByteReader, SourceInput, SourceOptions, TileSource } from '../../tile-source.js';
import { runProcessing } from '../../process/processing.js';
import { sharpSource } from '../sharp/sharp-source.js';

/** Maximum number of bytes of a file that is decoded as a whole. */
const maxFileBytes = 2 ** 27;
/** Maximum number of pixels of a picture that a library decodes as a whole. */
export const maxPixels = 2 ** 26;

/** A decoded picture, and its internal metadata. */
export interface DecodedPicture {
  png: Uint8Array;
  icc: Uint8Array | null;
  metadata: Record<string, unknown>;
}

/** Reads a whole file. @throws TileSourceError if its first bytes do not belong to the format, or it is too large. */
export async function readWholeFile(
  input: SourceInput,
  hasFormat: (head: Buffer) => boolean,
  what: string,
  signal?: AbortSignal,
): Promise<Buffer> {
  const reader = await input.open();
  try {
    const read = async (length: number) => Buffer.from(await reader.read(0, length, signal && { signal }));
    if (!hasFormat(await read(Math.min(64, reader.size)))) throw new TileSourceError(`The file is not in ${what} format.`);
    if (reader.size > maxFileBytes)
      throw new TileSourceError(`${what} files larger than ${maxFileBytes} bytes are not supported.`);
    return await read(reader.size);
  } finally {
    await reader.close();
  }
}

/** Decodes a picture in a thread. @throws TileSourceError if it is corrupt or too large, or the library is not installed. */
export async function decodePicture(
  { format, bytes, what }: Pick<PictureTask, 'format' | 'bytes'> & { what: string },
  signal?: AbortSignal,
): Promise<DecodedPicture> {
  const { kind, data, width, height, hasAlpha, icc } = await codecThreads.call(
    'picture',
    { format, bytes, maxPixels },
    what,
    signal,
  );
  const metadata = { width, height };
  return { png: kind === 'png' ? data : await encodePng({ data, width, height, hasAlpha }, signal), icc, metadata };
}

/** Encodes pixels of red, green, blue and alpha as PNG, without the alpha if `hasAlpha` is false. */
export async function encodePng(
  { data, width, height, hasAlpha }: { data: Uint8Array; width: number; height: number; hasAlpha: boolean },
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const image = sharp(data, { raw: { width, height, channels: 4 }, limitInputPixels: false });
  const encoder = (hasAlpha ? image : image.removeAlpha()).png({ compressionLevel: 1 });
  return runProcessing(() => encoder.toBuffer(), signal);
}

/**
 * Opens a decoded picture as a tile source. A small picture is a single tile. For a large picture, a temporary pyramid is written.
 */
export async function openDecodedPicture(
  name: string,
  { png, icc, metadata }: DecodedPicture,
  options: SourceOptions = {},
): Promise<TileSource> {
  const source = await sharpSource.open(
    { name: `${name}.png`, mimeType: 'image/png', path: null, open: async () => createBytesReader(png) },
    { ...options, maxDecodedPixels: Math.min(maxPixels, options.maxDecodedPixels ?? maxPixels) },
  );
  return {
    metadata: source.metadata,
    populatedLevels: source.populatedLevels,
    readTile: (...args) => source.readTile(...args),
    internalMetadata: async () => ({ [name]: metadata }),
    lossyCodec: async () => (name === 'heif' || name === 'jpegxl' || name === 'jpegxr' ? name : null),
    iccProfile: (frame) => icc ?? source.iccProfile?.(frame) ?? null,
    get retainedBytes() {
      return source.retainedBytes ?? 0;
    },
    close: () => source.close(),
  };
}

function createBytesReader(bytes: Uint8Array): ByteReader {
  return { size: bytes.length, read: async (offset, length) => bytes.slice(offset, offset + length), close: async () => {} };
}
