import type { Answer, Documents } from '../../answers.js';
import { apiUrl, authorization, request, saveFile, toApiError, toSearch, type Query } from '../../api.js';
import type { AnnotationRecord } from '../annotation-model.js';

export type Cell = string | number | boolean | null;

export type ObjectColumn = Documents['AnnotationTable']['columns'][number];

/** A condition on shapes, in the form that the routes of the table accept. */
export type ObjectFilter =
  | { column: string; gte?: number; lte?: number; in?: Cell[] }
  | { region: number[] | number[][] }
  | { and: ObjectFilter[] };

/** The parameters of a request for a page of the table. */
export interface PageQuery {
  filter: ObjectFilter | null;
  columns: readonly string[];
  sort?: string;
  sortdir?: 1 | -1;
  offset?: number;
  limit: number;
}

/** Queries that are longer than this, in characters, are sent as a form, because addresses have a maximum length. */
const maxQueryLength = 4000;

const getOverrideHeader = { 'X-HTTP-Method-Override': 'GET' };

/** A filter for shapes that match all conditions; `null` if there are no conditions. */
export function combineFilters(...conditions: (ObjectFilter | null)[]): ObjectFilter | null {
  const and = conditions.filter((condition) => condition !== null);
  return and.length > 1 ? { and } : (and[0] ?? null);
}

/** The condition that a column is in a range; `null` for a range without bounds. */
export function rangeFilter({
  column,
  low,
  high,
}: {
  column: string;
  low: number | null;
  high: number | null;
}): ObjectFilter | null {
  if (low === null && high === null) return null;
  return { column, ...(low !== null && { gte: low }), ...(high !== null && { lte: high }) };
}

/** A query whose filter and columns are written as JSON. */
function tableQuery(
  record: AnnotationRecord,
  { filter, columns, ...query }: { filter: ObjectFilter | null; columns?: readonly string[]; [name: string]: unknown },
): Query {
  const jsonParameters = {
    ...(filter && { filter: JSON.stringify(filter) }),
    ...(columns && { columns: JSON.stringify(columns) }),
  };
  return { ...(query as Query), ...jsonParameters, _: record._version };
}

async function requestTable(record: AnnotationRecord, route: string, query: Query, signal: AbortSignal): Promise<unknown> {
  const path = `annotation/${record._id}/table${route}`;
  const isLong = toSearch(query).toString().length > maxQueryLength;
  return isLong
    ? request('POST', path, { form: query, headers: getOverrideHeader, signal })
    : request('GET', path, { query, signal });
}

/** The columns of the shapes of an annotation. */
export async function requestColumns(record: AnnotationRecord, signal: AbortSignal): Promise<ObjectColumn[]> {
  return (await request('GET', `annotation/${record._id}/table`, { query: { _: record._version }, signal })).columns;
}

export async function requestRows(record: AnnotationRecord, query: PageQuery, signal: AbortSignal) {
  return (await requestTable(
    record,
    '/rows',
    tableQuery(record, { ...query }),
    signal,
  )) as Answer<'GET annotation/{id}/table/rows'>;
}

/** Counts, means and deviations of columns by group. */
export async function requestSummary(
  record: AnnotationRecord,
  { filter, columns }: { filter: ObjectFilter | null; columns: readonly string[] },
  signal: AbortSignal,
) {
  const query = tableQuery(record, { filter, columns, by: 'group' });
  return (await requestTable(record, '/summary', query, signal)) as Answer<'GET annotation/{id}/table/summary'>;
}

/** Counts in bins of one or two columns. */
export async function requestHistogram(
  record: AnnotationRecord,
  query: {
    filter: ObjectFilter | null;
    x: string;
    y?: string;
    bins: number;
    low?: number;
    high?: number;
    ylow?: number;
    yhigh?: number;
  },
  signal: AbortSignal,
) {
  return (await requestTable(
    record,
    '/histogram',
    tableQuery(record, query),
    signal,
  )) as Answer<'GET annotation/{id}/table/histogram'>;
}

/** The ids of the shapes that match a filter, at most `limit`, and the number of all matching shapes. */
export function requestIds(record: AnnotationRecord, filter: ObjectFilter, limit: number, signal: AbortSignal) {
  return request('POST', `annotation/${record._id}/table/ids`, { json: { filter, limit }, signal });
}

/** Saves shapes as a file. */
export async function saveTable(
  record: AnnotationRecord,
  filter: ObjectFilter | null,
  extension: 'csv' | 'parquet',
  name: string,
) {
  await saveFile(await requestFile(record, filter, extension), `${name}.${extension}`);
}

/** Creates an annotation that contains copies of some shapes. */
export async function copyToAnnotation(
  record: AnnotationRecord,
  filter: ObjectFilter | null,
  { itemId, name }: { itemId: string; name: string },
) {
  const text = await requestFile(record, filter, 'parquet');
  const headers = { 'Content-Type': 'application/vnd.apache.parquet' };
  return request('POST', `annotation/item/${itemId}`, { query: { name }, text, headers });
}

async function requestFile(record: AnnotationRecord, filter: ObjectFilter | null, extension: 'csv' | 'parquet'): Promise<Blob> {
  const form = toSearch(tableQuery(record, { filter }));
  const init = {
    method: 'POST',
    body: form,
    headers: { ...authorization(), ...getOverrideHeader },
    credentials: 'same-origin',
  } as const;
  const response = await fetch(apiUrl(`annotation/${record._id}/table.${extension}`), init);
  if (!response.ok) throw toApiError(response.status, await response.text());
  return response.blob();
}
