import { tmpdir } from 'node:os';
import type { TileCache } from './cache/contract.js';
import { openTileCache, type CacheBackend } from './cache/open-tile-cache.js';
import { CachePeers } from './cache/peers.js';
import { SourceCache } from './cache/source-cache.js';
import { PackedElementStore } from './annotation/store/store.js';
import type { Host, HostEvents, HostLogger, WorkerHost } from './host.js';
import { ModelEvents } from './models/host-events.js';
import { ItemQueries } from './models/item-queries.js';
import { CachedFileModel } from './models/cached-file.js';
import { HostRecords, idText } from './models/host-records.js';
import { AnnotationDensityModel } from './models/annotation-density.js';
import { AnnotationModel } from './models/annotation.js';
import { AnnotationUploadModel } from './models/annotation-upload.js';
import { MongoElementRecords } from './models/element-records.js';
import { ScheduleModel } from './models/schedule.js';
import { SettingModel } from './models/setting.js';
import { createJobModel } from './models/job.js';
import { conversionDefinition } from './jobs/conversion.js';
import { JobRunner } from './jobs/runner.js';
import { annotationUploadJob } from './jobs/annotation-upload.js';
import { cacheFilesJob } from './jobs/cache-files.js';
import { thumbnailJob } from './jobs/thumbnails.js';
import { describeRoutes } from './rest/describe/routes.js';
import { annotationRoutes } from './rest/annotation/routes.js';
import { annotationTileRoutes } from './rest/annotation/tiles.js';
import { associatedImageRoutes } from './rest/item/associated-images.js';
import { cachedFileRoutes } from './rest/item/cached-files.js';
import { deepZoomRoutes } from './rest/item/deep-zoom.js';
import { histogramRoutes } from './rest/item/histogram.js';
import { internalMetadataRoutes } from './rest/item/internal-metadata.js';
import { largeImageRoutes } from './rest/item/large-image.js';
import { pictureRoutes } from './rest/item/pictures.js';
import { testImageRoutes } from './rest/item/test-image.js';
import { tileFramesRoutes } from './rest/item/tile-frames.js';
import { tileRoutes } from './rest/item/tiles.js';
import { jobRoutes } from './rest/job/routes.js';
import { yamlConfigRoutes } from './rest/folder/yaml-config.js';
import { administrationRoutes } from './rest/large-image/routes.js';
import { mountRoutes } from './rest/mount.js';
import type { RouteDefinition } from './rest/route.js';
import { settingRoutes } from './rest/system/settings.js';
import { Caches } from './services/caches.js';
import { allCachedFileRoutes } from './rest/large-image/cached-files.js';
import { CachedFiles } from './services/cached-files.js';
import { followHost } from './services/annotation-lifecycle.js';
import { AnnotationDensities } from './services/annotation-densities.js';
import { AnnotationOverlay } from './services/annotation-overlay.js';
import { AnnotationHousekeeping } from './services/annotation-housekeeping.js';
import { createAnnotationServices } from './services/annotation-services.js';
import { AnnotationTiles } from './services/annotation-tiles.js';
import { AnnotationUploads } from './services/annotation-uploads.js';
import { Callers } from './services/callers.js';
import { Configuration } from './services/configuration.js';
import { FolderConfiguration } from './services/folder-configuration.js';
import { FolderImages } from './services/folder-images.js';
import { Images, type OpenImage } from './services/images.js';
import { ItemLists } from './services/item-lists.js';
import { Items } from './services/items.js';
import { JobStore } from './services/jobs.js';
import { PlotData } from './services/plot-data.js';
import { Turns } from './services/turns.js';
import { AnnotationMetadataSearch } from './services/annotation-metadata-search.js';
import { MetadataSearch } from './services/metadata-search.js';
import { LargeImageCreation } from './services/large-image-creation.js';
import type { Services } from './services/services.js';
import { Settings } from './services/settings.js';
import { settingDefinitions } from './settings/definitions.js';
import type { TileSourceDefinition } from './tilesource/contract.js';
import { TileSourceRegistry } from './tilesource/registry.js';
import { sharpSource } from './tilesource/sources/sharp.js';
import { testSource } from './tilesource/sources/test.js';
import { tiffSource } from './tilesource/sources/tiff.js';
import { sweepTemporaryFiles } from './tilesource/temporary-files.js';
import { packageVersion } from './version.js';

