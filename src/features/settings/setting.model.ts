import type { Connection, Model, Mongoose } from 'mongoose';
import { isDuplicateKey, ownModel } from '../../core/refused-writes.js';

/** A stored setting. */
export interface SettingDocument {
  key: string;
  value: unknown;
}

const modelName = 'LargeImageSetting';

/** The collection behind the default settings store. */
export class SettingModel {
  readonly #model: Model<SettingDocument>;

  constructor(mongoose: Mongoose, connection: Connection) {
    const schema = new mongoose.Schema<SettingDocument>(
      { key: { type: String, required: true, unique: true }, value: mongoose.Schema.Types.Mixed },
      // Indexes are made by createIndexes alone: two builds at once on one collection fail on some databases.
      { minimize: false, versionKey: false, collection: 'setting', autoIndex: false, autoCreate: false },
    );
    this.#model = ownModel<SettingDocument>(connection, modelName, schema);
  }

  async createIndexes(): Promise<void> {
    await this.#model.createIndexes();
  }

  /** All stored values by key. */
  async all(): Promise<Map<string, unknown>> {
    const stored = await this.#model.find().lean<SettingDocument[]>();
    return new Map(stored.map(({ key, value }) => [key, value]));
  }

  async set(key: string, value: unknown): Promise<void> {
    const write = () => this.#model.updateOne({ key }, { $set: { value } }, { upsert: true });
    try {
      await write();
    } catch (error) {
      // Two first writes of one key at once: the unique index refuses the later insert, which then is an update.
      if (!isDuplicateKey(error)) throw error;
      await write();
    }
  }

  async unset(key: string): Promise<void> {
    await this.#model.deleteOne({ key });
  }

  close(): void {
    this.#model.db.deleteModel(modelName);
  }
}
