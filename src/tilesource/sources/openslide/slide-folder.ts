import { mkdir, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { temporaryDirectory } from '../../../core/temporary-files.js';
import { TileSourceError } from '../../../errors.js';
import type { SourceInput } from '../../contract.js';

/** Most files of an item that are laid beside each other. */
const maxCompanions = 5000;

/** Files of a slide beside each other under their own names, as OpenSlide looks for them. */
export interface SlideFolder {
  /** Path of the file that is opened. */
  path: string;
  remove(): Promise<void>;
}

function plainName(name: string): string | null {
  const plain = name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1);
  return plain === '' || plain === '.' || plain === '..' || plain.includes('\0') || plain.length > 255 ? null : plain;
}

/**
 * Makes a temporary folder of links to a file and to the others of its item.
 *
 * @throws TileSourceError where the file lies on another machine.
 */
export async function makeSlideFolder(input: SourceInput, parent: string): Promise<SlideFolder> {
  const name = plainName(input.name);
  if (input.path === null || name === null) throw new TileSourceError('OpenSlide reads files of this machine only.');
  const made = await temporaryDirectory(parent);
  const folder = made.path;
  const remove = () => made.remove();
  try {
    await symlink(resolve(input.path), join(folder, name));
    // Of MIRAX files, the others lie in a folder with the name of the first.
    const beside = /\.mrxs$/i.test(name) ? join(folder, name.slice(0, -5)) : folder;
    await mkdir(beside, { recursive: true });
    const companions = (await input.companions?.()) ?? [];
    for (const companion of companions.slice(0, maxCompanions)) {
      const other = plainName(companion.name);
      if (companion.path === null || other === null) continue;
      // Of two files of one name, the first counts.
      await symlink(resolve(companion.path), join(beside, other)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      });
    }
    return { path: join(folder, name), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
