import { stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { packageVersion } from '../../core/version.js';
import type { EnteredScale } from '../../core/entered-scale.js';
import { runInChild } from './child/child-process.js';
import { describeRemote, type ParentSource } from './child/remote-source.js';
import { threadCount, type ConversionOptions } from './options.js';

/** The file that a conversion has made. */
export interface ConvertedFile {
  path: string;
  /** Length in bytes. */
  size: number;
}

export interface ConvertFileOptions {
  options: ConversionOptions;
  /** Called with the share of the work that is done, from 0 to 1. */
  onProgress?: (done: number) => void;
  log?: (text: string) => void;
  signal?: AbortSignal;
  /** The opened image, if the child process cannot open it itself. Its tiles are then read in this process. */
  source?: ParentSource | undefined;
  /** The size of a pixel that a user has entered. */
  scale?: EnteredScale | null;
}

/**
 * Converts an image file to a tiled pyramid TIFF in a child process, which is killed when the signal is aborted.
 *
 * @param directory folder that is used by this conversion alone. The caller removes the folder, also after an error.
 * @throws TileSourceError if the file cannot be read, and BadValueError if the file does not allow an option.
 */
export async function convertFile(
  input: { path: string; name: string; mimeType: string },
  directory: string,
  { options, onProgress, log, signal, source, scale = null }: ConvertFileOptions,
): Promise<ConvertedFile> {
  const output = join(directory, 'converted.tiff');
  const threads = threadCount(options.concurrent, availableParallelism());
  const remoteImage = source && (await describeRemote(source));
  await runInChild(
    { kind: 'convert', conversion: { input, remoteImage, output, directory, options, scale, threads, version: packageVersion } },
    { onProgress: (done) => onProgress?.(done), log: (text) => log?.(text) },
    { signal, threads, source },
  );
  onProgress?.(1);
  return { path: output, size: (await stat(output)).size };
}
