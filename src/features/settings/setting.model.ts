import type { Model } from 'mongoose';
import { createIndexesOf } from '../../core/database/indexes.js';
import type { OwnCollections } from '../../core/database/own-collections.js';
import { isDuplicateKey } from '../../core/database/refused-writes.js';

/** A stored setting. */
export interface SettingDocument {
  key: string;
  value: unknown;
}

/** The collection of the default settings store. */
export class SettingModel {
  readonly #model: Model<SettingDocument>;

  constructor(ownCollections: OwnCollections) {
    const { Schema } = ownCollections.connection.base;
    const schema = new Schema<SettingDocument>(
      { key: { type: String, required: true, unique: true }, value: Schema.Types.Mixed },
      { minimize: false },
    );
    this.#model = ownCollections.model<SettingDocument>('LargeImageSetting', 'setting', schema);
  }

  async createIndexes(): Promise<void> {
    await createIndexesOf(this.#model);
  }

  /** All stored values by key. */
  async readAll(): Promise<Map<string, unknown>> {
    const docs = await this.#model.find().lean<SettingDocument[]>();
    return new Map(docs.map(({ key, value }) => [key, value]));
  }

  async set(key: string, value: unknown): Promise<void> {
    const write = () => this.#model.updateOne({ key }, { $set: { value } }, { upsert: true });
    try {
      await write();
    } catch (error) {
      // When two processes write a key for the first time at the same moment, the unique index refuses the later insert. Repeating it updates
      // the setting.
      if (!isDuplicateKey(error)) throw error;
      await write();
    }
  }

  async unset(key: string): Promise<void> {
    await this.#model.deleteOne({ key });
  }
}
