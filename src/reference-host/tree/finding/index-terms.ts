import { Types, type Model } from 'mongoose';
import { eachInSlices, withoutReadLimit } from '../../../larger-host.js';
import { findableBy, type Findable } from './terms.js';

/** A document with the fields for searches. */
interface Indexed extends Findable {
  _id: Types.ObjectId;
  name: string;
  description?: string | null;
  meta?: Record<string, unknown>;
  /** Set by each change of name, description or metadata until its terms are written. */
  unindexed?: Types.ObjectId;
}

/** Set this together with name, description or metadata, and call {@link indexTerms} afterwards. */
export function unindexedMark(): { unindexed: Types.ObjectId } {
  return { unindexed: new Types.ObjectId() };
}

/**
 * Writes the terms of a document that was changed with {@link unindexedMark}. If it has been changed again since, the later change
 * writes them. If the process ends first, the next sweep writes them.
 */
export async function indexTerms<D extends { _id: Types.ObjectId }>(model: Model<D>, document: D): Promise<void> {
  // All models with terms share these fields.
  const indexed = model as unknown as Model<Indexed>;
  const { _id, unindexed, ...described } = document as unknown as Indexed;
  const filter = { _id, unindexed: unindexed ?? { $exists: false } } as never;
  const write = (terms: Findable) => indexed.updateOne(filter, { $set: terms, $unset: { unindexed: '' } });
  // A document of the largest size has no room for its terms.
  await write(findableBy(described)).catch(() => write({ terms: [], phrases: '' }));
}

/** Writes the terms of a document that was changed by other code than the host's. */
export async function reindex<D extends { _id: Types.ObjectId }>(model: Model<D>, _id: Types.ObjectId): Promise<void> {
  const indexed = model as unknown as Model<Indexed>;
  const changed = await indexed.findOneAndUpdate({ _id }, { $set: unindexedMark() }, { returnDocument: 'after' }).lean<Indexed>();
  if (changed !== null) await indexTerms(indexed, changed);
}

/** Writes the terms of all documents that have none yet. @returns their number */
export async function indexMissingTerms(models: readonly Model<never>[], signal: AbortSignal): Promise<number> {
  let count = 0;
  for (const model of models as unknown as Model<Indexed>[]) {
    for (const filter of [{ unindexed: { $exists: true } }, { phrases: { $exists: false } }]) {
      const documents = model.find(filter, null, withoutReadLimit).lean();
      for await (const document of eachInSlices<Indexed>(documents)) {
        signal.throwIfAborted();
        await indexTerms(model, document);
        count++;
      }
    }
  }
  return count;
}
