// @ts-check
import { apiUrl, request } from '../api.js';

/**
 * @typedef {import('./model.js').AnnotationRecord} AnnotationRecord
 * @typedef {import('./model.js').Element} Element
 * @typedef {import('./model.js').Box} Box
 * @typedef {{ name: string | null, color: string, count: number }} Group
 * @typedef {{ put: Element[], remove: string[] }} ElementChanges
 */

/** Whether the server says that somebody else was first. @param {unknown} error */
export function isConflict(error) {
  const { status } = /** @type {{ status?: number }} */ (error);
  return status === 409 || status === 412;
}

/** Only changes the version that this page knows. @param {AnnotationRecord} record */
function ifMatch(record) {
  return { 'If-Match': `"${record._version}"` };
}

/** The annotations of an item, oldest first. @param {string} itemId @param {AbortSignal} signal @returns {Promise<AnnotationRecord[]>} */
export async function listAnnotations(itemId, signal) {
  /** @type {AnnotationRecord[]} */
  const records = await request('GET', 'annotation', { query: { itemId, limit: 0 }, signal });
  return records.toSorted((a, b) => a.created.localeCompare(b.created));
}

/** Whether the reader may annotate the items of a folder. @param {string} folderId @param {AbortSignal} signal @returns {Promise<boolean>} */
export function mayAnnotate(folderId, signal) {
  return request('GET', `annotation/folder/${folderId}/create`, { signal });
}

/** @param {string} itemId @param {{ name: string, description: string }} annotation @returns {Promise<AnnotationRecord>} */
export function createAnnotation(itemId, { name, description }) {
  const json = { name, ...(description !== '' && { description }), elements: [] };
  return request('POST', 'annotation', { query: { itemId }, json });
}

/** An annotation without its elements. @param {AnnotationRecord} record @returns {Promise<AnnotationRecord>} */
export async function reloadAnnotation(record) {
  const found = await request('GET', `annotation/${record._id}`, { query: { limit: 1 } });
  delete found.annotation.elements;
  return found;
}

/** @param {AnnotationRecord} record @param {{ name: string, description: string }} words */
export async function renameAnnotation(record, { name, description }) {
  const json = [{ op: record.annotation.name ? 'replace' : 'add', path: 'name', value: name }];
  const had = record.annotation.description;
  if (description !== '') json.push({ op: had ? 'replace' : 'add', path: 'description', value: description });
  else if (had !== undefined) json.push(/** @type {any} */ ({ op: 'remove', path: 'description' }));
  await request('PATCH', `annotation/${record._id}`, { json, headers: ifMatch(record) });
}

/** @param {AnnotationRecord} record */
export function removeAnnotation(record) {
  return request('DELETE', `annotation/${record._id}`, { headers: ifMatch(record) });
}

/**
 * The elements of an annotation, or those that meet a region.
 *
 * @param {AnnotationRecord} record
 * @param {{ region: Box | null, limit: number, maxDetails: number, signal: AbortSignal }} options
 * @returns {Promise<Element[] | null>} `null`: there are more of them than `limit`, or than `maxDetails` points
 */
export async function loadElements(record, { region, limit, maxDetails, signal }) {
  const query = { ...region, limit: limit + 1, maxDetails, _: record._version };
  const { annotation, _elementQuery } = await request('GET', `annotation/${record._id}`, { query, signal });
  const { returned, details } = _elementQuery;
  return returned > limit || details >= maxDetails ? null : annotation.elements;
}

/** One element as it is stored; `null` when it is gone. @param {AnnotationRecord} record @param {string} id @returns {Promise<Element | null>} */
export async function loadElement(record, id) {
  try {
    return await request('GET', `annotation/${record._id}/elements/${id}`);
  } catch (error) {
    if (/** @type {{ status?: number }} */ (error).status === 404) return null;
    throw error;
  }
}

/**
 * Sends what has changed, and nothing else.
 *
 * @param {AnnotationRecord} record
 * @param {ElementChanges} changes
 * @returns {Promise<Pick<AnnotationRecord, '_version' | '_elementCount' | '_detailsCount' | 'groups'>>}
 */
export function sendChanges(record, changes) {
  return request('PATCH', `annotation/${record._id}/elements`, { json: changes, headers: ifMatch(record) });
}

/** @param {AnnotationRecord} record @param {(string | null)[] | null} groups to show; `null`: all @param {number} level @param {number} x @param {number} y */
export function overlayTileUrl(record, groups, level, x, y) {
  const query = { groups: groups && JSON.stringify(groups), _: record._version };
  return apiUrl(`annotation/${record._id}/tiles/zxy/${level}/${x}/${y}`, query);
}

/** Groups with the colours that they are seen in. @param {AnnotationRecord} record @param {AbortSignal} signal @returns {Promise<Group[]>} */
export async function groupsOf(record, signal) {
  return (await request('GET', `annotation/${record._id}/tiles`, { signal })).groups;
}
