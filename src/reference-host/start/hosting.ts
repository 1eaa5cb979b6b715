/** The host of `npm start`, and its contents. This module is slow to load, so `serve.ts` starts the database meanwhile. */
import { join } from 'node:path';
import type { Types } from 'mongoose';
import type { Registry } from 'prom-client';
import { findTileSources } from '../../index.js';
import { createReferenceHost, type ReferenceHost } from '../index.js';
import { isInstalled } from '../packages.js';
import { makeSyntheticSlide } from '../synthetic-slide/slide.js';
import { addOwnFiles, addSyntheticSlide, adminLogin, ensureAdmin } from './content/content.js';
import type { Listening } from './listen.js';
import { openLog } from './log.js';
import { addNuclei, nucleiName } from './content/nuclei.js';
import type { StartOptions } from './options.js';
import { addOwnBuckets } from './content/own-buckets.js';
import { keptPassword } from './content/password.js';
import type { OneOfSeveral } from './processes.js';
import type { ProgressDisplay } from './progress.js';
import { RunningHost } from './running-host.js';
import { issueSignInLink, linkMinutes } from '../accounts/sign-in/sign-in-link.js';
import type { UserDocument } from '../accounts/users/user.model.js';
import { isLoopback } from '../http/loopback.js';

/** Everything a process of `npm start` has once its database answers. */
export interface Hosting {
  options: StartOptions;
  mongoUri: string;
  server: Listening;
  /** Its number among the processes that serve; `null` where it serves alone. */
  one: OneOfSeveral | null;
  display: ProgressDisplay;
  signal: AbortSignal;
  /** Called with the function that restarts the host. */
  restartable: (restart: () => void) => void;
  /** Called when a restart has failed, so that nothing is served. */
  failed: (error: unknown) => void;
}

/** The administrator, and the lines of the banner about signing in. */
interface Administrator {
  user: UserDocument | null;
  login: string[];
}

/** A host that answers at the port. */
interface OpenedHost {
  running: RunningHost;
  /** The lines of the banner about signing in; `null` in a process that prints none. */
  login: string[] | null;
  /** Adds the contents; `null` where the host gets none, or another process adds them. */
  fill: (() => Promise<void>) | null;
}

/** Serves a host at the port. */
export async function openHost(hosting: Hosting): Promise<OpenedHost> {
  const { options, one, display } = hosting;
  const logger = openLog(options.logLevel, one === null ? null : { pid: process.pid });
  const register = await metricsRegistry(one);
  const tileSources = await findTileSources(process.cwd(), { logger });
  const found: { admin: Administrator | null } = { admin: null };
  const running = await RunningHost.start({
    make(restartThis) {
      hosting.restartable(restartThis);
      return createReferenceHost({
        mongoUri: hosting.mongoUri,
        databaseWaitMs: options.databaseWaitMs,
        dataDirectory: options.dataDirectory,
        ...(options.brand !== null && { brand: options.brand }),
        ...(options.serverRoot !== null && { settings: { 'core.server_root': options.serverRoot } }),
        ...(options.trustProxy !== null && { trustProxy: options.trustProxy }),
        logger,
        install: { tileSources, processes: options.processes },
        restart: one === null ? restartThis : () => one.restartAll(),
        ...(register && {
          metrics: { register, token: options.metricsToken, ...(one !== null && { text: () => one.metrics() }) },
        }),
      });
    },
    // The first user to register is the administrator, so nobody may register before this.
    prepare: async (host) => {
      if (one !== null && !one.fills) return;
      found.admin = await alone(host, 'administrator', () => (options.bare ? nobodyMade(host) : administrator(host, options)));
    },
    server: hosting.server,
    report: (text) => display.line(text),
    failed: hosting.failed,
  });
  const { admin } = found;
  if (admin === null) return { running, login: null, fill: null };
  const login = [...(await signInLink(running, admin.user, hosting)), ...admin.login];
  return { running, login, fill: options.bare ? null : () => fill(running, admin.user?._id ?? null, hosting) };
}

/** The line of the banner with the address that opens the page signed in; none where others could open it, too. */
async function signInLink(running: RunningHost, user: UserDocument | null, { options, server }: Hosting): Promise<string[]> {
  if (user?.admin !== true || user.status !== 'enabled' || !isLoopback(options.host)) return [];
  const secret = await running.use((host) => issueSignInLink(host.context, user));
  return [`Open      ${server.url}/#enter/${secret}   (signs in as ${user.login}: once, within ${linkMinutes} minutes)`];
}

/** Makes items of the caller's own files, or else of the synthetic slide. The server answers requests meanwhile. */
async function fill(running: RunningHost, creatorId: Types.ObjectId | null, hosting: Hosting): Promise<void> {
  const { options, display, signal } = hosting;
  const isOwn = options.paths.length + options.buckets.length > 0;
  try {
    await (isOwn ? registerFiles : demonstrate)(running, creatorId, hosting);
  } catch (error) {
    if (signal.aborted) return;
    display.end();
    const reason = error instanceof Error ? error.message : String(error);
    display.line(`The server runs, but ${isOwn ? 'not with all of the files' : 'has no whole example'}: ${reason}`);
  }
}

