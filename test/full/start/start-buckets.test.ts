import { PutObjectCommand } from '@aws-sdk/client-s3';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestDatabase } from '../../support/hosts/database.js';
import { plainSlide } from '../../support/hosts/installed-specimens.js';
import { noGateway, startGateway, type TestGateway } from '../../support/hosts/s3-gateway.js';
import { startServer, type ServerProcess } from '../../support/hosts/server-process.js';
import { until } from '../../support/run/until.js';

if (noGateway !== null) console.warn(`skipped: npm start with files in a bucket, because ${noGateway}`);

describe.skipIf(noGateway !== null)('npm start -- s3://…', () => {
  let gateway: TestGateway;
  let folder: string;
  let database: { uri: string; stop(): Promise<void> };
  const servers: ServerProcess[] = [];
  beforeAll(async () => {
    gateway = await startGateway();
    database = await startTestDatabase();
    folder = await mkdtemp(join(tmpdir(), 'start-buckets-'));
  });
  afterAll(async () => {
    for (const server of servers) server.kill('SIGKILL');
    await Promise.all(servers.map(({ ended }) => ended));
    await gateway?.close();
    await database?.stop();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  const start = (words: readonly string[], env: Record<string, string | undefined> = {}) => {
    const server = startServer(words, {
      DATA_DIR: join(folder, `data${servers.length}`),
      HOME: folder,
      AWS_EC2_METADATA_DISABLED: 'true',
      ...gateway.env,
      ...env,
    });
    servers.push(server);
    return server;
  };

  it('serves the slides and Zarr folders below a prefix in place, shows replaced ones, and names skipped ones', async () => {
    const Body = await plainSlide({ r: 10, g: 200, b: 10 });
    const put = (Key: string, bytes = Body) => gateway.client.send(new PutObjectCommand({ Bucket: 'bucket', Key, Body: bytes }));
    await put('slides/case 1/a.tif');
    await put('slides/b.tif');
    await put('slides/.hidden.tif');
    await put('slides/empty.tif', Buffer.alloc(0));
    await put('others/c.tif');
    const putZarr = async (name: string, value: number) => {
      const axes = ['y', 'x'].map((axis) => ({ name: axis, type: 'space' }));
      const datasets = [{ path: '0', coordinateTransformations: [{ type: 'scale', scale: [1, 1] }] }];
      const array = { zarr_format: 2, shape: [16, 16], chunks: [16, 8], dtype: '|u1', fill_value: 0, order: 'C' };
      const objects: [string, object | Buffer][] = [
        ['0/0/0', Buffer.alloc(128, value)],
        ['0/0/1', Buffer.alloc(128, value + 1)],
        ['0/.zarray', { ...array, compressor: null, filters: null, dimension_separator: '/' }],
        ['.zgroup', { zarr_format: 2 }],
        ['.zattrs', { multiscales: [{ version: '0.4', name, axes, datasets }] }],
      ];
      for (const [key, content] of objects) {
        await put(`slides/d.zarr/${key}`, Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content)));
      }
    };
    await putZarr('first', 20);
    const ADMIN_PASSWORD = 'password of the administrator';
    const server = start(['--public', 's3://bucket/slides/'], { MONGODB_URI: database.uri, ADMIN_PASSWORD });
    const url = await server.url();
    await until('the files are served', () => /^3 files in buckets are served/m.test(server.output()));
    const get = async (path: string) => (await fetch(`${url}/api/v1${path}`)).json() as Promise<{ _id: string; name: string }[]>;
    const collection = (await get('/collection')).find(({ name }) => name === 'Files in buckets')!;
    const below = async (type: string, id: string) => get(`/folder?parentType=${type}&parentId=${id}`);
    const [bucket] = await below('collection', collection._id);
    const [slides, ...others] = await below('folder', bucket!._id);
    expect([bucket!.name, slides!.name, others]).toEqual(['bucket', 'slides', []]);
    const [item, ...more] = await get(`/item?folderId=${slides!._id}`);
    expect([item!.name, more.map(({ name }) => name)]).toEqual(['b.tif', ['d.zarr']]);
    const [sub, ...alsoBelow] = await below('folder', slides!._id);
    expect(alsoBelow).toEqual([]);
    expect((await get(`/item?folderId=${sub!._id}`)).map(({ name }) => name)).toEqual(['a.tif']);
    const tile = await fetch(`${url}/api/v1/item/${item!._id}/tiles/zxy/0/0/0`);
    expect([tile.status, tile.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
    const download = await fetch(`${url}/api/v1/item/${item!._id}/download`);
    expect(Buffer.from(await download.arrayBuffer()).equals(Body)).toBe(true);
    const value = async (left: number) => {
      const answer = await fetch(`${url}/api/v1/item/${more[0]!._id}/tiles/pixel?left=${left}&top=3`);
      return ((await answer.json()) as { value: number[] }).value;
    };
    expect([await value(3), await value(12)]).toEqual([[20], [21]]);
    await putZarr('second', 40);
    const authorization = `Basic ${Buffer.from(`admin:${ADMIN_PASSWORD}`).toString('base64')}`;
    const login = await fetch(`${url}/api/v1/user/authentication`, { headers: { authorization } });
    const { authToken } = (await login.json()) as { authToken: { token: string } };
    const headers = { authorization: `Bearer ${authToken.token}` };
    const rescan = await fetch(`${url}/api/v1/system/rescan`, { method: 'POST', headers });
    expect([rescan.status, await rescan.json()]).toEqual([200, expect.objectContaining({ files: 3 })]);
    await until('the replaced Zarr is shown', async () => (await value(3))[0] === 40);
    // Only a chunk is replaced; the files that describe the array stay the same.
    await put('slides/d.zarr/0/0/1', Buffer.alloc(128, 99));
    expect((await fetch(`${url}/api/v1/system/rescan`, { method: 'POST', headers })).status).toBe(200);
    await until('the replaced chunk is shown', async () => (await value(12))[0] === 99);
    expect(server.output()).toContain('Left out s3://bucket/slides/empty.tif: it is empty');
    expect(server.output()).toContain('Left out s3://bucket/slides/.hidden.tif: a name in its key begins with a dot');
  });

  it('says in a sentence why a bucket cannot be served', async () => {
    const without = { AWS_ACCESS_KEY_ID: undefined, AWS_SECRET_ACCESS_KEY: undefined, AWS_PROFILE: undefined };
    const cases: [string, Record<string, string | undefined>, string | RegExp][] = [
      ['s3://nosuch-bucket/x', {}, 's3://nosuch-bucket/x cannot be listed: there is no bucket nosuch-bucket'],
      ['s3://bucket', without, 'there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE'],
      ['s3://bucket', { AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1' }, 'the store cannot be reached (ECONNREFUSED)'],
      ['s3://Not A Bucket/x', {}, 'names no bucket; use s3://BUCKET or s3://BUCKET/PREFIX.'],
    ];
    await Promise.all(
      cases.map(async ([word, env, text]) => {
        const server = start([word], env);
        expect([word, await server.ended]).toEqual([word, 2]);
        expect(server.output()).toContain(text);
        expect(server.output()).not.toMatch(/^\s+at /m);
      }),
    );
  });
});
