import type { Aggregate, Query, Schema } from 'mongoose';
import { isSliceOver, nextSlice } from '../concurrency/slices.js';
import { idsPerQuery } from './id-batches.js';
import { listTimeoutMs } from './outage.js';

/**
 * Number of documents in one batch from the database. A batch is decoded at once; the event loop can do other work between batches.
 */
const documentsAtOnce = 500;

interface CursorQuery {
  cursor(options?: { batchSize: number }): AsyncIterable<unknown> & { close(): Promise<unknown> };
}

/** Yields the documents of a query, one by one, on demand. Other work can run between two documents, because they may be large. */
export async function* iterateInSlices<D>(query: CursorQuery, options?: { batchSize: number }): AsyncGenerator<D> {
  const cursor = query.cursor(options);
  try {
    for await (const document of cursor) {
      // The types of cursors do not reflect `lean`.
      yield document as D;
      if (isSliceOver()) await nextSlice();
    }
  } finally {
    await cursor.close();
  }
}

/** Like {@link iterateInSlices}, but returns all documents as a list. */
export async function readInSlices<D>(query: CursorQuery): Promise<D[]> {
  const documents: D[] = [];
  for await (const document of iterateInSlices<D>(query)) documents.push(document);
  return documents;
}

/** Yields the ids that an aggregation finds, in lists. There is no pause between ids, because decoding an id takes little time. */
export async function* iterateIdBatches(aggregation: Aggregate<{ _id: string }[]>): AsyncGenerator<string[]> {
  let ids: string[] = [];
  for await (const { _id } of aggregation.cursor<{ _id: string }>({ batchSize: idsPerQuery })) {
    if (ids.push(_id) < idsPerQuery) continue;
    yield ids;
    ids = [];
  }
  if (ids.length > 0) yield ids;
}

/** Query options without a time limit, for reads of whole collections that no request waits for. */
export const withoutReadLimit = { maxTimeMS: 0 } as const;

/**
 * Limits all reads with a schema, because clients choose conditions, order and length of lists. The database stops a read after
 * `listTimeoutMs`, and sends documents in batches. Options of a query take precedence.
 */
export function limitReads(schema: Schema): void {
  schema.pre(['find', 'findOne', 'countDocuments', 'distinct'], function limit(this: Query<unknown, unknown>) {
    const { maxTimeMS, batchSize } = this.getOptions();
    if (maxTimeMS === undefined) this.maxTimeMS(listTimeoutMs);
    if (batchSize === undefined && (this as { op?: string }).op === 'find') this.batchSize(documentsAtOnce);
  });
  schema.pre('aggregate', function limit(this: Aggregate<unknown>) {
    if (this.options.maxTimeMS === undefined) this.option({ maxTimeMS: listTimeoutMs });
  });
}
