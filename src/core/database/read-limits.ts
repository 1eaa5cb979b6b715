import type { Aggregate, Query, Schema } from 'mongoose';
import { isSliceOver, nextSlice } from '../concurrency/slices.js';
import { listTimeoutMs } from './outage.js';

/** Documents that come from the database at a time: they are decoded at a stretch, and between them others have the event loop. */
const documentsAtOnce = 500;

/** A query, as far as its documents are read one by one. */
interface Readable {
  cursor(options?: { batchSize: number }): AsyncIterable<unknown> & { close(): Promise<unknown> };
}

/**
 * The documents of a query, one by one as they are asked for. They are decoded one by one, and others have the event loop in between: each may
 * hold as much as its users may write.
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

/** {@link eachInSlices}, all at once. */
export async function readInSlices<D>(query: Readable): Promise<D[]> {
  const documents: D[] = [];
  for await (const document of eachInSlices<D>(query)) documents.push(document);
  return documents;
}

/** An option of reads that may go on for as long as they take: those that nobody waits for, and that look at everything. */
export const withoutReadLimit = { maxTimeMS: 0 } as const;

/**
 * Has the database break off what is read with a schema after the time for lists, and send it in parts: clients choose conditions, orders
 * and lengths of lists. Whatever a query says itself wins.
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
