import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { packageVersion } from '../../core/version.js';
import { runInChild } from './child-process.js';
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
}

const prefix = 'large-image-conversion-';
/** Directories in which nothing was written for so long belong to a process that was killed, and to nobody. */
const forgottenMs = 60 * 60 * 1000;

/**
 * Makes a directory for the temporary files of a conversion, and removes those that killed processes have left behind.
 *
 * @returns its path, and what removes it.
 */
export async function conversionDirectory(parent: string): Promise<{ path: string; remove(): Promise<void> }> {
  await removeForgotten(parent);
  const path = await mkdtemp(join(parent, prefix));
  // A process that was killed may still hold a file for a moment.
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}

async function removeForgotten(parent: string): Promise<void> {
  const oldest = Date.now() - forgottenMs;
  for (const name of await readdir(parent)) {
    if (!name.startsWith(prefix)) continue;
    const path = join(parent, name);
    const names = await readdir(path).catch(() => []);
    const times = await Promise.all([path, ...names.map((each) => join(path, each))].map(changedAt));
    if (Math.max(...times) < oldest) await rm(path, { recursive: true, force: true });
  }
}

async function changedAt(path: string): Promise<number> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
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
  { options, progress, log, signal }: ConvertFileOptions,
): Promise<ConvertedFile> {
  const output = join(directory, 'converted.tiff');
  const threads = threadCount(options.concurrent, availableParallelism());
  await runInChild(
    { kind: 'convert', task: { input, output, directory, options, threads, version: packageVersion } },
    { progress: (done) => progress?.(done), log: (text) => log?.(text) },
    { signal, threads },
  );
  progress?.(1);
  return { path: output, size: (await stat(output)).size };
}
