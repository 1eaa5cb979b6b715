import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { startDatabase } from '../database/start-database.js';
import { DatabaseUnavailableError, type Database } from '../database/database-options.js';
import { DataDirectoryInUseError, lockDataDirectory } from './data-lock.js';
import { Closers } from './closers.js';
import { listen } from './listen.js';
import type { HostingContext } from './hosting.js';
import { ignoreOutputErrors } from './log.js';
import { readOptions, UsageError, type StartOptions } from './options.js';
import { isInstalled } from '../../optional-packages.js';
import { WatchedProcess, ServingProcesses } from './processes.js';
import { createProgressDisplay } from './progress.js';

// The name of the package leads to its package.json both from the sources and from the built files.
const { version } = createRequire(import.meta.url)('express-large-image/package.json') as { version: string };
/** When stopping takes longer than this, the process ends even if something has not closed. */
const closeDeadlineMs = 40_000;

const display = createProgressDisplay(process.stdout);
const closers = new Closers((name, error) => display.writeLine(`Closing failed (${name}): ${describeError(error)}`));
const stopController = new AbortController();

async function startServer(words: readonly string[], command: string): Promise<void> {
  ignoreOutputErrors();
  const options = readOptions(words, process.env, version, command);
  if ('help' in options) {
    process.stdout.write(`${options.help}\n`);
    return;
  }
  watchSignals();
  if (options.worker) return runWorker(options);
  let restart = () => undefined as void;
  const watchedProcess = WatchedProcess.connect({ stop: () => void stop(0, 'Stopping.'), restart: () => restart() });
  if (watchedProcess === null && options.processCount > 1) return watchProcesses(options);
  const signal = stopController.signal;
  if (options.buckets.length > 0) await (await import('./content/bucket-objects.js')).requireBuckets(options.buckets, signal);
  await lockDirectoryOfOwnDatabase(options);
  // If other processes may serve the same data, this process opens its port only when it can answer, because a load balancer sends requests
  // to open ports. Whether the port is free is already checked here.
  const delaysListening = watchedProcess !== null || Boolean(process.env.MONGODB_URI);
  if (delaysListening && watchedProcess === null && options.port !== 0) await (await listen(options.host, options.port)).close();
  const server = await listen(options.host, options.port, { delaysListening });
  if (watchedProcess === null)
    display.writeLine(`express-large-image ${version} is starting${delaysListening ? '' : ` at ${server.url}`}`);

  const [database, { openHost }] = await Promise.all([openDatabase(options), import('./hosting.js')]);
  signal.throwIfAborted();

  const hosting: HostingContext = {
    options,
    mongoUri: database.uri,
    server,
    watchedProcess,
    display,
    signal,
    onRestartable: (restartHost) => (restart = restartHost),
    onRestartFailed: (error) => void stop(1, `The server could not be restarted: ${describeError(error)}`),
  };
  const { runningHost, loginLines, addContents } = await openHost(hosting);
  await closers.add('host', () => runningHost.close());
  await closers.add('web server', () => server.close());
  await closers.add('event streams', () => runningHost.endStreams());
  signal.throwIfAborted();

  display.endProgress();
  if (watchedProcess !== null) watchedProcess.reportServing({ url: server.url, loginLines });
  else process.stdout.write(`${createBanner(server.url, database, options, loginLines)}\n`);
  await addContents?.();
}

/** Starts several serving processes and watches them. */
async function watchProcesses(options: StartOptions): Promise<void> {
  await lockDirectoryOfOwnDatabase(options);
  // A port that is taken is noticed before anything slow is done.
  if (options.port !== 0) await (await listen(options.host, options.port)).close();
  display.writeLine(`express-large-image ${version} is starting in ${options.processCount} processes`);
  const database = await openDatabase(options);
  const promClient = isInstalled('prom-client') ? await import('prom-client') : null;
  const processes = new ServingProcesses({
    count: options.processCount,
    env: { MONGODB_URI: database.uri },
    writeLine: (text) => display.writeLine(text),
    // `ServingProcesses` collects the numbers, because prom-client would wait for processes that are still starting, and then fail.
    aggregateMetrics: async (numbers) => (await promClient?.AggregatorRegistry.aggregate(numbers).metrics()) ?? '',
  });
  await closers.add('processes', () => processes.stop());
  stopController.signal.throwIfAborted();
  const servingInfo = await processes.start();
  if (servingInfo === null) return stop(1, 'The server has stopped: its first process has ended.');
  display.endProgress();
  process.stdout.write(`${createBanner(servingInfo.url, database, options, servingInfo.loginLines)}\n`);
  if (await processes.startOthers()) display.writeLine(`All ${options.processCount} processes are ready.`);
}

