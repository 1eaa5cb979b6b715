import type { Core } from '../../core/core.js';
import { bindRoutes } from '../../http/route.js';
import type { Feature } from '../feature.js';
import type { Items } from '../items/items.js';
import type { Settings } from '../settings/settings.js';
import { CachedFileModel } from './cached-file.model.js';
import { CachedFiles } from './cached-files.js';
import { allCachedFileRoutes } from './cached-files.routes.js';
import { internalMetadataRoutes } from '../items/internal-metadata.routes.js';
import { cachedFileRoutes } from './item-cached-files.routes.js';
import { cachedFilesSweep } from './cached-files-sweep.js';

/** Thumbnails, associated images, tile frames and histograms that are stored as files of the host. */
export const cachedFilesFeature: Feature<{ core: Core; settings: Settings; items: Items }, CachedFiles> = {
  async open({ core: { host, leases, records, logger }, settings, items }) {
    const model = new CachedFileModel(records);
    await model.createIndexes();
    const cachedFiles = new CachedFiles({ model, leases, records, files: host.files, settings, logger });
    const routes = [...cachedFileRoutes, ...internalMetadataRoutes, ...allCachedFileRoutes];
    const sweep = cachedFilesSweep({ model, records, files: host.files });
    return { offers: cachedFiles, routes: bindRoutes(routes, { records, items, cachedFiles }), sweep };
  },
};
