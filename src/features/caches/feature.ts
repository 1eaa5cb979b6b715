import type { Core } from '../../core/core.js';
import type { FileSettings } from '../../configuration-text/read-settings.js';
import { bindRoutes } from '../../http/route.js';
import type { InstallOptions } from '../../installation.js';
import type { Feature } from '../feature.js';
import type { Items } from '../items/items.js';
import type { Settings } from '../settings/settings.js';
import { CountingTileCache } from './counting-tile-cache.js';
import { Caches } from './caches.js';
import { cacheRoutes } from './caches.routes.js';
import type { TileCache } from './tile-cache.js';
import type { OpenImage } from './open-image.js';
import { openTileCache } from './open-tile-cache.js';
import { CachePeers } from './cache-peers.js';
import { SourceCache } from './source-cache.js';

/** Dependencies of the caches. */
interface CacheNeeds {
  core: Core;
  options: InstallOptions;
  fileSettings: FileSettings;
  settings: Settings;
  items: Items;
}

/** The caches of encoded tiles and of open images. */
export interface CacheOffers {
  caches: Caches;
  tiles: TileCache;
  sources: SourceCache<OpenImage>;
}

const defaultMaxOpenSources = 64;

/** Caches of encoded tiles and of open images, in this process and in the other processes that share a Redis with it. */
export const cachesFeature: Feature<CacheNeeds, CacheOffers> = {
  async open({ core: { connection, logger, callers }, options, fileSettings, settings, items }, onClose) {
    const namespace = `large_image:${connection.name}`;
    const { tiles: tileCache, connection: redis } = await openTileCache({
      backend: options.cacheBackend ?? fileSettings.cache_backend ?? 'memory',
      maxBytes: options.tileCacheBytes ?? fileSettings.memory.tileCacheBytes,
      redis: {
        url: options.redisUrl ?? fileSettings.cache_redis_url,
        username: fileSettings.cache_redis_username,
        password: fileSettings.cache_redis_password,
        logger,
      },
      namespace,
      ...(options.tileCache && { hostCache: options.tileCache }),
    });
    const tiles = options.metrics === undefined ? tileCache : new CountingTileCache(tileCache);
    onClose(() => redis?.close());
    onClose(() => tiles.close());
    const sources = new SourceCache<OpenImage>({
      maxEntries:
        options.maxOpenSources ??
        (fileSettings.cache_sources ? fileSettings.cache_tilesource_maximum || defaultMaxOpenSources : 0),
      maxBytes: options.maxOpenSourceBytes ?? fileSettings.memory.openSourceBytes,
      sizeOf: (open) => open.retainedBytes,
      onCloseError: (err) => logger.warn({ err }, 'TileSource:Close:Failed'),
    });
    onClose(() => sources.clear());
    const caches = new Caches({
      tiles,
      sources,
      dropItemsAndCallers: () => {
        items.forget();
        callers.forget();
      },
      connectPeers: (handlers) => (redis === null ? null : new CachePeers({ connection: redis, namespace, handlers })),
    });
    onClose(() => caches.close());
    settings.onChange(async ({ key }) => {
      // Cached pictures with a different color correction are never used again, because their keys differ.
      if (key === 'large_image.icc_correction') await caches.clear();
    });
    return { offers: { caches, tiles, sources }, routes: bindRoutes(cacheRoutes, { caches }) };
  },
};
