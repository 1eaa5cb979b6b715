import { apiUrl, followStream, requestList, request, type Query } from '../api.js';
import type { Documents } from '../answers.js';
import type { AnnotationRecord, Box, Element } from './annotation-model.js';

export type Group = { name: string | null; color: string; count: number };

export type ElementChanges = { put: Element[]; remove: string[] };

/** Whether an error means that someone else changed the annotation first. */
export function isConflict(error: unknown) {
  const { status } = error as { status?: number };
  return status === 409 || status === 412;
}

/** The header that makes the server refuse a change if the annotation has another version by now. */
function versionHeader(record: AnnotationRecord) {
  return { 'If-Match': `"${record._version}"` };
}

/** The annotations of an item, oldest first. */
export async function listAnnotations(itemId: string, signal: AbortSignal): Promise<AnnotationRecord[]> {
  const records = await request('GET', 'annotation', { query: { itemId, limit: 0 }, signal });
  return records.map(toRecord).toSorted((a, b) => a.created.localeCompare(b.created));
}

/** The deleted annotations of an item that the user may restore, newest first. */
export async function listDeletedAnnotations(itemId: string): Promise<AnnotationRecord[]> {
  return (await request('GET', 'annotation/deleted', { query: { itemId, limit: 100 } })).map(toRecord);
}

/** Narrows the type of a response, which also covers previous versions with fewer members. */
function toRecord(annotation: Documents['Annotation']) {
  return annotation as AnnotationRecord;
}

/** Whether the annotations of an item differ from these records. The request is small, because it is repeated often. */
export async function haveAnnotationsChanged(
  itemId: string,
  records: readonly AnnotationRecord[],
  signal: AbortSignal,
): Promise<boolean> {
  const query = { itemId, limit: 1, sort: '_version', sortdir: -1 };
  const { entries, total } = await requestList('annotation', { query, signal });
  return total !== records.length || (total > 0 && entries[0]?._version !== newestVersionOf(records));
}

/** The server's report about the annotations of an item: how many the user may see, change and administer, and the newest version. */
export type ListState = { total: number; version: number | null; writable: number; administered: number };

/** Follows the annotations of an item until the stream ends. @param options `onEvent` is called with the current state first, and again after each change */
export function followChanges(itemId: string, { signal, onEvent }: { signal: AbortSignal; onEvent: (state: ListState) => void }) {
  const onText = (text: string) => onEvent(JSON.parse(text) as ListState);
  return followStream('annotation/events', { query: { itemId }, signal, onEvent: onText });
}

/** Whether a list of annotations matches the server's report. */
export function isUpToDate({ total, version, writable, administered }: ListState, records: readonly AnnotationRecord[]) {
  const [writableCount, administeredCount] = [1, 2].map(
    (level) => records.filter(({ _accessLevel }) => _accessLevel >= level).length,
  );
  return (
    total === records.length &&
    (total === 0 || version === newestVersionOf(records)) &&
    writable === writableCount &&
    administered === administeredCount
  );
}

/** The newest version. All annotations share one counter of versions. */
function newestVersionOf(records: readonly AnnotationRecord[]) {
  return Math.max(...records.map(({ _version }) => _version));
}

/** Whether the user may annotate the items of a folder. */
export function mayAnnotate(folderId: string, signal: AbortSignal): Promise<boolean> {
  return request('GET', `annotation/folder/${folderId}/create`, { signal });
}

export async function createAnnotation(
  itemId: string,
  { name, description }: { name: string; description: string },
): Promise<AnnotationRecord> {
  const json = { name, ...(description !== '' && { description }), elements: [] };
  return toRecord(await request('POST', 'annotation', { query: { itemId }, json }));
}

/** The media type of a table of shapes, by the first bytes of the file; `null` for other files. */
export async function tableTypeOf(file: File): Promise<string | null> {
  const firstBytes = new Uint8Array(await file.slice(0, 4).arrayBuffer()).join();
  if (firstBytes === '80,65,82,49') return 'application/vnd.apache.parquet';
  return firstBytes === '255,255,255,255' ? 'application/vnd.apache.arrow.stream' : null;
}

