import { TileSourceError } from '../../../src/errors.js';
import type { FolderFile, SourceFolder, SourceInput } from '../../../src/tilesource/tile-source.js';
import { borrowImage } from '../../../src/cli/borrow-image.js';
import type { TileSourceRegistry } from '../../../src/tilesource/registry/registry.js';
import { memoryInput, type MemoryInput } from './memory-input.js';

/** Files in memory by their paths, and how often each was opened as an image. */
export interface MemoryFolder {
  /** One of the files, as an input of a source. */
  input(path: string): SourceInput;
  readonly opened: Map<string, number>;
  /** Number of readers that are open now. */
  openReaderCount(): number;
}

/** A folder of files in memory. Images in it are opened by the sources of a registry, again for each use. */
export function memoryFolder(files: Readonly<Record<string, Uint8Array>>, registry?: TileSourceRegistry): MemoryFolder {
  const opened = new Map<string, number>();
  const inputs: MemoryInput[] = [];
  const fileAt = (path: string): MemoryInput => {
    const input = memoryInput(files[path]!, path);
    inputs.push(input);
    return input;
  };
  const inputAt = (path: string, chain: readonly string[]): SourceInput => ({ ...fileAt(path), folder: () => folderFor(chain) });
  const folderFor = (chain: readonly string[]): SourceFolder => ({
    async file(path) {
      if (!Object.hasOwn(files, path)) return null;
      const file: FolderFile = {
        ...inputAt(path, chain),
        id: path,
        async borrow(use, options) {
          if (registry === undefined || chain.includes(path)) throw new TileSourceError(`${path} contains itself.`);
          opened.set(path, (opened.get(path) ?? 0) + 1);
          return borrowImage(registry, inputAt(path, [...chain, path]), use, options);
        },
      };
      return file;
    },
    async files(path) {
      const prefix = path === '' ? '' : `${path}/`;
      return Object.keys(files)
        .filter((each) => each.startsWith(prefix) && !each.includes('/', prefix.length))
        .toSorted();
    },
    async tree(path) {
      const prefix = path === '' ? '' : `${path}/`;
      if (!Object.keys(files).some((each) => each.startsWith(prefix))) return null;
      return {
        file: async (each) => {
          const bytes = files[prefix + each];
          return bytes === undefined
            ? null
            : { size: bytes.length, read: async (offset, length) => bytes.slice(offset, offset + length) };
        },
        retainedBytes: 0,
        close: async () => {},
      };
    },
  });
  return {
    input: (path) => inputAt(path, [path]),
    opened,
    openReaderCount: () => inputs.reduce((sum, input) => sum + input.openReaderCount(), 0),
  };
}
