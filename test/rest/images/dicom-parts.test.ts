import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { level } from '../../support/writers/dicom-level.js';
import { newFolder, uploadItem } from '../../support/images/images.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

describe('a slide whose files are uploaded one by one', () => {
  let started: TestHost;
  let admin: Client;
  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('admin');
  });
  afterAll(() => started.close());

  const upload = async (item: string, name: string, body: Uint8Array): Promise<string> => {
    const query = { parentType: 'item', parentId: item, name, size: body.length };
    return String((await admin.ok('POST', '/file', { query, body }))._id);
  };

  it('shows the levels that have arrived, in any order, and drops removed ones', async () => {
    const item = await admin.create('/item', { folderId: await newFolder(admin, 'Slides'), name: 'slide' });
    const tiles = () => admin.ok('GET', `/item/${item}/tiles`);
    const shade = async (z: number): Promise<number> => {
      const { bytes } = await admin.send('GET', `/item/${item}/tiles/zxy/${z}/0/0`, { query: { encoding: 'PNG' } });
      return (await sharp(bytes).raw().toBuffer())[0]!;
    };
    const small = await upload(item, 'small.dcm', await level(2, 200));
    expect(await tiles()).toMatchObject({ sizeX: 64, levels: 1 });
    expect(await shade(0)).toBe(200);
    const { largeImage } = await admin.ok('GET', `/item/${item}`);
    expect(largeImage).toMatchObject({ sourceName: 'dicom' });

    const large = await upload(item, 'large.dcm', await level(1, 50));
    expect(await tiles()).toMatchObject({ sizeX: 128, levels: 2 });
    expect([await shade(0), await shade(1)]).toEqual([200, 50]);

    await admin.ok('DELETE', `/file/${large}`);
    expect(await tiles()).toMatchObject({ sizeX: 64, levels: 1 });
    expect(await shade(0)).toBe(200);

    await upload(item, 'again.dcm', await level(1, 70));
    await admin.ok('DELETE', `/file/${small}`);
    expect(await tiles()).toMatchObject({ sizeX: 128, levels: 2 });
    expect(await shade(1)).toBe(70);
  });

  it('replaces a picture that was uploaded before it, but not one that comes after it', async () => {
    const item = await admin.create('/item', { folderId: await newFolder(admin, 'Mixed'), name: 'mixed' });
    const picture = await sharp({ create: { width: 30, height: 20, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
    const tiles = () => admin.ok('GET', `/item/${item}/tiles`);
    await upload(item, 'macro.png', picture);
    expect(await tiles()).toMatchObject({ sizeX: 30 });
    await upload(item, 'slide.dcm', await level(1, 90));
    expect(await tiles()).toMatchObject({ sizeX: 128 });
    await upload(item, 'other.png', picture);
    expect(await tiles()).toMatchObject({ sizeX: 128 });
  });

  it('becomes one item when its files arrive as separate items, if the setting allows it', async () => {
    const setting = (value: boolean) => admin.ok('PUT', '/system/setting', { query: { key: 'large_image.merge_dicom', value } });
    const folder = await newFolder(admin, 'Merged');
    const items = async (): Promise<string[]> => {
      const list = await admin.ok('GET', '/item', { query: { folderId: folder, limit: 0 } });
      return list.map((each) => String((each as { name: string }).name)).toSorted();
    };
    const apart = await uploadItem(admin, folder, 'apart.dcm', await level(1, 10));
    await setting(true);
    try {
      const small = await uploadItem(admin, folder, 'small.dcm', await level(2, 200));
      expect((await admin.ok('GET', `/item/${small}`)).largeImage).toMatchObject({ dicomSeriesUID: '1.2.3' });
      expect(await uploadItem(admin, folder, 'large.dcm', await level(1, 50))).toBe(small);
      await uploadItem(admin, folder, 'other.dcm', await level(1, 50, '9.9.9'));
      expect(await items()).toEqual(['apart.dcm', 'other.dcm', 'small.dcm']);
      expect(await admin.ok('GET', `/item/${small}/tiles`)).toMatchObject({ sizeX: 128, levels: 2 });
      const files = await admin.ok('GET', `/item/${small}/files`);
      expect(files.map((file) => (file as { name: string }).name).toSorted()).toEqual(['large.dcm', 'small.dcm']);
      const bytes = files.reduce((sum: number, file) => sum + (file as { size: number }).size, 0);
      expect((await admin.ok('GET', `/item/${small}`)).size).toBe(bytes);
      // Files of another study, files in another folder, and files from before the setting stay separate.
      expect(await admin.ok('GET', `/item/${apart}/tiles`)).toMatchObject({ sizeX: 128, levels: 2 });
      const elsewhere = await uploadItem(admin, await newFolder(admin, 'Elsewhere'), 'large.dcm', await level(1, 50));
      expect(await admin.ok('GET', `/item/${elsewhere}/files`)).toHaveLength(1);
    } finally {
      await setting(false);
    }
    await uploadItem(admin, folder, 'last.dcm', await level(2, 30));
    expect(await items()).toContain('last.dcm');
  });

  it('is one item even if its files arrive at the same time', async () => {
    const folder = await newFolder(admin, 'Together');
    await admin.ok('PUT', '/system/setting', { query: { key: 'large_image.merge_dicom', value: true } });
    try {
      const files = await Promise.all([level(2, 200), level(1, 50)]);
      await Promise.all(files.map((file, i) => uploadItem(admin, folder, `${i}.dcm`, file)));
      const [item, other] = await admin.ok('GET', '/item', { query: { folderId: folder } });
      expect(other).toBeUndefined();
      expect(await admin.ok('GET', `/item/${String((item as { _id: string })._id)}/tiles`)).toMatchObject({
        sizeX: 128,
        levels: 2,
      });
    } finally {
      await admin.ok('PUT', '/system/setting', { query: { key: 'large_image.merge_dicom', value: false } });
    }
  });
});
