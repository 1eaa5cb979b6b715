import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { megabytes, median } from '../support/measure.js';
import { polygonDocument, randomNumbers, slideHeight, slideWidth } from '../support/polygons.js';
import type { Child } from '../support/children.js';
import type { startReferences } from './children.js';
import { send, type Received, type Sending } from './client.js';
import type { Targets } from './targets.js';

/** The processes and records that the functions of this file use. */
export interface Bench {
  host: Child;
  references: Awaited<ReturnType<typeof startReferences>>;
  token: string;
  itemId: string;
  targets: Targets;
}

const viewportElements = 50;

export function call({ host, token }: Pick<Bench, 'host' | 'token'>, method: string, path: string, sending: Sending = {}) {
  return send(method, `${host.url}/api/v1${path}`, sending, token);
}

/** The result of some work, with the processor time that it has taken in a child process. */
async function withCpuMs(child: Child, work: () => Promise<Received>): Promise<Received & { cpuMs: number }> {
  const before = await child.usage();
  const received = await work();
  return { ...received, cpuMs: (await child.usage()).cpuMs - before.cpuMs };
}

function idOf({ text }: Received): string {
  const id = /"_id":"([0-9a-f]{24})"/.exec(text)?.[1];
  if (id === undefined) throw new Error(`No _id in ${text.slice(0, 200)}`);
  return id;
}

/** Creates an annotation from a file. The host must be new; only something small may have been created in it. @returns its id. */
export async function measureCreate(bench: Bench, path: string): Promise<string> {
  const { host, references, itemId, targets } = bench;
  const { size } = await stat(path);
  const before = await host.usage();
  const create = () =>
    withCpuMs(host, () => call(bench, 'POST', '/annotation', { query: { itemId }, body: createReadStream(path) }));
  const creations = [await create()];
  while (creations[0]!.ms < 5000 && creations.length < 5) creations.push(await create());
  const memoryGrowth = (await host.usage()).maxRss - before.rss;
  const parseMs = await references.parseMs(path);
  const headMs = median(creations.map((received) => received.headMs));
  const ms = median(creations.map((received) => received.ms));
  const cpuMs = median(creations.map((received) => received.cpuMs));
  const rate = `${megabytes(size)}; JSON.parse ${parseMs.toFixed(0)} ms; ${cpuMs.toFixed(0)} ms of processor time`;
  targets.check('create, until it is visible', headMs / parseMs, 1.5, '×', rate);
  targets.print('create, until all is sent back', `${(ms / parseMs).toFixed(2)} ×`);
  targets.check('growth of memory', memoryGrowth / 1e6, 500, 'MB', `${creations.length} created`);
  return idOf(creations.at(-1)!);
}

/** Reads a whole annotation, and the same bytes from a file through Express alone. @returns milliseconds of a whole read. */
export async function measureWholeRead(bench: Bench, id: string, copyPath: string): Promise<number> {
  const { host, references, targets } = bench;
  const readAll = () => call(bench, 'GET', `/annotation/${id}`);
  await call(bench, 'GET', `/annotation/${id}`, { to: createWriteStream(copyPath) });
  const pipe = () => send('GET', `${references.url}/file`, { query: { path: copyPath } });
  await pipe();
  const wholeReads: (Received & { cpuMs: number })[] = [];
  const fileReads: typeof wholeReads = [];
  const rounds = (await stat(copyPath)).size > 1e8 ? 3 : 9;
  for (let round = 0; round < rounds; round += 1) {
    fileReads.push(await withCpuMs(references, pipe));
    wholeReads.push(await withCpuMs(host, readAll));
  }
  const medianOf = (reads: typeof wholeReads, key: 'ms' | 'cpuMs' | 'headMs') => median(reads.map((received) => received[key]));
  const ratio = medianOf(wholeReads, 'ms') / medianOf(fileReads, 'ms');
  const detail = `${medianOf(wholeReads, 'ms').toFixed(0)} ms (first byte ${medianOf(wholeReads, 'headMs').toFixed(0)}, processor ${medianOf(wholeReads, 'cpuMs').toFixed(0)}), file ${medianOf(fileReads, 'ms').toFixed(0)} ms (${medianOf(fileReads, 'cpuMs').toFixed(0)})`;
  targets.check('whole read', ratio, 2.5, '× file', detail);
  return medianOf(wholeReads, 'ms');
}

