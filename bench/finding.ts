/**
 * Measures pages of a folder of many items, filtered and sorted by metadata, over HTTP with token and access check. Compares them with a find
 * with an index through the driver: `npm run bench -- finding [items]`. See docs/benchmarks.md.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Types } from 'mongoose';
import { createReferenceHost } from '../src/reference-host/index.js';
import { computeSearchFields } from '../src/reference-host/tree/finding/terms.js';
import { send } from './annotations/client.js';
import { Targets } from './annotations/targets.js';
import { benchDatabase } from './support/database.js';

const [items = 100_000] = process.argv.slice(3).map(Number);
const [pageSize, batchSize, rounds] = [50, 2000, 5];
const stains = ['HE', 'Ki67', 'CD3'];

/** The shortest of several times, because other processes can only make a measurement longer. */
async function shortestTime(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const startMs = performance.now();
    await work();
    times.push(performance.now() - startMs);
  }
  return Math.min(...times);
}

const directory = await mkdtemp(join(tmpdir(), 'bench-finding-'));
const database = await benchDatabase(directory, 'durable');
const uri = new URL(database.uri);
uri.pathname = `/bench_finding_${process.pid}`;
const host = await createReferenceHost({ mongoUri: uri.href, dataDirectory: join(directory, 'data'), viewer: false });
const targets = new Targets();
try {
  const { url } = await host.listen();
  let token = '';
  const call = async (method: string, path: string, query: Record<string, string | number>) =>
    JSON.parse((await send(method, `${url}/api/v1${path}`, { query }, token)).text) as {
      _id: string;
      authToken: { token: string };
    };
  const person = { login: 'bench', email: 'bench@example.org', firstName: 'B', lastName: 'B', password: 'bench.password' };
  ({ token } = (await call('POST', '/user', person)).authToken);
  const collection = await call('POST', '/collection', { name: 'bench' });
  const folder = await call('POST', '/folder', { parentType: 'collection', parentId: collection._id, name: 'slides' });
  const model = host.context.models.item;
  const folderId = new Types.ObjectId(folder._id);
  const startMs = performance.now();
  for (let firstIndex = 0; firstIndex < items; firstIndex += batchSize) {
    const documents = Array.from({ length: Math.min(batchSize, items - firstIndex) }, (_, at) => {
      const number = firstIndex + at;
      const name = `slide ${String(number).padStart(6, '0')}.svs`;
      const meta = { stain: stains[number % 3], batch: `B${number % 1000}`, scanned: (number * 7919) % items };
      const root = { baseParentType: 'collection', baseParentId: new Types.ObjectId(collection._id), creatorId: null };
      const nameFields = {
        name,
        lowerName: name,
        naturalName: name,
        description: '',
        meta,
        words: [],
        ...computeSearchFields({ name, meta }),
      };
      return { _id: new Types.ObjectId(), folderId, ...root, ...nameFields, created: new Date(), updated: new Date(), size: 0 };
    });
    await model.collection.insertMany(documents as never[]);
  }
  console.log(`${database.engine}: made ${items} items in ${((performance.now() - startMs) / 1000).toFixed(0)} s`);
  const find = () => model.collection.find({ folderId, lowerName: { $gte: 'slide 0005' } }, { limit: pageSize }).toArray();
  await find();
  const reference = await shortestTime(find);
  const page = (query: Record<string, string | number>) => () =>
    send('GET', `${url}/api/v1/item`, { query: { folderId: folder._id, limit: pageSize, ...query } }, token);
  const sort = JSON.stringify([['meta.scanned', 1]]);
  const pages: [name: string, hasTarget: boolean, query: Record<string, string | number>][] = [
    ['a third of the items, sorted', true, { find: 'stain:HE', sort }],
    ['a thousandth, sorted', true, { find: 'batch:B7', sort }],
    ['a third, last page', true, { find: 'stain:HE', sort, offset: Math.floor(items / 3) - pageSize }],
    ['a phrase, sorted', true, { find: '"slide 000500 svs"', sort }],
    ['all items, sorted', false, { sort }],
    ['all items, by name', false, {}],
  ];
  for (const [name, hasTarget, query] of pages) {
    await page(query)();
    const ms = await shortestTime(page(query));
    const detail = `${ms.toFixed(1)} ms; find ${reference.toFixed(1)} ms`;
    if (hasTarget) targets.check(name, ms / reference, 20, '× find', detail);
    else targets.print(name, `${(ms / reference).toFixed(0)} × find, ${detail}`);
  }
} finally {
  await host.close();
  await database.stop();
  await rm(directory, { recursive: true, force: true });
}
console.log(`${targets.count - targets.missed} of ${targets.count} targets reached`);
process.exitCode = targets.missed > 0 ? 1 : 0;
