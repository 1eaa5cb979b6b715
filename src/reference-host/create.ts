import { MongoBackend } from '@agendajs/mongo-backend';
import { Agenda } from 'agenda';
import express, { type Express } from 'express';
import { Mongoose, Types, type Connection } from 'mongoose';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import {
  answerUnknownPaths,
  harmlessLogger,
  identifyRequests,
  install,
  mountRoutes,
  startWorker,
  type Host,
  type HostLogger,
  type Installation,
  type InstallOptions,
  type RouteOutline,
} from '../index.js';
import { ByteStore } from './files/byte-store.js';
import { Claims } from './upkeep/claims.js';
import type { HostContext } from './context.js';
import { cors } from './http/cors.js';
import { watchEndedConnections } from './database/ended-connections.js';
import { EventHub } from './event-hub.js';
import { hostDirectory } from './access/directory.js';
import { hostAccess, hostAuth, hostFiles, hostCreateItem, hostRemoveItem } from './host-adapter.js';
import { registerFileInPlace, type InPlaceFile } from './files/in-place.js';
import { Journal } from './upkeep/journal.js';
import { createPatientServer } from './http/patient-server.js';
import { compileModels, type Models } from './models.js';
import { ProcessLife } from './upkeep/process-life.js';
import { hostRoutes } from './routes.js';
import { isDuplicateKey } from './duplicate-key.js';
import { notifyUser } from './notifications/notifications.js';
import { forgetTokens, verifyToken } from './accounts/tokens/tokens.js';
import { recoverFrom } from './upkeep/recovery.js';
import { removeExpiredHourly } from './accounts/tokens/expired.js';
import { repairFirstUser } from './accounts/users/first-user.js';
import { PasswordHasher } from './accounts/sign-in/passwords.js';
import { SignInLimits } from './accounts/sign-in/sign-in-limits.js';
import { coreSettingDefinitions, type CoreSettings } from './system/settings.js';
import { operationRoutes } from './system/operation.routes.js';
import { safeHeaders } from './http/safe-headers.js';
import { answerError, answerNoPage } from './http/last-handlers.js';
import { startUpkeep } from './upkeep/upkeep.js';
import { mountViewer } from './viewer-routes.js';

/** What a reference host is made of. */
export interface ReferenceHostOptions {
  /** Address of the database, with its name: `mongodb://localhost/images`. */
  mongoUri: string;
  /** Directory for the bytes of files. Made when it is missing. */
  dataDirectory: string;
  /** Word that names the product on the wire. Default `service`; `girder` for existing clients. */
  brand?: string;
  /** Default: silent. */
  logger?: HostLogger;
  /** Path of the REST API. Default `/api/v1`. */
  apiRoot?: string;
  /** Values of settings that are written at the start, whatever was stored before. */
  settings?: Readonly<Record<string, unknown>>;
  /** Restarts the server. Default: routes that ask for it answer 501. */
  restart?: () => void;
  /**
   * Which proxies are believed when they say who their client is and how it came (`X-Forwarded-For`, `-Proto` and `-Host`): how many stand
   * before the server, or their addresses and networks, as Express's `trust proxy` has it. Default: none.
   */
  trustProxy?: number | string;
  /** Memory that hashing a password takes, in KiB; its time grows with it. Default 19456 (Argon2id, two passes: 20 to 40 ms). */
  passwordMemoryKiB?: number;
  /** Hours after which an upload that nobody continues is discarded. Default 168. */
  uploadLifetimeHours?: number;
  /** Whether it recovers from what other processes left half done, and sweeps; where several share the data, one is enough. Default true. */
  upkeep?: boolean;
  /** Whether the viewer page is served at `/`. Default true. */
  viewer?: boolean;
  /** Where numbers for Prometheus are collected, and a token for whoever reads them at `/metrics`. Default: nowhere. */
  metrics?: { register: NonNullable<InstallOptions['metrics']>; token: string | null };
  /** Options of the plugin. */
  install?: InstallOptions;
  /** Only run jobs: on the database and the data directory of a host that runs elsewhere. Nothing is served then. */
  worker?: boolean;
}

/** A running reference host. */
export interface ReferenceHost {
  app: Express;
  host: Host;
  settings: Installation['settings'];
  jobs: Installation['jobs'];
  /** Every route, of plugin and host. */
  routes: readonly RouteOutline[];
  /** What the services of `reference-host/services` work with. */
  context: HostContext;
  /** Makes an item whose file is a file on this machine, without copying it. */
  registerFileInPlace(file: InPlaceFile): ReturnType<typeof registerFileInPlace>;
  /** Opens a port, by default any on 127.0.0.1, until `close`. */
  listen(options?: { port?: number; host?: string }): Promise<{ server: Server; url: string }>;
  /** Ends event streams, whose clients come back, and is not ready for further requests: the first step of stopping. */
  endStreams(): void;
  /** Ends everything that was begun, after the requests under way. */
  close(): Promise<void>;
}

