import { apiUrl, followStream, list, request, type Query } from '../api.js';
import type { AnnotationRecord, Box, Element } from './model.js';

export type Group = { name: string | null; color: string; count: number };

interface LoadedAnnotation extends AnnotationRecord {
  annotation: AnnotationRecord['annotation'] & { elements: Element[] };
  _elementQuery: { returned: number; details: number; orders: number[] };
}

export type ElementChanges = { put: Element[]; remove: string[] };

/** Whether the server says that somebody else was first. */
export function isConflict(error: unknown) {
  const { status } = error as { status?: number };
  return status === 409 || status === 412;
}

/** Whether the server says that the reader may not see it, or that it is not there. */
export function isRefused(error: unknown) {
  const { status } = error as { status?: number };
  // The questions of this page are well formed: what is bad about one is an id that is not there any more.
  return status === 400 || status === 403 || status === 404;
}

/** Only changes the version that this page knows. */
function ifMatch(record: AnnotationRecord) {
  return { 'If-Match': `"${record._version}"` };
}

/** The annotations of an item, oldest first. */
export async function listAnnotations(itemId: string, signal: AbortSignal): Promise<AnnotationRecord[]> {
  const records: AnnotationRecord[] = await request('GET', 'annotation', { query: { itemId, limit: 0 }, signal });
  return records.toSorted((a, b) => a.created.localeCompare(b.created));
}

/** Whether an item has other annotations, or other versions of them, than the reader knows: a small question, asked again and again. */
export async function haveChanged(itemId: string, records: readonly AnnotationRecord[], signal: AbortSignal): Promise<boolean> {
  const query = { itemId, limit: 1, sort: '_version', sortdir: -1 };
  const { entries, total } = await list<AnnotationRecord>('annotation', { query, signal });
  return total !== records.length || (total > 0 && entries[0]?._version !== newestOf(records));
}

/** How many annotations of an item the reader may see, change and administer, and the newest version of them. */
export type ListState = { total: number; version: number | null; writable: number; administered: number };

/** Follows the annotations of an item, until the stream ends. @param options `onEvent` is called at first, and when something has changed */
export function followChanges(itemId: string, { signal, onEvent }: { signal: AbortSignal; onEvent: (state: ListState) => void }) {
  const onText = (text: string) => onEvent(JSON.parse(text) as ListState);
  return followStream('annotation/events', { query: { itemId }, signal, onEvent: onText });
}

/** Whether that is what a list says. */
export function isStateOf({ total, version, writable, administered }: ListState, records: readonly AnnotationRecord[]) {
  const [may1, may2] = [1, 2].map((level) => records.filter(({ _accessLevel }) => _accessLevel >= level).length);
  return total === records.length && (total === 0 || version === newestOf(records)) && writable === may1 && administered === may2;
}

/** Versions are counted over all annotations. */
function newestOf(records: readonly AnnotationRecord[]) {
  return Math.max(...records.map(({ _version }) => _version));
}

/** Whether the reader may annotate the items of a folder. */
export function mayAnnotate(folderId: string, signal: AbortSignal): Promise<boolean> {
  return request('GET', `annotation/folder/${folderId}/create`, { signal });
}

export function createAnnotation(
  itemId: string,
  { name, description }: { name: string; description: string },
): Promise<AnnotationRecord> {
  const json = { name, ...(description !== '' && { description }), elements: [] };
  return request('POST', 'annotation', { query: { itemId }, json });
}