/** What may be given to {@link install} beside the host. */
export interface InstallOptions {
  /** Further tile sources. One with the name of a built-in source replaces it. */
  tileSources?: readonly TileSourceDefinition[];
  /** Where encoded tiles are kept. Default: `cache_backend` of the configuration, else `memory`. */
  cacheBackend?: CacheBackend;
  /** A tile cache of your own, in place of those that `cacheBackend` names. */
  tileCache?: TileCache;
  /** Address of the Redis for `cacheBackend: 'redis'`. Default: `cache_redis_url` of the configuration, else `127.0.0.1:6379`. */
  redisUrl?: string;
  /** Room for encoded tiles, in bytes; 0 keeps none. Default: a 16th of the memory, or as the configuration says. */
  tileCacheBytes?: number;
  /** Open image files kept for the next request; 0 keeps none. Default 64, or as the configuration says. */
  maxOpenSources?: number;
  /** Memory that open image files may retain together, in bytes. Default: a 32nd of the memory, or as the configuration says. */
  maxOpenSourceBytes?: number;
  /**
   * Milliseconds between cleanups of annotations: old versions, and what killed writes have left. One of all processes does each. Default an
   * hour; 0: this process does none.
   */
  annotationCleanupMs?: number;
  /** Path of the configuration file. Default: as `SERVICE_CONFIG` says (docs/configuration-text.md). */
  configFile?: string;
  /** Environment variables that are looked at. Default: those of the process. */
  env?: Readonly<Record<string, string | undefined>>;
}

/** A running installation. */
export interface Installation {
  /** The settings of the plugin and those that the host put beside them. */
  settings: Settings;
  /** Job records and their changes. */
  jobs: JobStore;
  /** Item lists with recursion, grouping and filters, for the host's own GET item. */
  itemLists: ItemLists;
  /** The search mode `li_metadata`, for the host's own GET resource/search. */
  metadataSearch: MetadataSearch;
  /** The search mode `li_annotation_metadata`, for the same. */
  annotationMetadataSearch: AnnotationMetadataSearch;
  /** Every route, of plugin and host, as GET describe shows them. */
  routes: readonly RouteDefinition[];
  /** Ends it: routes answer no more, files are closed, the host's schemas are as they were. */
  close(): Promise<void>;
}

const usualOpenSources = 64;
const usualCleanupMs = 60 * 60_000;

const silent: HostLogger = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * Makes a server a large-image server: extends its models, registers the jobs on its Agenda and mounts the routes.
 *
 * Several hosts in one process may be installed on, each with its own connection; they share nothing.
 */
export async function install(host: Host, options: InstallOptions = {}): Promise<Installation> {
  return assemble(host, options, host.app);
}

/**
 * Everything of an installation; the routers only where there is an application for them.
 *
 * @param app `null` in processes that only run jobs.
 */
export async function assemble(
  host: WorkerHost,
  options: InstallOptions,
  app: Host['app'] | null,
): Promise<Installation & { runner: JobRunner }> {
  const undo = new Undo(host.logger ?? silent);
  try {
    return await build(host, options, { app, undo });
  } catch (error) {
    // What was opened before the failure must not stay open.
    await undo.run();
    throw error;
  }
}

/** What ends an installation: the steps of its making backwards. One that fails is logged and keeps no other from being done. */
class Undo {
  readonly #steps: (() => unknown)[] = [];

  constructor(private readonly logger: HostLogger) {}

  add(step: () => unknown): void {
    this.#steps.push(step);
  }

  async run(): Promise<void> {
    for (const step of this.#steps.splice(0).toReversed()) {
      try {
        await step();
      } catch (err) {
        this.logger.warn({ err }, 'Installation:Close:Failed');
      }
    }
  }
}

