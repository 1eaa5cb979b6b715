import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newFolder, pyramid, uploadItem } from '../support/images.js';
import { startHost, type Client, type TestHost } from '../support/reference-host.js';
import { until } from '../support/until.js';

describe('what web clients ask beside the API of images', () => {
  let started: TestHost;
  let admin: Client;
  let other: Client;
  let folder: string;
  let images: string[];
  beforeAll(async () => {
    started = await startHost({ checksAnswers: true });
    admin = await started.register('admin');
    other = await started.register('other');
    folder = await newFolder(admin, 'Images');
    const access = JSON.stringify({ users: [{ id: admin.id, level: 2 }], groups: [] });
    await admin.ok('PUT', `/folder/${folder}/access`, { query: { access, public: true } });
    const bytes = await pyramid(300, 200);
    images = [];
    for (const name of ['b.tif', 'A.tif', 'c.tif']) images.push(await uploadItem(admin, folder, name, bytes));
    await admin.create('/item', { folderId: folder, name: 'no image' });
    for (const id of images) {
      await until('a large image', async () => (await admin.ok('GET', `/item/${id}`)).largeImage !== undefined);
    }
  });
  afterAll(() => started?.close());

  const nameOf = async (id: string, which: string) => (await admin.ok('GET', `/item/${id}/${which}_image`)).name;

  it('turns over the images of a folder by name, round and round', async () => {
    const [b, a, c] = images as [string, string, string];
    expect(await Promise.all([a, b, c].map((id) => nameOf(id, 'next')))).toEqual(['b.tif', 'c.tif', 'A.tif']);
    expect(await Promise.all([a, b, c].map((id) => nameOf(id, 'previous')))).toEqual(['c.tif', 'A.tif', 'b.tif']);
    expect(await nameOf(c, 'first')).toBe('A.tif');
    expect(await admin.ok('GET', `/item/${b}/adjacent_images`)).toMatchObject({
      previous: { name: 'A.tif' },
      next: { name: 'c.tif' },
      index: 1,
      count: 3,
    });
    const plain = await admin.create('/item', { folderId: folder, name: 'neither' });
    expect(await admin.fails('GET', `/item/${plain}/next_image`)).toMatchObject({ status: 404, message: 'Id is not an image' });
  });

  it('finds documents by conditions that only compare, among those that the caller may read', async () => {
    const hidden = await newFolder(admin, 'Hidden');
    await admin.ok('PUT', `/folder/${hidden}/access`, { query: { access: '{"users":[],"groups":[]}', public: false } });
    await admin.create('/item', { folderId: hidden, name: 'hidden.tif' });
    const names = async (who: Client, type: string, query: object) =>
      (await who.ok('GET', `/${type}/query`, { query: { query: JSON.stringify(query), sort: 'name' } })).map(
        (found) => (found as { name: string }).name,
      );
    expect(await names(admin, 'item', { name: { $regex: 'tif$' } })).toEqual(['A.tif', 'b.tif', 'c.tif', 'hidden.tif']);
    expect(await names(other, 'item', { name: { $regex: 'tif$' } })).toEqual(['A.tif', 'b.tif', 'c.tif']);
    expect(await names(admin, 'item', { folderId: folder, 'largeImage.fileId': { $exists: true } })).toHaveLength(3);
    expect(await names(other, 'folder', { name: { $in: ['Images', 'Hidden'] } })).toEqual(['Images']);
    expect(await names(admin, 'file', { name: 'b.tif' })).toEqual(['b.tif']);
    expect(await other.fails('GET', '/file/query', { query: { query: '{}' } })).toMatchObject({ status: 403 });
    for (const bad of ['{"$where":"1"}', '{"a":{"$function":{}}}', '{"$expr":{}}']) {
      expect(await admin.fails('GET', '/item/query', { query: { query: bad } })).toMatchObject({ status: 400 });
    }
  });

  it('says the paths of several documents, of those that the caller may read', async () => {
    const [b] = images as [string];
    const json = { item: [b, 'f'.repeat(24)], folder: [folder] };
    expect(await started.anonymous.ok('POST', '/resource/paths', { json })).toEqual({ item: {}, folder: {} });
    const paths = await admin.ok('POST', '/resource/paths', { json });
    expect(paths).toEqual({
      item: { [b]: expect.stringMatching(/\/Images\/b\.tif$/) as string },
      folder: { [folder]: expect.stringMatching(/\/Images$/) as string },
    });
    expect(await other.fails('POST', '/resource/paths', { json: { job: [b] } })).toMatchObject({ status: 400 });
  });

  it('tells settings, their defaults, and what was set', async () => {
    const key = 'large_image.max_thumbnail_files';
    const list = JSON.stringify([key, 'large_image.auto_set']);
    await admin.ok('PUT', '/system/setting', { query: { key, value: '3' } });
    const get = (query: Record<string, string>) => admin.ok('GET', '/system/setting/default', { query });
    expect(await get({ list })).toEqual({ [key]: 3, 'large_image.auto_set': true });
    expect(await get({ list, default: 'none' })).toEqual({ [key]: 3, 'large_image.auto_set': null });
    expect(await get({ key, default: 'default' })).toBe(10);
    expect(await admin.fails('GET', '/system/setting/default', { query: { key, default: 'x' } })).toMatchObject({ status: 400 });
  });

  it('answers what pages ask before they show anything', async () => {
    const { anonymous } = started;
    expect(await anonymous.ok('GET', '/system/plugin_static_files')).toEqual({ css: [], js: [] });
    expect(await anonymous.ok('GET', '/oauth/provider', { query: { redirect: 'x', list: true } })).toEqual([]);
    expect(await anonymous.ok('GET', '/oauth/provider', { query: { redirect: 'x' } })).toEqual({});
    expect(await other.ok('GET', '/user/details')).toEqual({ nUsers: 2 });
    const collections = await other.ok('GET', '/collection');
    expect(await other.ok('GET', '/collection/details')).toEqual({ nCollections: collections.length });
    const status = await admin.ok('GET', '/worker/status');
    expect(status).toMatchObject({ running: expect.any(Number) as number, queued: expect.any(Number) as number });
    expect(Object.keys(status.ping as unknown as object).length).toBeGreaterThan(0);
  });
});
