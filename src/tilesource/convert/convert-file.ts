import { stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { packageVersion } from '../../core/version.js';
import type { EnteredScale } from '../../core/entered-scale.js';
import { runInChild } from './child/child-process.js';
import { describeRemote, type ParentSource } from './child/remote-source.js';
import { threadCount, type ConversionOptions } from './options.js';

/** A finished conversion. */
export interface ConvertedFile {
  path: string;
  /** Length in bytes. */
  size: number;
}

/** Options and callbacks of {@link convertFile}. */
export interface ConvertFileOptions {
  options: ConversionOptions;
  /** Called with the share of the work that is done, from 0 to 1. */
  onProgress?: (done: number) => void;
  log?: (text: string) => void;
  signal?: AbortSignal;
  /** The opened image, if its source needs more than the file or is known only in this process. Its tiles are then read here. */
  source?: ParentSource | undefined;
  /** The size of a pixel that a user has entered. */
  scale?: EnteredScale | null;
}

/**
 * Converts an image file to a tiled pyramid TIFF in a child process, which is killed when the signal is aborted.
 *
 * @param directory folder for the files of this conversion alone. The caller removes it, also after an error.
 * @throws TileSourceError if the file cannot be read; BadValueError if the file does not allow an option.
 */
export async function convertFile(
  input: { path: string; name: string; mimeType: string },
  directory: string,
  { options, onProgress, log, signal, source, scale = null }: ConvertFileOptions,
): Promise<ConvertedFile> {
  const output = join(directory, 'converted.tiff');
  const threads = threadCount(options.concurrent, availableParallelism());
  const image = source && (await describeRemote(source));
  await runInChild(
    { kind: 'convert', conversion: { input, image, output, directory, options, scale, threads, version: packageVersion } },
    { onProgress: (done) => onProgress?.(done), log: (text) => log?.(text) },
    { signal, threads, source },
  );
  onProgress?.(1);
  return { path: output, size: (await stat(output)).size };
}