/**
 * Locks the data folder if this process starts the database. The database then has its files in the folder, so no other server can use the
 * folder at the same time. If the database is elsewhere, several servers can use the folder.
 */
async function lockDirectoryOfOwnDatabase({ dataDirectory }: StartOptions): Promise<void> {
  if (!process.env.MONGODB_URI) await closers.add('lock of the data folder', await lockDataDirectory(dataDirectory));
}

async function openDatabase(options: StartOptions): Promise<Database> {
  const database = await startDatabase({
    env: process.env,
    directory: join(options.dataDirectory, 'database'),
    waitMs: options.databaseWaitMs,
    report: (progress) => display.showProgress(progress),
    signal: stopController.signal,
  });
  await closers.add('database', () => database.stop());
  void database.lost.then((error) => stop(1, `The database has ended: ${error.message}`));
  return database;
}

/** Runs jobs until the process is stopped. */
async function runWorker(options: StartOptions): Promise<void> {
  const [database, { openWorker }] = await Promise.all([openDatabase(options), import('./hosting.js')]);
  const worker = await openWorker(options, database.uri);
  await closers.add('worker', () => worker.close());
  display.endProgress();
  process.stdout.write(`Running jobs of ${database.address}, data in ${options.dataDirectory}. Stop with Ctrl-C.\n`);
}

const publicText = 'to everybody who can reach this address, downloads included';
const privateText = 'only to users who sign in and have access; --public shows the files to everybody';

function createBanner(url: string, database: Database, options: StartOptions, loginLines: string[] | null): string {
  const persistenceText =
    database.durable === null
      ? ''
      : database.durable
        ? `, data in ${join(options.dataDirectory, 'database')}`
        : '. ITS DATA ARE IN MEMORY and are lost when the server stops';
  return [
    '',
    `Address   ${url}/`,
    ...(loginLines ?? []),
    ...(options.bare ? [] : [`Visible   ${options.isPublic ? publicText : privateText}`]),
    `Database  ${database.engine} at ${database.address}${persistenceText}`,
    `Data      ${options.dataDirectory}`,
    'Stop with Ctrl-C.',
    '',
  ].join('\n');
}

function watchSignals(): void {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      // The second signal ends the process immediately. Child processes notice and end too.
      if (stopController.signal.aborted) process.exit(130);
      void stop(0, 'Stopping.');
    });
  }
}

async function stop(code: number, reason: string): Promise<void> {
  if (stopController.signal.aborted) return;
  display.writeLine(reason);
  stopController.abort(new Error(reason));
  const closePromise = closers.close().then(() => true);
  const isClosedInTime = await Promise.race([closePromise, wait(closeDeadlineMs, false)]);
  if (!isClosedInTime) display.writeLine('Some work did not finish in time.');
  process.exit(isClosedInTime ? code : 1);
}

function describeError(error: unknown): string {
  if (error instanceof UsageError || error instanceof DatabaseUnavailableError || error instanceof DataDirectoryInUseError) {
    return error.message;
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/**
 * Runs the server until it is told to stop, and then ends the process.
 *
 * @param words the command-line arguments
 * @param command the command without its arguments, for messages, such as `npm start --`
 */
export async function serve(words: readonly string[], command: string): Promise<void> {
  try {
    await startServer(words, command);
  } catch (error) {
    // A start that was canceled ends in stop(), which is already running.
    if (stopController.signal.aborted) return;
    display.endProgress();
    process.stderr.write(`${describeError(error)}\n`);
    await closers.close();
    process.exit(error instanceof UsageError ? 2 : 1);
  }
}
