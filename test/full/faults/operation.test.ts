import { chmod, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

describe('a server in operation', () => {
  let started: TestHost;
  let admin: Client;
  let other: Client;
  const lines: [fields: Record<string, unknown>, event: string][] = [];
  beforeAll(async () => {
    const write = (fields: object, event: string) => void lines.push([fields as Record<string, unknown>, event]);
    started = await startHost({
      logger: { debug: write, info: write, warn: write, error: write },
      metrics: { register: new Registry(), token: 'of-prometheus' },
    });
    admin = await started.register('admin');
    other = await started.register('other');
  });
  afterAll(() => started?.close());

  const get = (path: string, headers: Record<string, string> = {}) => fetch(`${started.url}${path}`, { headers });

  it("gives each request an id, or uses a proxy's if it is safe to log", async () => {
    const idOf = async (path: string, sent?: string) => {
      const { headers } = await get(path, sent === undefined ? {} : { 'X-Request-Id': sent });
      expect(headers.get('girder-request-uid')).toBe(headers.get('x-request-id'));
      return headers.get('x-request-id');
    };
    const uuid = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/;
    for (const path of [
      '/api/v1/system/version',
      '/api/v1/large_image/settings',
      '/api/v1/nothing',
      '/nothing',
      '/health/live',
    ]) {
      expect(await idOf(path)).toMatch(uuid);
      expect(await idOf(path, 'proxy-1.2:3/4+5=')).toBe('proxy-1.2:3/4+5=');
      for (const bad of ['a b', 'x'.repeat(129), '{"a":1}', '<b>']) expect(await idOf(path, bad)).toMatch(uuid);
    }
    expect(await idOf('/api/v1/system/version')).not.toBe(await idOf('/api/v1/system/version'));
  });

  it('names the request in each of its log lines, and in a response with status 500', async () => {
    const { models } = started.host.context;
    const findById = models.user.findById.bind(models.user);
    const broken = Object.assign(models.user, {
      findById: () => {
        throw new TypeError('broken for this test');
      },
    });
    try {
      const answer = await get('/api/v1/user/me', { 'X-Request-Id': 'the-one', 'Girder-Token': admin.token! });
      expect(answer.status).toBe(500);
      expect(await answer.json()).toMatchObject({ type: 'internal', uid: 'the-one' });
    } finally {
      Object.assign(broken, { findById });
    }
    expect(lines.filter(([, event]) => event === 'Request:Failed')).toMatchObject(
      [[{ uid: 'the-one', requestId: 'the-one' }, '']].map(([fields]) => [fields, 'Request:Failed']),
    );
    await admin.ok('GET', '/system/version');
  });

  it('reports liveness and readiness', async () => {
    expect([(await get('/health/live')).status, (await get('/health/ready')).status]).toEqual([200, 200]);
    const files = join(started.dataDirectory, 'files');
    await rename(files, `${files}-away`);
    try {
      const answer = await get('/health/ready');
      expect([answer.status, await answer.json()]).toMatchObject([
        503,
        { type: 'rest', message: 'The data folder cannot be read or written.' },
      ]);
      expect((await get('/health/live')).status).toBe(200);
    } finally {
      await rename(`${files}-away`, files);
      await chmod(files, 0o700);
    }
    expect((await get('/health/ready')).status).toBe(200);
  });

  it('serves metrics for Prometheus to administrators and holders of the token', async () => {
    const item = await uploadItem(admin, await newFolder(admin, 'Counted'), 'image.tif', await pyramid());
    await until('a large image', async () => (await admin.ok('GET', `/item/${item}`)).largeImage !== undefined);
    for (let i = 0; i < 3; i += 1) expect((await admin.send('GET', `/item/${item}/tiles/zxy/0/0/0`)).status).toBe(200);
    const read = async (headers: Record<string, string>) => {
      const answer = await get('/metrics', headers);
      return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
    };
    expect((await read({})).status).toBe(401);
    expect((await read({ Authorization: 'Bearer something' })).status).toBe(401);
    expect((await read({ 'Girder-Token': other.token! })).status).toBe(403);
    expect((await read({ 'Girder-Token': admin.token! })).status).toBe(200);
    // A request is counted when its response has been sent.
    const expected =
      'large_image_request_duration_seconds_count{method="GET",route="/item/:itemId/tiles/zxy/:z/:x/:y",status="200"} 3';
    const { text, type } = await until('the tiles are counted', async () => {
      const metrics = await read({ Authorization: 'Bearer of-prometheus' });
      return metrics.text.includes(expected) && metrics;
    });
    expect(type).toMatch(/^text\/plain; version=/);
    for (const line of [
      /^large_image_queue_waiting\{queue="tiles"\} 0$/m,
      /^large_image_queue_running\{queue="pictures"\} \d+$/m,
      /^large_image_cache_requests_total\{cache="tileCache",result="hit"\} [1-9]/m,
      /^large_image_cache_requests_total\{cache="tilesource",result="miss"\} [1-9]/m,
      /^large_image_cache_used\{cache="tilesource"\} \d+$/m,
      /^large_image_child_processes \d+$/m,
      /^large_image_jobs\{status="running"\} \d+$/m,
      /route="\/user",status="200"/,
    ]) {
      expect(text).toMatch(line);
    }
  });

  it('has no metrics without a registry', async () => {
    const plain = await startHost();
    try {
      expect((await fetch(`${plain.url}/metrics`)).status).toBe(404);
    } finally {
      await plain.close();
    }
  });

  it('ends event streams and is no longer ready when it begins to stop', async () => {
    const job = await started.host.jobs.create({ title: 'watched', type: 'watched', userId: admin.id });
    const streams = await Promise.all(
      [`/api/v1/job/${job.id}/events`, '/api/v1/notification/stream'].map((path) => get(path, { 'Girder-Token': admin.token! })),
    );
    started.host.endStreams();
    // They end as complete answers.
    for (const stream of streams) expect((await stream.text()).length).toBeGreaterThan(0);
    const answer = await get('/health/ready');
    expect([answer.status, await answer.json()]).toMatchObject([503, { message: 'The server is stopping.' }]);
    expect((await get('/health/live')).status).toBe(200);
    expect((await admin.send('GET', '/system/version')).status).toBe(200);
  });
});
