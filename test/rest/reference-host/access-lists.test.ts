import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startSpecimens } from '../../support/hosts/installed-specimens.js';
import { startAnnotated, type Annotated } from '../../support/hosts/annotated.js';
import type { Client } from '../../support/hosts/reference-host.js';

type Entry = Record<string, unknown>;
type List = { users?: Entry[]; groups?: Entry[] };

const nobody = 'e'.repeat(24);

describe('access lists', () => {
  let at: Annotated;
  let owner: Client;
  let other: Client;
  /** Groups: one that only `other` belongs to, one without members. */
  let filled: string;
  let empty: string;
  /** The kinds of documents with an access list, and the paths at which the list of one is set and read. */
  let kinds: { kind: string; put: string; get: string }[];

  beforeAll(async () => {
    at = await startAnnotated();
    owner = await at.host.register('owner');
    other = await at.host.register('other');
    filled = await other.create('/group', { name: 'Filled', public: true });
    empty = await other.create('/group', { name: 'Empty', public: true });
    await at.admin.ok('DELETE', `/group/${empty}/member`, { query: { userId: other.id! } });
    const collection = await at.admin.create('/collection', { name: 'Owned', public: true });
    const folder = await owner.create('/folder', { parentType: 'user', parentId: owner.id!, name: 'Mine', public: true });
    const item = await owner.create('/item', { folderId: folder, name: 'mine.svs' });
    const annotation = String((await at.annotate({ name: 'mine' }, { as: owner, on: item }))._id);
    const users = [{ id: owner.id, level: 2 }];
    await at.admin.ok('PUT', `/collection/${collection}/access`, { query: { access: JSON.stringify({ users }) } });
    kinds = [
      ['annotation', `/annotation/${annotation}/access`, `/annotation/${annotation}/access`],
      ['annotations of a folder', `/annotation/folder/${folder}/access`, `/annotation/${annotation}/access`],
      ['folder', `/folder/${folder}/access`, `/folder/${folder}/access`],
      ['collection', `/collection/${collection}/access`, `/collection/${collection}/access`],
    ].map(([kind, put, get]) => ({ kind: kind!, put: put!, get: get! }));
  });
  afterAll(() => at?.close());

  const set = (client: Client, path: string, list: unknown) =>
    client.send('PUT', path, { query: { access: JSON.stringify(list), public: true } });
  const ownEntry = (): Entry => ({ id: owner.id, level: 2 });

  const refused: [what: string, list: () => List & Entry, message: () => string][] = [
    [
      'a user who does not exist',
      () => ({ users: [ownEntry(), { id: nobody, level: 0 }] }),
      () => `there is no user "${nobody}"`,
    ],
    ['a malformed id', () => ({ users: [ownEntry(), { id: 'everybody', level: 1 }] }), () => 'there is no user "everybody"'],
    [
      'a group that does not exist',
      () => ({ users: [ownEntry()], groups: [{ id: nobody, level: 0 }] }),
      () => `no group "${nobody}"`,
    ],
    [
      'a user in the place of a group',
      () => ({ users: [ownEntry()], groups: [{ id: other.id, level: 0 }] }),
      () => `no group "${other.id}"`,
    ],
    ['a name with operators', () => ({ users: [ownEntry(), { id: '$ne', level: 0 }] }), () => 'there is no user "$ne"'],
    ['somebody twice', () => ({ users: [ownEntry(), { ...ownEntry(), level: 0 }] }), () => `user "${owner.id}" is listed twice`],
    ['a level above all', () => ({ users: [{ ...ownEntry(), level: 3 }] }), () => 'Invalid access level'],
    ['a level below all', () => ({ users: [ownEntry(), { id: other.id, level: -1 }] }), () => 'Invalid access level'],
    ['a level between two', () => ({ users: [ownEntry(), { id: other.id, level: 0.5 }] }), () => 'Invalid access level'],
    ['a misspelled member', () => ({ user: [ownEntry()] }), () => '"user" is not one of'],
    ['a further member of an entry', () => ({ users: [{ ...ownEntry(), role: 'owner' }] }), () => '"role" is not one of'],
  ];
  const ownerless: [what: string, list: () => List][] = [
    ['nobody', () => ({ users: [], groups: [] })],
    [
      'no administrator',
      () => ({
        users: [
          { ...ownEntry(), level: 1 },
          { id: other.id, level: 1 },
        ],
      }),
    ],
    ['a group without members', () => ({ users: [{ ...ownEntry(), level: 1 }], groups: [{ id: empty, level: 2 }] })],
  ];

  it.each(refused)('are refused with %s, and nothing changes', async (_what, list, message) => {
    for (const { kind, put, get } of kinds) {
      const before = await owner.ok('GET', get);
      for (const client of [owner, at.admin]) {
        const answer = await set(client, put, list());
        expect([kind, answer.status, answer.body.message]).toEqual([kind, 400, expect.stringContaining(message())]);
      }
      expect(await owner.ok('GET', get)).toEqual(before);
    }
  });

  it.each(ownerless)('with %s are only for site administrators', async (_what, list) => {
    for (const { kind, put, get } of kinds) {
      const before = await owner.ok('GET', get);
      const answer = await set(owner, put, list());
      expect([kind, answer.status, answer.body.message]).toEqual([kind, 400, expect.stringContaining('nobody who can sign in')]);
      expect(await owner.ok('GET', get)).toEqual(before);
      expect((await set(at.admin, put, list())).status, kind).toBe(200);
      await at.admin.ok('PUT', put, { query: { access: JSON.stringify({ users: [ownEntry()] }) } });
    }
  });

  it('read users who ask for membership one by one, because there may be thousands', async () => {
    await other.ok('PUT', `/group/${filled}`, { query: { public: true } });
    await owner.ok('POST', `/group/${filled}/member`);
    const { Query } = at.host.host.context.models.user.base;
    const read = vi.spyOn(Query.prototype, 'cursor');
    try {
      const { requests } = await other.ok('GET', `/group/${filled}/access`);
      expect(requests).toEqual([expect.objectContaining({ login: 'owner' })]);
      const models = read.mock.contexts.map((query) => (query as unknown as { model: { modelName: string } }).model.modelName);
      // One query reads the users who request membership, the other reads the members.
      expect(models.filter((name) => name === 'user')).toHaveLength(2);
    } finally {
      read.mockRestore();
      await other.ok('DELETE', `/group/${filled}/member`, { query: { userId: owner.id! } });
    }
  });

  it('are stored in every collection without casts by Mongoose, which take a hundred times as long', () => {
    const { models } = at.host.host.context.models.user.db;
    const holders = Object.values(models).filter(({ schema }) => schema.pathType('access') !== 'adhocOrUndefined');
    expect(holders.map(({ modelName }) => modelName)).toEqual(
      expect.arrayContaining(['folder', 'collection', 'user', 'group', 'LargeImageAnnotation', 'LargeImageJob']),
    );
    for (const holder of holders) {
      const users = [{ id: 'anything', level: 'as it came' }];
      const { access } = new holder({ access: { users, groups: [] } }) as unknown as { access: List };
      expect([holder.modelName, access]).toEqual([holder.modelName, { users, groups: [] }]);
    }
  });

  it('always have an administrator who can sign in', async () => {
    const removedUser = await at.host.register('gone');
    const group = await removedUser.create('/group', { name: 'Gone', public: true });
    const query = { firstName: 'First', lastName: 'gone', email: 'gone@example.org', status: 'disabled' };
    await at.admin.ok('PUT', `/user/${removedUser.id}`, { query });
    for (const { kind, put } of kinds) {
      for (const list of [{ users: [{ id: removedUser.id, level: 2 }] }, { groups: [{ id: group, level: 2 }] }]) {
        const answer = await set(owner, put, list);
        expect([kind, answer.status, answer.body.message]).toEqual([
          kind,
          400,
          expect.stringContaining('nobody who can sign in'),
        ]);
      }
    }
  });

  it('can be given to another user or a group with members, and sent back unchanged', async () => {
    for (const { kind, put, get } of kinds) {
      for (const list of [{ users: [{ id: other.id, level: 2 }] }, { groups: [{ id: filled, level: 2 }] }]) {
        expect((await set(owner, put, list)).status, kind).toBe(200);
        const returned = await other.ok('GET', get);
        expect((await set(other, put, returned)).status, kind).toBe(200);
        expect(await other.ok('GET', get)).toEqual(returned);
        expect((await owner.send('GET', get)).status, kind).toBe(403);
        await at.admin.ok('PUT', put, { query: { access: JSON.stringify({ users: [ownEntry()] }) } });
      }
    }
  });
});

