import { mkdir, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { temporaryDirectory } from '../../../core/temporary-files.js';
import { TileSourceError } from '../../../errors.js';
import type { SourceInput } from '../../contract.js';
import { plainName, slideParts } from './slide-parts.js';

/** Files of a slide beside each other under their own names, as OpenSlide looks for them. */
export interface SlideFolder {
  /** Path of the file that is opened. */
  path: string;
  remove(): Promise<void>;
}

/**
 * Makes a temporary folder of links to a file and to those that belong to it.
 *
 * @throws TileSourceError where the file lies on another machine; MissingPartsError where files that it names are not there yet.
 */
export async function makeSlideFolder(input: SourceInput, parent: string): Promise<SlideFolder> {
  const name = plainName(input.name);
  if (input.path === null || name === null) throw new TileSourceError('OpenSlide reads files of this machine only.');
  const parts = (await slideParts(input, name)).filter((part) => part.name !== name);
  const made = await temporaryDirectory(parent);
  const folder = made.path;
  const remove = () => made.remove();
  try {
    await symlink(resolve(input.path), join(folder, name));
    // Of MIRAX files, the others lie in a folder with the name of the first.
    const beside = /\.mrxs$/i.test(name) ? join(folder, name.slice(0, -5)) : folder;
    await mkdir(beside, { recursive: true });
    for (const part of parts) {
      if (part.input.path !== null) await symlink(resolve(part.input.path), join(beside, part.name));
    }
    return { path: join(folder, name), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
