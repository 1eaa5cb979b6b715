import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Types } from 'mongoose';
import type { Registry } from 'prom-client';
import { startDatabase } from '../database/start-database.js';
import { DatabaseUnavailableError, type Database } from '../database/contract.js';
import { DataDirectoryInUseError, lockDataDirectory } from './data-lock.js';
import { findTileSources } from '../../index.js';
import { createReferenceHost, type ReferenceHost } from '../index.js';
import { Closers } from './closers.js';
import { addOwnFiles, addSyntheticSlide, adminLogin, ensureAdmin } from './content.js';
import { listen } from './listen.js';
import { addOwnBuckets, requireBuckets } from './own-buckets.js';
import { openLog, survivePrinting } from './log.js';
import { readOptions, UsageError, type StartOptions } from './options.js';
import { keptPassword } from './password.js';
import { addNuclei, nucleiName } from './nuclei.js';
import { isInstalled } from '../packages.js';
import { OneOfSeveral, ServingProcesses } from './processes.js';
import { progressDisplay } from './progress.js';
import { RunningHost } from './running-host.js';
import { makeSyntheticSlide } from '../synthetic-slide/slide.js';

// The package's own name leads to its package.json from the sources and from what is built of them.
const { version } = createRequire(import.meta.url)('express-large-image/package.json') as { version: string };
/** After this the process ends although something has not closed. */
const closeDeadlineMs = 40_000;

const display = progressDisplay(process.stdout);
const closers = new Closers((name, error) => display.line(`Closing failed (${name}): ${describe(error)}`));
const stopping = new AbortController();

async function run(words: readonly string[], command: string): Promise<void> {
  survivePrinting();
  const options = readOptions(words, process.env, version, command);
  if ('help' in options) {
    process.stdout.write(`${options.help}\n`);
    return;
  }
  watchSignals();
  if (options.worker) return work(options);
  let restart = () => undefined as void;
  const one = OneOfSeveral.here({ stop: () => void stop(0, 'Stopping.'), restart: () => restart() });
  if (one === null && options.processes > 1) return watchOver(options);
  const signal = stopping.signal;
  await requireBuckets(options.buckets, signal);
  await lockOwnDatabase(options);
  const server = await listen(options.host, options.port);
  if (one === null) display.line(`express-large-image ${version} is starting at ${server.url}`);

  const database = await openDatabase(options);
  signal.throwIfAborted();

  const logger = openLog(options.logLevel, one === null ? null : { pid: process.pid });
  const register = await metricsRegistry(one);
  const tileSources = await findTileSources(process.cwd(), { logger });
  const found: { admin: Awaited<ReturnType<typeof administrator>> | null } = { admin: null };
  const running = await RunningHost.start({
    make(restartThis) {
      restart = restartThis;
      return createReferenceHost({
        mongoUri: database.uri,
        databaseWaitMs: options.databaseWaitMs,
        dataDirectory: options.dataDirectory,
        ...(options.brand !== null && { brand: options.brand }),
        ...(options.trustProxy !== null && { trustProxy: options.trustProxy }),
        logger,
        install: { tileSources, processes: options.processes },
        restart: one === null ? restartThis : () => one.restartAll(),
        ...(register && {
          metrics: { register, token: options.metricsToken, ...(one !== null && { text: () => one.metrics() }) },
        }),
      });
    },
    // The first user to register is the administrator: nobody may be quicker.
    prepare: async (host) => {
      const isFilling = !options.bare && (one === null || one.fills);
      if (isFilling) found.admin = await alone(host, 'administrator', () => administrator(host, options));
    },
    server,
    report: (text) => display.line(text),
    failed: (error) => void stop(1, `The server could not be restarted: ${describe(error)}`),
  });
  await closers.add('host', () => running.close());
  await closers.add('web server', () => server.close());
  await closers.add('event streams', () => running.endStreams());
  signal.throwIfAborted();

  const { admin } = found;
  display.end();
  if (one !== null) one.serving({ url: server.url, login: admin?.login ?? null });
  else process.stdout.write(`${banner(server.url, database, options, admin?.login ?? null)}\n`);
  if (admin === null) return;
  const fill = options.paths.length + options.buckets.length > 0 ? registerFiles : demonstrate;
  try {
    await fill(running, { options, url: server.url, creatorId: admin.id, signal });
  } catch (error) {
    if (signal.aborted) return;
    display.end();
    display.line(
      `The server runs, but ${fill === demonstrate ? 'has no whole example' : 'not with all of the files'}: ${describe(error)}`,
    );
  }
}