/** Makes annotations of a file, all or none; answers how many. */
export async function importAnnotations(itemId: string, file: File): Promise<number> {
  // QuPath writes a list of features, which are one annotation.
  const start = await file.slice(0, 4096).text();
  const isFeatures = /^\s*\[\s*\{/.test(start) && /"type"\s*:\s*"Feature"/.test(start);
  const text = isFeatures ? new Blob(['{"type":"FeatureCollection","features":', file, '}']) : file;
  return request('POST', `annotation/item/${itemId}`, { text, headers: { 'Content-Type': 'application/json' } });
}

/** An annotation without its elements. */
export async function reloadAnnotation(record: AnnotationRecord): Promise<AnnotationRecord> {
  const found = await request<LoadedAnnotation>('GET', `annotation/${record._id}`, { query: { limit: 1 } });
  const { elements: _left, ...annotation } = found.annotation;
  return { ...found, annotation };
}

export async function renameAnnotation(record: AnnotationRecord, { name, description }: { name: string; description: string }) {
  const json: { op: string; path: string; value?: string }[] = [
    { op: record.annotation.name ? 'replace' : 'add', path: 'name', value: name },
  ];
  const had = record.annotation.description;
  if (description !== '') json.push({ op: had ? 'replace' : 'add', path: 'description', value: description });
  else if (had !== undefined) json.push({ op: 'remove', path: 'description' });
  await request('PATCH', `annotation/${record._id}`, { json, headers: ifMatch(record) });
}

/** Makes a former version the newest one. */
export function restoreVersion({ _id }: AnnotationRecord, version: number) {
  return request('PUT', `annotation/${_id}/history/revert`, { query: { version } });
}

export function removeAnnotation(record: AnnotationRecord) {
  return request('DELETE', `annotation/${record._id}`, { headers: ifMatch(record) });
}

/**
 * The elements of an annotation, or those that meet a region, with their places among all.
 *
 * @returns `null`: there are more of them than `limit`, or than `maxDetails` points
 */
export async function loadElements(
  record: AnnotationRecord,
  { region, limit, maxDetails, signal }: { region: Box | null; limit: number; maxDetails: number; signal: AbortSignal },
): Promise<{ elements: Element[]; orders: number[] } | null> {
  const query = { ...region, limit: limit + 1, maxDetails, orders: true, _: record._version };
  const { annotation, _elementQuery } = await request<LoadedAnnotation>('GET', `annotation/${record._id}`, { query, signal });
  const { returned, details, orders } = _elementQuery;
  return returned > limit || details >= maxDetails ? null : { elements: annotation.elements, orders };
}

/** One element as it is stored; `null` when it is gone. */
export async function loadElement(record: AnnotationRecord, id: string): Promise<Element | null> {
  try {
    return await request('GET', `annotation/${record._id}/elements/${id}`);
  } catch (error) {
    if ((error as { status?: number }).status === 404) return null;
    throw error;
  }
}

/** Sends what has changed, and nothing else. */
export function sendChanges(
  record: AnnotationRecord,
  changes: ElementChanges,
): Promise<Pick<AnnotationRecord, '_version' | '_elementCount' | '_detailsCount' | 'groups'>> {
  return request('PATCH', `annotation/${record._id}/elements`, { json: changes, headers: ifMatch(record) });
}

/** Longest list of groups in an address of a picture, as text. */
const maxFilter = 4000;

/** How addresses of pictures say that groups are hidden: by those that are left, where these are fewer. `null`: they are too many, and so are the others. */
export function groupFilter({ groups = [] }: AnnotationRecord, hidden: ReadonlySet<string | null>): Query | null {
  const without = groups.filter((name) => hidden.has(name));
  if (without.length === 0) return {};
  const [left, gone] = [JSON.stringify(groups.filter((name) => !hidden.has(name))), JSON.stringify(without)];
  const isShort = left.length < gone.length;
  if ((isShort ? left : gone).length > maxFilter) return null;
  return isShort ? { groups: left } : { without: gone };
}

export function overlayTileUrl(record: AnnotationRecord, filter: Query, level: number, x: number, y: number) {
  const query = { ...filter, _: record._version };
  return apiUrl(`annotation/${record._id}/tiles/zxy/${level}/${x}/${y}`, query);
}

/** Groups with the colours that they are seen in. */
export async function groupsOf(record: AnnotationRecord, signal: AbortSignal): Promise<Group[]> {
  return (await request<{ groups: Group[] }>('GET', `annotation/${record._id}/tiles`, { signal })).groups;
}
