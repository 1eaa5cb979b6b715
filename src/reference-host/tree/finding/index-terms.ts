import { Types, type Model } from 'mongoose';
import { iterateInSlices, withoutReadLimit } from '../../../larger-host.js';
import { computeSearchFields, type SearchFields } from './terms.js';

/** A document with the fields for searches. */
interface IndexedDocument extends SearchFields {
  _id: Types.ObjectId;
  name: string;
  description?: string | null;
  meta?: Record<string, unknown>;
  /** A mark that each change of name, description or metadata sets. It is removed when the terms of this change are written. */
  unindexed?: Types.ObjectId;
}

/** Fields to set together with name, description or metadata. Call {@link indexTerms} afterwards. */
export function createUnindexedMark(): { unindexed: Types.ObjectId } {
  return { unindexed: new Types.ObjectId() };
}

/**
 * Writes the terms of a document that was changed with {@link createUnindexedMark}. If another change has followed, that change writes the
 * terms. If the process ends first, the next sweep writes them.
 */
export async function indexTerms<D extends { _id: Types.ObjectId }>(model: Model<D>, document: D): Promise<void> {
  // All models with terms share these fields.
  const indexedModel = model as unknown as Model<IndexedDocument>;
  const { _id, unindexed, ...fields } = document as unknown as IndexedDocument;
  const filter = { _id, unindexed: unindexed ?? { $exists: false } } as never;
  const write = (terms: SearchFields) => indexedModel.updateOne(filter, { $set: terms, $unset: { unindexed: '' } });
  // If the document has no space left for its terms, it is stored without them.
  await write(computeSearchFields(fields)).catch(() => write({ terms: [], phrases: '' }));
}

/** Writes the terms of a document that code outside the host has changed. */
export async function reindex<D extends { _id: Types.ObjectId }>(model: Model<D>, _id: Types.ObjectId): Promise<void> {
  const indexedModel = model as unknown as Model<IndexedDocument>;
  const changedDocument = await indexedModel
    .findOneAndUpdate({ _id }, { $set: createUnindexedMark() }, { returnDocument: 'after' })
    .lean<IndexedDocument>();
  if (changedDocument !== null) await indexTerms(indexedModel, changedDocument);
}

/** Writes the terms of all documents whose terms are missing or outdated. @returns the number of these documents */
export async function indexMissingTerms(models: readonly Model<never>[], signal: AbortSignal): Promise<number> {
  let indexedCount = 0;
  for (const model of models as unknown as Model<IndexedDocument>[]) {
    for (const filter of [{ unindexed: { $exists: true } }, { phrases: { $exists: false } }]) {
      const documents = model.find(filter, null, withoutReadLimit).lean();
      for await (const document of iterateInSlices<IndexedDocument>(documents)) {
        signal.throwIfAborted();
        await indexTerms(model, document);
        indexedCount++;
      }
    }
  }
  return indexedCount;
}
