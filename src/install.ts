import { openCore } from './core/core.js';
import { harmlessLogger } from './core/host/logger.js';
import { ScheduleModel } from './core/database/schedule.js';
import { Sweeper } from './core/database/sweeper.js';
import { packageVersion } from './core/version.js';
import { annotationsFeature } from './features/annotations/feature.js';
import { overlayFeature } from './features/annotations/overlay/feature.js';
import { plotFeature } from './features/annotations/plot/feature.js';
import { annotationUploadFeature } from './features/annotations/upload/feature.js';
import { cachedFilesFeature } from './features/cached-files/feature.js';
import { cachesFeature } from './features/caches/feature.js';
import { configurationFeature } from './features/configuration/feature.js';
import { creationFeature } from './features/creation/feature.js';
import { Features } from './features/feature.js';
import { folderConfigurationFeature } from './features/folder-configuration/feature.js';
import { imagesFeature } from './features/images/feature.js';
import { itemsFeature } from './features/items/feature.js';
import { jobsFeature } from './features/jobs/feature.js';
import type { JobRunner } from './features/jobs/runner.js';
import { picturesFeature } from './features/pictures/feature.js';
import { settingsFeature } from './features/settings/feature.js';
import { thumbnailsFeature } from './features/thumbnails/feature.js';
import type { Host, WorkerHost } from './host.js';
import { describeRoutes } from './http/describe/describe.routes.js';
import { mountRoutes } from './http/serving/mount.js';
import { mountAt } from './http/serving/slot.js';
import { bindRoutes, type RouteDefinition } from './http/route.js';
import type { InstallOptions, Installation } from './installation.js';

/**
 * Makes a server a large-image server: extends its models, registers the jobs on its Agenda and mounts the routes.
 *
 * Several hosts in one process may be installed on, each with its own connection; they share nothing.
 */
export async function install(host: Host, options: InstallOptions = {}): Promise<Installation> {
  return assemble(host, options, host.app);
}

/**
 * Everything of an installation; the router only where there is an application for it.
 *
 * @param app `null` in processes that only run jobs.
 */
export async function assemble(
  host: WorkerHost,
  options: InstallOptions,
  app: Host['app'] | null,
): Promise<Installation & { runner: JobRunner }> {
  const features = new Features(harmlessLogger(host.logger));
  try {
    return await openAll(features, { host, options, app });
  } catch (error) {
    // What was opened before the failure must not stay open.
    await features.close();
    throw error;
  }
}

async function openAll(
  features: Features,
  { host, options, app }: { host: WorkerHost; options: InstallOptions; app: Host['app'] | null },
): Promise<Installation & { runner: JobRunner }> {
  const core = await openCore(host, { ...options, isServing: app !== null }, features.onClose);
  const { configuration: _file, library } = await features.open(configurationFeature, { host, options });
  const settings = await features.open(settingsFeature, { core, library });
  const { items, itemLists, metadataSearch } = await features.open(itemsFeature, { core });
  const caching = await features.open(cachesFeature, { core, options, library, settings, items });
  const { jobs, runner } = await features.open(jobsFeature, { core });
  const { cachedFiles, model: claims } = await features.open(cachedFilesFeature, { core, settings, items });
  const images = await features.open(imagesFeature, { core, options, library, settings, items, cachedFiles, ...caching });
  await features.open(picturesFeature, { core, items, images, cachedFiles, runner });
  await features.open(thumbnailsFeature, { core, images, cachedFiles, runner });
  await features.open(creationFeature, { core, items, images, jobs, runner });
  await features.open(folderConfigurationFeature, { core, settings, items, claims });
  const annotating = await features.open(annotationsFeature, { core, options, settings, items, images });
  const { annotations } = annotating;
  await features.open(overlayFeature, { core, images, tiles: caching.tiles, isServing: app !== null, ...annotating });
  await features.open(plotFeature, { core, items, annotations });
  await features.open(annotationUploadFeature, { core, library, items, images, annotations, runner });

  for (const job of features.jobs) runner.define(job);
  // Jobs end before anything that they work with closes.
  features.onClose(() => runner.close());
  const { own: collections, logger } = core;
  const schedule = new ScheduleModel(collections);
  const sweeper = new Sweeper({ collections, sweeps: features.sweeps, schedule, logger, fullAtStart: app !== null });
  features.onClose(() => sweeper.close());

  const described: RouteDefinition[] = [];
  const describing = {
    routes: () => described,
    apiRoot: host.apiRoot,
    title: 'Large images',
    version: packageVersion,
    brand: core.brand,
  };
  const routes = [...features.routes, ...bindRoutes(describeRoutes, describing)];
  described.push(...routes, ...(host.routes ?? []));
  const router = mountRoutes(routes, {
    context: undefined,
    authenticate: (token) => core.callers.authenticate(token),
    tokenLocations: {
      cookieName: host.auth.cookieName ?? 'girderToken',
      headerName: host.auth.headerName ?? 'Girder-Token',
    },
    logger,
  });
  if (app !== null) features.onClose(await mountAt(app, host.apiRoot, router));
  return {
    settings,
    jobs,
    itemLists,
    metadataSearch,
    annotationMetadataSearch: annotating.metadataSearch,
    runner,
    routes: described,
    close: () => features.close(),
  };
}
