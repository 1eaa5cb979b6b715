import type { Model } from 'mongoose';
import type { StoredDocument } from '../../host.js';
import { durable } from '../database/durable.js';
import { batches, idsPerQuery, groupInBatches } from '../database/id-batches.js';
import { idText } from '../database/id-text.js';
import type { OwnCollections } from '../database/own-collections.js';
import { hiddenField } from './schema-extension.js';

interface HiddenItemDocument {
  _id: string;
  /** The id of the item in the type that the host stores. */
  itemId: unknown;
  since: Date;
}

/**
 * The items that the host has hidden, for example in a trash. Their ids are recorded, because a host may move their documents to a
 * place that the plugin cannot see. Their documents are also marked, because a host may leave them in its model. Nothing that
 * belongs to a hidden item is removed.
 */
export class HiddenItems {
  constructor(
    private readonly own: OwnCollections,
    private readonly items: Model<Record<string, unknown>>,
  ) {}

  get #documents() {
    return this.own.collection<HiddenItemDocument>('hidden_item');
  }

  /** Records and marks items as hidden. May be called again for the same items. */
  async hide(items: readonly StoredDocument[]): Promise<void> {
    const since = new Date();
    for (const batch of batches(items)) {
      await this.#documents.bulkWrite(
        batch.map(({ _id: itemId }) => {
          const _id = idText(itemId);
          return { replaceOne: { filter: { _id }, replacement: { itemId, since }, upsert: true } };
        }),
      );
      await this.#mark(batch, { $set: { [hiddenField]: true } });
    }
  }

  /** Undoes {@link hide}. May be called again for the same items. */
  async show(items: readonly StoredDocument[]): Promise<void> {
    for (const batch of batches(items)) {
      await this.#mark(batch, { $unset: { [hiddenField]: 1 } });
      await this.#documents.deleteMany({ _id: { $in: batch.map(({ _id }) => idText(_id)) } });
    }
  }

  /** Forgets items that no longer exist. */
  async forget(items: readonly StoredDocument[]): Promise<void> {
    for (const batch of batches(items)) await this.#documents.deleteMany({ _id: { $in: batch.map(({ _id }) => idText(_id)) } });
  }

  /** Whether the host has hidden an item. */
  async isHidden(id: string): Promise<boolean> {
    return (await this.#documents.findOne({ _id: id })) !== null;
  }

  /** Yields the ids of all hidden items in the type that the host stores, in lists of at most {@link idsPerQuery}. */
  async *iterateIds(): AsyncGenerator<unknown[]> {
    const cursor = this.#documents.find({}, { projection: { itemId: 1 } });
    for await (const batch of groupInBatches(cursor, idsPerQuery)) yield batch.map(({ itemId }) => itemId);
  }

  /** The ids among `ids` whose items the host has hidden. */
  async filterHidden(ids: readonly string[]): Promise<Set<string>> {
    const hiddenIds = new Set<string>();
    for (const batch of batches(ids)) {
      for (const { _id } of await this.#documents.find({ _id: { $in: [...batch] } }).toArray()) hiddenIds.add(_id);
    }
    return hiddenIds;
  }

  /**
   * Changes the mark of items. This bypasses Mongoose, because the change must not count as a change of the item for the host, and
   * because the host may leave hidden items out of its queries.
   */
  async #mark(items: readonly StoredDocument[], change: object): Promise<void> {
    await this.items.collection.updateMany({ _id: { $in: items.map(({ _id }) => _id) } } as object, change, durable);
  }
}

/** Methods of models that return a query on existing documents. */
const queryMethods: ReadonlySet<string | symbol> = new Set([
  'find',
  'findOne',
  'findById',
  'exists',
  'countDocuments',
  'distinct',
  'findOneAndUpdate',
  'updateOne',
  'updateMany',
]);

/** Returns the host's model of items with queries that leave out hidden items. All other members are unchanged. */
export function leaveOutHidden<M extends Model<Record<string, unknown>>>(items: M): M {
  return new Proxy(items, {
    get(model, name) {
      const member: unknown = Reflect.get(model, name, model);
      if (typeof member !== 'function' || !queryMethods.has(name)) return member;
      return (...args: unknown[]) => {
        const query = member.apply(model, args) as { where(condition: object): unknown };
        return query.where({ [hiddenField]: null });
      };
    },
  });
}
