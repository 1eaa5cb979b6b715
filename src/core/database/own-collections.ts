import type { Connection, Model, Schema } from 'mongoose';
import { BadParameterError, LargeImageError } from '../../errors.js';
import { durable } from './durable.js';
import { repeatCollisions } from './refused-writes.js';

/** Begins the names of the plugin's collections unless `install` is told otherwise. */
const defaultCollectionPrefix = 'large_image_';

/** The plugin's collections, without their prefix. `docs/hosts.md` says what each holds. */
export const collectionNames = [
  'annotation',
  'annotation_version',
  'annotation_sequence',
  'annotation_batch',
  'annotation_intention',
  'annotation_element_pack',
  'annotation_element_window',
  'annotation_element_index',
  'annotation_element_family',
  'annotation_density',
  'annotation_upload_name',
  'annotation_upload_waiting',
  'job',
  'lease',
  'process',
  'schedule',
  'setting',
] as const;

/** A name of {@link collectionNames}. */
export type CollectionName = (typeof collectionNames)[number];

/** Every document of the plugin says that it is: what does not is somebody else's, wherever it lies. */
export const ownMark = { plugin: 'large_image' } as const;

/**
 * The form in which documents are stored: the next release that changes it counts on, reads all earlier ones, and is not followed by a release
 * that does not know it.
 */
const storedFormat = 1;

/** So many documents at either end of a collection are looked at when the plugin is installed. */
const checksPerEnd = 100;

/** The collections of the plugin on a connection. What lies in them without {@link ownMark} is not read, counted, changed or removed. */
export class OwnCollections {
  readonly connection: Connection;
  readonly #prefix: string;
  readonly #models = new Set<string>();

  /** @throws BadParameterError for a prefix that collections cannot begin with. */
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

  /** A collection without a model. */
  collection<T extends object>(name: CollectionName) {
    const collection = this.connection.collection<T>(this.#fullName(name));
    keepToOwn(collection);
    return collection;
  }

  /** A model, compiled on the connection until {@link close}. Its indexes are made when its owner asks for them. */
  model<T>(modelName: string, name: CollectionName, schema: Schema<T>): Model<T> {
    schema.set('versionKey', false).set('autoIndex', false).set('autoCreate', false);
    const model = this.connection.model<T>(modelName, schema, this.#fullName(name));
    this.#models.add(modelName);
    keepToOwn(model.collection);
    return model;
  }

  /**
   * Looks whether the collections are free for the plugin: at the host's models, and at both ends of each collection.
   *
   * @throws LargeImageError `conflict` that names the collection and what was found.
   */
  async check(): Promise<void> {
    await this.connection.asPromise();
    const listed = await this.connection.db!.listCollections({}, { nameOnly: true }).toArray();
    const present = new Set(listed.map(({ name }) => name));
    // All of them: who gives up closes the connection, and nothing may be under way on it then.
    const checked = await Promise.allSettled(collectionNames.map((name) => this.#check(this.#fullName(name), present)));
    const refused = checked.find((result) => result.status === 'rejected');
    if (refused !== undefined) throw refused.reason;
  }

  async #check(name: string, present: ReadonlySet<string>): Promise<void> {
    const advice = 'Nothing was changed. Move it away, or install with another collectionPrefix.';
    const model = Object.values(this.connection.models).find(({ collection }) => collection.name === name);
    if (model !== undefined) {
      const reason = `The collection ${name} is that of the server's own model ${model.modelName}.`;
      throw new LargeImageError('conflict', `${reason} ${advice}`);
    }
    if (!present.has(name)) return;
    for (const direction of [1, -1] as const) {
      // Past Mongoose, which would keep the collection for others.
      const cursor = this.connection.db!.collection(name).find({}, { projection: { plugin: 1, format: 1 } });
      const docs = await cursor.sort({ _id: direction }).limit(checksPerEnd).toArray();
      const later = docs.find(({ format }) => Number(format ?? 0) > storedFormat);
      if (later !== undefined) {
        const reason = `The collection ${name} holds documents of format ${String(later.format)}, which a later release has written`;
        throw new LargeImageError(
          'conflict',
          `${reason}; this one knows ${storedFormat} and nothing later. Nothing was changed.`,
        );
      }
      const foreign = docs.find(({ plugin }) => plugin !== ownMark.plugin);
      if (foreign === undefined) continue;
      const reason = `The collection ${name} holds documents that are not of this plugin, such as ${String(foreign._id)}.`;
      throw new LargeImageError('conflict', `${reason} ${advice}`);
    }
  }

  /** Takes the models off the connection again. */
  close(): void {
    for (const modelName of this.#models) this.connection.deleteModel(modelName);
    this.#models.clear();
    // Mongoose gives everybody who names a collection the same object: the next one must not get what writes the mark.
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

/** An update that leaves a document in the form of this release, also where it makes it. */
function withFormat(update: Update): Update {
  return { ...update, $set: { ...update.$set, format: storedFormat } };
}

const byFilter = [
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

/** Writes, and the position of their options. */
const optionsOf = {
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

const marked = new WeakSet<object>();

/** Has everything that is asked of a collection, by its models too, concern documents of the plugin only, and last where it was written. */
function keepToOwn(collection: object): void {
  if (marked.has(collection)) return;
  marked.add(collection);
  const methods = collection as Record<string, Method>;
  const before = (name: string, change: (...args: unknown[]) => unknown[]) => {
    const asked = methods[name]!.bind(collection);
    methods[name] = (...args) => asked(...change(...args));
  };
  const own = (filterOrDocument: unknown) => ({ ...(filterOrDocument as object | undefined), ...ownMark });
  for (const name of byFilter) before(name, (filter, ...rest) => [own(filter), ...rest]);
  for (const [name, position] of Object.entries(optionsOf)) {
    before(name, (...args) => args.toSpliced(position, 1, { ...(args[position] as object | undefined), ...durable }));
  }
  const stored = (document: unknown) => ({ ...own(document), format: storedFormat });
  before('insertOne', (document, ...rest) => [stored(document), ...rest]);
  before('insertMany', (documents, ...rest) => [(documents as unknown[]).map(stored), ...rest]);
  before('replaceOne', (filter, document, ...rest) => [own(filter), stored(document), ...rest]);
  for (const name of ['updateOne', 'updateMany', 'findOneAndUpdate'] as const) {
    before(name, (filter, update, ...rest) => [filter, withFormat(update as Update), ...rest]);
  }
  before('distinct', (field, filter, ...rest) => [field, own(filter), ...rest]);
  before('aggregate', (pipeline, ...rest) => [[{ $match: ownMark }, ...(pipeline as unknown[])], ...rest]);
  before('bulkWrite', (operations, ...rest) => [
    (operations as { replaceOne: Replacement }[]).map(({ replaceOne }) => ({
      replaceOne: { ...replaceOne, filter: own(replaceOne.filter), replacement: stored(replaceOne.replacement) },
    })),
    ...rest,
  ]);
  for (const name of ['findOneAndReplace', 'estimatedDocumentCount', 'drop', 'rename', 'watch'] as const) {
    methods[name] = () => {
      throw new Error(`${name} would concern documents of others.`);
    };
  }
  repeatCollisions(methods as never);
}