/** Does what one of several servers on a database does at a time: the others find it done. */
function alone<T>(host: ReferenceHost, name: 'administrator' | 'filling', work: () => Promise<T>): Promise<T> {
  const busy = () => new Error('Another server on this database has been filling it for an hour.');
  return host.context.claims.run(name, { patienceMs: 60 * 60 * 1000, busy }, work);
}

/** Has several processes serve, and watches over them. */
async function watchOver(options: StartOptions): Promise<void> {
  await lockOwnDatabase(options);
  // A port that is taken is known before anything slow is done.
  if (options.port !== 0) await (await listen(options.host, options.port)).close();
  display.line(`express-large-image ${version} is starting in ${options.processes} processes`);
  const database = await openDatabase(options);
  const numbers = isInstalled('prom-client') ? new (await import('prom-client')).AggregatorRegistry() : null;
  const processes = new ServingProcesses({
    count: options.processes,
    env: { MONGODB_URI: database.uri },
    report: (text) => display.line(text),
    metrics: async () => (await numbers?.clusterMetrics()) ?? '',
  });
  await closers.add('processes', () => processes.stop());
  stopping.signal.throwIfAborted();
  const serving = await processes.start();
  if (serving === null) return stop(1, 'Nothing is served: the first process has ended.');
  display.end();
  process.stdout.write(`${banner(serving.url, database, options, serving.login)}\n`);
}

/** A database that is started here has its files in the data folder: no other server may use that meanwhile. Several may, where the database is elsewhere. */
async function lockOwnDatabase({ dataDirectory }: StartOptions): Promise<void> {
  if (!process.env.MONGODB_URI) await closers.add('lock of the data folder', await lockDataDirectory(dataDirectory));
}

async function openDatabase(options: StartOptions): Promise<Database> {
  const database = await startDatabase({
    env: process.env,
    directory: join(options.dataDirectory, 'database'),
    waitMs: options.databaseWaitMs,
    report: (progress) => display.report(progress),
    signal: stopping.signal,
  });
  await closers.add('database', () => database.stop());
  void database.lost.then((error) => stop(1, `The database has ended: ${error.message}`));
  return database;
}

/** Where numbers for Prometheus are collected, those of the process among them; `null` where its package is not installed. */
async function metricsRegistry(one: OneOfSeveral | null): Promise<Registry | null> {
  if (!isInstalled('prom-client')) return null;
  const { AggregatorRegistry, collectDefaultMetrics, Registry } = await import('prom-client');
  const register = new Registry();
  collectDefaultMetrics({ register });
  if (one !== null) {
    // It answers the process that adds up the numbers of all.
    AggregatorRegistry.setRegistries(register);
    new AggregatorRegistry();
  }
  return register;
}

/** Runs jobs until it is stopped. The data folder belongs to the server: it is not locked. */
async function work(options: StartOptions): Promise<void> {
  const { databaseWaitMs } = options;
  const logger = openLog(options.logLevel);
  const database = await openDatabase(options);
  const host = await createReferenceHost({
    mongoUri: database.uri,
    databaseWaitMs,
    dataDirectory: options.dataDirectory,
    worker: true,
    ...(options.brand !== null && { brand: options.brand }),
    logger,
    install: { tileSources: await findTileSources(process.cwd(), { logger }) },
  });
  await closers.add('worker', () => host.close());
  display.end();
  process.stdout.write(`Running jobs of ${database.address}, data in ${options.dataDirectory}. Stop with Ctrl-C.\n`);
}

/** What is made, or registered, while the server serves: nobody need wait for it. */
interface Filling {
  options: StartOptions;
  url: string;
  creatorId: Types.ObjectId | null;
  signal: AbortSignal;
}

/** Fills the server alone. No restart interrupts it. */
function filling(running: RunningHost, work: (host: ReferenceHost) => Promise<void>): Promise<void> {
  return running.use((host) => alone(host, 'filling', () => work(host)));
}

