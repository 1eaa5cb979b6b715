import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { schemaFor } from '../../../../src/annotation-format/schema/document.js';
import {
  elementId,
  elementsOf,
  parseCentroids,
  point,
  startAnnotated,
  type Annotated,
} from '../../../support/hosts/annotated.js';
import { until } from '../../../support/run/until.js';

type Json = Record<string, unknown>;
const prefix = "Validation Error: JSON doesn't follow schema (";
const unknownId = 'f'.repeat(24);

describe('the interface for annotation documents', () => {
  let at: Annotated;
  beforeAll(async () => {
    at = await startAnnotated({ checksAnswers: true });
  });
  afterAll(() => at?.close());

  const post = (sending: object) => at.admin.send('POST', '/annotation', { query: { itemId: at.item }, ...sending });
  const countAll = async () => Number((await at.admin.send('GET', '/annotation')).headers.get('girder-total-count'));

  it('serves the schema by which it validates, with the field of the brand', async () => {
    expect(await at.host.anonymous.ok('GET', '/annotation/schema')).toEqual(schemaFor('girder'));
  });

  it('creates a document with ids for its elements, and returns it', async () => {
    const json = {
      name: 'first',
      attributes: { $where: 1, 'a.b': [null] },
      elements: [point(1), point(2, { id: elementId(2), group: 'a' })],
    };
    const created = await at.annotate(json);
    expect(created).toMatchObject({ itemId: at.item, groups: ['a', null], _elementCount: 2, _detailsCount: 2, _accessLevel: 2 });
    const elements = elementsOf(created);
    expect(elements.map(({ id }) => id)).toEqual([expect.stringMatching(/^[0-9a-f]{24}$/), elementId(2)]);
    const loaded = await at.stranger.ok('GET', `/annotation/${created._id}`);
    expect(Object.keys(loaded).toSorted()).toEqual(
      [
        '_accessLevel',
        '_detailsCount',
        '_elementCount',
        '_elementQuery',
        '_id',
        '_modelType',
        '_version',
        'annotation',
        'created',
      ].concat(['creatorId', 'groups', 'itemId', 'public', 'updated', 'updatedId']),
    );
    expect(elementsOf(loaded)).toEqual(elements);
    expect(loaded.annotation).toEqual({ name: 'first', attributes: json.attributes, elements });
    expect(loaded).toMatchObject({
      _accessLevel: -1,
      _elementQuery: { count: 2, returned: 2, details: 2, offset: 0, sort: ['_id', 1], filter: { annotationId: created._id } },
    });
  });

  it('gives a name to a document that has none, unless the document is empty', async () => {
    const name = expect.stringMatching(/^Annotation \d{4}-\d\d-\d\d \d\d:\d\d$/) as unknown;
    for (const json of [{ name: '' }, { name: null }, { elements: [] }, { description: 'x' }]) {
      expect((await at.annotate(json)).annotation).toMatchObject({ name });
    }
    expect((await at.annotate({})).annotation).not.toHaveProperty('name');
  });

  it('accepts GeoJSON of every form as one annotation, and returns it', async () => {
    const feature = (x: number, properties: Json = {}) => ({
      type: 'Feature',
      geometry: { type: 'Point', coordinates: [x, x] },
      properties,
    });
    const named = feature(1, { annotation: { name: 'from geojson', attributes: { a: 1 } }, fillColor: '#fff' });
    const bodies = [
      { type: 'FeatureCollection', features: [named, feature(2)] },
      [named, feature(2)],
      [{ type: 'FeatureCollection', features: [named, feature(2)] }],
    ];
    for (const json of bodies) {
      const created = await at.annotate(json);
      expect(created.annotation).toMatchObject({ name: 'from geojson', attributes: { a: 1 } });
      expect(elementsOf(created)).toMatchObject([{ type: 'point', center: [1, 1, 0], fillColor: '#fff' }, { center: [2, 2, 0] }]);
      const back = await at.stranger.ok('GET', `/annotation/${created._id}/geojson`);
      expect(back).toMatchObject({
        type: 'FeatureCollection',
        features: [{ properties: { annotation: { name: 'from geojson' } } }, {}],
      });
    }
    expect(elementsOf(await at.annotate(feature(5)))).toMatchObject([{ center: [5, 5, 0] }]);
    expect(
      elementsOf(
        await at.annotate({
          type: 'LineString',
          coordinates: [
            [0, 0],
            [1, 1],
          ],
        }),
      ),
    ).toMatchObject([{ closed: false }]);
    for (const json of [
      { type: 'FeatureCollection', features: [] },
      { type: 'FeatureCollection' },
      { type: 'GeometryCollection', geometries: [] },
    ]) {
      expect(await post({ json })).toMatchObject({
        status: 400,
        body: { type: 'rest', message: expect.stringMatching(/GeoJSON/) },
      });
    }
    expect((await at.admin.send('GET', `/annotation/${(await at.annotate({}))._id}/xml`)).body).toMatchObject({
      message: 'Invalid value for format: "xml". Allowed values: geojson, qupath, table.csv, table.arrow, table.parquet.',
    });
  });

  it('refuses invalid documents, and stores nothing', async () => {
    const before = await countAll();
    const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) });
    const bad: [unknown, RegExp][] = [
      [{ name: 5, elements: [point(1)] }, /name: must be a string/],
      [{ elements: [{ type: 'nope' }] }, /elements\[0\]\.type: must be one of/],
      [{ elements: [point(1), { type: 'circle', center: [1, 2], radius: -1 }] }, /elements\[1\]\.center/],
      [{ elements: [point(1, { id: elementId(1) }), point(2, { id: elementId(1) })] }, /IDs are not unique/],
      [{ elements: [point(1, { user: deep(100) })] }, /nested deeper/],
      [{ elements: [7] }, /elements\[0\]: must be an object/],
      [{ elements: null }, /elements: must be an array/],
      [{ elements: {} }, /elements: must be an array/],
      [{ attributes: deep(100) }, /nested deeper/],
      [{ unknown: 1 }, /Additional properties/],
      [[{ name: 'a' }], /document: must be an object/],
      [7, /document: must be an object/],
    ];
    for (const [json, message] of bad) {
      const { status, body } = await post({ json });
      expect({ status, message: body.message }, JSON.stringify(json).slice(0, 80)).toEqual({
        status: 400,
        message: expect.stringMatching(message),
      });
      expect(String(body.message).startsWith(prefix)).toBe(true);
    }
    for (const body of [
      '{"attributes":{"__proto__":{"a":1}}}',
      '{"elements":[{"type":"point","center":[1,1,0],"user":{"__proto__":1}}]}',
    ]) {
      expect((await post({ body })).body).toMatchObject({ message: expect.stringMatching(/__proto__/) });
    }
    for (const [body, message] of [
      ['{"elements":[{"type":"point","center":[NaN,1,0]}]}', 'Error: "NaN" is not valid JSON.'],
      ['{"elements":[{"type":"point","center":[1e400,1,0]}]}', /finite number/],
      ['', /Invalid JSON|must be passed/],
    ] as const) {
      const answer = await post({ body });
      expect(answer.status).toBe(400);
      expect(answer.body.message).toEqual(typeof message === 'string' ? message : expect.stringMatching(message));
    }
    const complete = JSON.stringify({ name: 'cut', attributes: { a: 'ä' }, elements: [point(1), point(2)] });
    for (let length = 1; length < Buffer.byteLength(complete); length += 3) {
      expect((await post({ body: Buffer.from(complete).subarray(0, length) })).status, complete.slice(0, length)).toBe(400);
    }
    expect(await countAll()).toBe(before);
  });

  it('refuses items that are missing, unnamed or inaccessible to the caller', async () => {
    const send = (client: typeof at.admin, itemId?: string) =>
      client.fails('POST', '/annotation', { query: itemId === undefined ? {} : { itemId }, json: {} });
    expect(await send(at.admin)).toMatchObject({ status: 400, message: 'No ID parameter passed: itemId', type: 'rest' });
    expect(await send(at.admin, 'x')).toMatchObject({
      status: 400,
      message: 'Invalid ObjectId: x',
      type: 'validation',
      field: 'id',
    });
    expect(await send(at.admin, unknownId)).toMatchObject({
      status: 400,
      message: `Invalid item id (${unknownId}).`,
      type: 'rest',
    });
    expect(await send(at.host.anonymous, at.item)).toMatchObject({ status: 401, message: 'You must be logged in.' });
    const denied = 'Write access and annotation creation access were denied for the item.';
    expect(await send(at.reader, at.privateItem)).toMatchObject({ status: 403, message: denied, type: 'rest' });
    expect(await send(at.stranger, at.privateItem)).toMatchObject({
      status: 403,
      message: `Read access denied for folder ${at.privateFolder} (user ${at.stranger.id}).`,
    });
  });

  it('stores nothing of a body that stops halfway', async () => {
    const before = await countAll();
    const { hostname, port } = new URL(at.host.url);
    const socket = connect(Number(port), hostname);
    const head = `POST /api/v1/annotation?itemId=${at.item} HTTP/1.1\r\nHost: x\r\nGirder-Token: ${at.admin.token}\r\nContent-Length: 1000000\r\n\r\n`;
    socket.write(`${head}{"name":"half","elements":[${JSON.stringify(point(1))},`);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.destroy();
    await closed;
    await until('nothing is left of it', async () => (await countAll()) === before);
    expect(await at.admin.ok('GET', '/annotation', { query: { name: 'half' } })).toEqual([]);
  });

  describe('with 200 points on a diagonal', () => {
    let id: string;
    beforeAll(async () => {
      const elements = Array.from({ length: 200 }, (_, i) =>
        point(i * 10, { group: `g${i % 3}`, fillColor: i % 2 ? '#fff' : '#000' }),
      );
      id = (await at.annotate({ name: 'many', elements }))._id;
    });
    const get = (query: Record<string, string | number>) => at.stranger.send('GET', `/annotation/${id}`, { query });
    const xs = (body: unknown) => elementsOf(body).map(({ center }) => (center as number[])[0]);

    it('returns those in a region, by size, in pages, within a budget', async () => {
      const region = await get({ left: 95, right: 131, top: 95, bottom: 131, bbox: 'true' });
      expect(xs(region.body)).toEqual([100, 110, 120, 130]);
      expect(region.body._elementQuery).toEqual({
        returned: 4,
        details: 4,
        offset: 0,
        sort: ['_id', 1],
        filter: {
          annotationId: id,
          _version: region.body._version,
          'bbox.highx': { $gte: 95 },
          'bbox.lowx': { $lt: 131 },
          'bbox.highy': { $gte: 95 },
          'bbox.lowy': { $lt: 131 },
        },
        bbox: { lowx: 99.5, lowy: 99.5, lowz: 0, highx: 130.5, highy: 130.5, highz: 0 },
      });
      expect(elementsOf(region.body)[0]!._bbox).toMatchObject({ lowx: 99.5, details: 1 });
      expect(elementsOf((await get({ bbox: 'false', limit: 1 })).body)[0]).not.toHaveProperty('_bbox');
      const page = await get({ limit: 3, offset: 5, sortdir: -1 });
      expect(xs(page.body)).toEqual([1940, 1930, 1920]);
      expect(page.body._elementQuery).toMatchObject({ count: 200, returned: 3, limit: 3, offset: 5, sort: ['_id', -1] });
      expect((await get({ maxDetails: 10 })).body._elementQuery).toMatchObject({ returned: 10, details: 10, maxDetails: 10 });
      expect((await get({ maxDetails: 5, minElements: 20 })).body._elementQuery).toMatchObject({ returned: 20, minElements: 20 });
      expect((await get({ left: 1e6 })).body._elementQuery).toMatchObject({ returned: 0 });
    });

    it('returns centroids: 28 bytes an element between two zero bytes', async () => {
      const answer = await get({ centroids: 'true', left: 95, right: 131, top: 95, bottom: 131 });
      expect(answer.headers.get('content-type')).toBe('application/octet-stream');
      const { json, records } = parseCentroids(answer);
      expect(records.map(([, x, y]) => [x, y])).toEqual([100, 110, 120, 130].map((x) => [x, x]));
      const { props, propskeys, returned, centroids } = json._elementQuery as Json & { props: unknown[][] };
      expect([returned, centroids, propskeys]).toEqual([4, true, ['type', 'fillColor', 'lineColor', 'lineWidth', 'closed']]);
      expect(records.map((record) => props[record[4]]![1])).toEqual(['#000', '#fff', '#000', '#fff']);
      expect((json.annotation as Json).elements).toEqual([]);
    });

    it('refuses bad numbers before anything is sent', async () => {
      for (const [name, value] of [
        ['left', 'x'],
        ['right', 'NaN'],
        ['minimumSize', '1e999'],
        ['limit', '1.5'],
        ['offset', '-1'],
        ['sortdir', '2'],
        ['sort', '$where'],
        ['maxDetails', 'all'],
      ]) {
        const { status, body } = await get({ [name!]: value! });
        expect({ status, message: body.message }, name).toEqual({ status: 400, message: expect.stringContaining(name!) });
      }
      expect(
        (
          await at.stranger.send('GET', `/annotation/${id}`, {
            query: [
              ['left', '1'],
              ['left', '2'],
            ],
          })
        ).status,
      ).toBe(400);
      expect((await get({ left: '', _: '123' })).body._elementQuery).toMatchObject({ returned: 200 });
    });

    it('answers conditional requests by a tag of version, caller and parameters, never for shared caches', async () => {
      const first = await get({ limit: 1 });
      const tag = first.headers.get('etag')!;
      expect(tag).toMatch(/^"[0-9a-f]{32}"$/);
      expect(first.headers.get('cache-control')).toBe('private, no-cache');
      const revalidate = (headers: Record<string, string>, client = at.stranger) =>
        client.send('GET', `/annotation/${id}`, { query: { limit: 1 }, headers });
      expect((await revalidate({ 'If-None-Match': tag })).status).toBe(304);
      expect((await revalidate({ 'If-Match': tag })).status).toBe(200);
      expect((await revalidate({ 'If-Match': '"0"' })).status).toBe(412);
      expect((await revalidate({ 'If-None-Match': tag }, at.admin)).status).toBe(200);
      expect((await get({ limit: 2 })).headers.get('etag')).not.toBe(tag);
      const access = JSON.stringify({ users: [{ id: at.stranger.id, level: 0 }], groups: [] });
      await at.admin.ok('PUT', `/annotation/${id}/access`, { query: { access } });
      expect((await revalidate({ 'If-None-Match': tag })).status).toBe(200);
    });
  });

  it('answers 404 for annotations that do not exist, 400 for invalid ids', async () => {
    expect(await at.admin.fails('GET', `/annotation/${unknownId}`)).toMatchObject({
      status: 404,
      message: 'Annotation not found',
      type: 'rest',
    });
    expect(await at.admin.fails('GET', '/annotation/nosuch')).toMatchObject({
      status: 400,
      message: 'Invalid ObjectId: nosuch',
      type: 'validation',
      field: 'id',
    });
    for (const [method, path, json] of [
      ['PUT', '', {}],
      ['PATCH', '', []],
      ['DELETE', ''],
      ['GET', '/geojson'],
      ['GET', '/access'],
      ['PUT', '/metadata', {}],
      ['POST', '/copy'],
    ] as const) {
      const answer = await at.admin.fails(method, `/annotation/${unknownId}${path}`, json === undefined ? {} : { json });
      expect(answer, `${method} ${path}`).toMatchObject({ status: 400, message: `Invalid annotation id (${unknownId}).` });
    }
  });

  it('replaces by PUT, but keeps the elements if the document has no list of them; refuses a record or GeoJSON', async () => {
    const created = await at.annotate({ name: 'old', description: 'd', elements: [point(1), point(2)] });
    const path = `/annotation/${created._id}`;
    const renamed = await at.admin.ok('PUT', path, { json: { name: 'new' } });
    expect(renamed.annotation).toEqual({ name: 'new' });
    expect(Number(renamed._version)).toBeGreaterThan(Number(created._version));
    expect(elementsOf(await at.admin.ok('GET', path))).toEqual(elementsOf(created));
    const replaced = await at.admin.ok('PUT', path, { json: { name: 'new', elements: [point(3)] } });
    expect(elementsOf(replaced)).toMatchObject([{ center: [3, 3, 0] }]);
    expect(replaced).toMatchObject({ created: created.created, creatorId: at.admin.id });
    const answer = await at.admin.ok('PUT', path);
    expect(answer.annotation).toEqual(replaced.annotation);
    for (const json of [replaced, { type: 'FeatureCollection', features: [] }, { elements: [{}] }, []]) {
      const { status, body } = await at.admin.send('PUT', path, { json });
      expect([status, String(body.message).startsWith(prefix)], JSON.stringify(body)).toEqual([400, true]);
    }
    expect((await at.admin.send('PUT', path, { body: '{"name":' })).status).toBe(400);
    expect((await at.admin.ok('GET', path)).annotation).toEqual(replaced.annotation);
    const other = await at.admin.create('/item', { folderId: at.publicFolder, name: 'other' });
    expect(await at.admin.ok('PUT', path, { query: { itemId: other } })).toMatchObject({ itemId: other });
    expect(await at.admin.fails('PUT', path, { query: { itemId: 'nosuch' } })).toMatchObject({
      status: 400,
      message: 'Invalid ObjectId: nosuch',
      field: 'id',
    });
    expect(await at.admin.fails('PUT', path, { query: { itemId: unknownId } })).toMatchObject({
      status: 400,
      message: `Invalid item id (${unknownId}).`,
    });
  });

  it('patches fields and elements, all or none', async () => {
    const created = await at.annotate({
      name: 'p',
      description: 'd',
      elements: [point(1, { id: elementId(1) }), point(2, { id: elementId(2) })],
    });
    const path = `/annotation/${created._id}`;
    const patch = (json: unknown) => at.admin.send('PATCH', path, { json });
    const patched = await patch([
      { op: 'replace', path: 'name', value: 'q' },
      { op: 'remove', path: '/description' },
      { op: 'add', path: 'attributes', value: { k: 'v' } },
      { op: 'replace', path: `elements/id:${elementId(1)}/center/0`, value: 9 },
      { op: 'remove', path: `elements/id:${elementId(2)}` },
      { op: 'add', path: `elements/id:${elementId(3).toUpperCase()}`, value: point(3) },
    ]);
    expect([patched.status, patched.bytes.length]).toEqual([204, 0]);
    const current = await at.admin.ok('GET', path);
    expect(current.annotation).toEqual({
      name: 'q',
      attributes: { k: 'v' },
      elements: [
        { ...point(1), center: [9, 1, 0], id: elementId(1) },
        { ...point(3), id: elementId(3) },
      ],
    });
    expect((await patch({})).status).toBe(204);
    const cases: [unknown, string | RegExp][] = [
      [[{ op: 'move', path: 'name', value: 'x' }], 'patch has invalid op'],
      [[{ op: 'add', path: 'name' }], 'patch has invalid op'],
      [{ a: 1 }, 'patch missing op or path'],
      [[{ op: 'add', path: 'name', value: 'x' }], 'Cannot add name as it already exists'],
      [[{ op: 'remove', path: 'elements' }], 'patch path elements does not exist'],
      [[{ op: 'remove', path: 'elements/3' }], 'patch path elements/3 is not handled'],
      [[{ op: 'replace', path: 'name', value: 5 }], /^name: must be a string/],
      [
        [{ op: 'replace', path: `elements/id:${elementId(1)}/center`, value: 5 }],
        new RegExp(`^elements/id:${elementId(1)}\\.center: must be`),
      ],
      [[{ op: 'add', path: 'elements/id:xyz', value: point(1) }], /id/],
      [
        [
          { op: 'replace', path: 'name', value: 'lost' },
          { op: 'remove', path: 'elements/3' },
        ],
        /not handled/,
      ],
    ];
    for (const [json, message] of cases) {
      const { status, body } = await patch(json);
      expect({ status, ...(body as Json) }, JSON.stringify(json)).toMatchObject({
        status: 400,
        type: 'validation',
        message: typeof message === 'string' ? message : expect.stringMatching(message),
      });
    }
    expect((await at.admin.ok('GET', path)).annotation).toEqual(current.annotation);
  });

  it('deletes, and answers 404 for deleted annotations', async () => {
    const { _id } = await at.annotate({ name: 'gone' });
    const path = `/annotation/${_id}`;
    expect(await at.admin.ok('DELETE', path)).toBeNull();
    expect(await at.admin.ok('DELETE', path)).toBeNull();
    for (const [method, more] of [
      ['GET', ''],
      ['GET', '/geojson'],
      ['PUT', ''],
      ['PATCH', ''],
    ]) {
      const sending = method === 'PATCH' ? { json: [] } : {};
      expect(await at.admin.fails(method!, path + more!, sending), method).toMatchObject({
        status: 404,
        message: 'Annotation not found',
      });
    }
    expect(await at.admin.ok('GET', '/annotation', { query: { name: 'gone' } })).toEqual([]);
    await at.admin.ok('PUT', `${path}/history/revert`);
    expect(await at.admin.ok('GET', path)).toMatchObject({ annotation: { name: 'gone' } });
  });
});
