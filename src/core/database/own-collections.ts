import type { Connection, Model, Schema } from 'mongoose';
import { BadParameterError, LargeImageError } from '../../errors.js';
import { durable } from './durable.js';
import { repeatCollisions } from './refused-writes.js';

/** Default prefix of the plugin's collection names. */
const defaultCollectionPrefix = 'large_image_';

/** The plugin's collections, without their prefix. `docs/hosts.md` describes their contents. */
export const collectionNames = [
  'annotation',
  'annotation_version',
  'annotation_sequence',
  'annotation_batch',
  'annotation_intention',
  'annotation_element_pack',
  'annotation_element_window',
  'annotation_element_part',
  'annotation_element_family',
  'annotation_density',
  'annotation_upload_name',
  'annotation_upload_waiting',
  'comment',
  'dicom_image',
  'hidden_item',
  'job',
  'lease',
  'link',
  'process',
  'schedule',
  'setting',
] as const;

/** A name of {@link collectionNames}. */
export type CollectionName = (typeof collectionNames)[number];

/**
 * A field of every document of the plugin. A document without this field belongs to someone else, even in the plugin's collections.
 */
export const ownMark = { plugin: 'large_image' } as const;

/**
 * The version of the format in which documents are stored. A release that changes the format increments this number and still reads
 * all earlier formats. A release refuses to start if there are documents in a later format.
 */
const storedFormat = 1;

/** An installation checks this many of the first documents of each collection, and this many of the last. */
const checkedDocumentsPerEnd = 100;

/**
 * The collections of the plugin on a connection. Documents in them without {@link ownMark} are not read, counted, changed or
 * removed.
 */
export class OwnCollections {
  readonly connection: Connection;
  readonly #prefix: string;
  readonly #models = new Set<string>();

  /** @throws BadParameterError for a prefix that collection names cannot have. */
  constructor(connection: Connection, prefix: string = defaultCollectionPrefix) {
    if (!/^(?!system\b)[A-Za-z][\w-]{0,59}$/.test(prefix)) {
      throw new BadParameterError(
        `collectionPrefix must be 1 to 60 letters, digits, "_" and "-" that begin with a letter, not ${JSON.stringify(prefix)}.`,
      );
    }
    this.connection = connection;
    this.#prefix = prefix;
  }

