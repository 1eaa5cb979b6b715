import { MissingPartsError, TileSourceError } from '../../../errors.js';
import type { FolderFile, SourceFolder } from '../../tile-source.js';
import { codecThreads } from '../../codecs/threads/codec-threads.js';
import { missingPartsError } from '../../registry/missing-parts.js';
import { mapConcurrently } from '../../../core/concurrency/map-concurrently.js';
import { axesOf } from './frames.js';
import { maxSources, type MultiDescription, type SourceEntry } from './multi-description.js';

/** A source of the image: its entry in the description, and its file. */
export interface Member {
  entry: SourceEntry;
  /** The source's file. Its `name` is the path by which the description refers to it. */
  file: FolderFile;
  /** Whether the path names an item by its id. Error messages must then reveal nothing about the item. */
  isItem: boolean;
}

/** Matches a path that names an item of the host by its id. */
const itemPath = /^girder:\/\/([0-9a-f]{24})$/;
/** Maximum number of items that a description may name by their ids. For each picture, all these items are checked for changes. */
const maxItems = 100;

/** Number of files or folders that are looked up at the same time. */
const concurrency = 8;
/** Reported as the missing path if no file matches a pattern, because any file that is added later may match. */
const anyFile = '*';

/**
 * Joins the parts of a path, without its segments `.`.
 *
 * @throws TileSourceError for an absolute part, or a segment `..`.
 */
function resolvePath(...parts: string[]): string {
  const path = parts.join('/');
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  const hasAbsolutePart = parts.some((part) => part.startsWith('/') || part.includes('://') || /^[a-z]:/i.test(part));
  if (hasAbsolutePart || names.includes('..') || path.includes('\\') || path.includes('\0')) {
    throw new TileSourceError(
      `The source "${parts.at(-1)!.slice(0, 200)}" is not allowed: sources must be files in the same folder or below it, and their paths relative to it.`,
    );
  }
  return names.join('/');
}

/**
 * Converts the texts that a pattern's named groups matched to properties of an entry: positions on axes, and the name of the
 * channel. Groups whose name ends in 1 count from 1.
 */
function readGroupProperties(groups: Readonly<Record<string, string | null>>, axes: readonly string[]): Record<string, unknown> {
  const axisProperties = new Set(['frame', ...axes].flatMap((axis) => [axis, `${axis}Set`]));
  const properties: Record<string, unknown> = {};
  for (const [name, text] of Object.entries(groups)) {
    if (text === null || text === undefined) continue;
    const propertyName = name.endsWith('1') ? name.slice(0, -1) : name;
    if (axisProperties.has(propertyName) && /^\d{1,9}$/.test(text))
      properties[propertyName] = Number(text) - (name === propertyName ? 0 : 1);
    else if (name === 'channel') properties.channel = text;
  }
  return properties;
}

/**
 * The entry for a file that matches the pattern of `entry`. `index` is the file's index among the matching files. On each axis, the
 * position increases by the property `…Step` from one of these files to the next.
 */
function entryOfFile(
  entry: SourceEntry,
  index: number,
  groupProperties: Record<string, unknown>,
  axes: readonly string[],
): SourceEntry {
  const { pathPattern: _pattern, ...otherProperties } = entry;
  const fileEntry: SourceEntry = { ...otherProperties, ...groupProperties, path: entry.path };
  for (const axis of axes) {
    const step = entry[`${axis}Step`];
    if (typeof step !== 'number') continue;
    const positions = fileEntry[`${axis}Values`];
    if (Array.isArray(positions) && entry[axis] === undefined) {
      fileEntry[`${axis}Values`] = (positions as number[]).map((position) => position + index * step);
    } else fileEntry[axis] = (typeof fileEntry[axis] === 'number' ? fileEntry[axis] : 0) + index * step;
  }
  return fileEntry;
}

/** A file that matches a pattern. */
interface MatchingFile {
  path: string;
  /** Properties of the file's entry that the pattern's named groups give. */
  properties: Record<string, unknown>;
}

