import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { elementId, elementsOf, point, startAnnotated, type Annotated } from '../../../support/hosts/annotated.js';
import { until } from '../../../support/run/until.js';

describe('edits of elements', () => {
  let at: Annotated;
  let path: string;
  beforeAll(async () => {
    at = await startAnnotated({ checksAnswers: true });
  });
  afterAll(() => at?.close());

  const make = async () => {
    const annotation = await at.annotate({ name: 'edited', elements: [1, 2, 3].map((n) => point(n, { id: elementId(n) })) });
    path = `/annotation/${annotation._id}`;
    return annotation;
  };
  const ids = async () => elementsOf(await at.admin.ok('GET', path)).map(({ id }) => id);

  it('append, replace, merge and remove, and report the result', async () => {
    const annotation = await make();
    const added = await at.admin.ok('POST', `${path}/elements`, { json: [point(4, { id: elementId(4), group: 'g' }), point(5)] });
    expect(added).toMatchObject({ added: 2, replaced: 0, removed: 0, _elementCount: 5, _detailsCount: 5, groups: ['g', null] });
    expect(added.ids).toEqual([elementId(4), expect.stringMatching(/^[0-9a-f]{24}$/)]);
    expect(Number(added._version)).toBeGreaterThan(Number(annotation._version));
    expect(await at.admin.ok('PUT', `${path}/elements/${elementId(2)}`, { json: point(22) })).toMatchObject({
      replaced: 1,
      added: 0,
    });
    const merge = { json: { fillColor: '#f00', label: { value: 'x' } } };
    await at.admin.ok('PATCH', `${path}/elements/${elementId(1)}`, merge);
    await at.admin.ok('PATCH', `${path}/elements/${elementId(1)}`, { json: { label: { color: '#000' }, fillColor: null } });
    expect(await at.admin.ok('GET', `${path}/elements/${elementId(1)}`)).toEqual({
      ...point(1),
      id: elementId(1),
      label: { value: 'x', color: '#000' },
    });
    expect(await at.admin.ok('DELETE', `${path}/elements/${elementId(3)}`)).toMatchObject({ removed: 1, ids: [] });
    const bulk = {
      put: [point(44, { id: elementId(4) }), point(6, { id: elementId(6) })],
      remove: [elementId(1), elementId(99)],
    };
    expect(await at.admin.ok('PATCH', `${path}/elements`, { json: bulk })).toMatchObject({ added: 1, replaced: 1, removed: 1 });
    expect(await ids()).toEqual([elementId(2), elementId(4), (added.ids as unknown as string[])[1], elementId(6)]);
    expect(elementsOf(await at.admin.ok('GET', path)).map(({ center }) => (center as number[])[0])).toEqual([22, 44, 5, 6]);
  });

  it('are refused when they are invalid, and change nothing', async () => {
    await make();
    const before = await at.admin.ok('GET', path);
    const elementPath = `${path}/elements/${elementId(1)}`;
    const cases: [string, string, unknown, number, RegExp][] = [
      ['POST', `${path}/elements`, point(1, { id: elementId(1) }), 400, /Cannot add element 0*1 as it already exists/],
      ['POST', `${path}/elements`, [point(8), { type: 'circle' }], 400, /elements\[1\]/],
      ['POST', `${path}/elements`, [point(8, { id: elementId(8) }), point(9, { id: elementId(8) })], 400, /not unique/],
      ['POST', `${path}/elements`, 7, 400, /must be an object/],
      ['PATCH', `${path}/elements`, { puts: [] }, 400, /allowed: put, remove/],
      ['PATCH', `${path}/elements`, { put: {} }, 400, /put must be a list/],
      ['PATCH', `${path}/elements`, { remove: [5] }, 400, /remove must be a list/],
      ['PATCH', `${path}/elements`, { remove: ['$where'] }, 400, /Invalid ObjectId/],
      ['PUT', elementPath, { type: 'nope' }, 400, /type: must be one of/],
      ['PUT', elementPath, [], 400, /must be a JSON object/],
      ['PATCH', elementPath, { center: null }, 400, /center: is required/],
      ['PATCH', `${path}/elements/${elementId(77)}`, {}, 404, /no element/],
      ['DELETE', `${path}/elements/${elementId(77)}`, undefined, 404, /no element/],
      ['GET', `${path}/elements/${elementId(77)}`, undefined, 404, /no element/],
      ['DELETE', `${path}/elements/zz`, undefined, 400, /Invalid ObjectId/],
    ];
    for (const [method, route, json, status, message] of cases) {
      const answer = await at.admin.fails(method, route, json === undefined ? {} : { json });
      expect(answer, `${method} ${route}`).toMatchObject({ status, message: expect.stringMatching(message) });
    }
    const proto = '{"user":{"__proto__":{"a":1}}}';
    expect(await at.admin.fails('PATCH', elementPath, { body: proto })).toMatchObject({
      status: 400,
      message: expect.stringMatching(/__proto__/),
    });
    const deep = `${'{"user":'.repeat(5000)}1${'}'.repeat(5000)}`;
    expect(await at.admin.fails('PATCH', elementPath, { body: deep })).toMatchObject({ status: 400 });
    expect(await at.admin.ok('GET', path)).toEqual(before);
  });

  it('change only the version that If-Match names', async () => {
    const annotation = await make();
    const tag = (await at.admin.send('GET', path, { query: { limit: 1 } })).headers.get('etag')!;
    const send = (method: string, more: string, match: string, json?: unknown) =>
      at.admin.send(method, path + more, { headers: { 'If-Match': match }, ...(json !== undefined && { json }) });
    const first = await send('POST', '/elements', tag, point(10));
    expect(first.status).toBe(200);
    for (const match of [tag, `"${String(annotation._version)}"`, '"nonsense"', `W/${first.headers.get('etag')}`]) {
      const refused = await Promise.all([
        send('POST', '/elements', match, point(11)),
        send('PATCH', '', match, [{ op: 'replace', path: 'name', value: 'lost' }]),
        send('PUT', '', match, { name: 'lost' }),
        send('PUT', '/metadata', match, { lost: 1 }),
        send('DELETE', `/elements/${elementId(1)}`, match),
        send('DELETE', '', match),
      ]);
      expect(refused.map(({ status }) => status)).toEqual([412, 412, 412, 412, 412, 412]);
    }
    const second = await send('PATCH', '', `"0", ${first.headers.get('etag')}`, [{ op: 'replace', path: 'name', value: 'kept' }]);
    expect(second.status).toBe(204);
    const current = await at.admin.ok('GET', path);
    expect((await send('PUT', '', `"${String(current._version)}"`, { name: 'kept too' })).status).toBe(200);
    expect((await send('DELETE', '', '*')).status).toBe(200);
  });

  it('keep the changes of concurrent writers', async () => {
    await make();
    const writers = [10, 20, 30, 40].map(async (base) => {
      for (let i = 0; i < 4; i++)
        await at.admin.ok('POST', `${path}/elements`, { json: point(base + i, { id: elementId(base + i) }) });
    });
    const renames = async () => {
      for (const name of ['a', 'b', 'c'])
        await at.admin.ok('PATCH', path, { json: [{ op: 'replace', path: 'name', value: name }] });
    };
    const removes = async () => {
      for (const n of [1, 2]) await at.admin.ok('DELETE', `${path}/elements/${elementId(n)}`);
    };
    await Promise.all([...writers, renames(), removes()]);
    const current = await at.admin.ok('GET', path);
    const expected = [3, ...[10, 20, 30, 40].flatMap((base) => [0, 1, 2, 3].map((i) => base + i))].map(elementId);
    expect(
      elementsOf(current)
        .map(({ id }) => String(id))
        .toSorted(),
    ).toEqual(expected.toSorted());
    expect(current).toMatchObject({ _elementCount: 17, annotation: { name: 'c' } });
    const versions = (await at.admin.ok('GET', `${path}/history`)).map((entry) =>
      Number((entry as { _version: unknown })._version),
    );
    expect(versions.length).toBe(1 + 16 + 3 + 2);
    expect(new Set(versions).size).toBe(versions.length);
  });

  it('that replace all elements at the same time: one is accepted, the other refused', async () => {
    const { _id } = await make();
    const requests: IncomingMessage[] = [];
    // The messages of this channel are documented.
    const recordRequest = (message: unknown) => void requests.push((message as { request: IncomingMessage }).request);
    // The server reads a body only after it has loaded the annotation.
    const isRead = ({ method, readableDidRead }: IncomingMessage) => method === 'PUT' && readableDidRead;
    const slow = (name: string) => {
      const text = JSON.stringify({ name, elements: Array.from({ length: 2000 }, (_, i) => point(i)) });
      const half = text.length / 2;
      const body = new ReadableStream<Uint8Array>({
        async start(controller) {
          controller.enqueue(Buffer.from(text.slice(0, half)));
          await until('both are under way', () => requests.filter(isRead).length === 2);
          controller.enqueue(Buffer.from(text.slice(half)));
          controller.close();
        },
      });
      const headers = { 'Girder-Token': at.admin.token!, 'Content-Type': 'application/json' };
      // `duplex` is not in the types of fetch yet.
      const init = { method: 'PUT', headers, body, duplex: 'half' } as RequestInit;
      return fetch(`${at.host.url}/api/v1/annotation/${_id}`, init);
    };
    subscribe('http.server.request.start', recordRequest);
    const answers = await Promise.all([slow('one'), slow('two')]);
    unsubscribe('http.server.request.start', recordRequest);
    expect(answers.map(({ status }) => String(status)).toSorted()).toEqual(['200', '409']);
    const winner = answers[0]!.status === 200 ? 'one' : 'two';
    for (const answer of answers) await answer.arrayBuffer();
    expect(await at.admin.ok('GET', path)).toMatchObject({ annotation: { name: winner }, _elementCount: 2000 });
  });
});
