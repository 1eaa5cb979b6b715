import { RE2JS, type RE2JSException } from 're2js';
import { MissingPartsError, TileSourceError } from '../../../errors.js';
import type { FolderFile, SourceFolder } from '../../contract.js';
import { missingParts } from '../../missing-parts.js';
import { mapConcurrently } from '../../../core/concurrency/map-concurrently.js';
import { axesOf } from './frames.js';
import { maxSources, type MultiDescription, type SourceEntry } from './description.js';

/** A source of the image: what the description says of it, and its file. */
export interface Member {
  entry: SourceEntry;
  file: FolderFile;
}

/** Files that are looked for at the same time. */
const sideBySide = 8;
/** Said of a pattern that no file fits yet. */
const anyFile = '*';

/**
 * A path without its dots.
 *
 * @throws TileSourceError for one that would leave the folder.
 */
function plainPath(...parts: string[]): string {
  const path = parts.join('/');
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  const leaves = parts.some((part) => part.startsWith('/') || part.includes('://') || /^[a-z]:/i.test(part));
  if (leaves || names.includes('..') || path.includes('\\') || path.includes('\0')) {
    throw new TileSourceError(
      `The source "${parts.at(-1)!.slice(0, 200)}" is not allowed: sources are files of the same folder, or below it, by their paths from there.`,
    );
  }
  return names.join('/');
}

function compile(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (cause) {
    const reason = (cause as RE2JSException).message;
    throw new TileSourceError(`The pathPattern "${pattern.slice(0, 200)}" cannot be used: ${reason.slice(0, 200)}.`, { cause });
  }
}

/**
 * Values that the named groups of a pattern have found: places on axes, and names of channels. A 1 at the end of a name says that they count
 * from 1.
 */
function groupValues(groups: Readonly<Record<string, string | null>>, axes: readonly string[]): Record<string, unknown> {
  const places = new Set(['frame', ...axes].flatMap((axis) => [axis, `${axis}Set`]));
  const values: Record<string, unknown> = {};
  for (const [name, found] of Object.entries(groups)) {
    if (found === null || found === undefined) continue;
    const plain = name.endsWith('1') ? name.slice(0, -1) : name;
    if (places.has(plain) && /^\d{1,9}$/.test(found)) values[plain] = Number(found) - (name === plain ? 0 : 1);
    else if (name === 'channel') values.channel = found;
  }
  return values;
}

/** The entry for the file that is the `index`-th of those that a pattern fits. */
function written(entry: SourceEntry, index: number, groups: Record<string, unknown>, axes: readonly string[]): SourceEntry {
  const { pathPattern: _pattern, ...rest } = entry;
  const own: SourceEntry = { ...rest, ...groups, path: entry.path };
  for (const axis of axes) {
    const step = entry[`${axis}Step`];
    if (typeof step !== 'number') continue;
    const values = own[`${axis}Values`];
    if (Array.isArray(values) && entry[axis] === undefined) {
      own[`${axis}Values`] = (values as number[]).map((value) => value + index * step);
    } else own[axis] = (typeof own[axis] === 'number' ? own[axis] : 0) + index * step;
  }
  return own;
}

async function matching(folder: SourceFolder, base: string, entry: SourceEntry, axes: readonly string[]): Promise<Member[]> {
  const where = plainPath(base, entry.path);
  const pattern = compile(entry.pathPattern!);
  const names = (await folder.files(where)) ?? [];
  const found: { path: string; groups: Record<string, unknown> }[] = [];
  for (const path of names) {
    const matcher = pattern.matcher(path.slice(path.lastIndexOf('/') + 1));
    if (!matcher.find()) continue;
    const groups = Object.fromEntries(Object.keys(pattern.namedGroups()).map((name) => [name, matcher.group(name)]));
    found.push({ path, groups: groupValues(groups, axes) });
  }
  if (found.length === 0) {
    const searched = where === '' ? 'the folder' : where;
    throw new MissingPartsError(`No file of ${searched} fits the pathPattern "${entry.pathPattern!.slice(0, 200)}".`, [anyFile]);
  }
  if (found.length > maxSources)
    throw new TileSourceError(`More than ${maxSources} files fit the pathPattern "${entry.pathPattern!.slice(0, 200)}".`);
  const members = await mapConcurrently(found, sideBySide, async ({ path, groups }) => ({
    path,
    groups,
    file: await folder.file(path),
  }));
  return members.flatMap(({ groups, file }, index) =>
    file === null ? [] : [{ entry: written(entry, index, groups, axes), file }],
  );
}

/**
 * The files that a description speaks of.
 *
 * @throws TileSourceError for paths that are not allowed, MissingPartsError where some are not there.
 */
export async function findMembers(description: MultiDescription, folder: SourceFolder): Promise<Member[]> {
  const { sources, basePath = '.' } = description;
  const axes = axesOf(description);
  const paths = sources.map(({ path, pathPattern }) => (pathPattern === undefined ? plainPath(basePath, path) : null));
  const missing: string[] = [];
  const found = await mapConcurrently([...sources.entries()], sideBySide, async ([index, entry]): Promise<Member[]> => {
    const path = paths[index]!;
    if (path === null) return matching(folder, basePath, entry, axes);
    const file = await folder.file(path);
    if (file !== null) return [{ entry, file }];
    missing.push(path);
    return [];
  });
  if (missing.length > 0) {
    const absent = new Set(missing);
    const inOrder = new Set(paths.filter((path): path is string => path !== null && absent.has(path)));
    throw missingParts('Files that the image is made of are not there', [...inOrder]);
  }
  const members = found.flat();
  if (members.length > maxSources)
    throw new TileSourceError(`The image is made of ${members.length} sources; at most ${maxSources} are supported.`);
  return members;
}