const jobPollMs = 500;
const hourMs = 60 * 60 * 1000;
/**
 * How long the database is waited for, in milliseconds: requests are refused after the first of them when it refuses connections, after
 * all of them when it is silent.
 */
const databaseTimes = {
  serverSelectionTimeoutMS: 5000,
  connectTimeoutMS: 5000,
  heartbeatFrequencyMS: 5000,
  waitQueueTimeoutMS: 5000,
  // After a rush, connections that nobody needs are let go.
  maxIdleTimeMS: 10_000,
};
/** What is acknowledged is on disk, whatever the address says. */
const onDisk = { w: 'majority', journal: true } as const;
/** Requests under way get this long to end when the host closes. */
const closePatienceMs = 5000;

/**
 * Makes a small data-management server with the plugin installed on it. It shares nothing with other hosts in the process and
 * leaves the process alone.
 */
export async function createReferenceHost(options: ReferenceHostOptions): Promise<ReferenceHost> {
  const logger = harmlessLogger(options.logger);
  const apiRoot = options.apiRoot ?? '/api/v1';
  const undo: (() => Promise<unknown>)[] = [];
  const closeAll = async () => {
    for (const step of undo.splice(0).reverse()) {
      await step().catch((error: unknown) => logger.error({ err: error }, 'Host:Close:Failed'));
    }
  };
  try {
    const mongoose = new Mongoose();
    const ended = watchEndedConnections();
    undo.push(async () => ended.stop());
    const connection = await mongoose
      .createConnection(options.mongoUri, { ...timesFor(options.mongoUri), writeConcern: onDisk })
      .asPromise();
    undo.push(() => connection.close());
    ended.follow(connection);
    const models = await compileModels(connection);
    const store = new ByteStore(resolve(options.dataDirectory));
    const storeId = await idOfStore(models);
    await store.prepare(storeId.toHexString());

    const life = await ProcessLife.start({ models, root: store.root, logger });
    undo.push(() => life.stop());
    const closing = new AbortController();
    undo.push(async () => closing.abort());
    const events = new EventHub(logger);
    const installed: Partial<Installation> = {};
    const passwords = new PasswordHasher(options.passwordMemoryKiB);
    const context: HostContext = {
      models,
      store,
      events,
      life,
      claims: new Claims({ models, life, logger, closing: closing.signal }),
      journal: new Journal({ models, life, logger, recover: (undertaking) => recoverFrom(context, undertaking) }),
      async setting<K extends keyof CoreSettings>(key: K) {
        const value = await installed.settings?.get(key);
        // Values come out of the store as their definition has parsed them.
        return (value ?? coreSettingDefinitions.find((definition) => definition.key === key)!.default) as CoreSettings[K];
      },
      get plugin() {
        // No request comes before the routes are mounted, behind the installation.
        return installed as Installation;
      },
      logger,
      apiRoot,
      cookieName: 'girderToken',
      passwords,
      signInLimits: new SignInLimits({
        passwords,
        attempts: () => models.attempt,
        setting: (key) => context.setting(key),
        logger,
      }),
      storeId,
      startDate: new Date(),
      closing: closing.signal,
      metrics: options.metrics ?? null,
      wakeStreams: new Set(),
    };
    await repairFirstUser(context);

    const agenda = createAgenda(connection);
    const app = express();
    app.disable('x-powered-by');
    app.disable('etag');
    app.use(identifyRequests);
    app.use(safeHeaders);
    if (options.trustProxy !== undefined) app.set('trust proxy', options.trustProxy);
    app.use(apiRoot, cors(context));
    const host: Host = {
      app,
      apiRoot,
      brand: options.brand ?? 'service',
      mongoose,
      // The plugin reads the host's documents by the names of their fields.
      models: { item: models.item, file: models.file, folder: models.folder } as unknown as Host['models'],
      agenda,
      auth: hostAuth(context),
      access: hostAccess(context),
      directory: hostDirectory(context),
      files: hostFiles(context),
      createItem: hostCreateItem(context),
      removeItem: hostRemoveItem(context),
      events,
      notify: (notification) => notifyUser(context, notification),
      logger,
      settings: coreSettingDefinitions,
      routes: hostRoutes,
      ...(options.restart && { restart: options.restart }),
    };
    if (options.worker === true) {
      const worker = await startWorker(host, options.install);
      undo.push(() => worker.close());
      installed.settings = worker.settings;
      return assembled(worker, { app, host, context, closing, undo, closeAll });
    }
    const installation = await install(host, {
      ...(options.metrics && { metrics: options.metrics.register }),
      ...options.install,
    });
    undo.push(() => installation.close());
    Object.assign(installed, installation);
    installation.settings.onChange(async ({ key, value }) => {
      if (key === 'core.api_keys' && value === false) await forgetTokens(context, { apiKeyId: { $ne: null } });
    });
    for (const [key, value] of Object.entries(options.settings ?? {})) await installation.settings.set(key, value);

    app.use(
      apiRoot,
      mountRoutes(hostRoutes, {
        context,
        authenticate: (token) => verifyToken(context, token),
        observe: installation.observe,
        tokenLocations: { cookieName: context.cookieName, headerName: 'Girder-Token' },
        logger,
      }),
    );
    app.use(
      mountRoutes(operationRoutes, {
        context,
        authenticate: (token) => verifyToken(context, token),
        tokenLocations: { cookieName: context.cookieName, headerName: 'Girder-Token' },
        logger,
      }),
    );
    if (options.viewer !== false) await mountViewer(app, { apiRoot, title: () => pageTitle(context) });
    app.use(apiRoot, answerUnknownPaths(installation.routes));
    app.use(answerNoPage);
    app.use(answerError(logger));

    await agenda.start();
    undo.push(() => agenda.stop(false));
    undo.push(removeExpiredHourly(context));
    if (options.upkeep !== false) {
      undo.push(await startUpkeep(context, { uploadLifetimeMs: (options.uploadLifetimeHours ?? 7 * 24) * hourMs }));
    }

    return assembled(installation, { app, host, context, closing, undo, closeAll });
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** The brand, once somebody has given one: what it is by default is a name on the wire. */
async function pageTitle(context: HostContext): Promise<string> {
  const brand = await context.setting('core.brand_name');
  return brand === '' || brand === 'Girder' ? 'Large image' : brand;
}

/** What the address says itself wins. */
function timesFor(uri: string): Partial<typeof databaseTimes> {
  const isOpen = ([name]: [string, number]) => !new RegExp(`[?&]${name}=`, 'i').test(uri);
  return Object.fromEntries(Object.entries(databaseTimes).filter(isOpen));
}

interface Parts {
  app: Express;
  host: Host;
  context: HostContext;
  closing: AbortController;
  undo: (() => Promise<unknown>)[];
  closeAll(): Promise<void>;
}

function assembled(
  plugin: Pick<Installation, 'settings' | 'jobs'> & Partial<Pick<Installation, 'routes'>>,
  parts: Parts,
): ReferenceHost {
  const { app, host, context, closing, undo } = parts;
  return {
    app,
    host,
    settings: plugin.settings,
    jobs: plugin.jobs,
    routes: plugin.routes ?? [],
    context,
    registerFileInPlace: (file) => registerFileInPlace(context, file),
    async listen({ port = 0, host: address = '127.0.0.1' } = {}) {
      const server = createPatientServer(app);
      const url = await open(server, port, address);
      undo.push(() => closeServer(server, closing));
      return { server, url };
    },
    endStreams() {
      closing.abort();
      plugin.jobs.endStreams();
    },
    close: () => parts.closeAll(),
  };
}

function createAgenda(connection: Connection): Agenda {
  // Mongoose and the back end name the same class of the driver by two paths.
  const mongo = connection.db as never;
  return new Agenda({
    backend: new MongoBackend({ mongo }),
    processEvery: jobPollMs,
    defaultConcurrency: 20,
    maxConcurrency: 50,
  });
}

async function idOfStore({ hostState }: Models): Promise<Types.ObjectId> {
  try {
    await hostState.create({ _id: 'store', subject: new Types.ObjectId() });
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
  return (await hostState.findById('store').lean())!.subject;
}

function open(server: Server, port: number, host: string): Promise<string> {
  return new Promise((done, fail) => {
    server.once('error', fail);
    server.listen(port, host, () => {
      server.off('error', fail);
      const { address, family, port: opened } = server.address() as AddressInfo;
      done(`http://${family === 'IPv6' ? `[${address}]` : address}:${opened}`);
    });
  });
}

function closeServer(server: Server, closing: AbortController): Promise<void> {
  // Event streams would keep their connections open.
  closing.abort();
  return new Promise((done) => {
    const timer = setTimeout(() => server.closeAllConnections(), closePatienceMs);
    server.close(() => {
      clearTimeout(timer);
      done();
    });
    server.closeIdleConnections();
  });
}
