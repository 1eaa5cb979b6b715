import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startAnnotated, elementId, point, type Annotated } from '../../support/hosts/annotated.js';
import { HeldSource } from '../../support/images/held-source.js';
import { uploadItem } from '../../support/images/images.js';
import { until } from '../../support/run/until.js';

describe('a full queue', () => {
  const heldSource = new HeldSource();
  let at: Annotated;
  let item: string;
  let annotation: string;
  beforeAll(async () => {
    const full = { running: 1, waiting: 1 };
    at = await startAnnotated({
      install: {
        tileSources: [heldSource.definition],
        queues: { tiles: full, chunks: full, pictures: full, keptFiles: full, elements: full, edits: full },
      },
    });
    item = await uploadItem(at.admin, at.publicFolder, 'a.held', Buffer.from('x'));
    annotation = (await at.annotate({ name: 'a', elements: [point(1, { id: elementId(1) })] }))._id;
  });
  afterAll(() => at?.close());
  beforeEach(() => heldSource.hold());

  const ask = (path: string) => at.admin.send('GET', `/item/${item}/tiles/${path}`);

  it.each([
    ['regions', (n: number) => `region?width=${20 + n}`],
    ['thumbnails', (n: number) => `thumbnail?width=${200 + n}`],
    ['histograms', (n: number) => `histogram?bins=${20 + n}`],
    ['pixels', (n: number) => `pixel?left=${n}&top=1`],
    ['tiles', (n: number) => `zxy/2/${n}/0?jpegQuality=${20 + n}`],
  ])('refuses further %s with 503 and Retry-After, while cached tiles and annotations are served', async (_what, path) => {
    heldSource.release();
    expect((await ask('zxy/0/0/0')).status).toBe(200);
    heldSource.hold();
    const first = ask(path(1));
    await until('a tile is read', () => heldSource.readingCount > 0);
    const others = [ask(path(2)), ask(path(3))];
    // The waiting request is not answered yet.
    const refused = await Promise.race(others);
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.body).toMatchObject({ type: 'rest', message: expect.stringMatching(/^Too many .* Try again later\.$/) });
    expect((await ask('zxy/0/0/0')).status).toBe(200);
    expect((await at.admin.send('GET', `/annotation/${annotation}`)).status).toBe(200);
    heldSource.release();
    const statuses = (await Promise.all([first, ...others])).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 200, 503]);
  });

  it('refuses cached files independently of pictures', async () => {
    const first = ask('histogram?bins=31');
    await until('a tile is read', () => heldSource.readingCount > 0);
    const others = [ask('histogram?bins=32'), ask('histogram?bins=33')];
    const refused = await Promise.race(others);
    expect(refused.status).toBe(503);
    expect(refused.body.message).toMatch(/^Too many cached pictures are waiting/);
    heldSource.release();
    const statuses = (await Promise.all([first, ...others])).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 200, 503]);
  });
});
