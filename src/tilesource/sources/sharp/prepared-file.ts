import { unlink } from 'node:fs/promises';
import { OtherFormatError, TileSourceError } from '../../../errors.js';
import type { SourceInput } from '../../tile-source.js';
import { linkOrCopyFile, maxCopiedBytes } from '../../local-copy.js';
import { unsupportedFormatMessage, recognizeFormat, type FileFormat } from './format.js';
import { checkPng } from './png.js';
import { refuseStoredInTiles } from './stored-in-tiles.js';
import { checkSvg, maxDrawingBytes } from './svg.js';
import { temporaryPath } from '../../../core/temporary-files.js';

/** Files up to this length are passed to libvips as bytes, so that its cache of operations keeps neither the file nor its path. */
const maxBufferedBytes = 2 ** 26;

/** A file in the form for libvips: bytes or a path. */
export interface PreparedFile {
  input: Buffer | string;
  format: FileFormat;
  /** Removes temporary files. */
  release(): Promise<void>;
}

/** Prepares a file for libvips. @throws TileSourceError if its format is not read with libvips. */
export async function prepareFile(file: SourceInput, directory: string, signal: AbortSignal | undefined): Promise<PreparedFile> {
  const reader = await file.open();
  try {
    if (reader.size === 0) throw new TileSourceError('The file is empty.');
    const head = await reader.read(0, 4096, signal && { signal });
    const format = recognizeFormat(head);
    const unsupportedMessage = format === null ? unsupportedFormatMessage(head) : null;
    if (unsupportedMessage !== null) throw new TileSourceError(unsupportedMessage);
    if (format === null)
      throw new OtherFormatError('The file is not an image that libvips reads (JPEG, PNG, WebP, AVIF, GIF, SVG or TIFF).');
    if (format === 'tiff') await refuseStoredInTiles(reader);
    if (format === 'png') await checkPng(reader, signal);
    if (format === 'svg' && reader.size > maxDrawingBytes) {
      throw new TileSourceError(`SVG files larger than ${maxDrawingBytes} bytes are not supported.`);
    }
    if (reader.size <= maxBufferedBytes) {
      const input = Buffer.from(await reader.read(0, reader.size, signal && { signal }));
      if (format === 'svg') await checkSvg(input, signal);
      return { input, format, release: async () => {} };
    }
    // The path is used only once, so that the cache of libvips cannot contain a different file or an older version under this path.
    const path = temporaryPath(directory);
    const localFile = await linkOrCopyFile(file, path, maxCopiedBytes, signal);
    const release = async () => {
      localFile.release();
      await unlink(path).catch(() => undefined);
    };
    return { input: path, format, release };
  } finally {
    await reader.close();
  }
}
