import { Types } from 'mongoose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

let server: TestHost;
let admin: Client;
let owner: Client;
let other: Client;
let home: string;

beforeAll(async () => {
  server = await startHost({ checksAnswers: true });
  admin = await server.register('admin');
  owner = await server.register('owner');
  other = await server.register('other');
  const folders = await owner.ok('GET', '/folder', { query: { parentType: 'user', parentId: owner.id!, name: 'Private' } });
  home = (folders[0] as { _id: string })._id;
});
afterAll(() => server.close());

let counter = 0;
const newFolder = (parentId = home, more = {}) => owner.create('/folder', { parentId, name: `f${counter++}`, ...more });
const setAccess = (id: string, access: object, more = {}) =>
  owner.send('PUT', `/folder/${id}/access`, { query: { access: JSON.stringify(access), ...more } });

describe('permissions of folders', () => {
  it('are inherited from the parent, and make the creator an administrator', async () => {
    const parent = await newFolder();
    await setAccess(
      parent,
      {
        users: [
          { id: owner.id, level: 2 },
          { id: other.id, level: 1 },
        ],
      },
      { public: true },
    );
    const child = await other.create('/folder', { parentId: parent, name: 'child' });
    expect(await other.ok('GET', `/folder/${child}`)).toMatchObject({ public: true, _accessLevel: 2 });
    const { users } = await other.ok('GET', `/folder/${child}/access`);
    expect(users).toEqual([
      { id: owner.id, level: 2, flags: [], login: 'owner', name: 'First owner' },
      { id: other.id, level: 2, flags: [], login: 'other', name: 'First other' },
    ]);
  });

  it('are checked on every route to a document, with 401 for anonymous callers', async () => {
    const folder = await newFolder();
    const item = await owner.create('/item', { folderId: folder, name: 'i' });
    const { _id: file } = await owner.ok('POST', '/file', {
      query: { parentType: 'item', parentId: item, name: 'f', size: 1 },
      body: 'x',
    });
    const denied = (level: string, user: string) => `${level} access denied for folder ${folder} (user ${user}).`;
    for (const path of [
      `/folder/${folder}`,
      `/item/${item}`,
      `/item/${item}/files`,
      `/file/${String(file)}`,
      `/file/${String(file)}/download`,
      `/folder/${folder}/download`,
    ]) {
      expect(await server.anonymous.fails('GET', path)).toMatchObject({
        status: 401,
        type: 'access',
        message: denied('Read', 'None'),
      });
      expect(await other.fails('GET', path)).toMatchObject({ status: 403, type: 'access', message: denied('Read', other.id!) });
      expect((await admin.send('GET', path)).status).toBe(200);
    }
    await setAccess(folder, {
      users: [
        { id: owner.id, level: 2 },
        { id: other.id, level: 0 },
      ],
    });
    expect((await other.send('GET', `/item/${item}`)).status).toBe(200);
    for (const [method, path, query] of [
      ['PUT', `/item/${item}`, { name: 'x' }],
      ['DELETE', `/item/${item}`, {}],
      ['POST', '/item', { folderId: folder, name: 'x' }],
      ['PUT', `/folder/${folder}`, { name: 'x' }],
      ['DELETE', `/file/${String(file)}`, {}],
    ] as const) {
      expect(await other.fails(method, path, { query })).toMatchObject({ status: 403, message: denied('Write', other.id!) });
    }
    expect(await other.fails('DELETE', `/folder/${folder}`)).toMatchObject({ status: 403, message: denied('Admin', other.id!) });
    expect(await other.fails('GET', `/folder/${folder}/access`)).toMatchObject({
      status: 403,
      message: denied('Admin', other.id!),
    });
  });

  it('show strangers -1 on public folders, as clients expect', async () => {
    const folder = await newFolder(home, { public: true });
    expect(await server.anonymous.ok('GET', `/folder/${folder}`)).toMatchObject({ _accessLevel: 0 });
    expect(await other.ok('GET', `/folder/${folder}`)).toMatchObject({ _accessLevel: -1 });
    expect(await admin.ok('GET', `/folder/${folder}`)).toMatchObject({ _accessLevel: 2 });
  });

  it('decide the content and count of lists', async () => {
    const parent = await newFolder(home, { public: true });
    for (let i = 0; i < 3; i++) await newFolder(parent, { public: i === 1 });
    const query = { parentType: 'folder', parentId: parent };
    for (const [client, count] of [
      [server.anonymous, 1],
      [other, 1],
      [owner, 3],
      [admin, 3],
    ] as const) {
      const { body, headers } = await client.send('GET', '/folder', { query });
      expect([body.length, headers.get('girder-total-count')]).toEqual([count, String(count)]);
    }
    expect(await other.ok('GET', `/folder/${parent}/details`)).toEqual({ nItems: 0, nFolders: 1 });
  });

  it('are replaced completely, in subfolders too on request', async () => {
    const parent = await newFolder();
    const child = await newFolder(parent);
    const access = {
      users: [{ id: owner.id, level: 2, flags: ['large_image_create_annotations', 'unknown'] }],
      groups: [],
    };
    const { body } = await setAccess(parent, access, {
      recurse: true,
      public: true,
      publicFlags: '["unknown","large_image_create_annotations"]',
    });
    expect(body).toMatchObject({
      public: true,
      publicFlags: ['large_image_create_annotations'],
      access: { users: [{ id: owner.id, level: 2, flags: ['large_image_create_annotations'], login: 'owner' }], groups: [] },
    });
    expect((body.access as { users: unknown[] }).users).toHaveLength(1);
    expect(await server.anonymous.ok('GET', `/folder/${child}`)).toMatchObject({ public: true });
  });

  it.each([
    [{ users: [{ id: '0'.repeat(24), level: 3 }] }, 'Invalid access level'],
    [{ users: [{ id: '0'.repeat(24), level: -1 }] }, 'Invalid access level'],
    [{ users: [{ level: 1 }] }, 'Invalid access list'],
    [{ groups: [{ id: '0'.repeat(24) }] }, 'Invalid access list'],
    [{ users: { $gt: '' } }, 'Invalid access list'],
  ])('refuse %j', async (access, message) => {
    const { status, body } = await setAccess(home, access);
    expect([status, body]).toMatchObject([400, { type: 'validation', field: 'access', message }]);
  });

  it('protect subfolders that a writer may not see: they are neither returned for their name nor removed with the rest', async () => {
    const parent = await newFolder();
    await setAccess(parent, {
      users: [
        { id: owner.id, level: 2 },
        { id: other.id, level: 1 },
      ],
    });
    const hidden = await owner.create('/folder', { parentId: parent, name: 'hidden', public: false });
    await setAccess(hidden, { users: [{ id: owner.id, level: 2 }] });
    const reuse = { parentId: parent, name: 'hidden', reuseExisting: true };
    expect(await other.fails('POST', '/folder', { query: reuse })).toMatchObject({ status: 400, field: 'name' });
    expect(await owner.create('/folder', reuse)).toBe(hidden);
    expect(await other.fails('DELETE', `/folder/${parent}/contents`)).toMatchObject({
      status: 403,
      message: 'The folder contains folders that you have no permission to remove.',
    });
    expect(await owner.ok('GET', `/folder/${hidden}`)).toMatchObject({ name: 'hidden' });
    await owner.ok('DELETE', `/folder/${parent}/contents`);
    expect((await owner.send('GET', `/folder/${hidden}`)).status).toBe(400);
  });

  it('must be an object', async () => {
    const fails = (access: string) => owner.fails('PUT', `/folder/${home}/access`, { query: { access } });
    expect(await fails('x')).toMatchObject({ status: 400, message: 'Parameter access must be valid JSON.' });
    expect(await fails('[]')).toMatchObject({ status: 400, message: 'Parameter access must be a JSON object.' });
  });

  it('take effect at once, also on tiles and through cached verdicts', async () => {
    const folder = await newFolder(home, { public: true });
    const item = await owner.create('/item', { folderId: folder, name: 'i' });
    const tiles = async () => (await other.send('GET', `/item/${item}/tiles`)).status;
    expect(await tiles()).toBe(400);
    await setAccess(folder, { users: [{ id: owner.id, level: 2 }] }, { public: false });
    expect(await tiles()).toBe(403);
  });
});

