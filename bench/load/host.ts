// The server under load, in its own process. Arguments: database, data directory, options as JSON. Its caches are small, so that
// they are full before the measurement begins.
import { readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createReferenceHost, type ReferenceHostOptions } from '../../src/reference-host/index.js';
import { serveParent } from '../support/children.js';

/** Resources that the server uses: bytes, and numbers of open files, sockets and running tasks. */
export interface ServerState {
  rss: number;
  heapUsed: number;
  descriptors: number;
  resources: number;
}

/** Processor time since the start, in milliseconds: of the main thread, of all threads, and of child processes that have ended. */
export interface ProcessorTimes {
  mainMs: number;
  threadsMs: number;
  childrenMs: number;
}

/** The longest stretch and the 99th percentile of the event loop's delay since the last call, in milliseconds. */
export interface LoopDelay {
  maxMs: number;
  p99Ms: number;
}

const [mongoUri, dataDirectory, options = '{"passwordMemoryKiB": 8}'] = process.argv.slice(2) as [string, string, string?];
const megabyte = 1024 * 1024;
/** Errors of the server are printed, because finding them is the purpose of the run. */
const error = (fields: object, event?: string): void => console.error(event, (fields as { err?: unknown }).err);
const ignore = (): void => undefined;
const host = await createReferenceHost({
  mongoUri,
  dataDirectory,
  logger: { info: ignore, debug: ignore, warn: ignore, error },
  ...(JSON.parse(options) as Pick<ReferenceHostOptions, 'passwordMemoryKiB' | 'trustProxy'>),
  install: { tileCacheBytes: 64 * megabyte },
});
const { url } = await host.listen();
const resolution = 10;
const delay = monitorEventLoopDelay({ resolution });
delay.enable();

async function state(): Promise<ServerState> {
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  const descriptorNames = await readdir('/proc/self/fd').catch(() => []);
  const files = await Promise.all(descriptorNames.map((number) => readlink(`/proc/self/fd/${number}`).catch(() => '')));
  // The loader of TypeScript keeps files open in each thread; the built program has no such loader.
  const descriptors = files.filter((path) => !path.includes('/tsx-')).length;
  return { rss, heapUsed, descriptors, resources: process.getActiveResourcesInfo().length };
}

function loop(): Promise<LoopDelay> {
  const asMs = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - resolution);
  const loopDelay = { maxMs: asMs(delay.max), p99Ms: asMs(delay.percentile(99)) };
  delay.reset();
  return Promise.resolve(loopDelay);
}

/** Linux reports the time of the main thread in nanoseconds, and of child processes in hundredths of a second. */
async function processor(): Promise<ProcessorTimes> {
  const { user, system } = process.cpuUsage();
  const [nanoseconds = ''] = (await readFile(`/proc/self/task/${process.pid}/schedstat`, 'utf8')).split(' ');
  const stat = await readFile('/proc/self/stat', 'utf8');
  // After the name of the program, which may contain anything: state, parent, …
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return {
    mainMs: Number(nanoseconds) / 1e6,
    threadsMs: (user + system) / 1000,
    childrenMs: (Number(fields[13]) + Number(fields[14])) * 10,
  };
}

const inspector = new Session();

/** Starts a profile of the main thread if `path` is empty. Otherwise, ends the profile and writes it to a file that Chromium can open. */
async function profile(path: string): Promise<void> {
  if (path === '') {
    inspector.connect();
    await inspector.post('Profiler.enable');
    await inspector.post('Profiler.start');
    return;
  }
  const { profile: profileData } = await inspector.post('Profiler.stop');
  inspector.disconnect();
  await writeFile(path, JSON.stringify(profileData));
}

await serveParent(url, { state, loop, processor, profile }, () => host.close());
