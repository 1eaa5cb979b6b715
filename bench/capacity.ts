/**
 * Measures the processor time that each kind of request costs the server, which other programs on the machine hardly change: `npm
 * run bench -- capacity [--seconds 5] [--shapes 1000000] [--database durable|embedded]`. See docs/capacity.md. Linux only.
 */
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createConnection } from 'mongoose';
import { runClients, type Kind } from './load/clients.js';
import type { ProcessorTimes, ServerState } from './load/host.js';
import { mixedKinds } from './load/kinds.js';
import { prepareScene, type Scene } from './load/scene.js';
import { startChild, type AnsweringChild } from './support/children.js';
import { benchDatabase } from './support/database.js';
import { writePolygons } from './support/polygons.js';

const { values } = parseArgs({
  args: process.argv.slice(3),
  options: {
    seconds: { type: 'string', default: '5' },
    shapes: { type: 'string', default: '1000000' },
    database: { type: 'string', default: 'durable' },
  },
});
const seconds = Number(values.seconds);
const shapes = Number(values.shapes);
/** There are so few clients that no request waits for another one, and that requests do not share work. */
const clientsAtOnce = 2;
const streamCount = 500;

/** Processor time of the server in milliseconds. */
interface Cost {
  /** Time of the main thread. */
  main: number;
  /** Time of all threads and child processes. */
  all: number;
}

/** Measures the processor time for each of the units whose number `work` returns, without the time that the idle server takes. */
async function measureCost(
  host: AnsweringChild,
  idle: Cost,
  work: () => Promise<number>,
): Promise<Cost & { count: number; seconds: number }> {
  const times = () => host.ask('processor') as Promise<ProcessorTimes>;
  const [before, startMs] = [await times(), performance.now()];
  const count = await work();
  const [after, elapsedMs] = [await times(), performance.now() - startMs];
  const main = after.mainMs - before.mainMs - (idle.main * elapsedMs) / 1000;
  const totalMs = after.threadsMs + after.childrenMs - before.threadsMs - before.childrenMs - (idle.all * elapsedMs) / 1000;
  return { main: main / count, all: totalMs / count, count, seconds: elapsedMs / 1000 };
}

function print(name: string, { main, all, count }: Cost & { count: number }, unit = 'each'): void {
  const number = (value: number) => value.toFixed(value < 10 ? 2 : 0).padStart(9);
  console.log(`${name.padEnd(34)}${number(main)} ms${number(all)} ms  ${unit}   (${count})`);
}

async function countResponses(kind: Kind): Promise<number> {
  const [outcome] = await runClients([{ ...kind, clients: clientsAtOnce }], seconds);
  if (outcome === undefined || outcome.times.length === 0) throw new Error(`No request of the kind ${kind.name} was answered.`);
  return outcome.times.length;
}

async function call(
  url: string,
  token: string,
  method: string,
  path: string,
  body?: RequestInit['body'],
): Promise<{ _id: string }> {
  const request: RequestInit = {
    method,
    headers: { 'Girder-Token': token },
    ...(body !== undefined && { body, duplex: 'half' }),
  };
  const response = await fetch(`${url}/api/v1${path}`, request);
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return JSON.parse(text) as { _id: string };
}

/** Number of bytes that are stored for elements. */
async function storedBytes(): Promise<number> {
  const connection = await createConnection(uri.href).asPromise();
  try {
    let bytes = 0;
    for (const name of ['pack', 'window', 'part']) {
      const documents = connection.collection(`large_image_annotation_element_${name}`).find({}, { raw: true });
      // Raw documents are the bytes themselves.
      for await (const document of documents) bytes += (document as unknown as Buffer).length;
    }
    return bytes;
  } finally {
    await connection.close();
  }
}

async function residentMiB(host: AnsweringChild): Promise<string> {
  const { rss } = (await host.ask('state')) as ServerState;
  return `${(rss / 2 ** 20).toFixed(0)} MiB`;
}

