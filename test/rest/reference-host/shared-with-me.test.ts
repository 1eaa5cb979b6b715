import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

describe('what others have shared with a user', () => {
  let started: TestHost;
  let admin: Client;
  let bert: Client;
  let carla: Client;
  let collection: string;

  const share = (path: string, users: object[], groups: object[] = [], isPublic = false) => {
    const access = JSON.stringify({ users: [{ id: admin.id, level: 2 }, ...users], groups });
    return admin.ok('PUT', `${path}/access`, { query: { access, public: isPublic } });
  };
  const folder = (name: string, parentId = collection, parentType = 'collection') =>
    admin.create('/folder', { parentType, parentId, name, public: false });
  const namesFor = async (client: Client, query: Record<string, number> = {}) =>
    ((await client.ok('GET', '/resource/shared', { query })) as unknown as { name: string }[]).map(({ name }) => name);

  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('admin');
    bert = await started.register('bert');
    carla = await started.register('carla');
    collection = await admin.create('/collection', { name: 'Slides', public: false });
  });
  afterAll(() => started?.close());

  it('lists the topmost folders and collections with the permission on them', async () => {
    const ten = await folder('10 kidneys');
    await share(`/folder/${ten}`, [{ id: bert.id, level: 1 }]);
    const inside = await folder('inside', ten, 'folder');
    await share(`/folder/${inside}`, [{ id: bert.id, level: 0 }]);
    const nine = await folder('9 livers');
    await share(`/folder/${nine}`, [{ id: bert.id, level: 0 }]);
    await share(`/folder/${await folder('public')}`, [], [], true);
    await folder('private');
    expect(await namesFor(bert)).toEqual(['9 livers', '10 kidneys']);
    expect(await bert.ok('GET', '/resource/shared', { query: { offset: 1, limit: 1 } })).toMatchObject([
      { name: '10 kidneys', _modelType: 'folder', _accessLevel: 1 },
    ]);
    const answer = await bert.send('GET', '/resource/shared', { query: { limit: 1 } });
    expect(answer.headers.get('girder-total-count')).toBe('2');
    expect(await namesFor(carla)).toEqual([]);
    await share(`/collection/${collection}`, [{ id: bert.id, level: 0 }]);
    expect(await namesFor(bert)).toEqual(['Slides']);
    await share(`/collection/${collection}`, []);
  });

  it('includes what a group of the user was given, until the user leaves the group', async () => {
    const group = await admin.create('/group', { name: 'Pathology', public: false });
    await admin.ok('POST', `/group/${group}/invitation`, { query: { userId: carla.id!, force: true } });
    const shared = await folder('for the group');
    await share(`/folder/${shared}`, [], [{ id: group, level: 0 }]);
    expect(await namesFor(carla)).toEqual(['for the group']);
    await carla.ok('DELETE', `/group/${group}/member`, { query: { userId: carla.id! } });
    expect(await namesFor(carla)).toEqual([]);
  });

  it('leaves out what the user has created, and what is in the trash', async () => {
    const lab = await folder('lab');
    await share(`/folder/${lab}`, [{ id: bert.id, level: 2 }]);
    await bert.create('/folder', { parentType: 'folder', parentId: lab, name: 'of bert' });
    expect(await namesFor(bert)).toEqual(['9 livers', '10 kidneys', 'lab']);
    const resources = JSON.stringify({ folder: [lab] });
    await admin.ok('POST', '/resource/trash', { query: { resources } });
    expect(await namesFor(bert)).toEqual(['9 livers', '10 kidneys']);
    expect(await started.anonymous.fails('GET', '/resource/shared')).toMatchObject({ status: 401 });
  });
});
