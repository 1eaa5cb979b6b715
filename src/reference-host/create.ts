import { Agenda, InMemoryNotificationChannel } from 'agenda';
import express, { type Express } from 'express';
import { Types, type Mongoose } from 'mongoose';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { install, startWorker, type Host, type HostLogger, type Installation } from '../index.js';
import { answerUnknownPaths, harmlessLogger, identifyRequests, mountRoutes, type RouteOutline } from '../larger-host.js';
import type { HostContext } from './context.js';
import { openContext } from './open-context.js';
import { answerOptions, createCorsMiddleware } from './http/cors.js';
import { openAgendaBackend } from './database/agenda-backend.js';
import { retryWhileDatabaseIsAway } from './database/while-away.js';
import { hostDirectory } from './access/directory.js';
import { hostAccess, hostAuth, hostFiles, hostCreateItem, hostRemoveItem } from './host-adapter.js';
import { reindex } from './tree/finding/index-terms.js';
import { registerFileInPlace } from './files/in-place.js';
import { OpenReplies } from './http/open-replies.js';
import { createServerWithTimeouts } from './http/server-timeouts.js';
import { offerUpgrades, type UpgradeHandler } from './http/upgrades.js';
import { hostRoutes } from './routes.js';
import { notifyUser } from './notifications/notifications.js';
import { createNotificationUpgradeHandler } from './notifications/web-sockets.js';
import { forgetTokens, createTokenVerifier } from './accounts/tokens/tokens.js';
import { startRemovingExpired } from './accounts/tokens/expired-records.js';
import { coreSettingDefinitions } from './system/settings.js';
import { operationRoutes } from './system/operation.routes.js';
import { createServerRootMiddleware } from './http/public-address.js';
import { addSafeHeaders } from './http/safe-headers.js';
import { createSlashMerger } from './http/leading-slashes.js';
import { createErrorHandler, answerPageNotFound } from './http/last-handlers.js';
import { startUpkeep } from './upkeep/upkeep.js';
import { mountViewer, readViewer, type ViewerFiles } from './viewer-routes.js';
import type { ReferenceHostOptions } from './options.js';

/** A running reference host. */
export interface ReferenceHost {
  app: Express;
  /**
   * Accepts web sockets for notifications. Call it for the event `upgrade` of your own server; it returns `false` for all other
   * requests.
   */
  upgrade: UpgradeHandler;
  host: Host;
  settings: Installation['settings'];
  jobs: Installation['jobs'];
  /** All routes, of plugin and host. */
  routes: readonly RouteOutline[];
  /** Everything that the services of the reference host use. */
  context: HostContext;
  /** Makes an item whose file is a file on this machine, without copying it. */
  registerFileInPlace(file: Parameters<typeof registerFileInPlace>[1]): ReturnType<typeof registerFileInPlace>;
  /** Listens on a port until `close`; by default on any free port of 127.0.0.1. */
  listen(options?: { port?: number; host?: string }): Promise<{ server: Server; url: string }>;
  /**
   * Ends event streams, whose clients reconnect, and reports that the server is not ready for more requests. Call it as the first step of
   * stopping.
   */
  endStreams(): void;
  /** Stops everything that was started, after running requests have ended. */
  close(): Promise<void>;
}

const jobPollMs = 500;
const hourMs = 60 * 60 * 1000;
const defaultDatabaseWaitMs = 60_000;
/** Time in which running requests can end when the host closes, in milliseconds. */
const closePatienceMs = 5000;

/**
 * Makes a small data-management server with the plugin installed on it. It shares nothing with other hosts in the process and does
 * not change the process.
 *
 * @throws DatabaseUnavailableError if the database could not be reached in time.
 */
export function createReferenceHost(options: ReferenceHostOptions): Promise<ReferenceHost> {
  const logger = harmlessLogger(options.logger);
  return retryWhileDatabaseIsAway(() => openHost(options, logger), {
    uri: options.mongoUri,
    waitMs: options.databaseWaitMs ?? defaultDatabaseWaitMs,
    reportOutage: (text) => logger.warn({}, text),
  });
}

