import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { priorities, type TileSourceDefinition } from '../../../src/tilesource/tile-source.js';
import { openTestImage, testSource } from '../../../src/tilesource/sources/test/test-source.js';
import { newFolder, uploadItem } from '../../support/images/images.js';
import { HeldSource } from '../../support/images/held-source.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

/** Counts requests that the server of this process has received, and those whose connection ended. */
function countRequests(part: string): { taken: number; closed: number; stop(): void } {
  const counts = { taken: 0, closed: 0, stop: () => unsubscribe('http.server.request.start', count) };
  const count = (message: unknown): void => {
    // The messages of this channel are documented.
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    if (request.url?.includes(part) !== true) return;
    counts.taken += 1;
    response.once('close', () => (counts.closed += 1));
  };
  subscribe('http.server.request.start', count);
  return counts;
}

/** A source whose images are never closed. */
const neverClosed: TileSourceDefinition = {
  ...testSource,
  name: 'never-closed',
  extensions: { default: priorities.manual, stuck: priorities.preferred },
  mimeTypes: { default: priorities.manual },
  open: async () => ({ ...openTestImage({ sizeX: 300, sizeY: 200 }), close: () => new Promise<void>(() => {}) }),
};

describe('requests whose clients disconnect', () => {
  const heldSource = new HeldSource();
  let started: TestHost;
  let admin: Client;
  let item: string;
  beforeAll(async () => {
    started = await startHost({ install: { tileSources: [heldSource.definition, neverClosed] } });
    admin = await started.register('admin');
    item = await uploadItem(admin, await newFolder(admin, 'Held'), 'a.held', Buffer.from('x'));
  });
  afterAll(() => started.close());
  beforeEach(() => heldSource.hold());

  it('do not wait for opened files to close when they upload', async () => {
    const stuck = await uploadItem(admin, await newFolder(admin, 'Stuck'), 'a.stuck', Buffer.from('x'));
    expect((await admin.ok('GET', `/item/${stuck}`)).largeImage).toMatchObject({ sourceName: 'never-closed' });
  });

  const ask = (path: string, signal?: AbortSignal) =>
    fetch(`${started.url}/api/v1/item/${item}/tiles/${path}`, {
      headers: { 'Girder-Token': admin.token! },
      ...(signal && { signal }),
    });
  const clear = () => admin.ok('PUT', '/large_image/cache/clear');

  it.each([
    ['a kept thumbnail', (n: number) => `thumbnail?width=${20 + n}`],
    ['a tile', (n: number) => `zxy/2/${n % 4}/0?encoding=PNG&jpegQuality=${10 + n}`],
    ['a region', (n: number) => `region?width=${60 + n}`],
    ['a Deep Zoom tile', (n: number) => `dzi_files/8/0_0.png?tilesize=256&overlap=${n}`],
    ['a histogram', (n: number) => `histogram?bins=${20 + n}`],
  ])('stop the work on %s when the last client is gone', async (_what, path) => {
    const leaving = new AbortController();
    const abandoned = Promise.allSettled([1, 2, 3].map((n) => ask(path(n), leaving.signal)));
    await until('tiles are read', () => heldSource.readingCount > 0);
    leaving.abort();
    await abandoned;
    await until('no tile is read', () => heldSource.readingCount === 0);
    expect(heldSource.abortedCount).toBeGreaterThan(0);
    const { startedCount } = heldSource;
    heldSource.release();
    // No work begins later, and a repeated request is answered.
    expect((await ask(path(1))).status).toBe(200);
    expect(heldSource.startedCount).toBeGreaterThan(startedCount);
  });

  it.each([
    ['a kept thumbnail', 'thumbnail?width=60'],
    ['a tile', 'zxy/2/1/1?encoding=PNG'],
  ])('do not stop the work on %s while another client waits for it', async (_what, path) => {
    await clear();
    const leaving = new AbortController();
    const abandoned = ask(path, leaving.signal).catch((error: Error) => error);
    await until('tiles are read', () => heldSource.readingCount > 0);
    const staying = ask(path);
    // Both wait for the same work. When a third request has been answered, the second has been received.
    expect((await ask('')).status).toBe(200);
    leaving.abort();
    expect(await abandoned).toBeInstanceOf(Error);
    heldSource.release();
    const answer = await staying;
    expect([answer.status, (await answer.arrayBuffer()).byteLength > 0]).toEqual([200, true]);
  });

  it('never start when they were still queued', async () => {
    const counts = countRequests('/region?width=1');
    const leaving = new AbortController();
    const abandoned = Promise.allSettled(Array.from({ length: 60 }, (_, n) => ask(`region?width=${100 + n}`, leaving.signal)));
    await until('all are taken', () => counts.taken === 60);
    leaving.abort();
    await abandoned;
    await until('all are known to have gone', () => counts.closed === 60);
    await until('no tile is read', () => heldSource.readingCount === 0);
    counts.stop();
    const { startedCount } = heldSource;
    // 60 regions have 16 tiles each.
    expect(startedCount).toBeLessThan(60 * 16);
    heldSource.release();
    expect((await ask('zxy/2/2/2')).status).toBe(200);
    expect(heldSource.startedCount).toBe(startedCount + 1);
  });
});
