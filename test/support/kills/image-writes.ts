import { expect } from 'vitest';
import { uploadItem } from '../images/images.js';
import type { Client } from '../hosts/reference-host.js';
import { until } from '../run/until.js';
import { filesOf, markerOf, type Json, type Place, type PluginWrite } from './plugin-writes.js';

const key = '{"height":16,"width":16}';
const keptThumbnails = async (client: Client, { item }: Place): Promise<unknown[]> =>
  client.ok('GET', `/item/${item}/tiles/thumbnails`);
const configuration = (client: Client, { folder }: Place, text: string) =>
  client.send('PUT', `/folder/${folder}/yaml_config/a.yaml`, { body: text });
const configured = (client: Client, { folder }: Place) => client.ok('GET', `/folder/${folder}/yaml_config/a.yaml`);
const configurationItems = async (client: Client, { folder }: Place) =>
  (await client.ok('GET', '/item', { query: { folderId: folder, name: 'a.yaml' } })) as unknown as { _id: string }[];
/** Checks that the folder accepts the next configuration at once, and then has one item with one file. */
const takesTheNext = async (client: Client, place: Place) => {
  expect((await configuration(client, place, 'last: 1\n')).status).toBe(200);
  expect(await configured(client, place)).toEqual({ last: 1 });
  const items = await configurationItems(client, place);
  expect(items).toHaveLength(1);
  expect(await filesOf(client, items[0]!._id)).toHaveLength(1);
};

/** Writes of images and configurations by requests. */
export const imageWrites: Record<string, PluginWrite> = {
  'a thumbnail': {
    steps: ['cached-file:claimed', 'cached-file:stored', 'cached-file:released'],
    act: (client, { item }) => client.send('GET', `/item/${item}/tiles/thumbnail`, { query: { width: 100 } }),
    async check(client, place) {
      const { status } = await client.send('GET', `/item/${place.item}/tiles/thumbnail`, { query: { width: 100 } });
      expect(status).toBe(200);
      expect(await keptThumbnails(client, place)).toHaveLength(1);
    },
  },
  'a thumbnail that a client sends': {
    steps: ['cached-file:stored', 'cached-file:former-removed'],
    prepare: (client, { item }) => client.ok('POST', `/item/${item}/tiles/thumbnails`, { query: { key }, body: 'old' }),
    act: (client, { item }) => client.ok('POST', `/item/${item}/tiles/thumbnails`, { query: { key }, body: 'new' }),
    async check(client, place) {
      const [newest] = await keptThumbnails(client, place);
      const { bytes } = await client.send('GET', `/file/${String((newest as Json)._id)}/download`);
      expect(bytes.toString()).toBe('new');
    },
  },
  'the removal of a large image': {
    steps: ['removal:released', 'cached-file:revoked', 'removal:canceled'],
    prepare: (client, { item }) => client.send('GET', `/item/${item}/tiles/thumbnail`),
    act: (client, { item }) => client.ok('DELETE', `/item/${item}/tiles`),
    async check(client, { item }) {
      expect(await markerOf(client, item)).toBe(undefined);
      // Other processes learn of it within 5 s.
      await until('it has none', async () => (await client.send('GET', `/item/${item}/tiles`)).status === 400);
      expect(await filesOf(client, item)).toHaveLength(1);
    },
  },
  'the first configuration of a folder': {
    steps: ['folder-configuration:item', 'folder-configuration:stored', 'folder-configuration:complete'],
    act: (client, place) => configuration(client, place, 'a: 1\n'),
    async check(client, place, step) {
      const isThere = step !== 'folder-configuration:item';
      if (isThere) expect(await configured(client, place)).toEqual({ a: 1 });
      await takesTheNext(client, place);
    },
  },
  'a first configuration that nobody writes again': {
    steps: ['folder-configuration:item'],
    act: (client, place) => configuration(client, place, 'a: 1\n'),
    async check(client, place) {
      await until('it is gone', async () => (await configurationItems(client, place)).length === 0);
    },
  },
  'another configuration of a folder': {
    steps: ['folder-configuration:stored', 'folder-configuration:replaced'],
    prepare: (client, place) => configuration(client, place, 'a: 1\n'),
    act: (client, place) => configuration(client, place, 'a: 2\n'),
    async check(client, place) {
      expect(await configured(client, place)).toEqual({ a: 2 });
      await takesTheNext(client, place);
    },
  },
};

/** These run one after the other in a process, because all of them concern one file. */
export const configurationFileSteps = ['configuration:written', 'configuration:saved', 'configuration:replaced'];