/** Measures regions, renames and changes of one element, in comparison with an indexed findOne. */
export async function measureSmall(bench: Bench, id: string, count: number): Promise<void> {
  const { references, targets } = bench;
  const findMs = await references.findOneMs(id);
  const random = randomNumbers(11);
  const side = Math.sqrt((viewportElements * slideWidth * slideHeight) / count);
  let returned = 0;
  const viewportMs = await medianMs(60, async () => {
    const [left, top] = [random() * (slideWidth - side), random() * (slideHeight - side)];
    const received = await call(bench, 'GET', `/annotation/${id}`, {
      query: { left, top, right: left + side, bottom: top + side },
    });
    returned += Number(/"returned":(\d+)/.exec(received.text.slice(-3000))?.[1] ?? 0) / 60;
    return received;
  });
  const detail = `${viewportMs.toFixed(1)} ms for ${returned.toFixed(0)} elements; findOne ${findMs.toFixed(2)} ms`;
  targets.check('viewport', viewportMs, 50, 'ms', detail);
  targets.check('viewport', viewportMs / findMs, 20, '× findOne');
  const renameMs = await medianMs(60, (i) =>
    call(bench, 'PATCH', `/annotation/${id}`, { body: JSON.stringify([{ op: 'replace', path: 'name', value: `bench ${i}` }]) }),
  );
  targets.check('rename', renameMs / findMs, 20, '× findOne', `${renameMs.toFixed(1)} ms`);
  const elements = await someElements(bench, id, count);
  const changeMs = await medianMs(40, (i) => {
    const element = elements[i % elements.length]!;
    const body = JSON.stringify({ ...element, lineWidth: i + 3 });
    return call(bench, 'PUT', `/annotation/${id}/elements/${element.id}`, { body });
  });
  targets.check('one element changed', changeMs / findMs, 100, '× findOne', `${changeMs.toFixed(1)} ms`);
}

/** Measures an annotation whose text is too long to be parsed or read as a whole. @param prepare makes the densities. */
export async function measureMany(
  bench: Bench,
  count: number,
  { prepare, restart }: { prepare: (id: string) => Promise<number>; restart: () => Promise<Child> },
): Promise<void> {
  const { itemId, targets } = bench;
  const body = Readable.from(polygonDocument(count));
  const creation = await withCpuMs(bench.host, () => call(bench, 'POST', `/annotation/item/${itemId}`, { body }));
  const { maxRss } = await bench.host.usage();
  targets.print('create', `${(creation.ms / 1000).toFixed(0)} s, ${(creation.cpuMs / 1000).toFixed(0)} s of processor time`);
  targets.check('resident while it is created', maxRss / 1e6, 600, 'MB');
  const listResponse = await call(bench, 'GET', '/annotation', { query: { itemId, sort: 'created', sortdir: -1, limit: 1 } });
  const id = idOf(listResponse);
  const side = Math.sqrt((viewportElements * slideWidth * slideHeight) / count);
  const random = randomNumbers(11);
  const viewport = () => {
    const [left, top] = [random() * (slideWidth - side), random() * (slideHeight - side)];
    return call(bench, 'GET', `/annotation/${id}`, { query: { left, top, right: left + side, bottom: top + side } });
  };
  targets.check('viewport', await medianMs(30, viewport), 50, 'ms');
  const rename = (i: number) => {
    return call(bench, 'PATCH', `/annotation/${id}`, {
      body: JSON.stringify([{ op: 'replace', path: 'name', value: `bench ${i}` }]),
    });
  };
  targets.check('rename', await medianMs(30, rename), 50, 'ms');
  const filter = JSON.stringify({ column: 'area', gte: 250 });
  const rows = () =>
    withCpuMs(bench.host, () => call(bench, 'GET', `/annotation/${id}/table/rows`, { query: { filter, sort: 'area' } }));
  const answers = [await rows(), await rows(), await rows()];
  const rowsMs = median(answers.map(({ ms }) => ms));
  targets.check('rows of a filter', rowsMs, 3000, 'ms', `first ${answers[0]!.ms.toFixed(0)} ms`);
  targets.print('densities of the overlay made in', `${(await prepare(id)).toFixed(1)} s`);
  const host = await restart();
  const tile = await call({ ...bench, host }, 'GET', `/annotation/${id}/tiles/zxy/0/0/0`);
  targets.check('first tile of the whole slide', tile.ms, 5000, 'ms', 'of a new process');
  const centroids = await withCpuMs(host, () =>
    call({ ...bench, host }, 'GET', `/annotation/${id}`, { query: { centroids: 'true' } }),
  );
  const repeatedRead = await call({ ...bench, host }, 'GET', `/annotation/${id}`, { query: { centroids: 'true' } });
  const detail = `${megabytes(centroids.bytes)}, processor ${centroids.cpuMs.toFixed(0)} ms, again ${repeatedRead.ms.toFixed(0)} ms`;
  targets.check('centroids of all', centroids.ms, 5000, 'ms', detail);
}

