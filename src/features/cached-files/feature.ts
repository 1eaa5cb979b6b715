import type { Core } from '../../core/core.js';
import { bindRoutes } from '../../http/route.js';
import type { Feature } from '../feature.js';
import type { Items } from '../items/items.js';
import type { Settings } from '../settings/settings.js';
import { CachedFileModel } from './cached-file.model.js';
import { CachedFiles } from './cached-files.js';
import { allCachedFileRoutes } from './cached-files.routes.js';
import { internalMetadataRoutes } from './internal-metadata.routes.js';
import { cachedFileRoutes } from './item-cached-files.routes.js';
import { cachedFilesSweep } from './sweep.js';

/** What the feature offers. */
export interface CachedFilesOffers {
  cachedFiles: CachedFiles;
  /** Also keeps the claims of whoever works on something alone. */
  model: CachedFileModel;
}

/** Thumbnails, associated images, tile frames and histograms that are kept as files of the host. */
export const cachedFilesFeature: Feature<{ core: Core; settings: Settings; items: Items }, CachedFilesOffers> = {
  name: 'cached-files',
  async open({ core: { host, own, records, logger }, settings, items }) {
    const model = new CachedFileModel(records, own);
    await model.createIndexes();
    const cachedFiles = new CachedFiles({ model, records, files: host.files, settings, logger });
    const routes = [...cachedFileRoutes, ...internalMetadataRoutes, ...allCachedFileRoutes];
    const sweep = cachedFilesSweep({ model, records, files: host.files });
    return { offers: { cachedFiles, model }, routes: bindRoutes(routes, { records, items, cachedFiles }), sweep };
  },
};
