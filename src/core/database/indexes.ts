import type { Collection, Model } from 'mongoose';

type Indexes = Parameters<Collection['createIndexes']>[0];

/** Creates the indexes of a collection with one command, so that databases that build one index at a time build them together. */
export async function createIndexes(collection: Pick<Collection, 'createIndexes'>, indexes: Indexes): Promise<void> {
  if (indexes.length > 0) await collection.createIndexes(indexes);
}

/** Creates the indexes in the schema of a model with one command. Mongoose would send a command for each index. */
export async function createIndexesOf<T>({ schema, collection }: Pick<Model<T>, 'schema' | 'collection'>): Promise<void> {
  await createIndexes(
    collection,
    schema.indexes().map(([key, options]) => ({ key, ...options }) as Indexes[number]),
  );
}
