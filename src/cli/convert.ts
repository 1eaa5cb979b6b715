import { chmod, rename, stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { lookup } from 'mime-types';
import { temporaryDirectory } from '../core/temporary-files.js';
import { TileSourceError } from '../errors.js';
import type { TileSource } from '../tilesource/contract.js';
import { convertFile } from '../tilesource/convert/convert-file.js';
import { checkConversion, type ConversionRequest } from '../tilesource/convert/options.js';
import { openLocalFile } from './local-file.js';
import { CommandError, existingFile } from './usage.js';

/** How {@link convertTo} works, and whom it tells. */
export interface ConvertToOptions {
  request: ConversionRequest;
  /** Whether a file that is there already is replaced. */
  overwrite: boolean;
  progress: (done: number) => void;
  signal: AbortSignal;
}

/**
 * Converts an image file to a TIFF with a pyramid of tiles, which gets its name when it is complete.
 *
 * @returns its length in bytes.
 */
export async function convertTo(
  from: string,
  to: string,
  { request, overwrite, progress, signal }: ConvertToOptions,
): Promise<number> {
  const options = checkConversion(request);
  const input = await existingFile(from);
  const output = resolve(to);
  const folder = await stat(dirname(output)).catch(() => null);
  if (!folder?.isDirectory()) throw new CommandError(`There is no folder ${dirname(output)}`);
  const there = await stat(output).catch(() => null);
  const isSame = there !== null && there.ino === (await stat(input)).ino && there.dev === (await stat(input)).dev;
  if (isSame) throw new CommandError(`${to} is the file that is to be converted.`);
  if (there !== null && (!overwrite || !there.isFile()))
    throw new CommandError(`${to} is there already${there.isFile() ? ': --overwrite replaces it' : ', and is no file'}.`);
  // Beside the result, whose name it takes in one step.
  const directory = await temporaryDirectory(dirname(output));
  const { opened, refusal } = await openedHere(input);
  try {
    const made = await convertFile(
      { path: input, name: basename(input), mimeType: lookup(input) || 'application/octet-stream' },
      directory.path,
      { options, progress, signal, source: opened ?? undefined },
    );
    signal.throwIfAborted();
    // Temporary files are for their owner alone; this one is like any other that is made here.
    await chmod(made.path, 0o666 & ~process.umask());
    await rename(made.path, output);
    return made.size;
  } catch (error) {
    if (!(error instanceof TileSourceError) || refusal === null || refusal.message === error.message) throw error;
    // The conversion tries fewer sources than have refused the file, and says more of what became of it.
    throw new TileSourceError(`${refusal.message} Converting it failed: ${error.message}`, { cause: error });
  } finally {
    await opened?.source.close();
    await directory.remove();
  }
}

/** The image, where a source reads it that the process which converts does not have; that one opens TIFFs and pictures itself. */
async function openedHere(
  path: string,
): Promise<{ opened: { sourceName: string; source: TileSource } | null; refusal: TileSourceError | null }> {
  try {
    const { name, source } = await openLocalFile(path);
    if (name !== 'tiff' && name !== 'sharp') return { opened: { sourceName: name, source }, refusal: null };
    await source.close();
    return { opened: null, refusal: null };
  } catch (error) {
    // The conversion can do without: pictures too large to be shown are converted.
    if (error instanceof TileSourceError) return { opened: null, refusal: error };
    throw error;
  }
}