  #fullName(name: CollectionName): string {
    return `${this.#prefix}${name}`;
  }

  /** Returns a collection, for access without a Mongoose model. */
  collection<T extends object>(name: CollectionName) {
    const collection = this.connection.collection<T>(this.#fullName(name));
    restrictToOwn(collection);
    return collection;
  }

  /** Compiles a model on the connection, until {@link close}. The caller must create its indexes, with `createIndexesOf`. */
  model<T>(modelName: string, name: CollectionName, schema: Schema<T>): Model<T> {
    schema.set('versionKey', false).set('autoIndex', false).set('autoCreate', false);
    const model = this.connection.model<T>(modelName, schema, this.#fullName(name));
    this.#models.add(modelName);
    restrictToOwn(model.collection);
    return model;
  }

  /**
   * Checks that the plugin can use the collections: that no model of the host uses them, and that the first and last documents in
   * each belong to the plugin and have a supported format.
   *
   * @throws LargeImageError `conflict`, whose message names the collection and the problem.
   */
  async check(): Promise<void> {
    const collections = await this.connection.db!.listCollections({}, { nameOnly: true }).toArray();
    const existingNames = new Set(collections.map(({ name }) => name));
    // All checks are awaited, even after one has failed, because the caller then closes the connection, which must be idle.
    const results = await Promise.allSettled(
      collectionNames.map((name) => this.#checkCollection(this.#fullName(name), existingNames)),
    );
    const failedCheck = results.find((result) => result.status === 'rejected');
    if (failedCheck !== undefined) throw failedCheck.reason;
  }

  async #checkCollection(name: string, existingNames: ReadonlySet<string>): Promise<void> {
    const advice = 'Nothing was changed. Move it away, or install with another collectionPrefix.';
    const model = Object.values(this.connection.models).find(({ collection }) => collection.name === name);
    if (model !== undefined) {
      const reason = `The collection ${name} belongs to the server's own model ${model.modelName}.`;
      throw new LargeImageError('conflict', `${reason} ${advice}`);
    }
    if (!existingNames.has(name)) return;
    for (const direction of [1, -1] as const) {
      // This bypasses Mongoose, which would keep the collection object for later callers.
      const cursor = this.connection.db!.collection(name).find({}, { projection: { plugin: 1, format: 1 } });
      const docs = await cursor.sort({ _id: direction }).limit(checkedDocumentsPerEnd).toArray();
      const newerDocument = docs.find(({ format }) => Number(format ?? 0) > storedFormat);
      if (newerDocument !== undefined) {
        const reason = `The collection ${name} contains documents of format ${String(newerDocument.format)}, which a later release has written`;
        throw new LargeImageError(
          'conflict',
          `${reason}; this release supports formats up to ${storedFormat}. Nothing was changed.`,
        );
      }
      const foreignDocument = docs.find(({ plugin }) => plugin !== ownMark.plugin);
      if (foreignDocument === undefined) continue;
      const reason = `The collection ${name} contains documents that do not belong to this plugin, such as ${String(foreignDocument._id)}.`;
      throw new LargeImageError('conflict', `${reason} ${advice}`);
    }
  }

  /** Removes the models from the connection. */
  close(): void {
    for (const modelName of this.#models) this.connection.deleteModel(modelName);
    this.#models.clear();
    // Mongoose caches one object per collection. The next user must not get the plugin's object, which adds the plugin's fields.
    for (const name of collectionNames) delete this.connection.collections[this.#fullName(name)];
  }
}

type Method = (...args: unknown[]) => unknown;

interface Replacement {
  filter: object;
  replacement: object;
}

interface Update {
  $set?: object;
}

/** Extends an update so that it also stores the format of this release, whether it changes a document or inserts one. */
function withFormat(update: Update): Update {
  return { ...update, $set: { ...update.$set, format: storedFormat } };
}

const methodsWithFilter = [
  'find',
  'findOne',
  'findOneAndUpdate',
  'findOneAndDelete',
  'updateOne',
  'updateMany',
  'deleteOne',
  'deleteMany',
  'countDocuments',
] as const;

/** For each method that writes, the position of the options among its arguments. */
const optionsPositionByMethod = {
  insertOne: 1,
  insertMany: 1,
  updateOne: 2,
  updateMany: 2,
  replaceOne: 2,
  deleteOne: 1,
  deleteMany: 1,
  findOneAndUpdate: 2,
  findOneAndDelete: 1,
  bulkWrite: 1,
} as const;

const restrictedCollections = new WeakSet<object>();

interface RefusedWrite {
  err?: { op?: unknown };
}

/** Rethrows a write error without the refused documents, because errors may be logged, and documents may be long and private. */
function rethrowWithoutDocuments(error: { writeErrors?: RefusedWrite | RefusedWrite[] }): never {
  for (const refusedWrite of [error.writeErrors ?? []].flat()) delete refusedWrite.err?.op;
  throw error as Error;
}

/**
 * Restricts a collection, and the models that use it: reads and writes only affect documents with {@link ownMark}, new documents
 * get that field, and writes are durable.
 */
function restrictToOwn(collection: object): void {
  if (restrictedCollections.has(collection)) return;
  restrictedCollections.add(collection);
  const methods = collection as Record<string, Method>;
  const changeArguments = (name: string, change: (...args: unknown[]) => unknown[]) => {
    const method = methods[name]!.bind(collection);
    methods[name] = (...args) => method(...change(...args));
  };
  const withOwnMark = (filterOrDocument: unknown) => ({ ...(filterOrDocument as object | undefined), ...ownMark });
  for (const name of methodsWithFilter) changeArguments(name, (filter, ...rest) => [withOwnMark(filter), ...rest]);
  for (const [name, position] of Object.entries(optionsPositionByMethod)) {
    changeArguments(name, (...args) => args.toSpliced(position, 1, { ...(args[position] as object | undefined), ...durable }));
  }
  const toStored = (document: unknown) => ({ ...withOwnMark(document), format: storedFormat });
  changeArguments('insertOne', (document, ...rest) => [toStored(document), ...rest]);
  changeArguments('insertMany', (documents, ...rest) => [(documents as unknown[]).map(toStored), ...rest]);
  changeArguments('replaceOne', (filter, document, ...rest) => [withOwnMark(filter), toStored(document), ...rest]);
  for (const name of ['updateOne', 'updateMany', 'findOneAndUpdate'] as const) {
    changeArguments(name, (filter, update, ...rest) => [filter, withFormat(update as Update), ...rest]);
  }
  changeArguments('distinct', (field, filter, ...rest) => [field, withOwnMark(filter), ...rest]);
  changeArguments('aggregate', (pipeline, ...rest) => [[{ $match: ownMark }, ...(pipeline as unknown[])], ...rest]);
  changeArguments('bulkWrite', (operations, ...rest) => [
    (operations as { replaceOne: Replacement }[]).map(({ replaceOne }) => ({
      replaceOne: { ...replaceOne, filter: withOwnMark(replaceOne.filter), replacement: toStored(replaceOne.replacement) },
    })),
    ...rest,
  ]);
  for (const name of ['insertMany', 'bulkWrite'] as const) {
    const write = methods[name] as (...args: unknown[]) => Promise<unknown>;
    methods[name] = (...args) => write(...args).catch(rethrowWithoutDocuments);
  }
  for (const name of ['findOneAndReplace', 'estimatedDocumentCount', 'drop', 'rename', 'watch'] as const) {
    methods[name] = () => {
      throw new Error(`${name} would affect documents that do not belong to the plugin.`);
    };
  }
  repeatCollisions(methods as never);
}