describe('the contract of hosts', () => {
  it('says the same by level and by filter', async () => {
    const { access } = server.host.host;
    const { models } = server.host.context;
    const folder = await newFolder();
    const item = await owner.create('/item', { folderId: folder, name: 'i' });
    await setAccess(folder, {
      users: [
        { id: owner.id, level: 2 },
        { id: other.id, level: 1 },
      ],
    });
    const doc = (await models.item.findById(item).lean())!;
    const callers = [
      [null, -1],
      [{ id: other.id, admin: false, scopes: [] }, 1],
      [{ id: owner.id, admin: false, scopes: [] }, 2],
      [{ id: admin.id, admin: true, scopes: [] }, 2],
    ] as const;
    for (const [caller, level] of callers) {
      expect(await access.level(caller, { type: 'item', doc: { ...doc } })).toBe(level);
      for (const minLevel of [0, 1, 2] as const) {
        const itemFilter = await access.filter(caller, 'item', minLevel);
        const folderFilter = await access.filter(caller, 'folder', minLevel);
        expect(await models.item.countDocuments({ $and: [{ _id: item }, itemFilter] })).toBe(level >= minLevel ? 1 : 0);
        expect(await models.folder.countDocuments({ $and: [{ _id: folder }, folderFilter] })).toBe(level >= minLevel ? 1 : 0);
      }
    }
  });
});

