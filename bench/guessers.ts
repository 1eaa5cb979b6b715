/**
 * Measures how users sign in and look at tiles while clients guess passwords, on a reference host in a separate process:
 * `npm run bench -- guessers [--seconds 30] [--guessers 40] [--database durable|embedded]`. See docs/benchmarks.md.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Targets } from './annotations/targets.js';
import { runClients, type Kind, type Outcome } from './load/clients.js';
import { cachedTilePath } from './load/kinds.js';
import { quantile } from './load/report.js';
import { prepareScene, type Scene } from './load/scene.js';
import { startChild } from './support/children.js';
import { benchDatabase } from './support/database.js';

const { values } = parseArgs({
  args: process.argv.slice(3),
  options: {
    seconds: { type: 'string', default: '30' },
    guessers: { type: 'string', default: '40' },
    database: { type: 'string', default: 'durable' },
  },
});
const seconds = Number(values.seconds);
const guessers = Number(values.guessers);
const baselineSeconds = Math.max(3, seconds / 3);

/** Limits in milliseconds: for every sign-in, and for a cached tile at the 99th percentile. */
const maxSignInMs = 2000;
const maxCachedTileMs = 250;
const tiles = 512;

const signIn = (login: string, password: string, address: string) =>
  ({
    method: 'GET',
    path: '/api/v1/user/authentication',
    headers: { Authorization: `Basic ${btoa(`${login}:${password}`)}`, 'X-Forwarded-For': address },
  }) as const;

let networks = 0;
/** An address in a network from which nobody has sent a request. */
function newAddress(): string {
  networks += 1;
  return `10.${(networks >> 16) & 255}.${(networks >> 8) & 255}.${networks & 255}`;
}

/** Users who sign in from their usual network, users in a new network, and users who look at tiles. */
function createUserKinds(url: string, bareUrl: string, scene: Scene): Kind[] {
  const token = (client: number) => ({ 'Girder-Token': scene.tokens[client % scene.tokens.length]! });
  const tile = () => ({ method: 'GET', path: cachedTilePath(scene, Math.floor(Math.random() * tiles)) }) as const;
  return [
    { name: 'bare Express', clients: 2, url: bareUrl, next: () => ({ method: 'GET', path: '/tile' }) },
    { name: 'cached tile', clients: 4, url, headers: token, next: tile },
    { name: 'sign-in', clients: 2, url, next: (client) => signIn(`bench${client}`, 'bench.password', '127.0.0.1') },
    { name: 'sign-in elsewhere', clients: 1, url, next: () => signIn('bench7', 'bench.password', newAddress()) },
  ];
}

/**
 * Each guess comes from another network, so that no limit for a network stops it. Half of the guesses are for the login of one of the
 * users.
 */
function createGuesserKind(url: string): Kind {
  const next: Kind['next'] = (client, count) =>
    signIn(client % 2 === 0 ? `bench${client % 8}` : `nobody${client}x${count}`, `guess ${count}`, newAddress());
  return { name: 'guess', clients: guessers, url, isRude: true, next };
}

function print(title: string, outcomes: readonly Outcome[], durationSeconds: number): void {
  console.log(`\n${title}`);
  const row = (cells: readonly string[]) => cells.map((cell, i) => (i === 0 ? cell.padEnd(20) : cell.padStart(10))).join('');
  console.log(row(['kind', 'clients', '/s', 'ok', '401', '429', '503', 'p50 ms', 'p99 ms', 'max ms']));
  for (const { name, clients, times, statuses } of outcomes) {
    const requestCount = [...statuses.values()].reduce((sum, count) => sum + count, 0);
    const by = [200, 401, 429, 503].map((status) => String(statuses.get(status) ?? 0));
    const ms = [0.5, 0.99, 1].map((share) => quantile(times, share).toFixed(0));
    console.log(row([name, String(clients), (requestCount / durationSeconds).toFixed(1), ...by, ...ms]));
  }
}

async function main(directory: string, mongoUri: string, engine: string): Promise<void> {
  const script = (name: string) => fileURLToPath(new URL(`load/${name}`, import.meta.url));
  // These options replace the cheap hashes of the default options, and let the host trust a proxy.
  const options = JSON.stringify({ trustProxy: 1 });
  const host = await startChild(script('host.ts'), [mongoUri, join(directory, 'data'), options], ['--expose-gc']);
  try {
    const scene = await prepareScene(host.url, directory, 100);
    const answer = await fetch(host.url + cachedTilePath(scene, 0), { headers: { 'Girder-Token': scene.tokens[0]! } });
    const tilePath = join(directory, 'tile.jpg');
    await writeFile(tilePath, Buffer.from(await answer.arrayBuffer()));
    const bare = await startChild(script('bare.ts'), [tilePath]);
    try {
      const kinds = createUserKinds(host.url, bare.url, scene);
      await runClients(kinds, baselineSeconds);
      print(`Nobody guesses, ${engine}`, await runClients(kinds, baselineSeconds), baselineSeconds);
      const outcomes = await runClients([...kinds, createGuesserKind(host.url)], seconds);
      print(`${guessers} guessers`, outcomes, seconds);
      checkTargets(outcomes);
    } finally {
      await bare.stop();
    }
  } finally {
    await host.stop();
  }
}

function checkTargets(outcomes: readonly Outcome[]): void {
  const outcomeOf = (name: string) => outcomes.find((outcome) => outcome.name === name)!;
  const failures = ({ statuses }: Outcome) =>
    [...statuses].reduce((sum, [status, count]) => (status === 200 ? sum : sum + count), 0);
  const targets = new Targets();
  console.log('');
  targets.check('sign-in, the longest', Math.max(...outcomeOf('sign-in').times), maxSignInMs, 'ms');
  targets.check('sign-ins refused', failures(outcomeOf('sign-in')), 0, '');
  const bare = `${quantile(outcomeOf('bare Express').times, 0.99).toFixed(0)} ms for a bare Express`;
  targets.check('cached tile, p99', quantile(outcomeOf('cached tile').times, 0.99), maxCachedTileMs, 'ms', bare);
  targets.check('tiles refused', failures(outcomeOf('cached tile')), 0, '');
  const unexpected = outcomes.flatMap(({ statuses }) => [...statuses.keys()]).filter((s) => ![200, 401, 429, 503].includes(s));
  targets.check('other responses, or none', unexpected.length, 0, '');
  console.log(`\n${targets.count - targets.missed} of ${targets.count} targets reached`);
}

const directory = await mkdtemp(join(tmpdir(), 'bench-guessers-'));
const database = await benchDatabase(directory, values.database === 'embedded' ? 'embedded' : 'durable');
try {
  const uri = new URL(database.uri);
  uri.pathname = `/bench_${process.pid}`;
  await main(directory, uri.href, database.engine);
} finally {
  await database.stop();
  await rm(directory, { recursive: true, force: true });
}
