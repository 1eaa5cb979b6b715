import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createReferenceHost, type ReferenceHost } from '../../../src/reference-host/index.js';
import { rendering } from '../../../src/tilesource/requests.js';
import { startTestDatabase } from '../../support/hosts/database.js';
import { Client } from '../../support/hosts/reference-host.js';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { until } from '../../support/run/until.js';

const version = rendering.version;
const setVersion = (next: number) => Object.assign(rendering, { version: next });

let database: Awaited<ReturnType<typeof startTestDatabase>>;
let dataDirectory: string;
let host: ReferenceHost | undefined;

async function start(token: string | null): Promise<Client> {
  host = await createReferenceHost({ mongoUri: database.uri, dataDirectory, brand: 'girder', passwordMemoryKiB: 8 });
  const { url } = await host.listen();
  return new Client(url, token, null);
}

beforeAll(async () => {
  database = await startTestDatabase();
  dataDirectory = await mkdtemp(join(tmpdir(), 'rendering-version-'));
});
afterAll(async () => {
  setVersion(version);
  await host?.close();
  await database?.stop();
  await rm(dataDirectory, { recursive: true, force: true, maxRetries: 20 });
});

it('removes pictures of an earlier rendering version, and does not show them', async () => {
  const anonymous = await start(null);
  const query = { login: 'admin', email: 'admin@example.org', firstName: 'F', lastName: 'L', password: 'admin.password' };
  const user = await anonymous.ok('POST', '/user', { query });
  const { token } = user.authToken as { token: string };
  let admin = new Client(anonymous.url, token, String(user._id));
  const item = await uploadItem(admin, await newFolder(admin, 'Images'), 'image.tif', await pyramid());
  const paths = ['thumbnail?width=40', 'histogram', 'zxy/0/0/0', 'region?width=50'].map((path) => `/item/${item}/tiles/${path}`);
  const keptFiles = async () =>
    (await admin.ok('GET', `/item/${item}/tiles/thumbnails`)).map((file) => String((file as { _id: string })._id)).toSorted();
  const tags = () => Promise.all(paths.map(async (path) => (await admin.send('GET', path)).headers.get('etag')!));
  const former = await tags();
  const ofFormerVersion = await keptFiles();
  expect(ofFormerVersion).toHaveLength(2);
  const answer = await admin.ok('POST', `/item/${item}/tiles/thumbnails`, {
    query: { key: '{"width":7}' },
    body: Buffer.from('x'),
  });
  await host?.close();

  const restarted = await start(token);
  admin = restarted;
  expect(await tags()).toEqual(former);
  expect(await keptFiles()).toEqual([...ofFormerVersion, String(answer._id)].toSorted());
  await host?.close();

  setVersion(version + 1);
  admin = await start(token);
  const present = await Promise.all(
    paths.map((path, at) => admin.send('GET', path, { headers: { 'If-None-Match': former[at]! } })),
  );
  expect(present.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  await until('the former files to be removed', async () => (await keptFiles()).every((id) => !ofFormerVersion.includes(id)));
  const files = await keptFiles();
  expect(files).toContain(String(answer._id));
  expect(files).toHaveLength(3);
});