describe('access lists on a host without a directory', () => {
  it('keep the caller who changes them, and have no groups', async () => {
    const specimens = await startSpecimens();
    const { server, api } = specimens;
    try {
      await server.Badges.create({ secret: 'kim', person: 'kim' });
      const cabinet = await server.Cabinets.create({ title: 'a cabinet', owner: 'kim', open: true });
      const { id } = await server.Specimens.create({ title: 'one', cabinet: cabinet._id });
      const headers = { Authorization: 'Bearer kim', 'Content-Type': 'application/json' };
      const send = (method: string, path: string, body?: string) =>
        fetch(`${api}${path}`, { method, headers, ...(body !== undefined && { body }) });
      const { _id } = (await (await send('POST', `/annotation?itemId=${id}`, '{"name": "kims"}')).json()) as { _id: string };
      const set = async (list: List) => {
        const answer = await send('PUT', `/annotation/${_id}/access?access=${encodeURIComponent(JSON.stringify(list))}`);
        return answer.status;
      };
      expect(await set({ users: [{ id: 'lou', level: 2 }] })).toBe(400);
      expect(await set({ users: [{ id: 'kim', level: 2 }], groups: [{ id: 'all', level: 0 }] })).toBe(400);
      expect(
        await set({
          users: [
            { id: 'kim', level: 2 },
            { id: 'lou', level: 2 },
          ],
        }),
      ).toBe(200);
    } finally {
      await specimens.close();
    }
  });
});