describe('groups', () => {
  it("give their members the group's permissions", async () => {
    const group = await owner.ok('POST', '/group', { query: { name: 'Readers', description: 'd' } });
    expect(group).toMatchObject({ name: 'Readers', description: 'd', public: false, _accessLevel: 2, _modelType: 'group' });
    const id = String(group._id);
    const folder = await newFolder();
    await setAccess(folder, { users: [{ id: owner.id, level: 2 }], groups: [{ id, level: 0 }] });
    expect((await other.send('GET', `/folder/${folder}`)).status).toBe(403);
    expect(await other.fails('POST', `/group/${id}/member`)).toMatchObject({ status: 403 });
    await owner.ok('POST', `/group/${id}/invitation`, { query: { userId: other.id! } });
    expect(await other.ok('GET', '/user/me')).toMatchObject({ groupInvites: [{ groupId: id, level: 0 }] });
    expect((await other.send('GET', `/folder/${folder}`)).status).toBe(403);
    await other.ok('POST', `/group/${id}/member`);
    expect((await other.send('GET', `/folder/${folder}`)).status).toBe(200);
    const members = await other.ok('GET', `/group/${id}/member`);
    expect(members.map((member) => (member as { login: string }).login)).toEqual(['other', 'owner']);
    await owner.ok('DELETE', `/group/${id}/member`, { query: { userId: other.id! } });
    expect((await other.send('GET', `/folder/${folder}`)).status).toBe(403);
    const forced = { query: { userId: other.id!, force: true } };
    expect(await owner.fails('POST', `/group/${id}/invitation`, forced)).toMatchObject({ status: 403 });
    await admin.ok('POST', `/group/${id}/invitation`, forced);
    expect((await other.send('GET', `/folder/${folder}`)).status).toBe(200);
    await owner.ok('DELETE', `/group/${id}`);
    expect((await other.send('GET', `/folder/${folder}`)).status).toBe(403);
    expect((await owner.ok('GET', `/folder/${folder}/access`)).groups).toEqual([]);
  });

  it('receive membership requests, and an invitation makes the requester a member', async () => {
    const id = await owner.create('/group', { name: 'Open to requests', public: true });
    const waiting = async (by: Client) => (await by.ok('GET', `/group/${id}/access`)).requests;
    const answer = await other.ok('POST', `/group/${id}/member`);
    expect(answer.requests).toEqual([{ id: other.id, login: 'other', name: expect.any(String) as string }]);
    // Moderators see all waiting users; others see only themselves.
    expect([await waiting(owner), await waiting(server.anonymous)]).toEqual([answer.requests, []]);
    expect((await other.ok('GET', '/user/me')).groups).not.toContain(id);
    const member = { query: { userId: other.id! } };
    await owner.ok('DELETE', `/group/${id}/member`, member);
    expect(await waiting(owner)).toEqual([]);
    await other.ok('POST', `/group/${id}/member`);
    await owner.ok('POST', `/group/${id}/invitation`, member);
    expect(await waiting(owner)).toEqual([]);
    expect((await other.ok('GET', '/user/me')).groups).toContain(id);
    expect(await other.fails('POST', `/group/${id}/member`)).toMatchObject({
      status: 400,
      message: 'User is already in this group.',
    });
  });

  it('with a full list of requests accept another one only from those who are in it', async () => {
    const id = await owner.create('/group', { name: 'In demand', public: true });
    const others = Array.from({ length: 9999 }, () => new Types.ObjectId());
    const requests = [...others, new Types.ObjectId(other.id!)];
    await server.host.context.models.group.updateOne({ _id: id }, { $set: { requests } });
    expect(await other.ok('POST', `/group/${id}/member`)).toMatchObject({ requests: [{ id: other.id }] });
    expect(await admin.fails('POST', `/group/${id}/member`)).toMatchObject({
      status: 400,
      message: '10000 users are already waiting to join this group.',
    });
    expect((await server.host.context.models.group.findById(id).lean())!.requests).toHaveLength(10_000);
  });

  it('list invitations, and change the levels of their members', async () => {
    const id = await owner.create('/group', { name: 'With roles' });
    const member = { query: { userId: other.id! } };
    await owner.ok('POST', `/group/${id}/invitation`, member);
    expect(await owner.ok('GET', `/group/${id}/invitation`)).toMatchObject([{ login: 'other' }]);
    expect(await owner.fails('POST', `/group/${id}/moderator`, member)).toMatchObject({ status: 400 });
    await other.ok('POST', `/group/${id}/member`);
    expect(await owner.ok('GET', `/group/${id}/invitation`)).toEqual([]);
    const levelsBy = async (method: string, path: string, by = owner) => {
      const { access } = (await by.ok(method, `/group/${id}/${path}`, member)) as unknown as {
        access: { users: { login: string; level: number }[] };
      };
      return Object.fromEntries(access.users.map(({ login, level }) => [login, level]));
    };
    expect(await levelsBy('POST', 'moderator')).toEqual({ owner: 2, other: 1 });
    expect(await other.fails('POST', `/group/${id}/admin`, member)).toMatchObject({ status: 403 });
    expect(await levelsBy('DELETE', 'moderator')).toEqual({ owner: 2, other: 0 });
    expect(await levelsBy('POST', 'admin')).toEqual({ owner: 2, other: 2 });
    expect(await levelsBy('DELETE', 'admin')).toEqual({ owner: 2, other: 0 });
    const last = { query: { userId: owner.id! } };
    expect(await owner.fails('DELETE', `/group/${id}/admin`, last)).toMatchObject({
      status: 400,
      message: expect.stringContaining('would be left without an administrator') as string,
    });
  });

  it('keep an administrator, unless a site administrator takes the last one', async () => {
    const id = await owner.create('/group', { name: 'Governed' });
    const invite = (by: Client, whom: Client, level: number) =>
      by.ok('POST', `/group/${id}/invitation`, { query: { userId: whom.id!, level, force: true } });
    const leave = (by: Client, whom: Client) => by.send('DELETE', `/group/${id}/member`, { query: { userId: whom.id! } });
    const administrators = async () => {
      const group = await server.host.context.models.group.findById(id).lean();
      return group!.access.users.filter(({ level }) => level === 2).map((entry) => entry.id.toHexString());
    };
    expect((await leave(owner, owner)).body).toMatchObject({
      type: 'validation',
      message: 'The group would be left without an administrator. Make another member administrator, or remove the group.',
    });
    await invite(admin, other, 1);
    // A moderator cannot remove an administrator, and an invitation does not lower a level.
    expect((await leave(other, owner)).status).toBe(403);
    await invite(admin, owner, 0);
    expect(await administrators()).toEqual([owner.id]);
    await invite(admin, other, 2);
    const answers = await Promise.all([leave(owner, owner), leave(other, other)]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400]);
    expect(await administrators()).toHaveLength(1);
    const last = (await administrators())[0] === owner.id ? owner : other;
    expect((await leave(admin, last)).status).toBe(200);
    expect(await administrators()).toEqual([]);
  });

  it('can be added to access lists by callers who see them; existing entries can stay', async () => {
    const hidden = await admin.create('/group', { name: 'Hidden group' });
    const folder = await newFolder();
    const list = (groups: object[]) => ({ users: [{ id: owner.id, level: 2 }], groups });
    const put = (client: Client, groups: object[]) =>
      client.send('PUT', `/folder/${folder}/access`, { query: { access: JSON.stringify(list(groups)) } });
    const refused = await put(owner, [{ id: hidden, level: 0 }]);
    expect([refused.status, refused.body.message]).toEqual([400, `Invalid access list: there is no group "${hidden}".`]);
    expect((await put(admin, [{ id: hidden, level: 0 }])).status).toBe(200);
    const answer = await put(owner, [{ id: hidden, level: 1 }]);
    expect(answer.body).toMatchObject({ access: { groups: [{ id: hidden, level: 1, name: 'Hidden group' }] } });
  });

  it('have unique names, regardless of case', async () => {
    await owner.create('/group', { name: 'Unique', public: true });
    expect(await other.fails('POST', '/group', { query: { name: 'uNIQUE' } })).toMatchObject({
      status: 400,
      type: 'validation',
      field: 'name',
      message: 'A group with that name already exists.',
    });
    const groups = await other.ok('GET', '/group', { query: { text: 'UNIQUE', exact: true } });
    expect(groups.map((group) => (group as { name: string }).name)).toEqual(['Unique']);
  });
});

