import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { TileSourceError } from '../errors.js';
import { borrowImage } from './borrow-image.js';
import { fileInput, openFileReader } from '../tilesource/byte-reader.js';
import type { ByteReader, FolderFile, SourceFolder, SourceInput, TileSource } from '../tilesource/tile-source.js';
import { findTileSources } from '../tilesource/registry/installed-sources.js';
import { ownSources } from '../tilesource/registry/own-sources.js';
import { TileSourceRegistry } from '../tilesource/registry/registry.js';

/** Maximum depth of nested images that combine other images. */
const maxDepth = 4;

/**
 * Opens an image file of this machine with a source of this package, or of a package that is installed in the current folder.
 *
 * @returns the image, and whether the process of a conversion can open the file itself.
 * @throws TileSourceError that says why no source reads the file.
 */
export async function openLocalFile(path: string): Promise<{ name: string; source: TileSource; opensInConversion: boolean }> {
  sharedRegistry ??= findRegistry();
  const registry = await sharedRegistry;
  const openedImage = await registry.open(localInput(path, registry));
  return { ...openedImage, opensInConversion: registry.get(openedImage.name)?.opensInConversion === true };
}

/** The registry is shared, because looking for installed sources takes far longer than opening a file. */
let sharedRegistry: Promise<TileSourceRegistry> | null = null;

async function findRegistry(): Promise<TileSourceRegistry> {
  const logger = { warn: printWarning };
  const installedSources = await findTileSources(process.cwd(), { logger });
  return new TileSourceRegistry({ logger }).register(...ownSources, ...installedSources);
}

/** Prints an error that a tile source has thrown: with its stack if a source has crashed, without if its package cannot be loaded. */
function printWarning({
  folder,
  sourceName,
  err,
  error,
}: {
  folder?: string;
  sourceName?: string;
  err?: unknown;
  error?: unknown;
}) {
  const failedSource = folder === undefined ? `The tile source ${sourceName}` : `The tile source in ${folder}`;
  process.stderr.write(`${failedSource} failed: ${error instanceof Error ? error.stack : String(err ?? error)}\n`);
}

/**
 * A file as input of tile sources, with access to the other files in its folder.
 *
 * @param openingPaths files of the images that are being opened, each of which contains the next image.
 */
function localInput(path: string, registry: TileSourceRegistry, openingPaths: readonly string[] = []): SourceInput {
  const folder = dirname(path);
  return {
    ...fileInput(path),
    companions: async () =>
      (await filesIn(folder)).filter((name) => name !== basename(path)).map((name) => fileInput(join(folder, name))),
    folder: () => localFolder(folder, registry, [...openingPaths, path]),
  };
}

function localFolder(folder: string, registry: TileSourceRegistry, openingPaths: readonly string[]): SourceFolder {
  const resolveInside = (path: string): string | null => {
    const absolutePath = resolve(folder, path);
    return absolutePath === folder || absolutePath.startsWith(folder.endsWith(sep) ? folder : folder + sep) ? absolutePath : null;
  };
  return {
    async file(path) {
      const absolutePath = resolveInside(path);
      return absolutePath === null || !(await hasKind(absolutePath, 'isFile'))
        ? null
        : folderFile(absolutePath, registry, openingPaths);
    },
    async files(path) {
      const absolutePath = resolveInside(path);
      if (absolutePath === null || !(await hasKind(absolutePath, 'isDirectory'))) return null;
      return (await filesIn(absolutePath)).map((name) => relative(folder, join(absolutePath, name)).replaceAll(sep, '/'));
    },
    async tree(path) {
      const absolutePath = resolveInside(path);
      if (absolutePath === null || !(await hasKind(absolutePath, 'isDirectory'))) return null;
      const readers: ByteReader[] = [];
      return {
        async file(pathInTree) {
          const absoluteInTree = resolve(absolutePath, pathInTree);
          if (!absoluteInTree.startsWith(absolutePath + sep) || !(await hasKind(absoluteInTree, 'isFile'))) return null;
          const reader = await openFileReader(absoluteInTree);
          readers.push(reader);
          return reader;
        },
        retainedBytes: 0,
        close: async () => {
          await Promise.all(readers.map((reader) => reader.close()));
        },
      };
    },
  };
}

function folderFile(path: string, registry: TileSourceRegistry, openingPaths: readonly string[]): FolderFile {
  const input = localInput(path, registry, openingPaths);
  return {
    ...input,
    id: path,
    async borrow(use, options) {
      if (openingPaths.includes(path)) throw new TileSourceError(`${input.name} contains itself.`);
      if (openingPaths.length > maxDepth) throw new TileSourceError(`Images are nested more than ${maxDepth} levels deep.`);
      return borrowImage(registry, input, use, options);
    },
  };
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map(({ name }) => name)
    .toSorted();
}

function hasKind(path: string, kind: 'isFile' | 'isDirectory'): Promise<boolean> {
  return stat(path).then(
    (entry) => entry[kind](),
    () => false,
  );
}
