import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Host } from '../../../../src/index.js';
import { elementsOf, point } from '../../../support/hosts/annotated.js';
import { startSpecimens, type InstalledSpecimens } from '../../../support/hosts/installed-specimens.js';

type Json = Record<string, unknown>;

/** The host without all optional members. */
function minimal({ access }: Host): Partial<Host> {
  return { access: { level: (...sent) => access.level(...sent), filter: (...sent) => access.filter(...sent) } };
}

describe('annotations on a host without access lists, flags, users and groups', () => {
  let at: InstalledSpecimens;
  /** A specimen in an open cabinet of `keeper`, where `editor` may write. */
  let open: string;
  /** A specimen in a closed cabinet. */
  let closed: string;
  beforeAll(async () => {
    at = await startSpecimens(minimal);
    expect([at.host.directory, at.host.events, at.host.notify]).toEqual([undefined, undefined, undefined]);
    const { Badges, Cabinets, Specimens } = at.server;
    for (const person of ['keeper', 'editor', 'stranger', 'curator']) await Badges.create({ secret: `${person}-badge`, person });
    const specimenIn = async (isOpen: boolean) => {
      const cabinet = await Cabinets.create({ title: 'c', owner: 'keeper', open: isOpen, roles: { editor: 'editor' } });
      return (await Specimens.create({ title: 's', cabinet: cabinet._id })).id as string;
    };
    [open, closed] = [await specimenIn(true), await specimenIn(false)];
  });
  afterAll(() => at?.close());

  async function send(
    person: string | null,
    method: string,
    path: string,
    json?: unknown,
  ): Promise<{ status: number; body: Json }> {
    const headers = { ...(person !== null && { Authorization: `Bearer ${person}-badge` }), 'Content-Type': 'application/json' };
    const sent = json === undefined ? {} : { body: JSON.stringify(json) };
    const response = await fetch(`${at.api}/annotation${path}`, { method, headers, ...sent });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Json };
  }
  async function create(person: string, item: string, json: unknown = { name: 'a', elements: [point(1)] }): Promise<string> {
    const { status, body } = await send(person, 'POST', `?itemId=${item}`, json);
    expect(status, JSON.stringify(body)).toBe(200);
    return String(body._id);
  }

  it('belong to their creator, and are public when the folder is', async () => {
    const id = await create('editor', open);
    expect((await send(null, 'GET', `/${id}`)).body).toMatchObject({ public: true, creatorId: 'editor', _accessLevel: 0 });
    expect((await send('editor', 'GET', `/${id}/access`)).body).toEqual({
      users: [{ id: 'editor', level: 2, flags: [], login: 'editor', name: 'editor' }],
      groups: [],
    });
    const hidden = await create('editor', closed);
    const statuses = await Promise.all(
      [null, 'stranger', 'keeper', 'editor', 'curator'].map((person) => send(person, 'GET', `/${hidden}`)),
    );
    expect(statuses.map(({ status }) => status)).toEqual([401, 403, 403, 200, 200]);
    expect((await send('stranger', 'POST', `?itemId=${open}`, {})).status).toBe(403);
  });

  it('are edited, copied, given away, searched and deleted', async () => {
    const id = await create('keeper', open, { name: 'edited', elements: [point(1), point(2, { group: 'g' })] });
    expect((await send('keeper', 'PATCH', `/${id}`, [{ op: 'replace', path: 'name', value: 'renamed' }])).status).toBe(204);
    expect((await send('keeper', 'POST', `/${id}/elements`, point(3))).body).toMatchObject({ added: 1, _elementCount: 3 });
    expect((await send('stranger', 'PUT', `/${id}`, { name: 'x' })).status).toBe(403);
    const list = encodeURIComponent(
      JSON.stringify({
        users: [
          { id: 'keeper', level: 2 },
          { id: 'stranger', level: 0 },
        ],
      }),
    );
    expect((await send('keeper', 'PUT', `/${id}/access?access=${list}&public=false`)).status).toBe(200);
    expect((await send('stranger', 'GET', `/${id}`)).status).toBe(200);
    expect((await send('editor', 'GET', `/${id}`)).status).toBe(403);
    const copy = await send('keeper', 'POST', `/${id}/copy?itemId=${closed}`);
    expect([copy.status, elementsOf(copy.body).length, copy.body.public]).toEqual([200, 3, false]);
    const foundItems = async (person: string | null) =>
      ((await send(person, 'GET', '?text=renamed')).body as unknown as Json[]).map(({ itemId }) => itemId);
    expect([await foundItems(null), await foundItems('stranger'), await foundItems('keeper')]).toEqual([
      [],
      [open],
      [open, closed],
    ]);
    expect((await send('keeper', 'GET', `?userId=keeper`)).body).toHaveLength(2);
    const { cabinet } = (await at.server.Specimens.findById(open).lean())!;
    expect((await send('keeper', 'GET', `/folder/${String(cabinet)}`)).body).toHaveLength(1);
    expect((await send('keeper', 'GET', `/folder/${String(cabinet)}/create`)).body).toBe(true);
    expect((await send('stranger', 'GET', `/folder/${String(cabinet)}/create`)).body).toBe(false);
    expect((await send(null, 'GET', `/counts?items=${open}`)).body).toEqual({ [open]: 1 });
    expect((await send('keeper', 'DELETE', `/${id}`)).status).toBe(200);
    expect((await send('keeper', 'GET', `/${id}`)).status).toBe(404);
  });

  it('go with their item', async () => {
    const { cabinet } = (await at.server.Specimens.findById(open).lean())!;
    const specimen = await at.server.Specimens.create({ title: 'short-lived', cabinet });
    const id = await create('keeper', specimen.id as string);
    await at.server.Specimens.findByIdAndDelete(specimen._id);
    expect((await send('keeper', 'GET', `/${id}`)).status).toBe(404);
  });
});
