import { parseJsonText } from '../../../../core/json.js';
import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import type { StoredElements } from '../contract.js';
import { lookUp, partOfHash } from '../packs/id-index.js';
import { hashOfId } from '../packs/ids.js';
import type { ElementLoader, LoadedPack, LoadedWindow } from './loader.js';
import { columnsOf, packText } from './select.js';

/** Where an element is. */
export interface Location {
  /** Number of the window. */
  window: number;
  /** Place of the pack in the window's directory. */
  pack: number;
  /** Place of the element in the pack. */
  at: number;
}

/** Packs fetched at once. */
const packsPerFetch = 128;
/** So many packs are fetched with their texts at once when an element is looked for. */
const packsWithTexts = 8;

/** Places of the packs of a window that may hold an id, by id. */
async function candidatePlaces(
  loader: ElementLoader,
  window: LoadedWindow,
  ids: readonly string[],
): Promise<Map<number, string[]>> {
  const places = new Map<number, string[]>();
  const note = (place: number, id: string) => {
    const known = places.get(place);
    if (known === undefined) places.set(place, [id]);
    else known.push(id);
  };
  const parts = window.index.length;
  if (parts === 0) {
    for (const place of window.packs.keys()) for (const id of ids) note(place, id);
    return places;
  }
  const hashes = ids.map(hashOfId);
  const needed = new Set(hashes.map((hash) => window.index[partOfHash(hash, parts)] as string));
  const stored = await loader.indexParts([...needed]);
  for (const [i, hash] of hashes.entries()) {
    const part = stored.get(window.index[partOfHash(hash, parts)] as string) as Buffer;
    for (const place of lookUp(part, hash)) note(place, ids[i] as string);
  }
  return places;
}

/** Finds elements by id; those that are not there are absent. */
export async function locate(
  loader: ElementLoader,
  stored: StoredElements,
  ids: Iterable<string>,
  signal?: AbortSignal,
): Promise<Map<string, Location>> {
  const found = new Map<string, Location>();
  const wanted = [...new Set(ids)];
  // One query for the directories of all windows that an id may be in, not one for each.
  const numbers = [...stored.windows.keys()].filter((number) => {
    const { lowId, highId } = stored.windows[number]!;
    return wanted.some((id) => id >= lowId && id <= highId);
  });
  const windows = await loader.windows(
    numbers.map((number) => stored.windows[number]!),
    signal,
  );
  await Promise.all(
    windows.map(async (window, i) => {
      const number = numbers[i] as number;
      const { lowId, highId } = stored.windows[number]!;
      const inRange = wanted.filter((id) => id >= lowId && id <= highId);
      const places = await candidatePlaces(loader, window, inRange);
      const live = [...places.keys()].filter((place) => (window.packs[place]?.count ?? 0) > 0);
      for (let start = 0; start < live.length; start += packsPerFetch) {
        const group = live.slice(start, start + packsPerFetch);
        const entries = group.map((place) => window.packs[place]!);
        // A few are fetched with their texts: whoever looks for elements reads or edits them next.
        const packs =
          live.length <= packsWithTexts ? loader.packsToEdit(entries, signal) : loader.packs(entries, 'columns', signal);
        for (const [at, pack] of (await packs).entries()) {
          const place = group[at] as number;
          const candidates = new Set(places.get(place));
          const columns = columnsOf(pack);
          for (let row = 0; row < columns.count; row += 1) {
            const id = columns.idAt(row);
            if (candidates.has(id)) found.set(id, { window: number, pack: place, at: row });
          }
        }
      }
    }),
  );
  return found;
}

/** Elements by id, parsed; see ElementStore.find. */
export async function findElements(
  loader: ElementLoader,
  stored: StoredElements,
  ids: Iterable<string>,
  signal?: AbortSignal,
): Promise<Map<string, AnnotationElement>> {
  const locations = await locate(loader, stored, ids, signal);
  const windows = await loader.allWindows(stored, signal);
  const byPack = new Map<string, { location: Location; rows: number[] }>();
  for (const location of locations.values()) {
    const key = `${location.window}/${location.pack}`;
    const known = byPack.get(key);
    if (known === undefined) byPack.set(key, { location, rows: [location.at] });
    else known.rows.push(location.at);
  }
  const elements = new Map<string, AnnotationElement>();
  const groups = [...byPack.values()];
  for (let start = 0; start < groups.length; start += packsPerFetch) {
    const group = groups.slice(start, start + packsPerFetch);
    const entries = group.map(({ location }) => windows[location.window]!.packs[location.pack]!);
    for (const [at, pack] of (await loader.packsToEdit(entries, signal)).entries()) {
      for (const row of group[at]!.rows) elements.set(columnsOf(pack).idAt(row), await parsedAt(pack, row, signal));
    }
  }
  return elements;
}

/** One element of a pack, parsed. */
async function parsedAt(pack: LoadedPack, row: number, signal: AbortSignal | undefined): Promise<AnnotationElement> {
  const offsets = columnsOf(pack).offsets();
  return parsedElement(packText(pack).subarray(offsets[row], offsets[row + 1]), signal);
}

/** Longer texts, in bytes, are parsed in slices. */
const longText = 256 * 1024;

/** Parses the text of an element as it is stored. */
export async function parsedElement(text: Buffer, signal?: AbortSignal): Promise<AnnotationElement> {
  const json = text.toString('utf8');
  // Only checked elements are stored.
  return (text.length > longText ? await parseJsonText(json, signal) : JSON.parse(json)) as AnnotationElement;
}
