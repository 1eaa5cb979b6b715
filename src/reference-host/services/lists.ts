import type { Model, QueryFilter } from 'mongoose';
import { BadParameterError, parseSortOrder, Reply } from '../../index.js';

/** Which part of a list is wanted, and in what order. `limit` 0: all. */
export interface Page {
  limit: number;
  offset: number;
  sort: string;
  sortdir: 1 | -1;
}

/** Reads one page of what matches a filter, and counts all of it. Equal sort keys are ordered by id, so that pages never overlap. */
export async function readPage<D>(
  model: Model<D>,
  filter: QueryFilter<D>,
  page: Page,
  sortable?: readonly string[],
): Promise<{ documents: D[]; total: number }> {
  const { sort } = page;
  const isList = sortable === undefined && sort.startsWith('[');
  if (!isList && (sortable ? !sortable.includes(sort) : !/^[A-Za-z_][\w-]*(\.[\w-]+)*$/.test(sort))) {
    const allowed = sortable ? ` Allowed values: ${sortable.join(', ')}.` : '';
    throw new BadParameterError(`Invalid value for parameter sort: ${sort}.${allowed}`);
  }
  const order = Object.fromEntries(parseSortOrder(sort, page.sortdir));
  const query = model.find(filter).sort(order).skip(page.offset);
  if (page.limit > 0) query.limit(page.limit);
  const [documents, total] = await Promise.all([query.lean<D[]>(), model.countDocuments(filter)]);
  return { documents, total };
}

/** A list as an answer, with the number of all matches in its header. */
export function listReply(entries: unknown[], total: number): Reply {
  return Reply.json(entries, { headers: { 'Girder-Total-Count': total } });
}