async function build(
  host: WorkerHost,
  options: InstallOptions,
  { app, undo }: { app: Host['app'] | null; undo: Undo },
): Promise<Installation & { runner: JobRunner }> {
  const logger = host.logger ?? silent;

  // Configuration
  const configuration = new Configuration({
    env: options.env ?? process.env,
    brand: host.brand ?? 'service',
    logger,
    ...(options.configFile !== undefined && { path: options.configFile }),
    ...(host.restart && { restart: host.restart }),
  });
  const library = await configuration.load();

  // Models
  const records = new HostRecords(host);
  undo.add(() => records.restoreSchemas());
  const { connection } = records;
  // Added here, closed behind the jobs that use them.
  const models: { close(): void }[] = [];
  undo.add(() => models.forEach((model) => model.close()));
  const settingModel = new SettingModel(host.mongoose, connection);
  const cachedFileModel = new CachedFileModel(records, connection);
  models.push(settingModel, cachedFileModel);
  await Promise.all([records.createIndexes(), settingModel.createIndexes(), cachedFileModel.createIndexes()]);

  // Settings
  const folderExists = async (id: string) => (await records.findFolder(id)) !== null;
  const definitions = settingDefinitions({ folderExists }, library);
  const settings = new Settings(settingModel, [...definitions, ...(host.settings ?? [])]);

  // Sources and caches
  const temporaryDirectory = host.temporaryDirectory ?? tmpdir();
  await sweepTemporaryFiles(temporaryDirectory).catch((err: unknown) => logger.warn({ err }, 'TemporaryFiles:Sweep:Failed'));
  let registry = new TileSourceRegistry({
    logger,
    ignoredNames: library.all_sources_ignored_names,
    sourceIgnoredNames: library.source_ignored_names,
  }).register(...[tiffSource, sharpSource, testSource].map((source) => ({ ...source, version: packageVersion })));
  for (const source of options.tileSources ?? []) registry = registry.register(source);
  const namespace = `large_image:${connection.name}`;
  const { tiles, connection: redis } = await openTileCache({
    backend: options.cacheBackend ?? library.cache_backend ?? 'memory',
    maxBytes: options.tileCacheBytes ?? library.memory.tileCacheBytes,
    redis: {
      url: options.redisUrl ?? library.cache_redis_url,
      username: library.cache_redis_username,
      password: library.cache_redis_password,
      logger,
    },
    namespace,
    ...(options.tileCache && { own: options.tileCache }),
  });
  undo.add(() => redis?.close());
  undo.add(() => tiles.close());
  const sources = new SourceCache<OpenImage>({
    maxEntries: options.maxOpenSources ?? (library.cache_sources ? library.cache_tilesource_maximum || usualOpenSources : 0),
    maxBytes: options.maxOpenSourceBytes ?? library.memory.openSourceBytes,
    sizeOf: (open) => open.retainedBytes,
    onCloseError: (err) => logger.warn({ err }, 'TileSource:Close:Failed'),
  });
  undo.add(() => sources.clear());

  // Jobs
  const jobModel = createJobModel(connection);
  models.push(jobModel);
  await jobModel.createIndexes();
  const jobs = new JobStore({ model: jobModel, logger, ...(host.notify && { notify: host.notify }) });
  const runner = new JobRunner({ agenda: host.agenda, jobs, logger });
  undo.add(async () => {
    await runner.close();
    jobs.close();
  });

  // Services
  const items = new Items(records, host.access);
  const callers = new Callers(host.auth);
  const caches = new Caches({
    tiles,
    sources,
    forget: () => {
      items.forget();
      callers.forget();
    },
  });
  undo.add(() => caches.peers?.close());
  undo.add(() => configuration.close());
  if (redis !== null) caches.peers = new CachePeers({ connection: redis, namespace, peer: caches.asPeer() });
  settings.onChange(async ({ key }) => {
    // Pictures made with another correction are never asked for again: their keys differ.
    if (key === 'large_image.icc_correction') await caches.clear();
  });
  const cachedFiles = new CachedFiles({ model: cachedFileModel, records, files: host.files, settings, logger });
  const images = new Images({
    records,
    items,
    cachedFiles,
    files: host.files,
    registry,
    sources,
    tiles,
    fileChanged: (fileId) => caches.peers?.forgetFile(fileId),
    settings,
    logger,
    temporaryDirectory,
  });
  const brand = host.brand ?? 'service';
  const overlaySizes = async (itemId: string) => {
    try {
      const item = await records.findItem(itemId);
      if (item === null) return null;
      const { sizeX, sizeY } = await images.use(item, (image) => image.metadata());
      return { width: sizeX, height: sizeY };
    } catch {
      // An overlay that cannot be read now may be readable later: it is stored, with a box of zeros.
      return null;
    }
  };
  const elementRecords = new MongoElementRecords(connection);
  const store = new PackedElementStore({ records: elementRecords, brand, overlaySizes });
  const annotationModel = new AnnotationModel(connection);
  models.push(elementRecords, annotationModel);
  const densityModel = new AnnotationDensityModel(connection);
  const uploadModel = new AnnotationUploadModel(connection);
  models.push(uploadModel);
  await Promise.all([
    store.prepare(),
    annotationModel.createIndexes(),
    densityModel.createIndexes(),
    uploadModel.createIndexes(),
  ]);
  const densities = new AnnotationDensities({ store, model: densityModel, logger });
  const annotated = { model: annotationModel, store, densities, records, settings, logger };
  const annotations = createAnnotationServices(host, { ...annotated, items, brand });
  const overlays = new AnnotationTiles({
    load: (id, caller) => annotations.writer.load(id, 0, caller),
    overlay: new AnnotationOverlay({ store, densities }),
    images,
    records,
    tiles,
  });
  const creation = new LargeImageCreation({
    records,
    items,
    images,
    files: host.files,
    host,
    jobs,
    runner,
    notify: host.notify,
    logger,
  });
  const folderImages = new FolderImages({ records, items, images, jobs, creation, access: host.access, logger });
  jobs.onUpdate((event) => creation.jobChanged(event));
  runner.define(conversionDefinition({ creation, records, files: host.files, temporaryDirectory }));
  const uploads = new AnnotationUploads({
    model: uploadModel,
    annotations,
    records,
    items,
    images,
    files: host.files,
    runner,
    maxBytes: library.max_annotation_input_file_length,
    notify: host.notify,
    logger,
  });
  const housekeeping = new AnnotationHousekeeping({
    cleanup: annotations.cleanup,
    schedule: new ScheduleModel(connection),
    settings,
    logger,
    everyMs: options.annotationCleanupMs ?? usualCleanupMs,
  });
  const services: Services = {
    records,
    items,
    images,
    cachedFiles,
    annotations,
    plots: { data: new PlotData({ records, access: host.access, annotations, files: host.files }), turns: new Turns() },
    creation,
    folderImages,
    settings,
    library,
    caches,
    configuration,
    folderConfiguration: new FolderConfiguration({
      records,
      items,
      settings,
      files: host.files,
      directory: host.directory,
      createItem: host.createItem,
    }),
    files: host.files,
    jobs,
    runner,
    logger,
  };

  runner.define(thumbnailJob(services));
  runner.define(cacheFilesJob(services, 'tileFrames'));
  runner.define(cacheFilesJob(services, 'histogram'));

  runner.define(annotationUploadJob(uploads));

  undo.add(async () => {
    uploads.close();
    await annotations.writer.close();
    await densities.close();
  });

  // What the host tells us
  const modelEvents = host.events === undefined ? new ModelEvents(host.models) : null;
  const events = host.events ?? modelEvents!;
  undo.add(() => housekeeping.close());
  undo.add(() => modelEvents?.close());
  undo.add(subscribe(events, { items, callers, images }));
  undo.add(followHost(events, annotations, { model: annotationModel, records, uploads }));
  uploads.sweep().catch((err: unknown) => logger.warn({ err }, 'Annotation:Upload:SweepFailed'));

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
    ...tileFramesRoutes,
    ...histogramRoutes,
    ...cachedFileRoutes,
    ...internalMetadataRoutes,
    ...allCachedFileRoutes,
    ...testImageRoutes,
    ...administrationRoutes,
    ...yamlConfigRoutes,
    ...settingRoutes,
    ...annotationRoutes,
  ];
  const routes = [
    ...itemRoutes,
    ...annotationTileRoutes,
    ...jobRoutes,
    ...describeRoutes,
    ...(host.routes ?? []),
  ] as unknown as RouteDefinition[];
  const describing = {
    routes: () => routes,
    apiRoot: host.apiRoot,
    title: 'Large images',
    version: packageVersion,
  };
  let closed = false;
  const routers = [
    // Before the others: one of them takes any word after the id of an annotation for a format.
    mountRoutes(annotationTileRoutes, { ...mounting, context: { overlays } }),
    mountRoutes(itemRoutes, { ...mounting, context: services }),
    mountRoutes(jobRoutes, { ...mounting, context: { jobs } }),
    mountRoutes(describeRoutes, { ...mounting, context: describing }),
  ];
  for (const router of routers) {
    // Express cannot unmount; a closed installation lets every request pass.
    app?.use(host.apiRoot, (request, response, next) => (closed ? next() : router(request, response, next)));
  }

  const queries = new ItemQueries(records);
  return {
    settings,
    jobs,
    itemLists: new ItemLists(queries, items, host.access),
    metadataSearch: new MetadataSearch(queries, host.access),
    annotationMetadataSearch: new AnnotationMetadataSearch(annotations, records, host.access),
    runner,
    routes,
    async close() {
      if (closed) return;
      closed = true;
      await undo.run();
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
    events.on('item.copied', ({ item, fileIds }) => images.itemCopied(item, fileIds)),
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
