import type { ElementWrite } from '../../../src/features/annotations/elements/element-store.js';
import { Mongoose, type Connection } from 'mongoose';
import { PackedElementStore } from '../../../src/features/annotations/elements/store.js';
import { MongoElementRecords } from '../../../src/features/annotations/elements/element-records.model.js';
import { OwnCollections } from '../../../src/core/database/own-collections.js';
import { startTestDatabase } from '../hosts/database.js';

/** Small packs and windows, so that a few elements fill many. */
const layout = {
  packElements: 4,
  packTextBytes: 4096,
  windowElements: 40,
  windowTextBytes: 64 * 1024,
  maxLoosePacks: 2,
  maxSegments: 2,
};

/** A store of elements with small packs, on a separate database. */
export async function startElementStore() {
  const database = await startTestDatabase();
  const connection: Connection = await new Mongoose().createConnection(database.uri).asPromise();
  const records = new MongoElementRecords(new OwnCollections(connection));
  const overlaySizes = () => Promise.resolve(null);
  const store = new PackedElementStore({ records, brand: 'service', overlaySizes, layout });
  await store.createIndexes();
  return {
    connection,
    records,
    store,
    close: async () => {
      await connection.close();
      await database.stop();
    },
  };
}

/** The elements that a write stored, once it is committed. */
export async function commitWrite<Given>(write: ElementWrite<Given> | Promise<ElementWrite<Given>>): Promise<Given> {
  return (await write).commit((reference) => Promise.resolve(reference));
}
