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
  /** Its name is the path in the description. */
  file: FolderFile;
  /** Whether the path names an item by its id. Error messages must then reveal nothing about the item. */
  isItem: boolean;
}

/** Matches a path that names an item of the host by its id. */
const itemPath = /^girder:\/\/([0-9a-f]{24})$/;
/** Maximum number of items that a description may name by their ids. For each picture all of them are checked for changes. */
const maxItems = 100;

/** Number of files that are searched at the same time. */
const concurrency = 8;
/** Stands for the missing path if no file matches a pattern: any file that is added later may match. */
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
 * Converts the matches of the named groups of a pattern to properties of an entry: positions on axes, and the name of the channel.
 * Groups whose name ends in 1 count from 1.
 */
function readGroupValues(groups: Readonly<Record<string, string | null>>, axes: readonly string[]): Record<string, unknown> {
  const axisProperties = new Set(['frame', ...axes].flatMap((axis) => [axis, `${axis}Set`]));
  const values: Record<string, unknown> = {};
  for (const [name, text] of Object.entries(groups)) {
    if (text === null || text === undefined) continue;
    const propertyName = name.endsWith('1') ? name.slice(0, -1) : name;
    if (axisProperties.has(propertyName) && /^\d{1,9}$/.test(text))
      values[propertyName] = Number(text) - (name === propertyName ? 0 : 1);
    else if (name === 'channel') values.channel = text;
  }
  return values;
}

/** The entry for one of the files that match a pattern. `index` is the number of the file among them; the properties `…Step` are multiplied by it. */
function entryOfFile(entry: SourceEntry, index: number, groups: Record<string, unknown>, axes: readonly string[]): SourceEntry {
  const { pathPattern: _pattern, ...rest } = entry;
  const merged: SourceEntry = { ...rest, ...groups, path: entry.path };
  for (const axis of axes) {
    const step = entry[`${axis}Step`];
    if (typeof step !== 'number') continue;
    const values = merged[`${axis}Values`];
    if (Array.isArray(values) && entry[axis] === undefined) {
      merged[`${axis}Values`] = (values as number[]).map((value) => value + index * step);
    } else merged[axis] = (typeof merged[axis] === 'number' ? merged[axis] : 0) + index * step;
  }
  return merged;
}

/** A file that matches a pattern. */
interface MatchingFile {
  path: string;
  groups: Record<string, unknown>;
}

/** The files that match the pattern of each entry. Entries without a pattern are left out. */
async function findMatchingFiles(
  { sources, basePath = '.' }: MultiDescription,
  folder: SourceFolder,
  { axes, signal }: { axes: readonly string[]; signal: AbortSignal | undefined },
): Promise<Map<SourceEntry, MatchingFile[]>> {
  const entries = sources.filter(({ pathPattern }) => pathPattern !== undefined);
  if (entries.length === 0) return new Map();
  const folders = entries.map(({ path }) => resolvePath(basePath, path));
  const searchedFolders = [...new Set(folders)];
  const pathsByFolder = await mapConcurrently(
    searchedFolders,
    concurrency,
    async (folderPath) => (await folder.files(folderPath)) ?? [],
  );
  const search = {
    folders: pathsByFolder.map((paths) => paths.map((path) => path.slice(path.lastIndexOf('/') + 1))),
    patterns: entries.map(({ pathPattern }, i) => ({ pattern: pathPattern!, folderIndex: searchedFolders.indexOf(folders[i]!) })),
  };
  const matches = await codecThreads.call('matchingNames', search, 'the patterns of a description', signal);
  if ('refused' in matches) throw new TileSourceError(matches.refused);
  const filesByEntry = new Map<SourceEntry, MatchingFile[]>();
  for (const [i, entry] of entries.entries()) {
    const folderPath = folders[i]!;
    const filePaths = pathsByFolder[search.patterns[i]!.folderIndex]!;
    filesByEntry.set(
      entry,
      matches.names[i]!.map(({ nameIndex, groups }) => ({
        path: filePaths[nameIndex]!,
        groups: readGroupValues(groups, axes),
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

/** The file at a path, or of the item that the path names; `null` if there is no such file. */
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
      .map(({ path: name, groups }, at) => ({ path: name, entry: entryOfFile(entry, at, groups, axes) }));
  });
  if (entries.length > maxSources)
    throw new TileSourceError(`The image has ${entries.length} sources; at most ${maxSources} are supported.`);
  const distinctPaths = [...new Set(entries.map(({ path }) => path))];
  if (distinctPaths.filter((path) => itemPath.test(path)).length > maxItems)
    throw new TileSourceError(`The image refers to more than ${maxItems} items by id.`);
  const pairs = await mapConcurrently(distinctPaths, concurrency, async (path) => [path, await findFile(path, folder)] as const);
  const files = new Map(pairs);
  const missing = distinctPaths.filter((path) => files.get(path) === null && paths.includes(path));
  if (missing.length > 0) throw missingPartsError('Files of the image are missing', missing);
  // A file that matched a pattern may have been removed since then.
  return entries.flatMap(({ path, entry }) => {
    const file = files.get(path) ?? null;
    return file === null ? [] : [{ entry, file, isItem: itemPath.test(path) }];
  });
}
