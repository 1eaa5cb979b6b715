/**
 * Measures annotations over HTTP on a reference host in a separate process, in comparison with references in the same run:
 * `npm run bench -- annotations [sizes] [durable|embedded]`, with sizes such as `10000,100000,1000000`. See docs/benchmarks.md.
 */
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildHost, startHost, startReferences } from './children.js';
import { send } from './client.js';
import { call, measureCreate, measureLong, measureMany, measureSmall, measureWholeRead, type Bench } from './measures.js';
import { measureOverlay, prepareOverlay } from './overlay.js';
import { Targets } from './targets.js';
import type { Child } from '../support/children.js';
import { benchDatabase } from '../support/database.js';
import { writePolygons } from '../support/polygons.js';

const [sizes = '10000,100000,1000000', kind = 'durable'] = process.argv.slice(3);
/** Documents with more elements cannot be parsed as one text. */
const maxParsedElements = 1_000_000;
const directory = await mkdtemp(join(tmpdir(), 'bench-annotations-'));
const dataDirectory = join(directory, 'data');
const database = await benchDatabase(directory, kind === 'embedded' ? 'embedded' : 'durable');
const uri = new URL(database.uri);
uri.pathname = `/bench_${process.pid}`;
const targets = new Targets();
const warmUp = join(directory, 'warm-up.json');

/** A user, who is administrator, and an item with a large image. */
async function createUserAndItem(host: Child): Promise<Pick<Bench, 'token' | 'itemId'>> {
  const json = async (path: string, query: Record<string, string | number>, token = '', body?: string) =>
    JSON.parse((await send('POST', `${host.url}/api/v1${path}`, { query, ...(body && { body }) }, token)).text) as {
      _id: string;
      itemId: string;
      authToken: { token: string };
    };
  const person = { login: 'bench', email: 'bench@example.org', firstName: 'B', lastName: 'B', password: 'bench.password' };
  const { token } = (await json('/user', person)).authToken;
  const collection = (await json('/collection', { name: 'bench' }, token))._id;
  const place = { parentType: 'collection', parentId: collection, name: 'bench' };
  const folder = (await json('/folder', place, token))._id;
  const upload = { parentType: 'folder', parentId: folder, name: 'slide.blank', size: 5 };
  const { itemId } = await json('/file', upload, token, 'blank');
  await call({ host, token }, 'GET', `/item/${itemId}/tiles`);
  return { token, itemId };
}

async function main(): Promise<void> {
  const { path: program, remove } = await buildHost();
  await writePolygons(warmUp, 5000);
  const references = await startReferences(uri.href);
  let host = await startHost(program, uri.href, dataDirectory);
  const restart = async () => {
    await host.stop();
    return (host = await startHost(program, uri.href, dataDirectory));
  };
  try {
    const userAndItem = await createUserAndItem(host);
    for (const count of sizes.split(',').map(Number)) {
      await restart();
      const bench: Bench = { host, references, ...userAndItem, targets };
      const path = join(directory, `${count}.json`);
      const isMany = count > maxParsedElements;
      if (!isMany) await writePolygons(path, count);
      console.log(`\n${count} polygons of 12 points (${database.engine})`);
      // The first body takes half a second longer, because the process compiles its code.
      const query = { itemId: userAndItem.itemId };
      for (let i = 0; i < 3; i += 1) await call(bench, 'POST', '/annotation', { query, body: createReadStream(warmUp) });
      if (isMany) {
        await measureMany(bench, count, { prepare: (id) => prepareOverlay(bench, id), restart });
        continue;
      }
      const id = await measureCreate(bench, path);
      targets.print('densities of the overlay made in', `${(await prepareOverlay(bench, id)).toFixed(1)} s`);
      const wholeMs = await measureWholeRead(bench, id, join(directory, 'answer.json'));
      await measureSmall(bench, id, count);
      await prepareOverlay(bench, id);
      await measureOverlay(bench, id, restart);
      await measureLong({ ...bench, host }, id, wholeMs);
      await call({ ...bench, host }, 'DELETE', `/annotation/item/${userAndItem.itemId}`);
      await rm(path);
    }
  } finally {
    await host.stop();
    await references.stop();
    await remove();
  }
  console.log(`\n${targets.count - targets.missed} of ${targets.count} targets reached`);
}

try {
  await main();
} finally {
  await database.stop();
  await rm(directory, { recursive: true, force: true });
}