/** Opens event streams for the users in turn, and prints what a stream costs while nothing happens. */
async function printStreams(host: AnsweringChild, { tokens }: Scene, idle: Cost, name: string, path: string): Promise<void> {
  const serverState = async () => (await host.ask('state')) as ServerState;
  const streamsController = new AbortController();
  const before = await serverState();
  const responses = await Promise.all(
    Array.from({ length: streamCount }, (_, index) =>
      fetch(`${host.url}/api/v1${path}token=${tokens[index % tokens.length]}`, { signal: streamsController.signal }),
    ),
  );
  const refusedResponse = responses.find(({ ok }) => !ok);
  if (refusedResponse !== undefined)
    throw new Error(`An event stream was answered ${refusedResponse.status}: ${await refusedResponse.text()}`);
  const after = await serverState();
  const streams = await measureCost(host, idle, () => pause(seconds * 1000, seconds * streamCount));
  print(`a stream of ${name}`, streams, 'a second');
  const kib = (bytes: number) => (bytes / streamCount / 1024).toFixed(0);
  console.log(
    `${kib(after.heapUsed - before.heapUsed)} KiB of heap, ${kib(after.rss - before.rss)} KiB resident, for each of ${streamCount} streams`,
  );
  streamsController.abort();
}

/** Converts the slide, and waits for the job's end. */
async function convert(url: string, { tokens, itemId }: Scene): Promise<void> {
  const token = tokens[0]!;
  const { _id } = await call(
    url,
    token,
    'POST',
    `/item/${itemId}/tiles/convert?localJob=false&name=converted.tiff&compression=jpeg&quality=91`,
  );
  for (;;) {
    const { status } = (await call(url, token, 'GET', `/job/${_id}`)) as unknown as { status: number };
    if (status === 3) return;
    if (status > 3) throw new Error(`The conversion has ended with status ${status}.`);
    await pause(200);
  }
}

const directory = await mkdtemp(join(tmpdir(), 'bench-capacity-'));
const database = await benchDatabase(directory, values.database === 'embedded' ? 'embedded' : 'durable');
const uri = new URL(database.uri);
uri.pathname = `/bench_${process.pid}`;
const script = fileURLToPath(new URL('load/host.ts', import.meta.url));
const host = await startChild(script, [uri.href, join(directory, 'data')], ['--expose-gc']);
try {
  const scene = await prepareScene(host.url, directory);
  const kinds = mixedKinds(host.url, host.url, scene, 200, new Map()).filter(({ name }) => name !== 'bare Express');
  await runClients(
    kinds.map((kind) => ({ ...kind, clients: 1 })),
    3,
  );

  // This also collects the garbage of the warm-up, which would count as a cost of the idle server.
  await host.ask('state');
  await pause(3000);
  const idle = await measureCost(host, { main: 0, all: 0 }, () => pause(seconds * 1000, seconds));
  console.log(`Processor time of the server, ${database.engine}: of its main thread, and of all threads and children\n`);
  print('nothing', idle, 'a second');
  for (const kind of kinds) print(kind.name, await measureCost(host, idle, () => countResponses(kind)));

  const signIn: Kind = {
    name: 'sign-in',
    clients: 1,
    url: host.url,
    headers: () => ({ Authorization: `Basic ${Buffer.from('bench0:bench.password').toString('base64')}` }),
    next: () => ({ method: 'GET', path: '/api/v1/user/authentication' }),
  };
  print('sign-in (8 KiB hashes)', await measureCost(host, idle, () => countResponses(signIn)));

  await printStreams(host, scene, idle, 'messages', '/notification/stream?');
  await printStreams(host, scene, idle, 'changes', `/annotation/events?itemId=${scene.itemId}&`);

  const pixels = 8192 * 8192;
  print(
    'conversion to JPEG tiles',
    await measureCost(host, idle, () => convert(host.url, scene).then(() => pixels / 1e6)),
    'a megapixel',
  );

  const resident = await residentMiB(host);
  const polygons = join(directory, 'polygons.json');
  await writePolygons(polygons, shapes);
  const before = await storedBytes();
  const annotationCost = await measureCost(host, idle, async () => {
    await call(host.url, scene.tokens[0]!, 'POST', `/annotation?itemId=${scene.itemId}`, createReadStream(polygons));
    return shapes / 1000;
  });
  print(`annotation of ${shapes} polygons`, annotationCost, 'a thousand');
  const [jsonBytes, databaseBytes] = [(await stat(polygons)).size, (await storedBytes()) - before];
  console.log(
    `\na polygon: ${(jsonBytes / shapes).toFixed(0)} bytes of JSON, ${(databaseBytes / shapes).toFixed(0)} in the database`,
  );
  console.log(`resident: ${resident} before the annotation, ${await residentMiB(host)} after it`);
} finally {
  await host.stop();
  await database.stop();
  await rm(directory, { recursive: true, force: true });
}
