import type { Model, Types } from 'mongoose';
import { hasTooManyValues, InvalidError, maxStoredValues } from '../../larger-host.js';
import { indexTerms, createUnindexedMark } from './finding/index-terms.js';

/** Largest depth of a value. MongoDB allows 100 levels, some of which the document itself needs. */
const maxDepth = 80;
/** Maximum number of keys in one change, each of which the database must look up. */
const maxKeys = 5000;

/** Checks keys, number of values and depth of metadata. @throws InvalidError that names the key. */
function checkMetadata(metadata: Readonly<Record<string, unknown>>): void {
  checkKeyCount(Object.keys(metadata).length);
  checkValueCount(metadata);
  for (const [key, value] of Object.entries(metadata)) {
    if (key === '') throw new InvalidError('Key names must not be empty.');
    if (key.includes('.')) throw new InvalidError(`Invalid key ${key}: keys must not contain the "." character.`);
    if (key.startsWith('$')) throw new InvalidError(`Invalid key ${key}: keys must not start with the "$" character.`);
    if (key.includes('\0')) throw new InvalidError('Key names must not contain the character NUL.');
    checkValue(value, key, 1);
  }
}

function checkKeyCount(count: number): void {
  if (count > maxKeys) throw new InvalidError(`At most ${maxKeys} keys can be changed at once.`, 'metadata');
}

function checkValueCount(metadata: unknown): void {
  if (hasTooManyValues(metadata)) {
    throw new InvalidError(`The metadata of a document can have at most ${maxStoredValues} values.`, 'metadata');
  }
}

function checkValue(value: unknown, key: string, depth: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth > maxDepth) throw new InvalidError(`The value of key ${key} is nested more than ${maxDepth} levels deep.`);
  for (const [name, member] of Object.entries(value)) {
    if (name.includes('\0')) throw new InvalidError(`A key inside of ${key} contains the character NUL.`);
    checkValue(member, key, depth + 1);
  }
}

/** An update of MongoDB that sets and removes keys of metadata. */
export interface MetadataUpdate {
  $set: Record<string, unknown>;
  $unset: Record<string, ''>;
}

/**
 * The update that merges metadata at the top level. A value of `null` removes its key, or is stored if `allowNull` is set.
 *
 * @throws InvalidError for a key that cannot be stored.
 */
export function createMetadataUpdate(metadata: Readonly<Record<string, unknown>>, allowNull: boolean): MetadataUpdate {
  checkMetadata(metadata);
  const entries = Object.entries(metadata);
  const isRemoved = (value: unknown) => value === null && !allowNull;
  return {
    $set: Object.fromEntries(entries.filter(([, value]) => !isRemoved(value)).map(([key, value]) => [`meta.${key}`, value])),
    $unset: Object.fromEntries(entries.filter(([, value]) => isRemoved(value)).map(([key]) => [`meta.${key}`, ''])),
  };
}

/** The update that removes keys. @throws InvalidError if the list contains anything but keys. */
export function createMetadataRemoval(keys: readonly unknown[]): MetadataUpdate {
  checkKeyCount(keys.length);
  const names = keys.map((key) => {
    if (typeof key !== 'string') throw new InvalidError(`Key names must be text, not ${JSON.stringify(key)}.`);
    return key;
  });
  checkMetadata(Object.fromEntries(names.map((name) => [name, null])));
  return { $set: {}, $unset: Object.fromEntries(names.map((name) => [`meta.${name}`, ''])) };
}

/** Checks the metadata of a new document. @returns the metadata without `null` values. @throws InvalidError for a key that cannot be stored. */
export function prepareMetadata(metadata: Readonly<Record<string, unknown>> | undefined): Record<string, unknown> {
  if (metadata === undefined) return {};
  checkMetadata(metadata);
  return Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== null));
}

interface DocumentWithMetadata {
  _id: Types.ObjectId;
  meta: Record<string, unknown>;
  updated: Date;
}

/**
 * Writes a change of metadata. Returns the changed document, or `null` if it does not exist. The driver is used directly, because Mongoose
 * would interpret values such as `{"$gt": 1}` as operators.
 */
export async function writeMetadata<D extends DocumentWithMetadata>(
  model: Model<D>,
  { _id, meta }: Pick<D, '_id' | 'meta'>,
  { $set, $unset }: MetadataUpdate,
): Promise<D | null> {
  const remainingEntries = Object.entries(meta ?? {}).filter(([key]) => !(`meta.${key}` in $set) && !(`meta.${key}` in $unset));
  checkValueCount([$set, Object.fromEntries(remainingEntries)]);
  const update = {
    $set: { ...$set, ...createUnindexedMark(), updated: new Date() },
    ...(Object.keys($unset).length > 0 && { $unset }),
  };
  const collection = model.collection as unknown as NativeCollection<D>;
  try {
    const changedDocument = await collection.findOneAndUpdate({ _id }, update, { returnDocument: 'after' });
    if (changedDocument !== null) await indexTerms(model, changedDocument);
    return changedDocument;
  } catch (cause) {
    if (isTooLargeError(cause))
      throw new InvalidError('The metadata of a document must not be larger than 16 MiB.', 'metadata', { cause });
    throw cause;
  }
}

/** Whether an error of MongoDB means that the update would make the document too large. */
function isTooLargeError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && [10334, 17419, 17420].includes(Number(error.code));
}

/** The only method of the driver's collection that is used here. The driver's own types do not accept the type parameter D. */
interface NativeCollection<D> {
  findOneAndUpdate(filter: { _id: Types.ObjectId }, update: object, options: { returnDocument: 'after' }): Promise<D | null>;
}