const servesOneOfItsFiles = async (client: Client, { item }: Place) => {
  const ids = (await filesOf(client, item)).map(({ _id }) => _id);
  expect(ids).toContain((await markerOf(client, item))?.fileId);
  expect((await client.send('GET', `/item/${item}/tiles/zxy/0/0/0`)).status).toBe(200);
};
/** Waits for the result of a conversion of an item. @throws with the log of its jobs. */
const untilConverted = (client: Client, { item }: Place, isThere: () => Promise<boolean>) =>
  until('the conversion', async () => {
    if (await isThere()) return true;
    const jobs = (await client.ok('GET', '/job/all', {
      query: { types: '["large_image_tiff"]', limit: 0 },
    })) as unknown as Json[];
    const jobsOfItem = jobs.filter(({ kwargs }) => (kwargs as Json).itemId === item);
    const records = await Promise.all(jobsOfItem.map(({ _id }) => client.ok('GET', `/job/${String(_id)}`)));
    throw new Error(JSON.stringify(records.map(({ status, log }) => ({ status, log }))));
  });
const convert = (client: Client, { item }: Place) => client.ok('POST', `/item/${item}/tiles`, { query: { force: true } });
const isImageless = async (client: Client, { item }: Place) => {
  await until('nobody waits', async () => (await markerOf(client, item)) === undefined);
  await until('the one file is there', async () => (await filesOf(client, item)).length === 1);
};

/** Writes of large images by jobs. */
export const conversionWrites: Record<string, PluginWrite> = {
  'a conversion': {
    steps: [
      'creation:job-stored',
      'creation:marked',
      'job:queued',
      'job:entered',
      'job:claimed',
      'conversion:converted',
      'conversion:stored',
      'conversion:delivered',
      'conversion:ended',
      'job:ended',
    ],
    prepare: (client, { item }) => client.ok('DELETE', `/item/${item}/tiles`),
    act: convert,
    async check(client, place, step) {
      if (step === 'creation:job-stored') return isImageless(client, place);
      await untilConverted(client, place, async () => (await markerOf(client, place.item))?.fileId !== undefined);
      const [files, marker] = [await filesOf(client, place.item), await markerOf(client, place.item)];
      expect(files).toHaveLength(2);
      expect(files.map(({ _id }) => _id)).toEqual(expect.arrayContaining([marker!.fileId, marker!.originalId]));
      expect(marker).not.toHaveProperty('expected');
      await servesOneOfItsFiles(client, place);
    },
  },
  'a conversion that fails': {
    steps: ['conversion:ended'],
    async prepare(client, place) {
      place.item = await uploadItem(client, place.folder, 'broken.tif', Buffer.from('II*\0 no image'));
      await client.send('DELETE', `/item/${place.item}/tiles`);
    },
    act: convert,
    check: isImageless,
  },
  'the removal of a conversion': {
    steps: ['job:given-up'],
    prepare: (client, { item }) => client.ok('DELETE', `/item/${item}/tiles`),
    act: async (client, place) => client.ok('DELETE', `/job/${String((await convert(client, place))._id)}`),
    check: isImageless,
  },
  'a conversion to a new item': {
    steps: ['conversion:item-made', 'conversion:stored', 'conversion:file-completed'],
    act: (client, { item, folder }) =>
      client.ok('POST', `/item/${item}/tiles/convert`, { query: { folderId: folder, name: 'copy.tiff' } }),
    async check(client, place) {
      const { folder } = place;
      const copies = async () =>
        (await client.ok('GET', '/item', { query: { folderId: folder, name: 'copy.tiff' } })) as unknown as { _id: string }[];
      await untilConverted(client, place, async () => (await copies()).length > 0);
      const [copy, ...others] = await copies();
      expect(others).toEqual([]);
      await until('its file', async () => (await filesOf(client, copy!._id)).length === 1);
      expect((await client.send('GET', `/item/${copy!._id}/tiles`)).status).toBe(200);
    },
  },
};

/** Writes of items whose large image a job has made. */
export const productWrites: Record<string, PluginWrite> = {
  'a new large image in the place of another': {
    steps: ['creation:product-marked', 'creation:replaced'],
    act: (client, { folder }) =>
      client.ok('PUT', `/large_image/folder/${folder}/tiles`, { query: { redoExisting: true, createJobs: false } }),
    async check(client, place, step) {
      await servesOneOfItsFiles(client, place);
      if (step !== 'creation:replaced') return;
      await until('the file of the conversion is gone', async () => (await filesOf(client, place.item)).length === 1);
    },
  },
  'the removal of a converted image': {
    steps: ['creation:product-marked', 'removal:canceled'],
    act: (client, { item }) => client.ok('DELETE', `/item/${item}/tiles`),
    async check(client, place, step) {
      if (step === 'creation:product-marked') return servesOneOfItsFiles(client, place);
      await until('the file of the conversion is gone', async () => (await filesOf(client, place.item)).length === 1);
    },
  },
};
