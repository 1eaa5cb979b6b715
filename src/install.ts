import { tmpdir } from 'node:os';
import { openTileCache } from './features/caches/open-tile-cache.js';
import { CachePeers } from './features/caches/peers.js';
import { SourceCache } from './features/caches/source-cache.js';
import { PackedElementStore } from './features/annotations/elements/store.js';
import type { Host, HostLogger, WorkerHost } from './host.js';
import type { InstallOptions, Installation } from './installation.js';
import { Undo } from './core/undo.js';
import { ModelEvents } from './core/host-events.js';
import { ItemQueries } from './features/items/item-queries.model.js';
import { CachedFileModel } from './features/cached-files/cached-file.model.js';
import { HostRecords } from './core/host-records.js';
import { AnnotationDensityModel } from './features/annotations/overlay/density.model.js';
import { AnnotationModel } from './features/annotations/documents/annotation.model.js';
import { AnnotationUploadModel } from './features/annotations/upload/upload.model.js';
import { MongoElementRecords } from './features/annotations/elements/element-records.model.js';
import { ScheduleModel } from './core/schedule.js';
import { SettingModel } from './features/settings/setting.model.js';
import { createJobModel } from './features/jobs/job.model.js';
import { conversionDefinition } from './features/creation/conversion.job.js';
import { JobRunner } from './features/jobs/runner.js';
import { annotationUploadJob } from './features/annotations/upload/upload.job.js';
import { cacheFilesJob } from './features/cached-files/cache-files.job.js';
import { thumbnailJob } from './features/cached-files/thumbnails.job.js';
import { describeRoutes } from './http/describe/describe.routes.js';
import { annotationTileRoutes } from './features/annotations/overlay/tiles.routes.js';
import { jobRoutes } from './features/jobs/jobs.routes.js';
import { mountRoutes } from './http/mount.js';
import { serviceRoutes } from './features/routes.js';
import type { RouteDefinition } from './http/route.js';
import { Caches } from './features/caches/caches.js';
import { CachedFiles } from './features/cached-files/cached-files.js';
import { followImages } from './features/images/image-lifecycle.js';
import { followHost } from './features/annotations/lifecycle.js';
import { AnnotationDensities } from './features/annotations/overlay/densities.js';
import { AnnotationOverlay } from './features/annotations/overlay/overlay.js';
import { AnnotationHousekeeping } from './features/annotations/history/housekeeping.js';
import { createAnnotationServices } from './features/annotations/annotation-services.js';
import { AnnotationTiles } from './features/annotations/overlay/tiles.js';
import { AnnotationUploads } from './features/annotations/upload/uploads.js';
import { Callers } from './features/items/callers.js';
import { ConversionItems } from './features/creation/conversion-items.js';
import { Configuration } from './features/configuration/configuration.js';
import { Exclusive } from './features/configuration/distributed-lock.js';
import { FolderConfiguration } from './features/configuration/folder-configuration.js';
import { FolderImages } from './features/creation/folder-images.js';
import { Images, type OpenImage } from './features/images/images.js';
import { ItemLists } from './features/items/item-lists.js';
import { Items } from './features/items/items.js';
import { JobStore } from './features/jobs/jobs.js';
import { OverlayImages } from './features/annotations/overlay/overlay-images.js';
import { scheduleWarmUp } from './features/annotations/overlay/warm-up.js';
import { PlotData } from './features/annotations/plot/plot-data.js';
import { Turns } from './core/latest-only.js';
import { AnnotationMetadataSearch } from './features/annotations/documents/metadata-search.js';
import { MetadataSearch } from './features/items/metadata-search.js';
import { LargeImageCreation } from './features/creation/large-image-creation.js';
import type { Services } from './features/services.js';
import { Settings } from './features/settings/settings.js';
import { settingDefinitions } from './features/settings/definitions.js';
import { TileSourceRegistry } from './tilesource/registry.js';
import { sharpSource } from './tilesource/sources/sharp/sharp-source.js';
import { testSource } from './tilesource/sources/test/test-source.js';
import { tiffSource } from './tilesource/sources/tiff/tiff-source.js';
import { packageVersion } from './core/version.js';
import { sweepTemporaryFiles } from './core/temporary-files.js';

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
  // Not at the same time: both have indexes of files, and some databases refuse two builds on one collection.
  await Promise.all([records.createIndexes(), settingModel.createIndexes()]);
  await cachedFileModel.createIndexes();

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
  const overlayImages = new OverlayImages({ records, images, access: host.access });
  const elementRecords = new MongoElementRecords(connection);
  const store = new PackedElementStore({
    records: elementRecords,
    brand,
    overlaySizes: (itemId) => overlayImages.size(itemId),
  });
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
  const annotations = createAnnotationServices(host, { ...annotated, items, overlayImages, brand });
  const overlays = new AnnotationTiles({
    load: (id, caller) => annotations.writer.load(id, 0, caller),
    overlay: new AnnotationOverlay({ store, densities }),
    images,
    records,
    tiles,
  });
  const copies = new ConversionItems({ records, files: host.files, host, jobs, logger });
  const creation = new LargeImageCreation({
    records,
    items,
    images,
    files: host.files,
    conversionItems: copies,
    jobs,
    runner,
    notify: host.notify,
    logger,
  });
  const folderImages = new FolderImages({ records, items, images, jobs, creation, access: host.access, logger });
  jobs.onUpdate((event) => creation.jobChanged(event));
  runner.define(conversionDefinition({ creation, copies, records, files: host.files, temporaryDirectory }));
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
      exclusive: new Exclusive({ claims: cachedFileModel, logger }),
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
  undo.add(followImages(events, { items, callers, images }));
  undo.add(followHost(events, annotations, { model: annotationModel, records, uploads }));
  void copies.sweep();
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
  const routes = [
    ...serviceRoutes,
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
    mountRoutes(serviceRoutes, { ...mounting, context: services }),
    mountRoutes(jobRoutes, { ...mounting, context: { jobs } }),
    mountRoutes(describeRoutes, { ...mounting, context: describing }),
  ];
  for (const router of routers) {
    // Express cannot unmount; a closed installation lets every request pass.
    app?.use(host.apiRoot, (request, response, next) => (closed ? next() : router(request, response, next)));
  }

  if (app !== null) {
    const nobody = new host.mongoose.Types.ObjectId().toHexString();
    const place = { window: nobody, level: 0, column: 0, row: 0 };
    const reads = [
      () => annotationModel.find(nobody),
      () => records.findItem(nobody),
      () => densityModel.heads([nobody]),
      () => densityModel.blocks([place]),
    ];
    undo.add(scheduleWarmUp(logger, reads));
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
