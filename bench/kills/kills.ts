/**
 * Kills a server, its worker and its database at random moments while clients write:
 * `npm run bench -- kills [--kills 100] [--seed 1] [--database durable|embedded] [--minutes 10] [--log FILE]`. See docs/benchmarks.md.
 */
import { copyFile, mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createConnection } from 'mongoose';
import { buildProgram } from '../../test/support/run/built-program.js';
import { Targets } from '../annotations/targets.js';
import { Caller } from './caller.js';
import { StableAddress } from './database.js';
import { prepareFixture } from './fixture.js';
import { countOrphans } from './orphans.js';
import { Random } from './random.js';
import { KillableServer } from './killable-server.js';
import {
  Annotator,
  Configurer,
  Converter,
  Copier,
  Editor,
  Gatekeeper,
  resumeMs,
  Uploader,
  Viewer,
  type Fixture,
  type Writer,
} from './writers.js';
import { benchDatabase } from '../support/database.js';

const { values } = parseArgs({
  args: process.argv.slice(3),
  options: {
    kills: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    database: { type: 'string', default: 'durable' },
    minutes: { type: 'string', default: '10' },
    /** The file for the warnings of the servers. */
    log: { type: 'string' },
  },
});
const kills = Number(values.kills);
const random = new Random(Number(values.seed));
/** Every fifth kill hits the worker, and every twentieth the database, instead of the server. */
const workerEvery = 5;
const databaseEvery = 20;
/** Maximum time between the start of a process and its end, in milliseconds. */
const maxLifeMs = 2500;
/** Target for the time until a client can continue an upload after the server is up, in milliseconds. */
const resumeTargetMs = 5000;

function createWriters(fixture: Fixture): Writer[] {
  const makeMany = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index));
  const uploaders = makeMany(3, (index) => new Uploader(fixture, index));
  return [
    ...uploaders,
    new Copier(fixture, 0, uploaders),
    ...makeMany(2, (index) => new Configurer(fixture, index)),
    ...makeMany(3, (index) => new Editor(fixture, index)),
    new Gatekeeper(fixture, 0),
    ...makeMany(2, (index) => new Annotator(fixture, index)),
    new Viewer(fixture, 0),
    new Converter(fixture, 0),
  ];
}

async function writeRepeatedly(writer: Writer, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    try {
      await writer.write();
    } catch (error) {
      writer.faults.push(String(error));
    }
    await pause(5);
  }
}

function report(writers: readonly Writer[], result: { server: KillableServer; orphans: Record<string, number> }) {
  const targets = new Targets();
  for (const kind of new Set(writers.map((writer) => writer.kind))) {
    const ofKind = writers.filter((writer) => writer.kind === kind);
    const faults = ofKind.flatMap((writer) => writer.faults);
    const acknowledged = ofKind.reduce((sum, writer) => sum + writer.acknowledged, 0);
    targets.check(kind, faults.length, 0, 'lost', `of ${acknowledged} acknowledged`);
    for (const fault of faults.slice(0, 5)) console.log(`    ${fault}`);
  }
  for (const [kind, count] of Object.entries(result.orphans)) targets.check(kind, count, 0, '');
  const sorted = resumeMs.toSorted((a, b) => a - b);
  const at = (share: number) => (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0).toFixed(0);
  targets.check(
    'upload resumed, longest',
    sorted.at(-1) ?? 0,
    resumeTargetMs,
    'ms',
    `${sorted.length} times, median ${at(0.5)} ms`,
  );
  const starts = result.server.startMs.toSorted((a, b) => a - b);
  targets.print(
    'server up again',
    `median ${(starts[starts.length >> 1] ?? 0).toFixed(0)} ms, longest ${(starts.at(-1) ?? 0).toFixed(0)} ms; gave up ${result.server.gaveUpCount} times`,
  );
  console.log(`\n${targets.count - targets.missed} of ${targets.count} targets reached`);
}

const directory = await mkdtemp(join(tmpdir(), 'bench-kills-'));
const database = await benchDatabase(directory, values.database === 'embedded' ? 'embedded' : 'durable');
const address = await StableAddress.create(database.uri);
const program = await buildProgram('bench/kills/host');
const log = await open(join(directory, 'log'), 'w');
const temporary = join(directory, 'temporary');
const data = join(directory, 'data');
const uri = address.uri(`bench_${process.pid}`);
const env = { TMPDIR: temporary, SERVICE_CONFIG: join(directory, 'server.cfg') };
const [server, worker] = ['server', 'worker'].map((role) => new KillableServer(program.path, [uri, data, role], env, log.fd));

async function main(): Promise<void> {
  await mkdir(temporary);
  await server!.start();
  await worker!.start();
  const caller = new Caller(server!);
  const fixture = await prepareFixture({ caller, server: server!, random });
  const writers = createWriters(fixture);
  const deadline = performance.now() + Number(values.minutes) * 60_000;
  const killed: Record<string, number> = { server: 0, worker: 0, database: 0 };
  let isOver = false;
  const writing = writers.map((writer) => writeRepeatedly(writer, () => isOver));
  for (let count = 1; count <= kills && performance.now() < deadline; count += 1) {
    await pause(random.between(20, maxLifeMs));
    if (count % databaseEvery === 0 && database.killAndStart !== undefined) {
      address.moveTo(await database.killAndStart());
      server!.upSince = performance.now();
      killed.database! += 1;
    } else if (count % workerEvery === 0) {
      await worker!.killAndStart();
      killed.worker! += 1;
    } else {
      await server!.killAndStart();
      killed.server! += 1;
    }
  }
  isOver = true;
  await Promise.all(writing);
  for (const writer of writers) await writer.verify();
  // The next server sweeps what the last kill left behind. All writers check their data once more.
  server!.sweepEvents.length = 0;
  await worker!.end();
  await server!.killAndStart();
  for (const writer of writers) await writer.verify();
  const events = () => server!.sweepEvents.map(({ event }) => event);
  const sweepDeadline = performance.now() + 60_000;
  while (!(events().includes('Sweep:Done') && events().includes('Host:Swept')) && performance.now() < sweepDeadline)
    await pause(100);
  const connection = await createConnection(uri).asPromise();
  const orphans = await countOrphans(connection, data);
  await connection.close();
  const counts = Object.entries(killed).map(([what, times]) => `${what} ${times} times`);
  console.log(
    `\nKilled with seed ${values.seed} on ${database.engine}: ${counts.join(', ')}; ${caller.unansweredCount} requests without a response\n`,
  );
  report(writers, { server: server!, orphans });
}

try {
  await main();
} finally {
  await server!.end();
  await worker!.end();
  await address.close();
  await database.stop();
  await log.close();
  if (values.log !== undefined) await copyFile(join(directory, 'log'), values.log);
  await rm(directory, { recursive: true, force: true });
  await program.remove();
}
