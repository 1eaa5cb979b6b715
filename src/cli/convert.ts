import { chmod, rename, stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { lookup } from 'mime-types';
import { createTemporaryDirectory } from '../core/temporary-files.js';
import { TileSourceError } from '../errors.js';
import type { TileSource } from '../tilesource/tile-source.js';
import { convertFile } from '../tilesource/convert/convert-file.js';
import { checkConversion, type ConversionRequest } from '../tilesource/convert/options.js';
import { openLocalFile } from './local-file.js';
import { CommandError, resolveExistingFile } from './usage.js';

/** Options and callbacks of {@link convertTo}. */
export interface ConvertToOptions {
  request: ConversionRequest;
  /** Whether an existing file is replaced. */
  overwrite: boolean;
  /** Called with the completed fraction, from 0 to 1. */
  onProgress: (fraction: number) => void;
  signal: AbortSignal;
}

/**
 * Converts an image file to a tiled pyramid TIFF. The file gets its final name when it is complete.
 *
 * @returns its length in bytes.
 */
export async function convertTo(
  from: string,
  to: string,
  { request, overwrite, onProgress, signal }: ConvertToOptions,
): Promise<number> {
  const options = checkConversion(request);
  const input = await resolveExistingFile(from);
  const output = resolve(to);
  const folder = await stat(dirname(output)).catch(() => null);
  if (!folder?.isDirectory()) throw new CommandError(`There is no folder ${dirname(output)}`);
  const existingEntry = await stat(output).catch(() => null);
  const isSameFile =
    existingEntry !== null && existingEntry.ino === (await stat(input)).ino && existingEntry.dev === (await stat(input)).dev;
  if (isSameFile) throw new CommandError(`${to} is the file to convert.`);
  if (existingEntry !== null && (!overwrite || !existingEntry.isFile()))
    throw new CommandError(
      `${to} already exists${existingEntry.isFile() ? ': --overwrite replaces it' : ', and is not a file'}.`,
    );
  const { image, refusal } = await openForConversion(input);
  // The temporary folder is next to the result, so that the finished file can be moved there atomically.
  const temporaryFolder = await createTemporaryDirectory(dirname(output));
  try {
    const result = await convertFile(
      { path: input, name: basename(input), mimeType: lookup(input) || 'application/octet-stream' },
      temporaryFolder.path,
      { options, onProgress, signal, source: image ?? undefined },
    );
    signal.throwIfAborted();
    // Temporary files are private. The result gets the usual permissions of new files.
    await chmod(result.path, 0o666 & ~process.umask());
    await rename(result.path, output);
    return result.size;
  } catch (error) {
    if (!(error instanceof TileSourceError) || refusal === null || refusal.message === error.message) throw error;
    // The conversion tries fewer sources than the registry, so both messages are useful.
    throw new TileSourceError(`${refusal.message} Converting it failed: ${error.message}`, { cause: error });
  } finally {
    await image?.source.close();
    await temporaryFolder.remove();
  }
}

/**
 * Opens the image in this process, if the child process that converts cannot open it with the same source.
 *
 * @returns `image` is the open image, or `null` if the child process opens it. `refusal` is the error if no source reads the file,
 * otherwise `null`.
 */
async function openForConversion(
  path: string,
): Promise<{ image: { sourceName: string; source: TileSource } | null; refusal: TileSourceError | null }> {
  try {
    const { name, source, opensInConversion } = await openLocalFile(path);
    if (!opensInConversion) return { image: { sourceName: name, source }, refusal: null };
    await source.close();
    return { image: null, refusal: null };
  } catch (error) {
    // The conversion may still succeed: it reads pictures that are too large for the sources.
    if (error instanceof TileSourceError) return { image: null, refusal: error };
    throw error;
  }
}