/** Runs jobs until it is closed. It does not lock the data folder, because that belongs to the server. */
export async function openWorker(options: StartOptions, mongoUri: string): Promise<ReferenceHost> {
  const logger = openLog(options.logLevel);
  return createReferenceHost({
    mongoUri,
    databaseWaitMs: options.databaseWaitMs,
    dataDirectory: options.dataDirectory,
    worker: true,
    ...(options.brand !== null && { brand: options.brand }),
    logger,
    install: { tileSources: await findTileSources(process.cwd(), { logger }) },
  });
}

/** The registry of metrics for Prometheus, with those of the process; `null` where the package is not installed. */
async function metricsRegistry(one: OneOfSeveral | null): Promise<Registry | null> {
  if (!isInstalled('prom-client')) return null;
  const { AggregatorRegistry, collectDefaultMetrics, Registry } = await import('prom-client');
  const register = new Registry();
  collectDefaultMetrics({ register });
  if (one !== null) {
    // It answers the process that adds up the metrics of all processes.
    AggregatorRegistry.setRegistries(register);
    new AggregatorRegistry();
  }
  return register;
}

/** Does work that only one of several servers on a database does at a time. The others find it done. */
function alone<T>(host: ReferenceHost, name: 'administrator' | 'filling', work: () => Promise<T>): Promise<T> {
  const busy = () => new Error('Another server on this database has been filling it for an hour.');
  return host.context.claims.run(name, { patienceMs: 60 * 60 * 1000, busy }, work);
}

/** Adds the contents while no other server does, and without being interrupted by a restart. */
function filling(running: RunningHost, work: (host: ReferenceHost) => Promise<void>): Promise<void> {
  return running.use((host) => alone(host, 'filling', () => work(host)));
}

/** Makes the synthetic slide an item, and annotates it. */
async function demonstrate(
  running: RunningHost,
  creatorId: Types.ObjectId | null,
  { options, server, display, signal }: Hosting,
): Promise<void> {
  const path = join(options.dataDirectory, 'synthetic-tissue-slide.tiff');
  await filling(running, async (host) => {
    await makeSyntheticSlide(path, { report: (progress) => display.report(progress), signal });
    const itemId = await addSyntheticSlide(host.context, {
      path,
      creatorId,
      isPublic: options.isPublic,
      register: (file) => host.registerFileInPlace(file),
    });
    const begun = Date.now();
    const count = await addNuclei(host.context, {
      url: server.url,
      itemId,
      report: (progress) => display.report(progress),
      signal,
    });
    display.end();
    if (count === 0) return;
    const seconds = ((Date.now() - begun) / 1000).toFixed(1);
    display.line(`The slide has the annotation ${nucleiName}: ${count} nuclei, stored in ${seconds} s.`);
  });
}

/** Makes the caller's own files items. */
async function registerFiles(
  running: RunningHost,
  creatorId: Types.ObjectId | null,
  { options, display, signal }: Hosting,
): Promise<void> {
  const shared = {
    creatorId,
    isPublic: options.isPublic,
    report: (path: string) => display.report({ text: `Registering ${path}` }),
    leftOut: (path: string, reason: string) => display.line(`Left out ${path}: ${reason}`),
    signal,
  };
  const { paths, buckets } = options;
  await filling(running, async (host) => {
    const { context } = host;
    if (paths.length > 0) {
      const count = await addOwnFiles(context, { ...shared, paths, register: (file) => host.registerFileInPlace(file) });
      display.end();
      display.line(`${count} of your own files are served in place: collection Local files.`);
    }
    if (buckets.length > 0) {
      const count = await addOwnBuckets(context, { ...shared, prefixes: buckets });
      display.end();
      display.line(`${count} files in buckets are served in place: collection Files in buckets.`);
    }
  });
}

/** Leaves it to the first user who registers to be the administrator. */
async function nobodyMade({ context }: ReferenceHost): Promise<Administrator> {
  const isEmpty = (await context.models.user.exists({})) === null;
  const reason = isEmpty
    ? 'nobody yet: the first user to register is the administrator'
    : 'as before: there are users in this database';
  return { user: null, login: [`Login     ${reason}`] };
}

/** Makes the administrator where there is no user yet. */
async function administrator(host: ReferenceHost, options: StartOptions): Promise<Administrator> {
  const kept = options.adminPassword === null ? await keptPassword(options.dataDirectory) : null;
  const password = options.adminPassword ?? kept?.password ?? '';
  const { user, isPassword } = await ensureAdmin(host.context, password);
  if (isPassword) {
    const source = kept === null ? 'from ADMIN_PASSWORD' : `kept in ${kept.path}`;
    return { user, login: [`Login     ${adminLogin}`, `Password  ${password}   (${source})`] };
  }
  const reason =
    user === null
      ? `there are users in this database, and none is called ${adminLogin}`
      : `the password of ${adminLogin} in this database is another than ${kept === null ? 'ADMIN_PASSWORD' : `the one in ${kept.path}`}`;
  return { user, login: [`Login     as before: ${reason}`] };
}
