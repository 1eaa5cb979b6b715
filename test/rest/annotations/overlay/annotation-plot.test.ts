import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { elementId, point, startAnnotated, type Annotated } from '../../../support/hosts/annotated.js';
import type { Client } from '../../../support/hosts/reference-host.js';

type Json = Record<string, unknown>;
type Column = { key: string; title: string; type: string; count: number } & Json;
interface Rows {
  columns: (Column & { index: number })[];
  data: unknown[][];
}

describe('the route for plot data', () => {
  let at: Annotated;
  let open: string;
  let secret: string;
  let secondItem: string;

  const rectangle = (n: number, more: Json = {}) => ({
    type: 'rectangle',
    id: elementId(n),
    center: [n * 100, n * 100, 0],
    width: 20,
    height: 10,
    ...more,
  });
  const csv = [
    'Area,lowx,lowy,highx,highy,note',
    '10.5,90.4,94,111,105,first',
    '20,191,195,210,204,second',
    '30,5000,5000,5010,5010,nowhere',
    '',
  ].join('\n');

  beforeAll(async () => {
    at = await startAnnotated();
    await at.admin.ok('PUT', `/item/${at.item}/metadata`, {
      json: { stain: 'H&E', Scores: [1, 2, 3], nested: { depth: { deeper: 1 }, quality: 0.5, list: [7, 8] } },
    });
    await at.admin.ok('PUT', `/folder/${at.publicFolder}/metadata`, {
      json: {
        cohort: 'A',
        slides: [
          { image_name: 'slide one', grade: 3 },
          { image_name: 'slide two', grade: 4 },
          { image_name: 'unknown', grade: 5 },
        ],
      },
    });
    const elements = [
      rectangle(1, { group: 'tumor', label: { value: 'one' }, user: { nucleus: { area: 10 } } }),
      rectangle(2, { group: 'stroma', user: { nucleus: { area: 20 } } }),
      rectangle(3, { user: { nucleus: { area: -5 } } }),
    ];
    open = (await at.annotate({ name: 'nuclei', description: 'all', attributes: { model: 'v2' }, elements }))._id;
    secret = (await at.annotate({ name: 'private', attributes: { hidden: 'x' }, elements: [point(1, { user: { leaked: 1 } })] }))
      ._id;
    await at.admin.ok('PUT', `/annotation/${secret}/access`, { query: { access: '{"users":[],"groups":[]}', public: false } });
    secondItem = await at.admin.create('/item', { folderId: at.publicFolder, name: 'slide two.svs' });
    await at.annotate({ name: 'nuclei', elements: [rectangle(9, { user: { nucleus: { area: 90 } } })] }, { on: secondItem });
    await at.annotate({ name: 'others', elements: [rectangle(8)] }, { on: secondItem });
    const query = { parentType: 'item', parentId: at.item, name: 'measures.CSV', size: csv.length };
    await at.admin.ok('POST', '/file', { query, body: csv });
  });
  afterAll(() => at?.close());

  const allAnnotations = JSON.stringify(['__all__']);
  const path = (kind: 'list' | 'data', item = at.item) => `/annotation/item/${item}/plot/${kind}`;
  const list = async (form: Record<string, string>, as: Client = at.admin) =>
    (await as.ok('POST', path('list'), { form })) as unknown as Column[];
  const data = async (form: Record<string, string>, as: Client = at.admin) =>
    (await as.ok('POST', path('data'), { form })) as unknown as Rows;
  const keysOf = (columns: readonly { key: string }[]) => columns.map(({ key }) => key);

  it('lists the columns of folder, item, annotation, elements and files, in order', async () => {
    const columns = await list({ annotations: allAnnotations });
    expect(keysOf(columns)).toEqual([
      'item.description',
      'item.id',
      'item.name',
      // Columns with several values come first.
      'annotation.id',
      'annotation.name',
      'annotation.description',
      'annotationelement.group',
      'annotationelement.id',
      'annotationelement.type',
      'annotationelement.label',
      'data.area.0',
      'data.scores.0',
      'data.nested.list.0',
      'data.note.0',
      'data.nucleus.area',
      'data.cohort',
      'data.hidden',
      'data.leaked',
      'data.model',
      'data.nested.quality',
      'data.slides.0.grade',
      'data.stain',
      'bbox.x1',
      'bbox.y1',
      'bbox.x0',
      'bbox.y0',
    ]);
    const byKey = Object.fromEntries(columns.map((column) => [column.key, column]));
    expect(byKey['data.nucleus.area']).toEqual({
      key: 'data.nucleus.area',
      title: 'nucleus area',
      type: 'number',
      count: 3,
      distinct: [-5, 10, 20],
      distinctcount: 3,
      min: -5,
      max: 20,
    });
    expect(byKey['annotationelement.group']).toEqual({
      key: 'annotationelement.group',
      title: 'Annotation Element Group',
      type: 'string',
      count: 2,
      distinct: ['stroma', 'tumor'],
      distinctcount: 2,
    });
    expect(byKey['data.scores.0']).toMatchObject({ title: 'Scores', count: 3, min: 1, max: 3 });
    expect(byKey['data.area.0']).toMatchObject({ title: 'Area', type: 'number', count: 3, max: 30 });
  });

  it('shows no annotation that the caller cannot read', async () => {
    for (const annotations of [allAnnotations, JSON.stringify([secret]), JSON.stringify([open, secret])]) {
      const keys = keysOf(await list({ annotations }, at.stranger));
      expect(keys).not.toContain('data.hidden');
      expect(keys).not.toContain('data.leaked');
    }
    const rows = await data({ annotations: allAnnotations, keys: 'annotation.name,data.leaked' }, at.host.anonymous);
    expect(rows.data).toEqual([['nuclei']]);
    expect(keysOf(await list({ annotations: allAnnotations }))).toContain('data.leaked');
    expect(await at.stranger.fails('POST', path('list', at.privateItem))).toMatchObject({ status: 403 });
  });

  it('returns rows of elements with the values of annotation and item, without incomplete ones', async () => {
    const form = { annotations: JSON.stringify([open]), sources: 'item,annotation,annotationelement' };
    const { columns, data: rows } = await data({
      ...form,
      keys: 'data.nucleus.area,item.name,annotation.name,annotationelement.group,no.such',
      requiredKeys: 'annotationelement.group',
    });
    expect(columns.map(({ key, index }) => [key, index])).toEqual([
      ['item.name', 0],
      ['annotation.name', 1],
      ['annotationelement.group', 2],
      ['data.nucleus.area', 3],
    ]);
    expect(rows).toEqual([
      ['slide one.svs', 'nuclei', 'tumor', 10],
      ['slide one.svs', 'nuclei', 'stroma', 20],
    ]);
    const boxes = await data({ ...form, keys: 'bbox.x0,bbox.y0,bbox.x1,bbox.y1' });
    expect(boxes.columns.map(({ key, title }) => [key, title])).toEqual([
      ['bbox.x1', 'Bounding Box High X'],
      ['bbox.y1', 'Bounding Box High Y'],
      ['bbox.x0', 'Bounding Box Low X'],
      ['bbox.y0', 'Bounding Box Low Y'],
    ]);
    expect(boxes.data).toEqual([1, 2, 3].map((n) => [n * 100 + 10, n * 100 + 5, n * 100 - 10, n * 100 - 5]));
    expect(await data({ ...form, keys: 'no.such' })).toEqual({ columns: [], data: [] });
    const scores = await data({ keys: 'data.scores.0,data.stain' });
    expect(scores.data).toEqual([
      [null, 'H&E'],
      [1, 'H&E'],
      [2, 'H&E'],
      [3, 'H&E'],
    ]);
  });

  it('uses only the requested sources, reads data files, and finds elements by their boxes', async () => {
    const ofFiles = keysOf(await list({ annotations: allAnnotations, sources: 'datafile' }));
    expect(ofFiles).toEqual(['data.area.0', 'data.note.0', 'bbox.x1', 'bbox.y1', 'bbox.x0', 'bbox.y0']);
    expect(keysOf(await list({ sources: 'folder' }))).toEqual(['data.cohort', 'data.slides.0.grade']);
    const { data: rows } = await data({
      annotations: JSON.stringify([open]),
      keys: 'annotationelement.group,data.area.0,data.note.0',
      requiredKeys: 'data.area.0',
    });
    expect(rows).toEqual([
      [null, 30, 'nowhere'],
      ['tumor', 10.5, 'first'],
      ['stroma', 20, 'second'],
    ]);
  });

  it('includes adjacent items with annotations of the same names, and rows about them', async () => {
    const form = {
      annotations: JSON.stringify([open]),
      keys: 'item.name,annotation.name,data.nucleus.area',
      requiredKeys: 'data.nucleus.area',
    };
    const rows = async (adjacentItems: string) =>
      (await data({ ...form, adjacentItems })).data.map(([name, , area]) => [name, area]);
    const ownRows = [10, 20, -5].map((area) => ['slide one.svs', area]);
    expect(await rows('false')).toEqual(ownRows);
    // The other item is not a large image.
    expect(await rows('true')).toEqual(ownRows);
    expect(await rows('__all__')).toEqual([...ownRows, ['slide two.svs', 90]]);
    const grades = await data({
      adjacentItems: '__all__',
      keys: 'item.name,data.slides.0.grade',
      requiredKeys: 'data.slides.0.grade',
    });
    expect(grades.data).toEqual([
      ['slide one.svs', 3],
      ['slide two.svs', 4],
    ]);
    expect(
      await at.admin.ok('POST', path('list', at.privateItem), { form: { adjacentItems: 'true', annotations: allAnnotations } }),
    ).toBeInstanceOf(Array);
  });

  it('answers without computed columns, and null to a superseded request', async () => {
    const compute = JSON.stringify({ columns: ['bbox.x0', 'bbox.y0'], function: 'umap', params: {} });
    const form = { annotations: allAnnotations, keys: 'bbox.x0,compute.x', requiredKeys: 'compute.x,bbox.x0', compute };
    expect(keysOf((await data(form)).columns)).toEqual(['bbox.x0']);
    const answers = await Promise.all([1, 2, 3, 4, 5, 6].map(() => data({ ...form, uuid: 'view' })));
    expect(answers.filter((answer) => answer !== null).length).toBeGreaterThanOrEqual(1);
    expect(await data({ ...form, uuid: 'view' })).not.toBeNull();
  });

  it.each<[Record<string, string>, string]>([
    [{}, 'Parameter "keys" is required.'],
    [{ keys: 'a', annotations: 'x' }, 'Parameter annotations must be valid JSON.'],
    [{ keys: 'a', annotations: '{}' }, 'Parameter annotations must be a JSON array.'],
    [{ keys: 'a', annotations: '["x"]' }, 'Invalid ObjectId: x'],
    [{ keys: 'a', annotations: '[5]' }, 'Invalid ObjectId: 5'],
    [{ keys: 'a', adjacentItems: 'bad' }, 'Invalid value for adjacentItems: "bad". Allowed values: false, true, __all__.'],
    [{ keys: 'a', sources: 'item,nothing' }, 'Invalid value for sources: "nothing"'],
    [{ keys: 'a', compute: '[' }, 'Parameter compute must be valid JSON.'],
  ])('refuses %j', async (form, message) => {
    expect(await at.admin.fails('POST', path('data'), { form })).toMatchObject({
      status: 400,
      message: expect.stringContaining(message) as string,
    });
  });

  it('refuses items that do not exist', async () => {
    const unknown = 'f'.repeat(24);
    expect(await at.admin.fails('POST', path('list', unknown))).toMatchObject({ message: `Invalid item id (${unknown}).` });
    expect(await at.admin.fails('POST', path('list', 'x'))).toMatchObject({ message: 'Invalid ObjectId: x' });
  });
});