async function openHost(options: ReferenceHostOptions, logger: HostLogger): Promise<ReferenceHost> {
  const closeSteps: (() => Promise<unknown>)[] = [];
  const closeAll = async () => {
    for (const step of closeSteps.splice(0).reverse()) {
      await step().catch((error: unknown) => logger.error({ err: error }, 'Host:Close:Failed'));
    }
  };
  try {
    // The viewer is read in the background. Errors are handled where `viewer` is awaited.
    const viewer = options.worker === true || options.viewer === false ? Promise.resolve(null) : readViewer();
    viewer.catch(() => undefined);
    const openedContext = await openContext(options, logger, closeSteps);
    const { context, connection, closeController, pluginParts } = openedContext;
    const agenda = new Agenda({
      backend: await openAgendaBackend(connection, logger),
      // A job that this process queues starts here immediately if there is a free slot. Other processes find it when they poll.
      notificationChannel: new InMemoryNotificationChannel(),
      processEvery: jobPollMs,
      defaultConcurrency: 20,
      maxConcurrency: 50,
    });
    const app = createApp(options, context);
    const host = hostForPlugin(options, { ...openedContext, app, agenda });
    if (options.worker === true) {
      const worker = await startWorker(host, options.install);
      closeSteps.push(() => worker.close());
      pluginParts.settings = worker.settings;
      return assembleReferenceHost(worker, {
        app,
        upgrade: () => false,
        host,
        context,
        closeController,
        closeSteps,
        closeAll,
      });
    }
    const installation = await install(host, {
      ...(options.metrics && { metrics: options.metrics.register }),
      ...options.install,
    });
    closeSteps.push(() => installation.close());
    Object.assign(pluginParts, installation);
    installation.settings.onChange(async ({ key, value }) => {
      if (key === 'core.api_keys' && value === false) await forgetTokens(context, { apiKeyId: { $ne: null } });
    });
    for (const [key, value] of Object.entries(options.settings ?? {})) await installation.settings.set(key, value);
    mountHost(app, context, installation, await viewer);

    await agenda.start();
    closeSteps.push(() => agenda.stop(false));
    closeSteps.push(startRemovingExpired(context));
    if (options.upkeep !== false) {
      closeSteps.push(await startUpkeep(context, { uploadLifetimeMs: (options.uploadLifetimeHours ?? 7 * 24) * hourMs }));
    }
    const upgrade = await createNotificationUpgradeHandler(context);
    return assembleReferenceHost(installation, { app, upgrade, host, context, closeController, closeSteps, closeAll });
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** The application, with the middleware in front of all routes. */
function createApp(options: ReferenceHostOptions, context: HostContext): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(identifyRequests);
  app.use(addSafeHeaders);
  if (options.trustProxy !== undefined) app.set('trust proxy', options.trustProxy);
  app.use(createServerRootMiddleware(context));
  app.use(createSlashMerger(context.apiRoot));
  app.use(context.apiRoot, createCorsMiddleware(context));
  return app;
}

/** Builds the `Host` that the plugin gets. */
function hostForPlugin(
  options: ReferenceHostOptions,
  { app, agenda, context, mongoose }: { app: Express; agenda: Agenda; context: HostContext; mongoose: Mongoose },
): Host {
  const { models } = context;
  return {
    app,
    apiRoot: context.apiRoot,
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
    metadataReplaced: (itemId) => reindex(context.models.item, new Types.ObjectId(itemId)),
    events: context.events,
    notify: (notification) => notifyUser(context, notification),
    logger: context.logger,
    settings: coreSettingDefinitions,
    routes: hostRoutes,
    ...(options.restart && { restart: options.restart }),
  };
}

/** Mounts the host's own routes, its page, and the handlers for unknown paths. */
function mountHost(app: Express, context: HostContext, plugin: Installation, viewer: ViewerFiles | null): void {
  const { apiRoot, logger } = context;
  const routeOptions = {
    context,
    authenticate: createTokenVerifier(context),
    tokenLocations: { cookieName: context.cookieName, headerName: 'Girder-Token' },
    logger,
  };
  app.use(apiRoot, mountRoutes(hostRoutes, { ...routeOptions, observe: plugin.observe }));
  app.use(mountRoutes(operationRoutes, routeOptions));
  if (viewer !== null) mountViewer(app, viewer, { apiRoot, title: () => readPageTitle(context) });
  app.use(apiRoot, answerOptions, answerUnknownPaths(plugin.routes));
  app.use(answerPageNotFound);
  app.use(createErrorHandler(logger));
}

/** Reads the title of the page: the configured brand. The default brand, `Girder`, is only for clients of the API, and is replaced here. */
async function readPageTitle(context: HostContext): Promise<string> {
  const brand = await context.setting('core.brand_name');
  return brand === '' || brand === 'Girder' ? 'Large image' : brand;
}

/** The values from which {@link assembleReferenceHost} makes its result. */
interface HostParts {
  app: Express;
  upgrade: UpgradeHandler;
  host: Host;
  context: HostContext;
  closeController: AbortController;
  closeSteps: (() => Promise<unknown>)[];
  closeAll(): Promise<void>;
}

function assembleReferenceHost(
  plugin: Pick<Installation, 'settings' | 'jobs'> & Partial<Pick<Installation, 'routes'>>,
  parts: HostParts,
): ReferenceHost {
  const { app, upgrade, host, context, closeController, closeSteps } = parts;
  const endStreams = () => {
    closeController.abort();
    plugin.jobs.endStreams();
  };
  return {
    app,
    upgrade,
    host,
    settings: plugin.settings,
    jobs: plugin.jobs,
    routes: plugin.routes ?? [],
    context,
    registerFileInPlace: (file) => registerFileInPlace(context, file),
    async listen({ port = 0, host: address = '127.0.0.1' } = {}) {
      const server = createServerWithTimeouts(app);
      offerUpgrades(server, upgrade);
      const url = await openPort(server, port, address);
      const replies = new OpenReplies(server);
      closeSteps.push(() => {
        // Event streams have to be ended, because they keep their connections open.
        endStreams();
        return replies.close(closePatienceMs);
      });
      return { server, url };
    },
    endStreams,
    close: () => parts.closeAll(),
  };
}

/** Opens the port. @returns the address of the server */
function openPort(server: Server, port: number, host: string): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      const { address, family, port: actualPort } = server.address() as AddressInfo;
      resolve(`http://${family === 'IPv6' ? `[${address}]` : address}:${actualPort}`);
    });
  });
}
