import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createTemporaryDirectory } from '../../../core/temporary-files.js';
import { TileSourceError } from '../../../errors.js';
import type { SourceInput } from '../../tile-source.js';
import { linkOrCopyFile, maxCopiedBytes } from '../../local-copy.js';
import { fileNameOf, findSlideParts } from './slide-parts.js';

/** A folder in which the files of a slide have the names under which OpenSlide looks for them. */
export interface SlideFolder {
  /** Path of the file that is opened. */
  slidePath: string;
  remove(): Promise<void>;
}

/**
 * Makes a temporary folder with links to a slide and the files that belong to it. Files that are not on disk are copied.
 *
 * @throws TileSourceError if there is too much to copy, MissingPartsError if files of the slide are missing, or BusyError if copies
 * of other images use up the capacity.
 */
export async function makeSlideFolder(input: SourceInput, parent: string, signal?: AbortSignal): Promise<SlideFolder> {
  const name = fileNameOf(input.name);
  if (name === null) throw new TileSourceError('The file does not have a valid name.');
  const parts = (await findSlideParts(input, name)).filter((part) => part.name !== name);
  const temporaryDirectory = await createTemporaryDirectory(parent);
  const folder = temporaryDirectory.path;
  const releases: (() => void)[] = [];
  const remove = async () => {
    for (const release of releases.splice(0)) release();
    await temporaryDirectory.remove();
  };
  let remainingBytes = maxCopiedBytes;
  const addFile = async (part: SourceInput, path: string) => {
    const localFile = await linkOrCopyFile(part, path, remainingBytes, signal);
    releases.push(() => localFile.release());
    remainingBytes -= localFile.byteCount;
  };
  try {
    await addFile(input, join(folder, name));
    // The other files of a MIRAX slide are in a folder with its name.
    const slideFolder = /\.mrxs$/i.test(name) ? join(folder, name.slice(0, -5)) : folder;
    await mkdir(slideFolder, { recursive: true });
    for (const part of parts) await addFile(part.input, join(slideFolder, part.name));
    return { slidePath: join(folder, name), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
