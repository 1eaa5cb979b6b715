import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Model, QueryFilter, Types } from 'mongoose';
import { BadParameterError, eachInSlices, parseSortOrder, readInSlices, Reply } from '../../index.js';

/** Documents that come at a time: between them others have the event loop. */
const batchSize = 1000;
const viewsAtOnce = 100;

/** Which part of a list is wanted, and in what order. `limit` 0: all. */
export interface Page {
  limit: number;
  offset: number;
  sort: string;
  sortdir: 1 | -1;
}

/** Fields that no answer shows: who may not see them learns nothing of them from conditions or orders either. */
const hiddenFields: ReadonlySet<string> = new Set(['access', 'words', 'requests', 'storage', 'startedBy']);

/** @throws BadParameterError for a field that no answer shows */
export function requireShown(field: string, name: string): void {
  if (hiddenFields.has(field.split('.', 1)[0]!)) throw new BadParameterError(`Invalid value for parameter ${name}: ${field}.`);
}

/** The fields that a page is ordered by. @throws BadParameterError for a field that lists are not sorted by. */
function orderOf({ sort, sortdir }: Pick<Page, 'sort' | 'sortdir'>, sortable?: readonly string[]): Record<string, 1 | -1> {
  const isList = sortable === undefined && sort.startsWith('[');
  if (!isList && (sortable ? !sortable.includes(sort) : !/^[A-Za-z_][\w-]*(\.[\w-]+)*$/.test(sort))) {
    const allowed = sortable ? ` Allowed values: ${sortable.join(', ')}.` : '';
    throw new BadParameterError(`Invalid value for parameter sort: ${sort}.${allowed}`);
  }
  const order = parseSortOrder(sort, sortdir);
  for (const [field] of order) requireShown(field, 'sort');
  return Object.fromEntries(order);
}

/**
 * Answers with one page of what matches a filter, each shown by `view`, and counts all of it. Equal sort keys are ordered by id, so that pages
 * never overlap.
 */
export async function pageReply<D>(
  model: Model<D>,
  filter: QueryFilter<D>,
  page: Page & { sortable?: readonly string[] },
  view: (document: D) => unknown,
): Promise<Reply> {
  const query = model.find(filter).sort(orderOf(page, page.sortable)).skip(page.offset);
  if (page.limit > 0) query.limit(page.limit);
  const [documents, total] = await Promise.all([readInSlices<D>(query.lean()), model.countDocuments(filter)]);
  return listReply(await viewsOf(documents, view), total);
}

/** How many of the documents that match stand before one of them; all, when it is not among them. */
export async function positionIn<D>(
  model: Model<D>,
  filter: QueryFilter<D>,
  id: Types.ObjectId,
  page: Pick<Page, 'sort' | 'sortdir'>,
): Promise<number> {
  // Looked for in the list itself: conditions on what comes before miss documents without the field, or with values of another type.
  const found = model.find(filter, { _id: 1 }).sort(orderOf(page)).lean();
  let before = 0;
  for await (const { _id } of eachInSlices<{ _id: Types.ObjectId }>(found, { batchSize })) {
    if (id.equals(_id)) break;
    before++;
  }
  return before;
}

/** What documents look like to a client, made in parts: between them others have the event loop. */
export async function viewsOf<D>(documents: readonly D[], view: (document: D) => unknown): Promise<unknown[]> {
  const views: unknown[] = [];
  for (const document of documents) {
    views.push(view(document));
    if (views.length % viewsAtOnce === 0) await nextIteration();
  }
  return views;
}

/** A list as an answer, with the number of all matches in its header. */
export function listReply(entries: unknown[], total: number): Reply {
  return Reply.json(entries, { headers: { 'Girder-Total-Count': total } });
}
