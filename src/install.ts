import { checkOptions } from './check-options.js';
import { openCore, startSweeper } from './core/core.js';
import { nonThrowingLogger } from './core/host/logger.js';
import { annotationsFeature } from './features/annotations/feature.js';
import { overlayFeature } from './features/annotations/overlay/feature.js';
import { plotFeature } from './features/annotations/plot/feature.js';
import { tableFeature } from './features/annotations/table/feature.js';
import { annotationUploadFeature } from './features/annotations/upload/feature.js';
import { cachedFilesFeature } from './features/cached-files/feature.js';
import { cachesFeature } from './features/caches/feature.js';
import { commentsFeature } from './features/comments/feature.js';
import { configurationFeature } from './features/configuration/feature.js';
import { creationFeature } from './features/creation/feature.js';
import { dicomWebFeature } from './features/dicomweb/feature.js';
import { Features } from './features/feature.js';
import { folderConfigurationFeature } from './features/folder-configuration/feature.js';
import { imagesFeature } from './features/images/feature.js';
import { itemsFeature } from './features/items/feature.js';
import { jobsFeature } from './features/jobs/feature.js';
import { linksFeature } from './features/links/feature.js';
import { metricsFeature } from './features/metrics/feature.js';
import type { JobRunner } from './features/jobs/running/runner.js';
import { picturesFeature } from './features/pictures/feature.js';
import { settingsFeature } from './features/settings/feature.js';
import { zarrFeature } from './features/zarr/feature.js';
import type { Host, WorkerHost } from './host.js';
import { requireHost } from './core/host/check-host.js';
import type { VerifyToken } from './http/serving/request-tokens.js';
import { serveRoutes } from './http/serving/serve.js';
import type { InstallOptions, Installation } from './installation.js';

/**
 * Makes a server a large-image server: extends its models, registers the jobs on its Agenda and mounts the routes.
 *
 * Can be called for several hosts in one process, each with its own connection. Their installations share nothing.
 */
export async function install(host: Host, options: InstallOptions = {}): Promise<Installation> {
  requireHost(host);
  return openInstallation(host, options, host.app);
}

/**
 * Opens all parts of an installation, and mounts its router.
 *
 * @param app `null` in processes that only run jobs, where no router is mounted.
 */
export async function openInstallation(
  host: WorkerHost,
  options: InstallOptions,
  app: Host['app'] | null,
): Promise<Installation & { runner: JobRunner }> {
  checkOptions(options);
  const features = new Features(nonThrowingLogger(host.logger));
  try {
    return await openFeatures(features, host, options, app);
  } catch (error) {
    // Close everything that was opened before the failure.
    await features.close();
    throw error;
  }
}

async function openFeatures(
  features: Features,
  host: WorkerHost,
  options: InstallOptions,
  app: Host['app'] | null,
): Promise<Installation & { runner: JobRunner }> {
  const core = await openCore(host, { ...options, isServing: app !== null }, features.onClose);
  const { fileSettings } = await features.open(configurationFeature, { host, options });
  const settings = await features.open(settingsFeature, { core, fileSettings });
  const { items, itemLists, metadataSearch } = await features.open(itemsFeature, { core });
  const caching = await features.open(cachesFeature, { core, options, fileSettings, settings, items });
  const { jobs, runner } = await features.open(jobsFeature, { core });
  const { observe } = await features.open(metricsFeature, { core, options, caching, jobs });
  const { images, imageMarking, changes } = await features.open(imagesFeature, {
    core,
    options,
    fileSettings,
    settings,
    items,
    ...caching,
  });
  const { links } = await features.open(linksFeature, { core, settings, items, images });
  const cachedFiles = await features.open(cachedFilesFeature, { core, settings, items, images, changes, runner });
  await features.open(picturesFeature, { core, items, images, cachedFiles, runner });
  await features.open(creationFeature, { core, items, images, imageMarking, jobs, runner });
  const { folderConfiguration } = await features.open(folderConfigurationFeature, { core, settings, items });
  const annotationServices = await features.open(annotationsFeature, {
    core,
    options,
    fileSettings,
    settings,
    items,
    images,
    jobs,
  });
  await features.open(commentsFeature, { core, items, annotations: annotationServices.annotations });
  const tables = await features.open(tableFeature, { items, ...annotationServices });
  const { overlay } = await features.open(overlayFeature, {
    core,
    images,
    tiles: caching.tiles,
    isServing: app !== null,
    ...annotationServices,
    ...tables,
  });
  await features.open(dicomWebFeature, { core, settings, images, annotations: annotationServices.annotations, links });
  await features.open(zarrFeature, { core, images, items, links, overlay, annotations: annotationServices.annotations });
  await features.open(plotFeature, { core, items, ...annotationServices });
  await features.open(annotationUploadFeature, { core, fileSettings, items, imageMarking, runner, ...annotationServices });

  for (const job of features.jobs) runner.define(job);
  // Jobs end before anything that they use is closed.
  features.onClose(() => runner.close());
  startSweeper(core, { sweeps: features.sweeps, fullAtStart: app !== null }, features.onClose);
  const authenticate: VerifyToken = (token, address) => links.findHolder(token, address) ?? core.callers.authenticate(token);
  const routes = await serveRoutes(features.routes, { core, app, authenticate, observe }, features.onClose);
  const annotationMetadataSearch = annotationServices.metadataSearch;
  const close = () => features.close();
  return {
    settings,
    jobs,
    itemLists,
    folderConfiguration,
    metadataSearch,
    annotationMetadataSearch,
    runner,
    routes,
    observe,
    close,
  };
}
