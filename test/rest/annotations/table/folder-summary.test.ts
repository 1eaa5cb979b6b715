import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { point, startAnnotated, type Annotated } from '../../../support/hosts/annotated.js';

type Json = Record<string, unknown>;

describe('the summary of the images of a folder', () => {
  let at: Annotated;
  let second: string;
  beforeAll(async () => {
    at = await startAnnotated({ checksAnswers: true });
    second = await at.admin.create('/item', { folderId: at.publicFolder, name: 'slide two.svs' });
    await at.admin.create('/item', { folderId: at.publicFolder, name: 'without annotations.svs' });
    const scored = (score: number, group?: string) => point(score, { ...(group && { group }), user: { score } });
    await at.annotate({ name: 'a', elements: [scored(1, 'tumor'), scored(3, 'tumor'), scored(100)] });
    await at.annotate({ name: 'b', elements: [scored(5, 'tumor'), point(1)] });
    await at.annotate({ name: 'c', elements: [point(1, { group: 'stroma', user: { other: true } })] }, { on: second });
    const hidden = await at.annotate({ name: 'hidden', elements: [scored(7)] }, { on: second });
    const access = { users: [{ id: at.admin.id, level: 2 }], groups: [] };
    await at.admin.ok('PUT', `/annotation/${hidden._id}/access`, { query: { access: JSON.stringify(access), public: false } });
    await at.annotate({ name: 'secret', elements: [point(1)] }, { on: at.privateItem });
  });
  afterAll(() => at?.close());

  const summary = (query: Json = {}, as = at.admin, folder = at.publicFolder) => {
    const texts = Object.entries(query).map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]);
    return as.send('GET', `/annotation/folder/${folder}/table/summary`, {
      query: Object.fromEntries(texts) as Record<string, string>,
    });
  };

  it('has one row for each image, with all its annotations that the caller may read', async () => {
    const query = { columns: ['/score'], by: 'group' };
    const { body } = await summary(query);
    expect(body).toMatchObject({ total: 2, offset: 0, by: 'group' });
    const images = new Map((body.images as unknown as Json[]).map((image) => [image.itemId, image]));
    const none = { count: 0, mean: null, deviation: null, min: null, max: null };
    expect(images.get(at.item)).toEqual({
      itemId: at.item,
      name: 'slide one.svs',
      annotations: 2,
      isCut: false,
      count: 5,
      categories: [
        { value: 'tumor', count: 3, columns: { '/score': { count: 3, mean: 3, deviation: 2, min: 1, max: 5 } } },
        { value: null, count: 2, columns: { '/score': { count: 1, mean: 100, deviation: null, min: 100, max: 100 } } },
      ],
    });
    expect(images.get(second)).toMatchObject({ annotations: 2, count: 2 });
    const visible = await summary(query, at.reader);
    expect((visible.body.images as unknown as Json[]).find(({ itemId }) => itemId === second)).toMatchObject({
      annotations: 1,
      count: 1,
      categories: [{ value: 'stroma', count: 1, columns: { '/score': none } }],
    });
  });

  it('summarizes the elements that match a filter, even if an annotation lacks its columns, and has pages', async () => {
    const filter = {
      or: [
        { column: '/score', gte: 3, lte: 10 },
        { column: '/other', in: [true] },
      ],
    };
    const { body } = await summary({ filter }, at.reader);
    const counts = (body.images as unknown as Json[]).map(({ itemId, count }) => [itemId, count]);
    expect(new Map(counts as [string, number][])).toEqual(
      new Map([
        [at.item, 2],
        [second, 1],
      ]),
    );
    const [first, last] = [await summary({ limit: 1 }), await summary({ limit: 1, offset: 1 })];
    const ids = [first, last].flatMap((answer) => (answer.body.images as unknown as Json[]).map(({ itemId }) => itemId));
    expect(ids).toEqual(counts.map(([id]) => id));
    expect((await summary({ offset: 5 })).body).toMatchObject({ total: 2, images: [] });
  });

  it('includes subfolders only on request, and only those that the caller may read', async () => {
    const below = await at.admin.create('/folder', { parentType: 'folder', parentId: at.privateFolder, name: 'below' });
    await at.annotate(
      { name: 'd', elements: [point(1)] },
      { on: await at.admin.create('/item', { folderId: below, name: 'deep' }) },
    );
    expect((await summary({}, at.admin, at.privateFolder)).body.total).toBe(1);
    expect((await summary({ recurse: true }, at.admin, at.privateFolder)).body.total).toBe(2);
    expect((await summary({}, at.stranger, at.privateFolder)).status).toBe(403);
  });

  it.each([
    [{ columns: ['group'] }, 'does not contain numbers'],
    [{ columns: Array.from({ length: 51 }, () => 'area') }, 'at most 50'],
    [{ columns: [1] }, 'list of column names'],
    [{ by: 'area' }, 'does not contain categories'],
    [{ filter: { column: 'group', gte: 1 } }, 'numeric column'],
    [{ filter: { code: 1 } }, 'a condition must have'],
    [{ limit: 101 }, 'limit'],
  ])('refuses %j with a sentence', async (query, says) => {
    const { status, body } = await summary(query);
    expect([status, body.message]).toEqual([400, expect.stringContaining(says)]);
  });
});
