import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { megabytes, median } from '../support/measure.js';
import { randomNumbers, slideHeight, slideWidth } from '../support/polygons.js';
import type { Child } from '../support/children.js';
import type { startReferences } from './children.js';
import { send, type Received, type Sending } from './client.js';
import type { Targets } from './targets.js';

/** What the measures below work with. */
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

/** Processor time and clock of some work of a child, as text. */
async function used(child: Child, work: () => Promise<Received>): Promise<Received & { cpuMs: number }> {
  const before = await child.usage();
  const received = await work();
  return { ...received, cpuMs: (await child.usage()).cpuMs - before.cpuMs };
}

function idOf({ text }: Received): string {
  const id = /"_id":"([0-9a-f]{24})"/.exec(text)?.[1];
  if (id === undefined) throw new Error(`No _id in ${text.slice(0, 200)}`);
  return id;
}

/** Creates an annotation of a file. The host is to be a new one, in which only something small was created before. @returns its id. */
export async function measureCreate(bench: Bench, path: string): Promise<string> {
  const { host, references, itemId, targets } = bench;
  const { size } = await stat(path);
  const before = await host.usage();
  const create = () => used(host, () => call(bench, 'POST', '/annotation', { query: { itemId }, body: createReadStream(path) }));
  const all = [await create()];
  while (all[0]!.ms < 5000 && all.length < 5) all.push(await create());
  const grown = (await host.usage()).maxRss - before.rss;
  const parseMs = await references.parseMs(path);
  const headMs = median(all.map((received) => received.headMs));
  const ms = median(all.map((received) => received.ms));
  const cpuMs = median(all.map((received) => received.cpuMs));
  const rate = `${megabytes(size)}; JSON.parse ${parseMs.toFixed(0)} ms; ${cpuMs.toFixed(0)} ms of processor time`;
  targets.note('create, until it is visible', headMs / parseMs, 4, '×', rate);
  targets.tell('create, until all is sent back', `${(ms / parseMs).toFixed(2)} ×`);
  targets.note('growth of memory', grown / 1e6, 500, 'MB', `${all.length} created`);
  return idOf(all.at(-1)!);
}

/** Reads all of it, and the same bytes from a file through a bare Express. */
export async function measureWholeRead(bench: Bench, id: string, copyPath: string): Promise<void> {
  const { host, references, targets } = bench;
  const whole = () => call(bench, 'GET', `/annotation/${id}`);
  await call(bench, 'GET', `/annotation/${id}`, { to: createWriteStream(copyPath) });
  const pipe = () => send('GET', `${references.url}/file`, { query: { path: copyPath } });
  await pipe();
  const wholes: (Received & { cpuMs: number })[] = [];
  const pipes: typeof wholes = [];
  const rounds = (await stat(copyPath)).size > 1e8 ? 3 : 9;
  for (let round = 0; round < rounds; round += 1) {
    pipes.push(await used(references, pipe));
    wholes.push(await used(host, whole));
  }
  const of = (all: typeof wholes, key: 'ms' | 'cpuMs' | 'headMs') => median(all.map((received) => received[key]));
  const ratio = of(wholes, 'ms') / of(pipes, 'ms');
  const detail = `${of(wholes, 'ms').toFixed(0)} ms (first byte ${of(wholes, 'headMs').toFixed(0)}, processor ${of(wholes, 'cpuMs').toFixed(0)}), file ${of(pipes, 'ms').toFixed(0)} ms (${of(pipes, 'cpuMs').toFixed(0)})`;
  targets.note('whole read', ratio, 3, '× file', detail);
}

/** Regions, renames and changes of one element, against an indexed findOne. */
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
  const found = `${viewportMs.toFixed(1)} ms for ${returned.toFixed(0)} elements; findOne ${findMs.toFixed(2)} ms`;
  targets.note('viewport', viewportMs, 50, 'ms', found);
  targets.note('viewport', viewportMs / findMs, 20, '× findOne');
  const renameMs = await medianMs(60, (i) =>
    call(bench, 'PATCH', `/annotation/${id}`, { body: JSON.stringify([{ op: 'replace', path: 'name', value: `bench ${i}` }]) }),
  );
  targets.note('rename', renameMs / findMs, 20, '× findOne', `${renameMs.toFixed(1)} ms`);
  const elements = await someElements(bench, id, count);
  const changeMs = await medianMs(40, (i) => {
    const element = elements[i % elements.length]!;
    const body = JSON.stringify({ ...element, lineWidth: i + 3 });
    return call(bench, 'PUT', `/annotation/${id}/elements/${element.id}`, { body });
  });
  targets.note('one element changed', changeMs / findMs, 100, '× findOne', `${changeMs.toFixed(1)} ms`);
}

async function medianMs(times: number, ask: (i: number) => Promise<Received>): Promise<number> {
  const all: number[] = [];
  // The first ones compile.
  for (let i = 0; i < 3; i += 1) await ask(i);
  for (let i = 0; i < times; i += 1) all.push((await ask(i)).ms);
  return median(all);
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

/** What takes longer than a view: no targets, but memory must stay bounded. */
export async function measureLong(bench: Bench, id: string): Promise<void> {
  const { host, itemId, targets } = bench;
  const long: [string, string, string, Sending['query']?][] = [
    ['centroids of all', 'GET', `/annotation/${id}`, { centroids: 'true' }],
    [
      'largest of 500 000 details',
      'GET',
      `/annotation/${id}`,
      { sort: 'size', sortdir: -1, maxDetails: 500000, minElements: 5000 },
    ],
    ['GeoJSON', 'GET', `/annotation/${id}/geojson`],
    ['copy, all sent back', 'POST', `/annotation/${id}/copy`, { itemId }],
    ['revert', 'PUT', `/annotation/${id}/history/revert`],
    ['history', 'GET', `/annotation/${id}/history`],
    ['list of all annotations', 'GET', '/annotation', { limit: 0 }],
    ['annotations of the item', 'GET', `/annotation/item/${itemId}`],
    ['delete', 'DELETE', `/annotation/${id}`],
  ];
  const before = await host.usage();
  for (const [what, method, path, query] of long) {
    const { ms, bytes } = await call(bench, method, path, { ...(query && { query }) });
    targets.tell(what, `${ms.toFixed(0)} ms, ${megabytes(bytes)}, resident ${megabytes((await host.usage()).rss)}`);
  }
  const most = (await host.usage()).maxRss;
  targets.note('growth of memory by all of these', Math.max(0, most - before.rss) / 1e6, 500, 'MB', `peak ${megabytes(most)}`);
}
