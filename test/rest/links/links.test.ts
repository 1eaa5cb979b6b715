import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

interface Link {
  _id: string;
  token: string;
  prefix: string;
  opens: string[];
  associated: boolean;
  expires: string | null;
}

describe('a link', () => {
  let started: TestHost;
  let admin: Client;
  let reader: Client;
  let stranger: Client;
  let folder: string;
  let item: string;

  const make = async (client: Client, json: object = {}, path = `/item/${item}/link`) =>
    (await client.ok('POST', path, { json })) as unknown as Link;
  const setting = (key: string, value: unknown) => started.host.settings.set(`large_image.${key}`, value);

  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('admin');
    reader = await started.register('reader');
    stranger = await started.register('stranger');
    folder = await newFolder(admin, 'Private');
    const access = { users: [{ id: reader.id, level: 0 }], groups: [] };
    await admin.ok('PUT', `/folder/${folder}/access`, { query: { access: JSON.stringify(access), public: false } });
    item = await uploadItem(admin, folder, 'slide.tif', await pyramid());
  });
  afterAll(() => started?.close());

  it('shows its token once, and is stored without anything that reveals it', async () => {
    const { token, prefix, associated, expires, ...link } = await make(reader, { name: 'For a colleague' });
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(token.startsWith(prefix)).toBe(true);
    expect(associated).toBe(false);
    const days = (new Date(expires!).getTime() - Date.now()) / 86_400_000;
    expect(Math.round(days)).toBe(7);
    const listed = await reader.ok('GET', `/item/${item}/link`);
    expect(listed).toMatchObject([{ _id: link._id, name: 'For a colleague', lastUsed: null }]);
    const stored = await started.host.context.models.item.db.collection('large_image_link').find().toArray();
    expect(stored).toHaveLength(1);
    for (const text of [JSON.stringify(stored), JSON.stringify(listed)]) expect(text).not.toContain(token);
    await reader.ok('DELETE', `/link/${link._id}`);
  });

  it("is managed by its creator and the item's administrators", async () => {
    const link = await make(reader);
    expect(await stranger.fails('GET', `/link/${link._id}`)).toMatchObject({ status: 403 });
    expect(await stranger.fails('GET', `/item/${item}/link`)).toMatchObject({ status: 403 });
    const later = new Date(Date.now() + 1e8).toISOString();
    const json = { name: 'Renamed', opens: ['dicomweb'], associated: true };
    const changed = await admin.ok('PUT', `/link/${link._id}`, { json: { ...json, expires: later } });
    expect(changed).toMatchObject({ ...json, _id: link._id });
    expect(new Date(String(changed.expires)).toISOString()).toBe(later);
    expect(await admin.ok('GET', `/item/${item}/link`)).toMatchObject([{ name: 'Renamed' }]);
    await admin.ok('DELETE', `/link/${link._id}`);
    expect(await reader.fails('GET', `/link/${link._id}`)).toMatchObject({
      status: 400,
      message: `Invalid link id (${link._id}).`,
    });
    expect(await reader.ok('GET', `/folder/${folder}/link`)).toEqual([]);
  });

  it.each([
    [{ name: 'x'.repeat(201) }, 'name'],
    [{ name: 1 }, 'name'],
    [{ opens: ['everything'] }, 'opens'],
    [{ opens: [] }, 'opens'],
    [{ opens: 'zarr' }, 'opens'],
    [{ associated: 'yes' }, 'associated'],
    [{ expires: null }, 'expires'],
    [{ expires: 'tomorrow' }, 'expires'],
    [{ expires: '2001-01-01T00:00:00Z' }, 'expires'],
    [{ expires: '9999-01-01T00:00:00Z' }, 'expires'],
    [{ days: 3 }, 'days'],
  ])('is refused with %j, and the member is named', async (json, field) => {
    expect(await reader.fails('POST', `/item/${item}/link`, { json })).toMatchObject({ status: 400, field });
    expect(await reader.ok('GET', `/item/${item}/link`)).toEqual([]);
  });

  it('follows the settings of the operator', async () => {
    await setting('links_without_end', true);
    const endless = await make(reader, { expires: null });
    expect(endless.expires).toBeNull();
    await reader.ok('DELETE', `/link/${endless._id}`);
    await setting('links', 'WRITE');
    expect(await reader.fails('POST', `/item/${item}/link`)).toMatchObject({ status: 403 });
    await admin.ok('DELETE', `/link/${(await make(admin))._id}`);
    await setting('links', 'off');
    expect(await admin.fails('POST', `/item/${item}/link`)).toMatchObject({ status: 403 });
    await setting('links', null);
    await setting('links_without_end', null);
  });

  it('is not needed for associated images, which readers see only with the permission in the setting', async () => {
    const path = `/item/${item}/tiles/images`;
    expect(await reader.send('GET', `${path}/label`)).toMatchObject({ status: 200 });
    await setting('associated_images', 'WRITE');
    expect(await reader.ok('GET', path)).toEqual([]);
    for (const image of ['label', 'label/metadata']) {
      expect(await reader.fails('GET', `${path}/${image}`)).toMatchObject({ status: 403 });
      expect(await admin.send('GET', `${path}/${image}`)).toMatchObject({ status: 200 });
    }
    await setting('associated_images', null);
  });

  it('is removed with the document and with its creator', async () => {
    const copy = await uploadItem(admin, folder, 'copy.tif', await pyramid());
    const link = await make(reader, {}, `/item/${copy}/link`);
    await admin.ok('DELETE', `/item/${copy}`);
    expect(await reader.fails('GET', `/link/${link._id}`)).toMatchObject({ status: 400 });
    const leaving = await started.register('leaving');
    const publicFolder = await newFolder(admin, 'Public', true);
    const other = await make(leaving, {}, `/folder/${publicFolder}/link`);
    await admin.ok('DELETE', `/user/${leaving.id}`);
    expect(await admin.fails('GET', `/link/${other._id}`)).toMatchObject({ status: 400 });
  });
});