/** The files that match the pattern of each entry. Entries without a pattern are left out. */
async function findMatchingFiles(
  { sources, basePath = '.' }: MultiDescription,
  folder: SourceFolder,
  { axes, signal }: { axes: readonly string[]; signal: AbortSignal | undefined },
): Promise<Map<SourceEntry, MatchingFile[]>> {
  const entries = sources.filter(({ pathPattern }) => pathPattern !== undefined);
  if (entries.length === 0) return new Map();
  const folderPaths = entries.map(({ path }) => resolvePath(basePath, path));
  const searchedFolders = [...new Set(folderPaths)];
  const pathsByFolder = await mapConcurrently(
    searchedFolders,
    concurrency,
    async (folderPath) => (await folder.files(folderPath)) ?? [],
  );
  const search = {
    folders: pathsByFolder.map((paths) => paths.map((path) => path.slice(path.lastIndexOf('/') + 1))),
    patterns: entries.map(({ pathPattern }, i) => ({
      pattern: pathPattern!,
      folderIndex: searchedFolders.indexOf(folderPaths[i]!),
    })),
  };
  const matches = await codecThreads.call('matchingNames', search, 'the patterns of a description', signal);
  if ('refused' in matches) throw new TileSourceError(matches.refused);
  const filesByEntry = new Map<SourceEntry, MatchingFile[]>();
  for (const [i, entry] of entries.entries()) {
    const folderPath = folderPaths[i]!;
    const filePaths = pathsByFolder[search.patterns[i]!.folderIndex]!;
    filesByEntry.set(
      entry,
      matches.names[i]!.map(({ nameIndex, groups }) => ({
        path: filePaths[nameIndex]!,
        properties: readGroupProperties(groups, axes),
      })),
    );
    if (matches.names[i]!.length > 0) continue;
    const shownFolder = folderPath === '' ? 'the folder' : folderPath;
    throw new MissingPartsError(`No file of ${shownFolder} matches the pathPattern "${entry.pathPattern!.slice(0, 200)}".`, [
      anyFile,
    ]);
  }
  return filesByEntry;
}

/** Finds the file at a path, or the file of the item that the path names; `null` if there is no such file. */
async function findFile(path: string, folder: SourceFolder): Promise<FolderFile | null> {
  const id = itemPath.exec(path)?.[1];
  if (id === undefined) return folder.file(path);
  if (folder.item === undefined) throw new TileSourceError(`The source "${path}" is not allowed: there are no items here.`);
  const file = await folder.item(id);
  if (file === null) throw new TileSourceError(`The source ${path} is not an item with a large image.`);
  return { ...file, name: path };
}

/**
 * Finds the files that a description names.
 *
 * @throws TileSourceError for paths that are not allowed, MissingPartsError if files are missing.
 */
export async function findMembers(
  description: MultiDescription,
  folder: SourceFolder,
  signal: AbortSignal | undefined,
): Promise<Member[]> {
  const { sources, basePath = '.' } = description;
  const axes = axesOf(description);
  const paths = sources.map(({ path, pathPattern }) => {
    if (pathPattern !== undefined) return null;
    return itemPath.test(path) ? path : resolvePath(basePath, path);
  });
  const filesByEntry = await findMatchingFiles(description, folder, { axes, signal });
  const entries = sources.flatMap((entry, index): { path: string; entry: SourceEntry }[] => {
    const path = paths[index]!;
    if (path !== null) return [{ path, entry }];
    return filesByEntry
      .get(entry)!
      .map((file, fileIndex) => ({ path: file.path, entry: entryOfFile(entry, fileIndex, file.properties, axes) }));
  });
  if (entries.length > maxSources)
    throw new TileSourceError(`The image has ${entries.length} sources; at most ${maxSources} are supported.`);
  const distinctPaths = [...new Set(entries.map(({ path }) => path))];
  if (distinctPaths.filter((path) => itemPath.test(path)).length > maxItems)
    throw new TileSourceError(`The image refers to more than ${maxItems} items by id.`);
  const pairs = await mapConcurrently(distinctPaths, concurrency, async (path) => [path, await findFile(path, folder)] as const);
  const files = new Map(pairs);
  const missingPaths = distinctPaths.filter((path) => files.get(path) === null && paths.includes(path));
  if (missingPaths.length > 0) throw missingPartsError('Files of the image are missing', missingPaths);
  // A file that matched a pattern may have been removed since then.
  return entries.flatMap(({ path, entry }) => {
    const file = files.get(path) ?? null;
    return file === null ? [] : [{ entry, file, isItem: itemPath.test(path) }];
  });
}
