import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAnnotated, type Annotated } from '../../../support/hosts/annotated.js';
import { casesOf } from '../../../support/run/sample.js';

const itemCount = casesOf(3000, 1 / 5);
const folderCount = 6;

const noteText = (i: number) => `note ${String(i).padStart(4, '0')}`;

/** Length of the longest `$in` anywhere in a query. */
function longestIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const length = '$in' in value && Array.isArray(value.$in) ? value.$in.length : 0;
  return Math.max(length, ...Object.values(value).map(longestIn));
}

describe('annotations of thousands of items', () => {
  let at: Annotated;
  let longest = 0;
  const queried = new Set<string>();

  beforeAll(async () => {
    at = await startAnnotated();
    const { item } = at.host.host.context.models;
    const { db } = item;
    const template = (await item.collection.findOne({ name: 'slide one.svs' }))!;
    const { _id } = await at.annotate({ name: 'template' });
    const { ObjectId } = db.base.Types;
    const head = (await db.collection('large_image_annotation').findOne({ name: 'template' }))!;
    const docs: { item: Record<string, unknown>; head: Record<string, unknown> }[] = [];
    for (let f = 0; f < folderCount; f += 1) {
      const folderId = await at.admin.create('/folder', {
        parentType: 'folder',
        parentId: at.publicFolder,
        name: `folder ${f}`,
      });
      for (let i = f; i < itemCount; i += folderCount) {
        const itemId = new ObjectId();
        docs.push({
          item: { ...template, _id: itemId, folderId: new ObjectId(folderId), name: `many ${i}`, lowerName: `many ${i}` },
          head: {
            ...head,
            _id: new ObjectId(),
            itemId: itemId.toHexString(),
            name: noteText(i),
            head: JSON.stringify({ name: noteText(i) }),
            created: new Date(1e12 + i * 1000),
            updated: new Date(1e12 + ((i * 7919) % itemCount) * 1000),
          },
        });
      }
    }
    await item.collection.insertMany(docs.map((doc) => doc.item));
    await db.collection('large_image_annotation').insertMany(docs.map((doc) => doc.head));
    await at.admin.ok('DELETE', `/annotation/${_id}`);
    db.base.set('debug', (collection: string, method: string, ...values: unknown[]) => {
      queried.add(`${collection}.${method}`);
      longest = Math.max(longest, longestIn(values));
    });
  });
  afterAll(async () => {
    at?.host.host.context.models.item.db.base.set('debug', false);
    await at?.close();
  });

  const inFolder = () => `/annotation/folder/${at.publicFolder}`;
  const names = (body: unknown) => (body as { annotation: { name: string } }[]).map(({ annotation }) => annotation.name);

  it('are listed by folder in order and pages', async () => {
    const page = await at.admin.send('GET', inFolder(), { query: { recurse: true, limit: 3, offset: itemCount / 3 } });
    expect(page.headers.get('girder-total-count')).toBe(String(itemCount));
    const last = itemCount - itemCount / 3 - 1;
    expect(names(page.body)).toEqual([last, last - 1, last - 2].map(noteText));
    const listed = await at.admin.ok('GET', inFolder(), { query: { recurse: true, limit: 0, sort: 'created', sortdir: 1 } });
    expect(names(listed)).toEqual(Array.from({ length: itemCount }, (_, i) => noteText(i)));
    expect(await at.admin.ok('GET', `${inFolder()}/present`)).toBe(true);
    expect(await at.stranger.ok('GET', `${inFolder()}/present`)).toBe(false);
  });

  it('are found by image, in pages', async () => {
    const query = { limit: 3, offset: itemCount / 2, sort: 'created', sortdir: 1, imageName: 'MANY' };
    const page = await at.admin.send('GET', '/annotation/images', { query });
    expect(page.headers.get('girder-total-count')).toBe(String(itemCount));
    expect(page.body.map((item) => (item as { name: string }).name)).toEqual([0, 1, 2].map((i) => `many ${itemCount / 2 + i}`));
  });

  it('are shared and deleted by folder', async () => {
    const [subfolder] = await at.admin.ok('GET', '/folder', { query: { parentType: 'folder', parentId: at.publicFolder } });
    const path = `/annotation/folder/${String((subfolder as { _id: unknown })._id)}`;
    const access = JSON.stringify({ users: [{ id: at.writer.id, level: 2 }], groups: [] });
    const perFolder = itemCount / folderCount;
    expect(await at.admin.ok('PUT', `${path}/access`, { query: { access, public: false } })).toEqual({ updated: perFolder });
    expect(await at.writer.ok('GET', `${inFolder()}/present`)).toBe(true);
    expect(await at.writer.ok('DELETE', path)).toEqual({ deleted: perFolder });
  });

  it('are requested by a few hundred ids at a time', () => {
    expect([...queried].join(' ')).toMatch(/annotation\.(find|aggregate)/);
    expect(longest).toBeGreaterThan(100);
    expect(longest).toBeLessThanOrEqual(500);
  });
});
