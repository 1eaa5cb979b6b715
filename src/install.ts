import { tmpdir } from 'node:os';
import { MemoryTileCache } from './cache/memory.js';
import { SourceCache } from './cache/source-cache.js';
import type { Host, HostEvents, HostLogger } from './host.js';
import { ModelEvents } from './models/host-events.js';
import { HostRecords, idText } from './models/host-records.js';
import { SettingModel } from './models/setting.js';
import { createJobModel } from './models/job.js';
import { JobRunner } from './jobs/runner.js';
import { describeRoutes } from './rest/describe/routes.js';
import { associatedImageRoutes } from './rest/item/associated-images.js';
import { deepZoomRoutes } from './rest/item/deep-zoom.js';
import { largeImageRoutes } from './rest/item/large-image.js';
import { pictureRoutes } from './rest/item/pictures.js';
import { testImageRoutes } from './rest/item/test-image.js';
import { tileRoutes } from './rest/item/tiles.js';
import { jobRoutes } from './rest/job/routes.js';
import { mountRoutes } from './rest/mount.js';
import type { RouteDefinition } from './rest/route.js';
import { settingRoutes } from './rest/system/settings.js';
import { Callers } from './services/callers.js';
import { Images, type OpenImage } from './services/images.js';
import { Items } from './services/items.js';
import { JobStore } from './services/jobs.js';
import type { Services } from './services/services.js';
import { Settings } from './services/settings.js';
import { settingDefinitions } from './settings/definitions.js';
import type { TileSourceDefinition } from './tilesource/contract.js';
import { TileSourceRegistry } from './tilesource/registry.js';
import { sharpSource } from './tilesource/sources/sharp.js';
import { testSource } from './tilesource/sources/test.js';
import { tiffSource } from './tilesource/sources/tiff.js';
import { packageVersion } from './version.js';

/** What may be given to {@link install} beside the host. */
export interface InstallOptions {
  /** Further tile sources. One with the name of a built-in source replaces it. */
  tileSources?: readonly TileSourceDefinition[];
  /** Memory for encoded tiles, in bytes. Default 256 MiB; 0 keeps none. */
  tileCacheBytes?: number;
  /** Open image files kept for the next request. Default 64; 0 keeps none. */
  maxOpenSources?: number;
  /** Memory that open image files may retain together, in bytes. Default 512 MiB. */
  maxOpenSourceBytes?: number;
}

/** A running installation. */
export interface Installation {
  /** The settings of the plugin and those that the host put beside them. */
  settings: Settings;
  /** Job records and their changes. */
  jobs: JobStore;
  /** Every route, of plugin and host, as GET describe shows them. */
  routes: readonly RouteDefinition[];
  /** Ends it: routes answer no more, files are closed, the host's schemas are as they were. */
  close(): Promise<void>;
}

const mebibyte = 1024 * 1024;

const silent: HostLogger = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * Makes a server a large-image server: extends its models, registers the jobs on its Agenda and mounts the routes.
 *
 * Several hosts in one process may be installed on, each with its own connection; they share nothing.
 */
export async function install(host: Host, options: InstallOptions = {}): Promise<Installation> {
  const logger = host.logger ?? silent;

  // Models
  const records = new HostRecords(host);
  const { connection } = records;
  const settingModel = new SettingModel(host.mongoose, connection);
  await Promise.all([records.createIndexes(), settingModel.createIndexes()]);

  // Settings
  const folderExists = async (id: string) => (await records.findFolder(id)) !== null;
  const settings = new Settings(settingModel, [...settingDefinitions({ folderExists }), ...(host.settings ?? [])]);

  // Sources and caches
  let registry = new TileSourceRegistry({ logger }).register(tiffSource).register(sharpSource).register(testSource);
  for (const source of options.tileSources ?? []) registry = registry.register(source);
  const tiles = new MemoryTileCache(options.tileCacheBytes ?? 256 * mebibyte);
  const sources = new SourceCache<OpenImage>({
    maxEntries: options.maxOpenSources ?? 64,
    maxBytes: options.maxOpenSourceBytes ?? 512 * mebibyte,
    sizeOf: (open) => open.retainedBytes,
    onCloseError: (err) => logger.warn({ err }, 'TileSource:Close:Failed'),
  });

  // Jobs
  const jobModel = createJobModel(connection);
  await jobModel.createIndexes();
  const jobs = new JobStore({ model: jobModel, logger, ...(host.notify && { notify: host.notify }) });
  const runner = new JobRunner({ agenda: host.agenda, jobs, logger });

  // Services
  const items = new Items(records, host.access);
  const callers = new Callers(host.auth);
  const images = new Images({
    records,
    items,
    files: host.files,
    registry,
    sources,
    tiles,
    settings,
    logger,
    temporaryDirectory: host.temporaryDirectory ?? tmpdir(),
  });
  const services: Services = { records, items, images, settings, files: host.files, jobs, runner, logger };

  // What the host tells us
  const modelEvents = host.events === undefined ? new ModelEvents(host.models) : null;
  const unsubscribe = subscribe(host.events ?? modelEvents!, { items, callers, images });

  // Routers
  const mounting = {
    authenticate: (token: string) => callers.authenticate(token),
    tokenPlaces: {
      cookieName: host.auth.cookieName ?? 'girderToken',
      headerName: host.auth.headerName ?? 'Girder-Token',
    },
    logger,
  };
  const itemRoutes = [
    ...tileRoutes,
    ...pictureRoutes,
    ...largeImageRoutes,
    ...associatedImageRoutes,
    ...deepZoomRoutes,
    ...testImageRoutes,
    ...settingRoutes,
  ];
  const routes = [...itemRoutes, ...jobRoutes, ...describeRoutes, ...(host.routes ?? [])] as unknown as RouteDefinition[];
  const describing = {
    routes: () => routes,
    apiRoot: host.apiRoot,
    title: 'Large images',
    version: packageVersion,
  };
  let closed = false;
  const routers = [
    mountRoutes(itemRoutes, { ...mounting, context: services }),
    mountRoutes(jobRoutes, { ...mounting, context: { jobs } }),
    mountRoutes(describeRoutes, { ...mounting, context: describing }),
  ];
  for (const router of routers) {
    // Express cannot unmount; a closed installation lets every request pass.
    host.app.use(host.apiRoot, (request, response, next) => (closed ? next() : router(request, response, next)));
  }

  return {
    settings,
    jobs,
    routes,
    async close() {
      if (closed) return;
      closed = true;
      unsubscribe();
      modelEvents?.close();
      await runner.close();
      jobs.close();
      await Promise.all([sources.clear(), tiles.close()]);
      settingModel.close();
      jobModel.close();
      records.restoreSchemas();
    },
  };
}

function subscribe(
  events: HostEvents,
  { items, callers, images }: { items: Items; callers: Callers; images: Images },
): () => void {
  const offs = [
    events.on('item.saved', ({ item }) => items.forget(idText(item._id))),
    events.on('item.removed', ({ item }) => images.itemRemoved(item)),
    events.on('file.saved', ({ file, created }) => images.fileSaved(file, created)),
    events.on('file.removed', ({ file }) => images.fileRemoved(file)),
    events.on('folder.saved', () => items.forget()),
    events.on('folder.removed', () => items.forget()),
    events.on('access.changed', () => {
      items.forget();
      callers.forget();
    }),
    events.on('token.revoked', ({ token }) => callers.forget(token)),
  ];
  return () => {
    for (const off of offs) off();
  };
}
