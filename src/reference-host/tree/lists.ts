import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Model, QueryFilter, Types } from 'mongoose';
import { BadParameterError, iterateInSlices, parseSortOrder, readInSlices, Reply } from '../../larger-host.js';

/** Number of documents that are read before other work can use the event loop. */
const readBatchSize = 1000;
/** Number of documents that are converted before other work can use the event loop. */
const viewBatchSize = 100;

/** A part of a sorted list. `limit` 0 means no limit. */
export interface Page {
  limit: number;
  offset: number;
  sort: string;
  sortdir: 1 | -1;
}

/** Fields that lists never show. Conditions on them, and sort orders by them, are refused too: both would reveal their values. */
const hiddenFields: ReadonlySet<string> = new Set([
  'access',
  'words',
  'terms',
  'phrases',
  'unindexed',
  'requests',
  'storage',
  'startedBy',
]);

/** @throws BadParameterError for a field that lists never show */
export function requireVisibleField(field: string, parameterName: string): void {
  if (hiddenFields.has(field.split('.', 1)[0]!))
    throw new BadParameterError(`Invalid value for parameter ${parameterName}: ${field}.`);
}

/**
 * Converts a page's sort order to the form of MongoDB: directions by field.
 * @throws BadParameterError for a field that lists cannot be sorted by
 */
export function toSortOrder(
  { sort, sortdir }: Pick<Page, 'sort' | 'sortdir'>,
  sortable?: readonly string[],
): Record<string, 1 | -1> {
  const isJsonList = sortable === undefined && sort.startsWith('[');
  if (!isJsonList && (sortable ? !sortable.includes(sort) : !/^[A-Za-z_][\w-]*(\.[\w-]+)*$/.test(sort))) {
    const allowedText = sortable ? ` Allowed values: ${sortable.join(', ')}.` : '';
    throw new BadParameterError(`Invalid value for parameter sort: ${sort}.${allowedText}`);
  }
  const order = parseSortOrder(sort, sortdir);
  for (const [field] of order) requireVisibleField(field, 'sort');
  return Object.fromEntries(order);
}

/**
 * Replies with one page of the documents that match a filter, converted by `view`, and with the number of all matches. Documents with equal
 * sort keys are ordered by id, so that pages never overlap.
 */
export async function replyWithPage<D>(
  model: Model<D>,
  filter: QueryFilter<D>,
  page: Page & { sortable?: readonly string[] },
  view: (document: D) => unknown,
): Promise<Reply> {
  const query = model.find(filter).sort(toSortOrder(page, page.sortable)).skip(page.offset);
  if (page.limit > 0) query.limit(page.limit);
  const [documents, total] = await Promise.all([readInSlices<D>(query.lean()), model.countDocuments(filter)]);
  return replyWithList(await createViews(documents, view), total);
}

/** Counts the matching documents before one of them in sort order, or all of them if the document with this id does not match. */
export async function findPosition<D>(
  model: Model<D>,
  filter: QueryFilter<D>,
  id: Types.ObjectId,
  page: Pick<Page, 'sort' | 'sortdir'>,
): Promise<number> {
  // The list is read up to the document. Comparing with its sort keys would miss documents without the field or with values of other types.
  const matches = model.find(filter, { _id: 1 }).sort(toSortOrder(page)).lean();
  let precedingCount = 0;
  for await (const { _id } of iterateInSlices<{ _id: Types.ObjectId }>(matches, { batchSize: readBatchSize })) {
    if (id.equals(_id)) break;
    precedingCount++;
  }
  return precedingCount;
}

/** Converts documents to the form that clients get. Other work can use the event loop in between. */
export async function createViews<D>(documents: readonly D[], view: (document: D) => unknown): Promise<unknown[]> {
  const views: unknown[] = [];
  for (const document of documents) {
    views.push(view(document));
    if (views.length % viewBatchSize === 0) await nextIteration();
  }
  return views;
}

/** Replies with a list, and with the number of all matches in the header. */
export function replyWithList(entries: unknown[], total: number): Reply {
  return Reply.json(entries, { headers: { 'Girder-Total-Count': total } });
}
