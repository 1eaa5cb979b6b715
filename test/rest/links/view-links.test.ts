import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { Client, startHost, type TestHost } from '../../support/hosts/reference-host.js';

const invalidLink = 'This link is invalid, has expired or was revoked.';
const opensOnePage = 'This link only opens the page of its image.';

describe('a link to the page of an image', () => {
  let started: TestHost;
  let admin: Client;
  let reader: Client;
  let folder: string;
  let item: string;
  let other: string;
  let annotation: string;
  let otherAnnotation: string;

  /** Makes a link. @returns the client that holds it */
  const make = async (json: object = {}, maker = admin) => {
    const link = await maker.ok('POST', `/item/${item}/link`, { json: { opens: ['view'], ...json } });
    return { id: String(link._id), holder: new Client(started.url, `view-link.${String(link.token)}`, null) };
  };
  const annotate = async (itemId: string) =>
    String((await admin.ok('POST', '/annotation', { query: { itemId }, json: { name: 'Tumor', elements: [] } }))._id);

  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('admin');
    reader = await started.register('reader');
    folder = await newFolder(admin, 'Private');
    const access = { users: [{ id: reader.id, level: 0 }], groups: [] };
    await admin.ok('PUT', `/folder/${folder}/access`, { query: { access: JSON.stringify(access), public: false } });
    item = await uploadItem(admin, folder, 'slide.tif', await pyramid());
    other = await uploadItem(admin, folder, 'other.tif', await pyramid());
    await admin.ok('PUT', `/item/${item}/metadata`, { json: { stain: 'HE' } });
    annotation = await annotate(item);
    otherAnnotation = await annotate(other);
  });
  afterAll(() => started?.close());

  it('reads what the page needs, without an account', async () => {
    const { holder } = await make();
    expect(await holder.ok('GET', '/link/view')).toMatchObject({
      item: { _id: item, name: 'slide.tif', meta: { stain: 'HE' } },
      annotations: true,
      associated: false,
    });
    for (const path of ['', '/item', '/zxy/0/0/0', '/fzxy/0/0/0/0', '/thumbnail', '/histogram', '/bands'])
      expect((await holder.send('GET', `/item/${item}/tiles${path}`)).status, path).toBe(200);
    expect((await holder.send('GET', `/item/${item}/tiles/region`, { query: { width: 8 } })).status).toBe(200);
    expect((await holder.send('GET', `/item/${item}/tiles/pixel`, { query: { left: 1, top: 1 } })).status).toBe(200);
    expect(await holder.ok('GET', '/annotation', { query: { itemId: item } })).toMatchObject([
      { _id: annotation, _accessLevel: 0 },
    ]);
    for (const path of ['', '/tiles', '/table', '/table/rows'])
      expect((await holder.send('GET', `/annotation/${annotation}${path}`)).status, path).toBe(200);
  });

  it('opens no other item, annotation or route, even if an administrator created it', async () => {
    const { holder } = await make();
    const refused = async (expected: number, method: string, path: string, query: Record<string, string> = {}) => {
      const { status } = await holder.send(method, path, { query });
      expect(status, `${method} ${path}`).toBe(expected);
    };
    await refused(403, 'GET', `/item/${other}/tiles`);
    await refused(403, 'GET', `/item/${other}/tiles/zxy/0/0/0`);
    await refused(403, 'GET', `/annotation/${otherAnnotation}`);
    await refused(403, 'GET', `/annotation/${otherAnnotation}/tiles`);
    await refused(403, 'GET', '/annotation', { itemId: other });
    await refused(403, 'GET', '/annotation/events', { itemId: other });
    await refused(401, 'GET', `/item/${item}`);
    await refused(401, 'GET', `/item/${item}/comment`);
    await refused(401, 'GET', `/folder/${folder}`);
    await refused(401, 'GET', `/item/${item}/download`);
    expect(await holder.fails('GET', `/annotation/item/${item}`)).toMatchObject({ status: 401, message: opensOnePage });
    expect(await holder.fails('GET', '/large_image/cache')).toMatchObject({ status: 401, message: opensOnePage });
    await refused(401, 'DELETE', `/annotation/${annotation}`);
    await refused(401, 'POST', `/item/${item}/link`);
    await refused(401, 'GET', `/item/${item}/tiles/histogram`, { cache: 'schedule' });
    // Without an item, the list has only the annotations of the image.
    expect(await holder.ok('GET', '/annotation')).toMatchObject([{ _id: annotation }]);
  });

  it('hides annotations and associated images unless its creator lets it show them', async () => {
    const bare = (await make({ annotations: false })).holder;
    expect(await bare.ok('GET', '/annotation', { query: { itemId: item } })).toEqual([]);
    expect(await bare.ok('GET', '/annotation')).toEqual([]);
    expect((await bare.send('GET', `/annotation/${annotation}`)).status).toBe(403);
    expect((await bare.send('GET', `/annotation/${annotation}/tiles`)).status).toBe(403);
    expect(await bare.ok('GET', `/item/${item}/tiles/images`)).toEqual([]);
    expect((await bare.send('GET', `/item/${item}/tiles/images/label`)).status).toBe(403);
    const { holder } = await make({ associated: true });
    expect((await holder.send('GET', `/item/${item}/tiles/images/label`)).status).toBe(200);
  });

  it('ends when it is revoked, when the item is in the trash, and when its creator loses access', async () => {
    const link = await make({}, reader);
    const state = async () => (await link.holder.send('GET', '/link/view')).status;
    expect(await state()).toBe(200);
    const resources = JSON.stringify({ item: [item] });
    await admin.ok('POST', '/resource/trash', { query: { resources } });
    expect(await link.holder.fails('GET', '/link/view')).toMatchObject({ status: 401, message: invalidLink });
    expect(await link.holder.fails('GET', `/annotation/${annotation}`)).toMatchObject({ status: 401, message: invalidLink });
    await admin.ok('POST', '/resource/restore', { query: { resources } });
    expect(await state()).toBe(200);
    const access = JSON.stringify({ users: [{ id: admin.id, level: 2 }], groups: [] });
    await admin.ok('PUT', `/folder/${folder}/access`, { query: { access, public: false } });
    expect(await state()).toBe(401);
    const withReader = JSON.stringify({ users: [{ id: reader.id, level: 0 }], groups: [] });
    await admin.ok('PUT', `/folder/${folder}/access`, { query: { access: withReader, public: false } });
    expect(await state()).toBe(200);
    await reader.ok('DELETE', `/link/${link.id}`);
    expect(await link.holder.fails('GET', `/item/${item}/tiles/zxy/0/0/0`)).toMatchObject({ status: 401, message: invalidLink });
  });

  it('is made only for items, and only on request', async () => {
    const request = { json: { opens: ['view'] } };
    expect(await admin.fails('POST', `/folder/${folder}/link`, request)).toMatchObject({ status: 400, field: 'opens' });
    const folderLink = await admin.ok('POST', `/folder/${folder}/link`);
    expect(await admin.fails('PUT', `/link/${String(folderLink._id)}`, request)).toMatchObject({ status: 400, field: 'opens' });
    const plain = await admin.ok('POST', `/item/${item}/link`);
    expect(plain.opens).toEqual(['zarr', 'dicomweb']);
    const holder = new Client(started.url, `view-link.${String(plain.token)}`, null);
    expect(await holder.fails('GET', '/link/view')).toMatchObject({ status: 401, message: invalidLink });
    expect(await admin.fails('GET', '/link/view')).toMatchObject({ status: 401 });
    expect(await started.anonymous.fails('GET', '/link/view')).toMatchObject({ status: 401 });
    expect(await make({ annotations: 1 }).catch(String)).toContain('annotations must be true or false');
  });

  it('cannot be guessed by trying many, while links that were valid before still work', async () => {
    const { holder } = await make();
    expect((await holder.send('GET', '/link/view')).status).toBe(200);
    const statuses: number[] = [];
    while (statuses.length < 2000 && statuses.at(-1) !== 429) {
      const guess = new Client(started.url, `view-link.wrong${statuses.length}`, null);
      statuses.push((await guess.send('GET', `/item/${item}/tiles`)).status);
    }
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
    expect((await holder.send('GET', '/link/view')).status).toBe(200);
  });
});
