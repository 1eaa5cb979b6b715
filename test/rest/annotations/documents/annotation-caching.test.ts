import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { elementId, point, startAnnotated, type Annotated } from '../../../support/hosts/annotated.js';

describe('annotations in the cache of a client', () => {
  let at: Annotated;
  let id: string;
  beforeAll(async () => {
    at = await startAnnotated();
    const elements = [point(1, { id: elementId(1) }), point(2, { id: elementId(2) })];
    ({ _id: id } = await at.annotate({ name: 'kept', elements }, { on: at.privateItem }));
  });
  afterAll(() => at?.close());

  const paths = () => [
    `/annotation/${id}`,
    `/annotation/${id}?centroids=true`,
    `/annotation/${id}?left=0.5&right=1.5`,
    `/annotation/${id}/geojson`,
    `/annotation/${id}/elements/${elementId(1)}`,
    `/annotation/${id}/history`,
    `/annotation/item/${at.privateItem}`,
  ];
  const get = (client: typeof at.admin, path: string, headers: Record<string, string> = {}) => {
    const [bare, query] = path.split('?');
    return client.send('GET', bare!, { query: [...new URLSearchParams(query)], headers });
  };

  it('are confirmed by 304 while they are current, also by a weak tag or by one of several; If-Match requires the exact tag', async () => {
    for (const path of paths()) {
      const first = await get(at.admin, path);
      const tag = first.headers.get('etag')!;
      expect([path, first.status, tag, first.headers.get('cache-control')]).toEqual([
        path,
        200,
        expect.stringMatching(/^"[0-9a-f]{32}"$/),
        'private, no-cache',
      ]);
      for (const listed of [tag, `W/${tag}`, `"a", W/"b" , ${tag}`, '*']) {
        const again = await get(at.admin, path, { 'If-None-Match': listed });
        expect([path, listed, again.status, again.bytes.length, again.headers.get('etag')]).toEqual([path, listed, 304, 0, tag]);
      }
      expect((await get(at.admin, path, { 'If-None-Match': '"a", W/"b"' })).status).toBe(200);
      expect((await get(at.admin, path, { 'If-Match': '"a"' })).status).toBe(412);
      expect((await get(at.admin, path, { 'If-Match': `W/${tag}` })).status).toBe(412);
      expect((await get(at.admin, path, { 'If-Match': `"a", ${tag}` })).status).toBe(200);
    }
  });

  it('get a new tag with each change of document, elements or access', async () => {
    const tags = async () => Promise.all(paths().map(async (path) => (await get(at.admin, path)).headers.get('etag')));
    const changes = [
      () => at.admin.ok('PATCH', `/annotation/${id}`, { json: [{ op: 'replace', path: 'name', value: 'other' }] }),
      () => at.admin.ok('POST', `/annotation/${id}/elements`, { json: point(3) }),
      () => at.admin.ok('PUT', `/annotation/${id}/metadata`, { json: { a: 1 } }),
      () =>
        at.admin.ok('PUT', `/annotation/${id}/access`, {
          query: { access: JSON.stringify({ users: [{ id: at.reader.id, level: 0 }] }), public: 'false' },
        }),
    ];
    let before = await tags();
    for (const [i, change] of changes.entries()) {
      await change();
      const after = await tags();
      for (const [place, tag] of after.entries())
        expect([i, paths()[place], tag]).not.toEqual([i, paths()[place], before[place]]);
      before = after;
    }
  });

  it('have different tags for each caller: others get no 304 for a tag that is not theirs, and nothing they may not read', async () => {
    for (const path of paths()) {
      const tag = (await get(at.admin, path)).headers.get('etag')!;
      expect([path, (await get(at.reader, path, { 'If-None-Match': tag })).status]).toEqual([path, 200]);
      const refused = await get(at.stranger, path, { 'If-None-Match': tag });
      if (path.endsWith('/history')) expect(refused.body).toEqual([]);
      else expect([path, refused.status]).toEqual([path, 403]);
    }
    expect((await get(at.admin, `/annotation/${id}/elements/${elementId(9)}`, { 'If-None-Match': '*' })).status).toBe(404);
  });
});
