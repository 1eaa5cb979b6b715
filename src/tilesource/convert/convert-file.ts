import { stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { packageVersion } from '../../core/version.js';
import { runInChild } from './child-process.js';
import { describeRemote, type OpenedSource } from './remote-source.js';
import { threadCount, type ConversionOptions } from './options.js';

/** A finished conversion. */
export interface ConvertedFile {
  path: string;
  /** Length in bytes. */
  size: number;
}

/** How {@link convertFile} works, and whom it tells. */
export interface ConvertFileOptions {
  options: ConversionOptions;
  /** How much is done, from 0 to 1. */
  progress?: (done: number) => void;
  log?: (text: string) => void;
  signal?: AbortSignal;
  /** The image, opened by a source that needs more than the file, or that only this process knows. */
  source?: OpenedSource | undefined;
}

/**
 * Makes a pyramid of tiles of an image file, in a process of its own that is killed when the signal is aborted.
 *
 * @param directory of this conversion alone; the caller removes it, whatever happens.
 * @throws TileSourceError when the file cannot be read, BadValueError when an option does not suit it.
 */
export async function convertFile(
  input: { path: string; name: string; mimeType: string },
  directory: string,
  { options, progress, log, signal, source }: ConvertFileOptions,
): Promise<ConvertedFile> {
  const output = join(directory, 'converted.tiff');
  const threads = threadCount(options.concurrent, availableParallelism());
  const image = source && (await describeRemote(source));
  await runInChild(
    { kind: 'convert', task: { input, image, output, directory, options, threads, version: packageVersion } },
    { progress: (done) => progress?.(done), log: (text) => log?.(text) },
    { signal, threads, source },
  );
  progress?.(1);
  return { path: output, size: (await stat(output)).size };
}
