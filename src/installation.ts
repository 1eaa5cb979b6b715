import type { TileCache } from './features/caches/tile-cache.js';
import type { CacheBackend } from './features/caches/open-tile-cache.js';
import type { RouteOutline } from './http/route.js';
import type { RequestObserver } from './http/serving/mount.js';
import type { AnnotationMetadataSearch } from './features/annotations/documents/lists/metadata-search.js';
import type { ItemLists } from './features/items/item-lists.js';
import type { JobStore } from './features/jobs/jobs.js';
import type { MetadataSearch } from './features/items/metadata-search.js';
import type { Settings } from './features/settings/settings.js';
import type { QueueLimits, QueueName } from './core/concurrency/queues.js';
import type { TileSourceDefinition } from './tilesource/tile-source.js';

/** A `Registry` of prom-client, as far as it is used. */
export interface MetricsRegistry {
  readonly contentType: string;
  metrics(): Promise<string>;
  removeSingleMetric(name: string): void;
}

/** Options of `install`, in addition to the host. */
export interface InstallOptions {
  /** Further tile sources. One with the name of a built-in source replaces it. */
  tileSources?: readonly TileSourceDefinition[];
  /** Where encoded tiles are kept. Default: `cache_backend` of the configuration, else `memory`. */
  cacheBackend?: CacheBackend;
  /** A tile cache of your own, in place of those that `cacheBackend` names. */
  tileCache?: TileCache;
  /** Address of the Redis for `cacheBackend: 'redis'`. Default: `cache_redis_url` of the configuration, else `127.0.0.1:6379`. */
  redisUrl?: string;
  /** Memory for encoded tiles, in bytes; 0 keeps none. Default: a 16th of the memory, or as the configuration says. */
  tileCacheBytes?: number;
  /** Open image files kept for the next request; 0 keeps none. Default 64, or as the configuration says. */
  maxOpenSources?: number;
  /** Memory that open image files may retain together, in bytes. Default: a 32nd of the memory, or as the configuration says. */
  maxOpenSourceBytes?: number;
  /** Memory for blocks of remote files (`localPath` is `null`), in bytes. Default: the same as for open image files. */
  remoteBytes?: number;
  /**
   * Milliseconds between cleanups of annotations, which remove old versions and what killed writes have left. Each is done by one of the processes on
   * the database. Default: an hour; 0: this process does none.
   */
  annotationCleanupMs?: number;
  /** Other limits than usual for work that waits in queues (docs/operations.md), such as `{ pictures: { running: 8, waiting: 2000 } }`. */
  queues?: Partial<Record<QueueName, QueueLimits>>;
  /**
   * Prefix of the plugin's collection names. Default `large_image_`. All processes on a database must use the same prefix, because
   * data stored under one is not found under another.
   */
  collectionPrefix?: string;
  /** A registry of prom-client 15, which gets metrics of requests, queues, caches, child processes and jobs (docs/operations.md). Default: there are none. */
  metrics?: MetricsRegistry;
  /**
   * How many processes, this one among them, share the memory of the machine. What is by default a portion of the memory is a portion of this
   * process's share. Default 1.
   */
  processes?: number;
  /** Path of the configuration file. Default: the path in `SERVICE_CONFIG` (docs/configuration-text.md). */
  configFile?: string;
  /** Environment variables to be read. Default: those of the process. */
  env?: Readonly<Record<string, string | undefined>>;
}

/** A running installation. */
export interface Installation {
  /** The settings of the plugin and of the host. */
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
  routes: readonly RouteOutline[];
  /** The option `observe` for a call of `mountRoutes`, so that the metrics count the host's own requests too; `undefined` without `metrics`. */
  observe: RequestObserver | undefined;
  /** Undoes the installation: its routes pass requests on, files are closed, the host's schemas are as they were. */
  close(): Promise<void>;
}