async function medianMs(rounds: number, request: (i: number) => Promise<Received>): Promise<number> {
  const times: number[] = [];
  // The first requests compile the code.
  for (let i = 0; i < 3; i += 1) await request(i);
  for (let i = 0; i < rounds; i += 1) times.push((await request(i)).ms);
  return median(times);
}

async function someElements(bench: Bench, id: string, count: number): Promise<{ id: string }[]> {
  const elements: { id: string }[] = [];
  for (let i = 0; i < 10; i += 1) {
    const query = { offset: Math.floor((i * count) / 10), limit: 1 };
    const { text } = await call(bench, 'GET', `/annotation/${id}`, { query });
    elements.push((JSON.parse(text) as { annotation: { elements: [{ id: string }] } }).annotation.elements[0]);
  }
  return elements;
}

/**
 * Measures the time and memory of requests about all elements, and of changes of the whole annotation.
 * @param wholeMs milliseconds of a whole read
 */
export async function measureLong(bench: Bench, id: string, wholeMs: number): Promise<void> {
  const { host, itemId, targets } = bench;
  const before = await host.usage();
  const ask = async (method: string, path: string, query?: Sending['query'], times = 1) => {
    const runs: Awaited<ReturnType<typeof withCpuMs>>[] = [];
    while (runs.length < times) runs.push(await withCpuMs(host, () => call(bench, method, path, { ...(query && { query }) })));
    const resident = (await host.usage()).rss;
    const ms = median(runs.map((received) => received.ms));
    const cpuMs = median(runs.map((received) => received.cpuMs));
    const first = times > 1 ? `, first ${runs[0]!.ms.toFixed(0)} ms` : '';
    const detail = `${ms.toFixed(0)} ms (processor ${cpuMs.toFixed(0)}${first}), ${megabytes(runs[0]!.bytes)}, resident ${megabytes(resident)}`;
    return { ms, detail };
  };
  // Each request is repeated, because the first request of a process compiles its code, and may start a thread.
  const read = (path: string, query?: Sending['query']) => ask('GET', path, query, 3);
  const centroids = await read(`/annotation/${id}`, { centroids: 'true' });
  targets.check('centroids of all', centroids.ms, 600, 'ms', centroids.detail);
  const largest = { sort: 'size', sortdir: -1, maxDetails: 500000, minElements: 5000 };
  const sorted = await read(`/annotation/${id}`, largest);
  targets.check('largest of 500,000 details', sorted.ms, 1500, 'ms', sorted.detail);
  const column = await read(`/annotation/${id}/table.arrow`, { columns: '["area"]' });
  targets.check('a column of the table', column.ms, 300, 'ms', column.detail);
  const histogram = await read(`/annotation/${id}/table/histogram`, { x: 'area' });
  targets.check('histogram of a column', histogram.ms, 300, 'ms', histogram.detail);
  const geojson = await read(`/annotation/${id}/geojson`);
  targets.check('GeoJSON', geojson.ms / wholeMs, 3, '× whole', geojson.detail);
  const parquet = await read(`/annotation/${id}/table.parquet`);
  targets.check('Parquet of all', parquet.ms / geojson.ms, 1, '× GeoJSON', parquet.detail);
  const otherRequests: [string, string, string, Sending['query']?][] = [
    ['copy, all sent back', 'POST', `/annotation/${id}/copy`, { itemId }],
    ['revert', 'PUT', `/annotation/${id}/history/revert`],
    ['history', 'GET', `/annotation/${id}/history`],
    ['list of all annotations', 'GET', '/annotation', { limit: 0 }],
    ['annotations of the item', 'GET', `/annotation/item/${itemId}`],
    ['delete', 'DELETE', `/annotation/${id}`],
  ];
  for (const [name, method, path, query] of otherRequests) targets.print(name, (await ask(method, path, query)).detail);
  const { maxRss } = await host.usage();
  targets.check(
    'growth of memory by all of these',
    Math.max(0, maxRss - before.rss) / 1e6,
    500,
    'MB',
    `peak ${megabytes(maxRss)}`,
  );
}