/** Makes the synthetic slide an item, and annotates it. */
async function demonstrate(running: RunningHost, { options, url, creatorId, signal }: Filling): Promise<void> {
  const path = join(options.dataDirectory, 'synthetic-tissue-slide.tiff');
  await makeSyntheticSlide(path, { report: (progress) => display.report(progress), signal });
  await filling(running, async (host) => {
    const itemId = await addSyntheticSlide(host.context, {
      path,
      creatorId,
      register: (file) => host.registerFileInPlace(file),
    });
    const begun = Date.now();
    const count = await addNuclei(host.context, { url, itemId, report: (progress) => display.report(progress), signal });
    display.end();
    if (count === 0) return;
    const seconds = ((Date.now() - begun) / 1000).toFixed(1);
    display.line(`The slide has the annotation ${nucleiName}: ${count} nuclei, stored in ${seconds} s.`);
  });
}

/** Makes the caller's own files items. */
async function registerFiles(running: RunningHost, { options, creatorId, signal }: Filling): Promise<void> {
  const telling = {
    creatorId,
    report: (path: string) => display.report({ text: `Registering ${path}` }),
    leftOut: (path: string, reason: string) => display.line(`Left out ${path}: ${reason}`),
    signal,
  };
  const { paths, buckets: places } = options;
  await filling(running, async (host) => {
    const { context } = host;
    if (paths.length > 0) {
      const count = await addOwnFiles(context, { ...telling, paths, register: (file) => host.registerFileInPlace(file) });
      display.end();
      display.line(`${count} of your own files are served in place: collection Local files.`);
    }
    if (places.length > 0) {
      const count = await addOwnBuckets(context, { ...telling, places });
      display.end();
      display.line(`${count} files in buckets are served in place: collection Files in buckets.`);
    }
  });
}

/** Makes the administrator where there is no user yet. @returns who that is, and what the banner says about signing in */
async function administrator(
  host: ReferenceHost,
  options: StartOptions,
): Promise<{ id: Types.ObjectId | null; login: string[] }> {
  const kept = options.adminPassword === null ? await keptPassword(options.dataDirectory) : null;
  const password = options.adminPassword ?? kept?.password ?? '';
  const { user, isPassword } = await ensureAdmin(host.context, password);
  const id = user?._id ?? null;
  if (isPassword) {
    const source = kept === null ? 'from ADMIN_PASSWORD' : `kept in ${kept.path}`;
    return { id, login: [`Login     ${adminLogin}`, `Password  ${password}   (${source})`] };
  }
  const reason =
    user === null
      ? `there are users in this database, and none is called ${adminLogin}`
      : `the password of ${adminLogin} in this database is another than ${kept === null ? 'ADMIN_PASSWORD' : `the one in ${kept.path}`}`;
  return { id, login: [`Login     as before: ${reason}`] };
}

function banner(url: string, database: Database, options: StartOptions, login: string[] | null): string {
  const keeping =
    database.durable === null
      ? ''
      : database.durable
        ? `, data in ${join(options.dataDirectory, 'database')}`
        : '. ITS DATA ARE IN MEMORY: they are gone when the server stops';
  return [
    '',
    `Address   ${url}/`,
    ...(login ?? ['Login     nobody yet: the first user to register is the administrator']),
    `Database  ${database.engine} at ${database.address}${keeping}`,
    `Data      ${options.dataDirectory}`,
    'Stop with Ctrl-C.',
    '',
  ].join('\n');
}

function watchSignals(): void {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      // Asked twice: whoever asks does not want to wait. Children see the end of this process and end too.
      if (stopping.signal.aborted) process.exit(130);
      void stop(0, 'Stopping.');
    });
  }
}

async function stop(code: number, reason: string): Promise<void> {
  if (stopping.signal.aborted) return;
  display.line(reason);
  stopping.abort(new Error(reason));
  const closed = closers.close().then(() => true);
  const inTime = await Promise.race([closed, wait(closeDeadlineMs, false)]);
  if (!inTime) display.line('Not everything ended in time.');
  process.exit(inTime ? code : 1);
}

function describe(error: unknown): string {
  if (error instanceof UsageError || error instanceof DatabaseUnavailableError || error instanceof DataDirectoryInUseError) {
    return error.message;
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/**
 * Runs the server until it is told to stop, and ends the process with it.
 *
 * @param words its command line
 * @param command what stands before them, for messages: `npm start --`
 */
export async function serve(words: readonly string[], command: string): Promise<void> {
  try {
    await run(words, command);
  } catch (error) {
    // A start that was cancelled ends in stop(), which is under way.
    if (stopping.signal.aborted) return;
    display.end();
    process.stderr.write(`${describe(error)}\n`);
    await closers.close();
    process.exit(error instanceof UsageError ? 2 : 1);
  }
}