describe('resources', () => {
  let folder: string;
  let item: string;
  beforeAll(async () => {
    const collection = await admin.create('/collection', { name: 'A/B\\C', public: true });
    folder = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'F1' });
    item = await admin.create('/item', { folderId: folder, name: 'deep tissue.svs', description: 'stained liver' });
    const unseen = await admin.create('/collection', { name: 'Unseen', public: false });
    await admin.create('/folder', { parentType: 'collection', parentId: unseen, name: 'Below' });
  });

  it('have paths that lead back to them', async () => {
    const path = await other.ok('GET', `/resource/${item}/path`, { query: { type: 'item' } });
    expect(path).toBe('/collection/A\\/B\\\\C/F1/deep tissue.svs');
    expect(await other.ok('GET', '/resource/lookup', { query: { path: String(path) } })).toMatchObject({
      _id: item,
      _modelType: 'item',
    });
    const hiddenPath = await other.ok('GET', `/resource/${home}/path`, { query: { type: 'folder' } }).catch(() => null);
    expect(hiddenPath).toBe(null);
    expect(await owner.ok('GET', `/resource/${home}/path`, { query: { type: 'folder' } })).toBe('/user/owner/Private');
    expect(await owner.ok('GET', '/resource/lookup', { query: { path: '/user/owner' } })).toMatchObject({ login: 'owner' });
  });

  it.each([
    ['/collection/A\\/B\\\\C/F1/zz', 'Path not found: collection/A/B\\C/F1/zz'],
    ['/user/owner/Private', 'Path not found: user/owner/Private'],
    ['/collection/None', 'Collection not found: None'],
    ['/user/nobody', 'User not found: nobody'],
    ['/collection/Unseen', 'Collection not found: Unseen'],
    ['/collection/Unseen/Below', 'Collection not found: Unseen'],
    ['/collection/None/Below', 'Collection not found: None'],
    ['/item/x', 'Invalid path format'],
    ['', 'Invalid path format'],
  ])('are not found at %s', async (path, message) => {
    expect(await other.fails('GET', '/resource/lookup', { query: { path } })).toMatchObject({
      status: 400,
      type: 'validation',
      message,
    });
  });

  it('are found by words, names first, and by the start of names, as far as they are readable', async () => {
    const second = await admin.create('/item', { folderId: folder, name: 'liver.tif' });
    await owner.create('/item', { folderId: home, name: 'liver secret' });
    const search = (query: object) => other.ok('GET', '/resource/search', { query: { types: '["item","folder"]', ...query } });
    const ids = (list: unknown) => (list as { _id: string }[]).map(({ _id }) => _id);
    const results = await search({ q: 'liver' });
    expect(Object.keys(results).sort()).toEqual(['folder', 'item']);
    expect(ids(results.item)).toEqual([second, item]);
    expect(ids((await search({ q: 'liver', limit: 1, offset: 1 })).item)).toEqual([item]);
    expect(ids((await search({ q: 'deep', mode: 'prefix' })).item)).toEqual([item]);
    expect(ids((await search({ q: '.*', mode: 'prefix' })).item)).toEqual([]);
    expect(await other.fails('GET', '/resource/search', { query: { q: 'x', types: '["item"]', mode: 'zz' } })).toMatchObject({
      status: 400,
      type: 'rest',
      message: "Search mode handler 'zz' not found.",
    });
    expect(await other.fails('GET', '/resource/search', { query: { q: 'x', types: 'item' } })).toMatchObject({
      message: 'Parameter types must be valid JSON.',
    });
  });

  it('can have their dates set by administrators', async () => {
    const query = { type: 'item', created: '2001-02-03T04:05:06Z', updated: '2002-02-03T04:05:06.5Z' };
    expect(await admin.ok('PUT', `/resource/${item}/timestamp`, { query })).toMatchObject({
      created: '2001-02-03T04:05:06+00:00',
      updated: expect.stringMatching(/^2002-02-03T04:05:06\.50*\+00:00$/),
    });
    expect(await admin.fails('PUT', `/resource/${item}/timestamp`, { query: { type: 'item', created: 'x' } })).toMatchObject({
      message: 'Invalid date format for parameter created: x.',
    });
    expect(await other.fails('PUT', `/resource/${item}/timestamp`, { query })).toMatchObject({ status: 403 });
  });

  it('are moved, copied and removed together, or not at all', async () => {
    const target = await newFolder();
    const mine = await owner.create('/item', { folderId: home, name: 'mine' });
    const inner = await newFolder();
    const resources = JSON.stringify({ item: [mine], folder: [inner] });
    const to = { parentType: 'folder', parentId: target };
    expect(await owner.ok('POST', '/resource/copy', { query: { resources, ...to } })).toBe(null);
    expect(await owner.ok('GET', `/folder/${target}/details`)).toEqual({ nItems: 1, nFolders: 1 });
    const elsewhere = await newFolder();
    expect(await owner.ok('PUT', '/resource/move', { query: { resources, ...to, parentId: elsewhere } })).toBe(null);
    expect(await owner.ok('GET', `/folder/${elsewhere}/details`)).toEqual({ nItems: 1, nFolders: 1 });
    const forbidden = JSON.stringify({ item: [mine, item] });
    expect(await owner.fails('DELETE', '/resource', { query: { resources: forbidden } })).toMatchObject({ status: 403 });
    expect((await owner.send('GET', `/item/${mine}`)).status).toBe(200);
    expect(await owner.fails('DELETE', '/resource', { query: { resources: '{}' } })).toMatchObject({
      status: 400,
      message: 'No resources specified.',
    });
    expect(await owner.ok('DELETE', '/resource', { form: { resources: JSON.stringify({ item: [mine] }) } })).toBe(null);
    expect((await owner.send('GET', `/item/${mine}`)).status).toBe(400);
  });
});
