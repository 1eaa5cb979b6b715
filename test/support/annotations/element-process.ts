import type { Connection } from 'mongoose';
import type { StoredElements } from '../../../src/features/annotations/elements/element-store.js';
import { PackedElementStore } from '../../../src/features/annotations/elements/store.js';
import { MongoElementRecords } from '../../../src/features/annotations/elements/element-records.model.js';
import { OwnCollections } from '../../../src/core/database/own-collections.js';

/** Small packs and windows, so that each write makes many documents. */
export const crashLayout = {
  packElements: 8,
  packTextBytes: 4096,
  windowElements: 200,
  windowTextBytes: 64 * 1024,
  maxLoosePacks: 2,
  maxSegments: 2,
};

/** One process's element store and the documents next to it, which all processes share. */
export function openElements(connection: Connection) {
  const store = new PackedElementStore({
    records: new MongoElementRecords(new OwnCollections(connection)),
    brand: 'service',
    overlaySizes: () => Promise.resolve(null),
    layout: crashLayout,
  });
  return { store, documents: connection.collection<{ version: number; elements: StoredElements }>('head') };
}
