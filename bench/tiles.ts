/**
 * Stored JPEG tiles, with token and access check, against a bare Express handler that sends the same bytes read at a known offset of
 * a file. Each server runs in turn in this process, under the same load; the rounds alternate and the medians are compared.
 */
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import autocannon from 'autocannon';
import express from 'express';
import sharp from 'sharp';
import { createReferenceHost, startDatabase } from '../src/reference-host/index.js';

const rounds = 5;
const secondsPerRound = 4;
const connections = 16;
const size = 8192;
const columns = size / 256;

const directory = await mkdtemp(join(tmpdir(), 'bench-tiles-'));
const database = await startDatabase({ env: process.env, directory: null });
const host = await createReferenceHost({ mongoUri: database.uri, dataDirectory: directory, passwordCost: 4 });
try {
  const { url } = await host.listen();
  const call = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${url}/api/v1${path}`, init);
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return response;
  };
  const query = (values: Record<string, string | number>) =>
    new URLSearchParams(Object.entries(values).map(([name, value]): [string, string] => [name, String(value)])).toString();
  const json = async (response: Response) =>
    (await response.json()) as { _id: string; itemId: string; authToken: { token: string } };

  const person = { login: 'bench', email: 'bench@example.org', firstName: 'B', lastName: 'B', password: 'bench.password' };
  const { token } = (await json(await call(`/user?${query(person)}`, { method: 'POST' }))).authToken;
  const headers = { 'Girder-Token': token };
  const create = async (path: string, values: Record<string, string | number>) =>
    (await json(await call(`${path}?${query(values)}`, { method: 'POST', headers })))._id;
  const collection = await create('/collection', { name: 'bench' });
  const folder = await create('/folder', { parentType: 'collection', parentId: collection, name: 'bench' });

  const path = join(directory, 'noise.tif');
  const noise = { type: 'gaussian' as const, mean: 128, sigma: 20 };
  await sharp({ create: { width: size, height: size, channels: 3, background: '#fff', noise } })
    .tiff({ tile: true, tileWidth: 256, tileHeight: 256, pyramid: true, compression: 'jpeg', quality: 80 })
    .toFile(path);
  const bytes = await readFile(path);
  const upload = query({ parentType: 'folder', parentId: folder, name: 'noise.tif', size: bytes.length });
  const { itemId } = await json(await call(`/file?${upload}`, { method: 'POST', headers, body: bytes }));
  const { levels } = (await (await call(`/item/${itemId}/tiles`, { headers })).json()) as { levels: number };

  // What the bare handler sends: the very bytes of each tile, one after another in a file.
  const places: { offset: number; length: number }[] = [];
  const parts: Buffer[] = [];
  let offset = 0;
  const tilePath = (i: number) => `/api/v1/item/${itemId}/tiles/zxy/${levels - 1}/${i % columns}/${Math.floor(i / columns)}`;
  for (let i = 0; i < columns * columns; i++) {
    const tile = Buffer.from(await (await fetch(url + tilePath(i), { headers })).arrayBuffer());
    places.push({ offset, length: tile.length });
    parts.push(tile);
    offset += tile.length;
  }
  const flat = join(directory, 'tiles.bin');
  await writeFile(flat, Buffer.concat(parts));
  const file = await open(flat);
  const bare = express();
  bare.get('/tile/:index', async (request, response) => {
    const { offset: start, length } = places[Number(request.params.index)]!;
    const buffer = Buffer.allocUnsafe(length);
    await file.read(buffer, 0, length, start);
    response.type('image/jpeg').send(buffer);
  });
  const bareServer = bare.listen(0, '127.0.0.1');
  await new Promise((resolve) => bareServer.once('listening', resolve));
  const bareUrl = `http://127.0.0.1:${(bareServer.address() as AddressInfo).port}`;

  const load = async (base: string, pathOf: (i: number) => string): Promise<number> => {
    const requests = Array.from({ length: 512 }, () => ({
      method: 'GET' as const,
      path: pathOf(Math.floor(Math.random() * columns * columns)),
      headers,
    }));
    const result = await autocannon({ url: base, connections, duration: secondsPerRound, requests });
    if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} refused, ${result.errors} failed`);
    return result.requests.average;
  };
  const ours: number[] = [];
  const reference: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    reference.push(await load(bareUrl, (i) => `/tile/${i}`));
    ours.push(await load(url, tilePath));
    console.log(`round ${round} of ${rounds}: ${(ours.at(-1)! / reference.at(-1)!).toFixed(2)} × bare Express`);
  }
  const median = (values: number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
  console.log(
    `warm stored tile, token and access checked: ${(median(ours) / median(reference)).toFixed(2)} × bare Express (to reach: 0.5)`,
  );
  bareServer.closeAllConnections();
  bareServer.close();
  await file.close();
} finally {
  await host.close();
  await database.stop();
  await rm(directory, { recursive: true, force: true });
}