/** Imports a table of shapes as an annotation that is named after the file. @returns the number of imported annotations */
export function importTable(itemId: string, file: File, type: string): Promise<number> {
  const query = { name: file.name.replace(/\.\w+$/, '') };
  return request('POST', `annotation/item/${itemId}`, { query, text: file, headers: { 'Content-Type': type } });
}

/** Imports annotations from a file; if one of them is refused, none is imported. @returns the number of imported annotations */
export async function importAnnotations(itemId: string, file: File): Promise<number> {
  const bytes = new Uint8Array(await file.slice(0, 4096).arrayBuffer());
  const textStart = new TextDecoder().decode(bytes);
  // GeoJSON is named after its file. A name inside the file comes later in the text, and so takes precedence.
  const namedStart = `{"name":${JSON.stringify(file.name.replace(/\.\w+$/, ''))},`;
  let text: Blob = file;
  // QuPath writes a list of features, which become one annotation.
  if (/^\s*\[\s*\{/.test(textStart) && /"type"\s*:\s*"Feature"/.test(textStart)) {
    text = new Blob([namedStart, '"type":"FeatureCollection","features":', file, '}']);
  } else if (/^\s*\{\s*"type"\s*:\s*"FeatureCollection"/.test(textStart)) {
    text = new Blob([namedStart, file.slice(bytes.indexOf(0x7b) + 1)]);
  }
  return request('POST', `annotation/item/${itemId}`, { text, headers: { 'Content-Type': 'application/json' } });
}

/** Loads an annotation again, without its elements. */
export async function reloadAnnotation(record: AnnotationRecord): Promise<AnnotationRecord> {
  const loadedRecord = await request('GET', `annotation/${record._id}`, { query: { limit: 1 } });
  const { elements: _omitted, ...annotation } = loadedRecord.annotation;
  return toRecord({ ...loadedRecord, annotation });
}

export async function renameAnnotation(record: AnnotationRecord, { name, description }: { name: string; description: string }) {
  const json: { op: string; path: string; value?: string }[] = [
    { op: record.annotation.name ? 'replace' : 'add', path: 'name', value: name },
  ];
  const formerDescription = record.annotation.description;
  if (description !== '') json.push({ op: formerDescription ? 'replace' : 'add', path: 'description', value: description });
  else if (formerDescription !== undefined) json.push({ op: 'remove', path: 'description' });
  await request('PATCH', `annotation/${record._id}`, { json, headers: versionHeader(record) });
}

/** Saves a previous version again as the newest version. */
export function restoreVersion({ _id }: AnnotationRecord, version: number) {
  return request('PUT', `annotation/${_id}/history/revert`, { query: { version } });
}

/** Whether deleted annotations can be restored. */
export async function keepsHistory() {
  const settings = await request('GET', 'large_image/settings').catch((): Record<string, unknown> => ({}));
  return settings['large_image.annotation_history'] !== false;
}

export function removeAnnotation(record: AnnotationRecord) {
  return request('DELETE', `annotation/${record._id}`, { headers: versionHeader(record) });
}

/**
 * All elements of an annotation, or its elements in a region, with their positions in the order of the annotation.
 *
 * @returns `null` if there are more than `limit` elements or `maxDetails` points
 */
export async function loadElements(
  record: AnnotationRecord,
  { region, limit, maxDetails, signal }: { region: Box | null; limit: number; maxDetails: number; signal: AbortSignal },
): Promise<{ elements: Element[]; orders: number[] } | null> {
  const query = { ...region, limit: limit + 1, maxDetails, orders: true, _: record._version };
  const { annotation, _elementQuery } = await request('GET', `annotation/${record._id}`, { query, signal });
  const { returned = 0, details = 0, orders = [] } = _elementQuery ?? {};
  return returned > limit || details >= maxDetails ? null : { elements: toElements(annotation.elements), orders };
}

/** All elements of several annotations of an item, by the ids of the annotations. Annotations that have other versions by now are left out. */
export async function loadAllElements(
  itemId: string,
  records: readonly AnnotationRecord[],
  signal: AbortSignal,
): Promise<Map<string, { elements: Element[]; orders: number[] }>> {
  const query = { ids: JSON.stringify(records.map(({ _id }) => _id)) };
  const loadedRecords = await request('GET', `annotation/item/${itemId}`, { query, signal });
  const versionById = new Map(records.map(({ _id, _version }) => [_id, _version]));
  const currentRecords = loadedRecords.filter(({ _id, _version }) => versionById.get(_id) === _version);
  return new Map(
    currentRecords.map(({ _id, annotation }) => {
      const elements = toElements(annotation.elements);
      return [_id, { elements, orders: [...elements.keys()] }];
    }),
  );
}

/** Narrows the type of stored elements, which always have ids. */
function toElements(elements: unknown[] = []) {
  return elements as Element[];
}

/** Maximum number of overlays that are shown with an annotation whose shapes the server draws. */
const maxOverlays = 100;

/** The image and pixelmap elements of an annotation. */
export async function loadOverlays(record: AnnotationRecord, signal: AbortSignal): Promise<Element[]> {
  if (!record._overlays) return [];
  const filter = JSON.stringify({ column: 'type', in: ['image', 'pixelmap'] });
  const query = { filter, columns: '["id"]', limit: maxOverlays, _: record._version };
  const { rows } = await request('GET', `annotation/${record._id}/table/rows`, { query, signal });
  const overlays = await Promise.all(rows.map(([id]) => loadElement(record, String(id))));
  return overlays.filter((element) => element !== null);
}

/** One stored element; `null` if it no longer exists. */
export async function loadElement(record: AnnotationRecord, id: string): Promise<Element | null> {
  try {
    const storedElement = await request('GET', `annotation/${record._id}/elements/${id}`);
    return toElements([storedElement])[0] ?? null;
  } catch (error) {
    if ((error as { status?: number }).status === 404) return null;
    throw error;
  }
}

export function sendChanges(
  record: AnnotationRecord,
  changes: ElementChanges,
): Promise<Pick<AnnotationRecord, '_version' | '_elementCount' | '_detailsCount' | 'groups'>> {
  return request('PATCH', `annotation/${record._id}/elements`, { json: changes, headers: versionHeader(record) });
}

/** Maximum length of a list of groups in an address, in characters. */
const maxFilterLength = 4000;

/** The query for tiles without the hidden groups. It lists the hidden or the visible groups, whichever list is shorter; `null` if both lists are too long. */
export function groupFilter({ groups = [] }: AnnotationRecord, hiddenGroups: ReadonlySet<string | null>): Query | null {
  const hiddenNames = groups.filter((name) => hiddenGroups.has(name));
  if (hiddenNames.length === 0) return {};
  const [visibleJson, hiddenJson] = [
    JSON.stringify(groups.filter((name) => !hiddenGroups.has(name))),
    JSON.stringify(hiddenNames),
  ];
  const isVisibleShorter = visibleJson.length < hiddenJson.length;
  if ((isVisibleShorter ? visibleJson : hiddenJson).length > maxFilterLength) return null;
  return isVisibleShorter ? { groups: visibleJson } : { without: hiddenJson };
}

export function overlayTileUrl(record: AnnotationRecord, filter: Query, level: number, x: number, y: number) {
  const query = { ...filter, _: record._version };
  return apiUrl(`annotation/${record._id}/tiles/zxy/${level}/${x}/${y}`, query);
}

export async function requestGroups(record: AnnotationRecord, signal: AbortSignal): Promise<Group[]> {
  return (await request('GET', `annotation/${record._id}/tiles`, { signal })).groups;
}
