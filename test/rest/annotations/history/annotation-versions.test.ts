import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { elementsOf, point, startAnnotated, type Annotated } from '../../../support/hosts/annotated.js';
import { until } from '../../../support/run/until.js';

type Json = Record<string, unknown>;

describe('versions of annotations', () => {
  let at: Annotated;
  beforeAll(async () => {
    at = await startAnnotated({ checksAnswers: true });
  });
  afterAll(() => at?.close());

  const versionsOf = async (id: string) =>
    (await at.admin.ok('GET', `/annotation/${id}/history`)) as unknown as (Json & { _version: number })[];

  it('are listed newest first, without access, and read with their elements', async () => {
    const { _id } = await at.annotate({ name: 'one', elements: [point(1)] });
    await at.admin.ok('PUT', `/annotation/${_id}`, { json: { name: 'two', elements: [point(2), point(3)] } });
    await at.admin.ok('PATCH', `/annotation/${_id}`, { json: [{ op: 'replace', path: 'name', value: 'three' }] });
    const versions = await versionsOf(_id);
    expect(versions.map(({ annotation, _elementCount }) => [(annotation as Json).name, _elementCount])).toEqual([
      ['three', 2],
      ['two', 2],
      ['one', 1],
    ]);
    expect(versions[0]).not.toHaveProperty('_active');
    expect(versions[1]).toMatchObject({ _active: false, _annotationId: _id });
    for (const version of versions) expect(version).not.toHaveProperty('access');
    const first = await at.stranger.ok('GET', `/annotation/${_id}/history/${versions[2]!._version}`);
    expect(first).toMatchObject({ _annotationId: _id, _versionId: versions[2]!._id, _elementQuery: { count: 1 } });
    expect(elementsOf(first)).toMatchObject([{ center: [1, 1, 0] }]);
    const current = await at.stranger.ok('GET', `/annotation/${_id}/history/${versions[0]!._version}`);
    expect(current).toMatchObject({ _id, _versionId: _id });
    const page = await at.admin.ok('GET', `/annotation/${_id}/history`, { query: { limit: 1, offset: 1, sortdir: 1 } });
    expect(page.map((entry) => ((entry as Json).annotation as Json).name)).toEqual(['two']);
  });

  it('are returned in pages in every order, with the current one in its place', async () => {
    const counts = [3, 1, 2, 2, 0];
    const elements = (count: number) => Array.from({ length: count }, (_, i) => point(i));
    const { _id } = await at.annotate({ name: 'v0', elements: elements(counts[0]!) });
    for (const [i, count] of counts.slice(1).entries()) {
      await at.admin.ok('PUT', `/annotation/${_id}`, { json: { name: `v${i + 1}`, elements: elements(count) } });
    }
    const names = async (query: Record<string, string | number>) =>
      ((await at.admin.ok('GET', `/annotation/${_id}/history`, { query })) as Json[])
        .map(({ annotation }) => (annotation as { name: string }).name)
        .join();
    const orders = { '-1': 'v0,v3,v2,v1,v4', '1': 'v4,v1,v3,v2,v0' };
    for (const [sortdir, expected] of Object.entries(orders)) {
      for (let offset = 0; offset <= counts.length; offset += 1) {
        for (const limit of [0, 1, 2, 5]) {
          const page = expected.split(',').slice(offset, limit === 0 ? undefined : offset + limit);
          const query = { sort: '_elementCount', sortdir, offset, limit };
          expect([query, await names(query)]).toEqual([query, page.join()]);
        }
      }
    }
    expect(await names({ sort: 'no such field' })).toBe('v4,v3,v2,v1,v0');
    expect(await names({ sortdir: 1, limit: 2 })).toBe('v0,v1');
    expect(await names({ sort: 'updated', sortdir: 1, limit: 2 })).toBe('v0,v1');
  });

  it('are sent again only when there is a newer one', async () => {
    const { _id } = await at.annotate({ name: 'one', elements: [point(1)] });
    await at.admin.ok('PUT', `/annotation/${_id}`, { json: { name: 'two' } });
    const path = `/annotation/${_id}/history`;
    const tag = (await at.admin.send('GET', path)).headers.get('etag')!;
    const revalidate = (headers: Record<string, string>, query = {}) => at.admin.send('GET', path, { headers, query });
    for (const listed of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const answer = await revalidate({ 'If-None-Match': listed });
      expect([listed, answer.status, answer.bytes.length]).toEqual([listed, 304, 0]);
    }
    expect((await revalidate({ 'If-None-Match': tag }, { limit: 1 })).status).toBe(200);
    expect((await revalidate({ 'If-Match': '"other"' })).status).toBe(412);
    await at.admin.ok('PUT', `${path}/revert`);
    expect((await revalidate({ 'If-None-Match': tag })).status).toBe(200);
  });

  it('restore only the document when the annotation is reverted, as a new version', async () => {
    const { _id } = await at.annotate({ name: 'one', elements: [point(1)] });
    const path = `/annotation/${_id}`;
    await at.admin.ok('PUT', path, { json: { name: 'two', elements: [] } });
    await at.admin.ok('PUT', `${path}/access`, { query: { access: '{}', public: false } });
    const [, former] = await versionsOf(_id);
    const reverted = await at.admin.ok('PUT', `${path}/history/revert`);
    expect(reverted).toMatchObject({ annotation: { name: 'one' }, public: false });
    expect(elementsOf(await at.admin.ok('GET', path))).toMatchObject([{ center: [1, 1, 0] }]);
    expect(await versionsOf(_id)).toHaveLength(3);
    expect(await at.admin.ok('PUT', `${path}/history/revert`, { query: { version: former!._version } })).toMatchObject({
      annotation: { name: 'one' },
    });
    const message = 'Annotation history version not found.';
    for (const query of [{ version: 123456 }, { version: -1 }]) {
      expect(await at.admin.fails('PUT', `${path}/history/revert`, { query })).toMatchObject({
        status: 400,
        message,
        type: 'rest',
      });
    }
    const single = await at.annotate({ name: 'single' });
    expect(await at.admin.fails('PUT', `/annotation/${single._id}/history/revert`)).toMatchObject({ status: 400, message });
    expect(await at.admin.fails('GET', `/annotation/${single._id}/history/99999`)).toMatchObject({ status: 400, message });
    expect(await at.admin.fails('GET', `/annotation/${single._id}/history/x`)).toMatchObject({ status: 400 });
    expect(await at.admin.ok('GET', `/annotation/${'f'.repeat(24)}/history`)).toEqual([]);
    expect(await at.admin.fails('GET', '/annotation/x/history')).toMatchObject({ status: 400, message: 'Invalid ObjectId: x' });
  });

  it('are hidden from callers who cannot read, and require WRITE to revert', async () => {
    const { _id } = await at.annotate({ name: 'secret' }, { on: at.privateItem });
    await at.admin.ok('PUT', `/annotation/${_id}`, { json: { name: 'secret 2' } });
    const [current] = await versionsOf(_id);
    expect(await at.stranger.ok('GET', `/annotation/${_id}/history`)).toEqual([]);
    expect((await at.stranger.send('GET', `/annotation/${_id}/history/${current!._version}`)).status).toBe(403);
    expect((await at.reader.send('GET', `/annotation/${_id}/history/${current!._version}`)).status).toBe(200);
    expect((await at.reader.send('PUT', `/annotation/${_id}/history/revert`)).status).toBe(403);
    expect((await at.host.anonymous.send('PUT', `/annotation/${_id}/history/revert`)).status).toBe(401);
    expect((await at.writer.send('PUT', `/annotation/${_id}/history/revert`)).status).toBe(200);
  });

  it('are not kept while the setting is off, and release their elements', async () => {
    await at.admin.ok('PUT', '/system/setting', { query: { key: 'large_image.annotation_history', value: 'false' } });
    const { _id } = await at.annotate({ name: 'one', elements: [point(1)] });
    await at.admin.ok('PUT', `/annotation/${_id}`, { json: { elements: [point(2)] } });
    expect(await versionsOf(_id)).toHaveLength(1);
    await at.admin.ok('DELETE', `/annotation/${_id}`);
    expect(await at.admin.fails('GET', `/annotation/${_id}`)).toMatchObject({ status: 404 });
    expect(await at.admin.fails('DELETE', `/annotation/${_id}`)).toMatchObject({ status: 400 });
    expect(
      await at.admin.fails('PUT', '/system/setting', { query: { key: 'large_image.annotation_history', value: '"maybe"' } }),
    ).toMatchObject({
      status: 400,
      field: 'value',
      message: 'large_image.annotation_history must be a boolean.',
    });
    await at.admin.ok('PUT', '/system/setting', { query: { key: 'large_image.annotation_history', value: 'true' } });
  });

  it('are counted and removed for each annotation, except for the newest', async () => {
    const { _id } = await at.annotate({ name: 'aged', elements: [point(1)] });
    for (const n of [2, 3, 4])
      await at.admin.ok('PUT', `/annotation/${_id}`, { json: { name: `aged ${n}`, elements: [point(n)] } });
    const item = await at.admin.create('/item', { folderId: at.publicFolder, name: 'to be removed' });
    const lost = await at.annotate({ name: 'lost', elements: [point(1)] }, { on: item });
    await at.admin.ok('DELETE', `/item/${item}`);
    const db = at.host.host.context.models.item.db;
    const old = new Date(Date.now() - 40 * 24 * 3600 * 1000);
    await db.collection('large_image_annotation_version').updateMany({ annotationId: _id }, { $set: { updated: old } });
    await db.collection('large_image_annotation').updateMany({ itemId: item }, { $set: { updated: old } });
    const report = await at.admin.ok('GET', '/annotation/old', { query: { versions: 1 } });
    expect(report).toMatchObject({ oldVersions: 2, fromDeletedItems: 1 });
    expect(report).not.toHaveProperty('removedVersions');
    expect(await at.admin.ok('DELETE', '/annotation/old', { query: { versions: 1 } })).toMatchObject({ removedVersions: 3 });
    const versions = await versionsOf(_id);
    expect(versions.map(({ annotation }) => (annotation as Json).name)).toEqual(['aged 4', 'aged 3']);
    expect(elementsOf(await at.admin.ok('GET', `/annotation/${_id}/history/${versions[1]!._version}`))).toMatchObject([
      { center: [3, 3, 0] },
    ]);
    expect(await at.admin.ok('GET', `/annotation/${lost._id}/history`)).toEqual([]);
    expect(await at.admin.fails('DELETE', '/annotation/old', { query: { age: 6 } })).toMatchObject({
      status: 400,
      message: 'minAgeInDays must be >= 7',
    });
    expect(await at.admin.fails('GET', '/annotation/old', { query: { versions: -1 } })).toMatchObject({
      message: 'keepInactiveVersions must be non-negative',
    });
    expect(await at.admin.fails('GET', '/annotation/old', { query: { age: 'x' } })).toMatchObject({
      message: 'Invalid value for integer parameter age: x.',
    });
  });

  it('leave no unreferenced packs when history is off', async () => {
    await at.host.host.settings.set('large_image.annotation_history', false);
    const db = at.host.host.context.models.item.db;
    const packs = async () => {
      const names = (await db.listCollections()).map(({ name }) => name).filter((name) => name.includes('pack'));
      return Promise.all(names.map((name) => db.collection(name).countDocuments())).then((counts) =>
        counts.reduce((a, b) => a + b, 0),
      );
    };
    const before = await packs();
    const { _id } = await at.annotate({ elements: [point(1)] });
    expect(await packs()).toBeGreaterThan(before);
    await at.admin.ok('DELETE', `/annotation/${_id}`);
    await until('the packs are gone', async () => (await packs()) <= before);
    await at.host.host.settings.set('large_image.annotation_history', true);
  });
});
