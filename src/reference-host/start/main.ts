import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Types } from 'mongoose';
import type { Registry } from 'prom-client';
import { startDatabase } from '../database/start-database.js';
import { DatabaseUnavailableError, type Database } from '../database/contract.js';
import { DataDirectoryInUseError, lockDataDirectory } from './data-lock.js';
import { createReferenceHost, type ReferenceHost } from '../index.js';
import { Closers } from './closers.js';
import { addOwnFiles, addSyntheticSlide, adminLogin, ensureAdmin, type RegisterInPlace } from './content.js';
import { listen } from './listen.js';
import { openLog, survivePrinting } from './log.js';
import { readOptions, UsageError, type StartOptions } from './options.js';
import { keptPassword } from './password.js';
import { addNuclei, nucleiName } from './nuclei.js';
import { isInstalled } from '../packages.js';
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

async function main(): Promise<void> {
  survivePrinting();
  const options = readOptions(process.argv.slice(2), process.env, version);
  if ('help' in options) {
    process.stdout.write(`${options.help}\n`);
    return;
  }
  watchSignals();
  if (options.worker) return work(options);
  const signal = stopping.signal;
  const release = await lockDataDirectory(options.dataDirectory);
  await closers.add('lock of the data folder', release);
  const server = await listen(options.host, options.port);
  display.line(`express-large-image ${version} is starting at ${server.url}`);

  const database = await startDatabase({
    env: process.env,
    directory: join(options.dataDirectory, 'database'),
    report: (progress) => display.report(progress),
    signal,
  });
  await closers.add('database', () => database.stop());
  void database.lost.then((error) => stop(1, `The database has ended: ${error.message}`));
  signal.throwIfAborted();

  const logger = openLog(options.logLevel);
  const register = await metricsRegistry();
  const running = await RunningHost.start({
    make: (restart) =>
      createReferenceHost({
        mongoUri: database.uri,
        dataDirectory: options.dataDirectory,
        ...(options.brand !== null && { brand: options.brand }),
        ...(options.trustProxy !== null && { trustProxy: options.trustProxy }),
        logger,
        restart,
        ...(register && { metrics: { register, token: options.metricsToken } }),
      }),
    server,
    report: (text) => display.line(text),
    failed: (error) => void stop(1, `The server could not be restarted: ${describe(error)}`),
  });
  await closers.add('host', () => running.close());
  await closers.add('web server', () => server.close());
  await closers.add('event streams', () => running.endStreams());
  signal.throwIfAborted();

  const filled = options.bare ? null : await running.use((host) => fill(host, options, signal));
  display.end();
  process.stdout.write(`${banner(server.url, database, options, filled?.login ?? null)}\n`);
  if (filled !== null) await running.use((host) => annotate(host, server.url, filled.slideId, signal));
}

/** Where numbers for Prometheus are collected, those of the process among them; `null` where its package is not installed. */
async function metricsRegistry(): Promise<Registry | null> {
  if (!isInstalled('prom-client')) return null;
  const { collectDefaultMetrics, Registry } = await import('prom-client');
  const register = new Registry();
  collectDefaultMetrics({ register });
  return register;
}

/** Runs jobs until it is stopped. The data folder belongs to the server: it is not locked. */
async function work(options: StartOptions): Promise<void> {
  const database = await startDatabase({ env: process.env, directory: null, signal: stopping.signal });
  const host = await createReferenceHost({
    mongoUri: database.uri,
    dataDirectory: options.dataDirectory,
    worker: true,
    ...(options.brand !== null && { brand: options.brand }),
    logger: openLog(options.logLevel),
  });
  await closers.add('worker', () => host.close());
  display.end();
  process.stdout.write(`Running jobs of ${database.address}, data in ${options.dataDirectory}. Stop with Ctrl-C.\n`);
}

/** Annotates the slide while the server serves: nobody need wait for it. */
async function annotate(host: ReferenceHost, url: string, itemId: Types.ObjectId, signal: AbortSignal): Promise<void> {
  const begun = Date.now();
  try {
    const count = await addNuclei(host.context, { url, itemId, report: (progress) => display.report(progress), signal });
    display.end();
    if (count === 0) return;
    const seconds = ((Date.now() - begun) / 1000).toFixed(1);
    display.line(`The slide has the annotation ${nucleiName}: ${count} nuclei, stored in ${seconds} s.`);
  } catch (error) {
    if (signal.aborted) return;
    display.line(`The nuclei of the slide could not be annotated: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** What {@link fill} made. */
interface Filled {
  slideId: Types.ObjectId;
  /** What the banner says about signing in. */
  login: string[];
}

/** Makes the administrator, the slide and the records of the caller's own files. */
async function fill(host: ReferenceHost, options: StartOptions, signal: AbortSignal): Promise<Filled> {
  const kept = options.adminPassword === null ? await keptPassword(options.dataDirectory) : null;
  const password = options.adminPassword ?? kept?.password ?? '';
  const { user, isPassword } = await ensureAdmin(host.context, password);
  const creatorId = user?._id ?? null;
  const register: RegisterInPlace = (file) => host.registerFileInPlace(file);

  const slide = join(options.dataDirectory, 'synthetic-tissue-slide.tiff');
  await makeSyntheticSlide(slide, { report: (progress) => display.report(progress), signal });
  const slideId = await addSyntheticSlide(host.context, { path: slide, creatorId, register });
  const count = await addOwnFiles(host.context, {
    paths: options.paths,
    creatorId,
    register,
    report: (path) => display.report({ text: `Registering ${path}` }),
    leftOut: (path, reason) => display.line(`Left out ${path}: ${reason}`),
    signal,
  });
  const files = options.paths.length === 0 ? [] : [`Files     ${count} of your own, served in place: collection Local files`];
  if (isPassword) {
    const source = kept === null ? 'from ADMIN_PASSWORD' : `kept in ${kept.path}`;
    return { slideId, login: [`Login     ${adminLogin}`, `Password  ${password}   (${source})`, ...files] };
  }
  const reason =
    user === null
      ? `there are users in this database, and none is called ${adminLogin}`
      : `the password of ${adminLogin} in this database is another than ${kept === null ? 'ADMIN_PASSWORD' : `the one in ${kept.path}`}`;
  return { slideId, login: [`Login     as before: ${reason}`, ...files] };
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

main().catch(async (error: unknown) => {
  // A start that was cancelled ends in stop(), which is under way.
  if (stopping.signal.aborted) return;
  display.end();
  process.stderr.write(`${describe(error)}\n`);
  await closers.close();
  process.exit(1);
});
