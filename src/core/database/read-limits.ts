import type { Aggregate, Query, Schema } from 'mongoose';
import { isSliceOver, nextSlice } from '../concurrency/slices.js';
import { listTimeoutMs } from './outage.js';

/** Documents in one batch from the database. A batch is decoded at once; other work has the event loop between batches. */
const documentsAtOnce = 500;

/** A query, as far as its documents are read one by one. */
interface Readable {
  cursor(options?: { batchSize: number }): AsyncIterable<unknown> & { close(): Promise<unknown> };
}

/**
 * The documents of a query, one by one, on demand. Other work can run between them, because each may be as large as users are
 * allowed to make it.
 */
export async function* eachInSlices<D>(query: Readable, options?: { batchSize: number }): AsyncGenerator<D> {
  const cursor = query.cursor(options);
  try {
    for await (const document of cursor) {
      // The types of cursors do not know what `lean` gives.
      yield document as D;
      if (isSliceOver()) await nextSlice();
    }
  } finally {
    await cursor.close();
  }
}

/** All documents of {@link eachInSlices} as a list. */
export async function readInSlices<D>(query: Readable): Promise<D[]> {
  const documents: D[] = [];
  for await (const document of eachInSlices<D>(query)) documents.push(document);
  return documents;
}

/** Option of reads without a time limit: for reads of whole collections that no request waits for. */
export const withoutReadLimit = { maxTimeMS: 0 } as const;

/**
 * Limits all reads with a schema, because clients choose conditions, order and length of lists: the database breaks them off after the time for lists,
 * and sends the documents in batches. Options that a query sets itself take precedence.
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
