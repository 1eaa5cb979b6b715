import type { Model } from 'mongoose';
import { durable } from '../database/durable.js';
import type { ItemRecord } from './records.js';
import { conversionField, hiddenField, refusedField, scaleField, unfinishedField } from './schema-extension.js';

/** Fields that clients cannot write, even if the host does not declare them. */
const protectedFields: ReadonlySet<string> = new Set([
  'largeImage',
  refusedField,
  conversionField,
  unfinishedField,
  hiddenField,
  scaleField,
  'access',
  'public',
  'name',
  'lowerName',
  'folderId',
  'baseParentId',
  'baseParentType',
  'creatorId',
  'created',
  'updated',
  'size',
  'copyOfItem',
]);

/** Top-level fields of items, by the names that clients use. `meta` is the metadata, even if the host's field has another name. */
export class ItemFields {
  constructor(
    private readonly items: Model<Record<string, unknown>>,
    private readonly metaField: string,
  ) {}

  #nameOf(key: string): string {
    return key === 'meta' ? this.metaField : key;
  }

  get({ doc }: ItemRecord, key: string): unknown {
    const name = this.#nameOf(key);
    return Object.hasOwn(doc, name) ? doc[name] : undefined;
  }

  /** Whether clients can see the field. `access` contains permissions, which only those who manage them may see. */
  mayRead(key: string): boolean {
    return isPlainName(key) && key !== 'access';
  }

  /** Whether clients can write the field: metadata, and fields that neither the host nor the plugin has on items. */
  mayWrite(key: string): boolean {
    if (key === 'meta') return true;
    if (!isPlainName(key) || protectedFields.has(key)) return false;
    return !Object.keys(this.items.schema.paths).some((path) => path.split('.', 1)[0] === key);
  }

  /** Stores a value, or removes the field if the value is undefined. */
  async store(item: ItemRecord, key: string, value: unknown): Promise<void> {
    const name = this.#nameOf(key);
    const change = value === undefined ? { $unset: { [name]: 1 } } : { $set: { [name]: value } };
    await this.items.collection.updateOne({ _id: item.doc._id } as object, change, durable);
  }
}

function isPlainName(key: string): boolean {
  return /^[^_$.\0][^.\0]*$/.test(key);
}
