import { expect } from 'vitest';
import { level } from '../writers/dicom-level.js';
import { uploadItem } from '../images/images.js';
import { until } from '../run/until.js';
import { filesOf, markerOf, type Json, type PluginWrite } from './plugin-writes.js';

/** The existing file, and the file during whose upload the process is killed. */
const levels = Promise.all([level(2, 200), level(1, 50)]);

/** Writes of items that are merged because of `large_image.merge_dicom`. */
export const dicomWrites: Record<string, PluginWrite> = {
  'a file of a DICOM series': {
    steps: ['series:noted', 'series:marked', 'file:moved', 'series:moved'],
    async prepare(client, place) {
      await client.ok('DELETE', `/item/${place.item}`);
      const [small, large] = await levels;
      place.item = await uploadItem(client, place.folder, 'small.dcm', small);
      const query = { parentType: 'folder', parentId: place.folder, name: 'large.dcm', size: large.length };
      place.prepared = String((await client.ok('POST', '/file', { query }))._id);
    },
    act: async (client, { prepared }) =>
      client.ok('POST', '/file/chunk', { query: { uploadId: prepared, offset: 0 }, body: (await levels)[1] }),
    async check(client, { folder, item, prepared }) {
      const upload = await client.send('GET', '/file/offset', { query: { uploadId: prepared } });
      if (upload.status === 200) await client.ok('POST', '/file/completion', { query: { uploadId: prepared } });
      const items = async () => (await client.ok('GET', '/item', { query: { folderId: folder } })) as unknown as Json[];
      await until('it is one item', async () => (await items()).length === 1);
      expect((await items())[0]!._id).toBe(item);
      const files = (await filesOf(client, item)).toSorted((a, b) => Number(a.size) - Number(b.size));
      const [small, large] = await levels;
      const bytes = files.map(async ({ _id }) => (await client.send('GET', `/file/${_id}/download`)).bytes);
      expect(await Promise.all(bytes)).toEqual([small, large].toSorted((a, b) => a.length - b.length));
      await until('the join has stopped', async () => !Object.hasOwn((await markerOf(client, item))!, 'mergedInto'));
      expect(await client.ok('GET', `/item/${item}/tiles`)).toMatchObject({ sizeX: 128, levels: 2 });
      const size = small.length + large.length;
      await until('the item has their size', async () => (await client.ok('GET', `/item/${item}`)).size === size);
      await until('so has the folder', async () => (await client.ok('GET', `/folder/${folder}`)).size === size);
    },
  },
};
