import { expect, it } from 'vitest';
import { ElementLoader } from '../../../src/features/annotations/elements/read/loader.js';
import { makePackEntry } from '../../../src/features/annotations/elements/packs/pack-index.js';
import { encodeColumns, createRows } from '../../../src/features/annotations/elements/packs/pack.js';

it('packs in use stay available even when newer ones take their place', async () => {
  const columns = encodeColumns(createRows(0));
  const text = Buffer.alloc(12 * 1024 * 1024);
  const loader = new ElementLoader(
    {
      findPacks: async (ids) => new Map(ids.map((id) => [id, { columns, codec: 'none', text }])),
      findWindows: async () => new Map(),
      findParts: async () => new Map(),
    },
    1,
  );
  const entries = ['kept', 'a', 'b', 'c', 'd'].map((id) => makePackEntry(id, createRows(0)));
  loader.cachePack('kept', { columns, text });
  const packs = await loader.loadAndCachePacks(entries);
  expect(packs.map(({ entry, text: found }) => [entry.id, found?.length])).toEqual(entries.map(({ id }) => [id, text.length]));
});
