import type { TileCache } from './features/caches/tile-cache.js';
import type { CacheBackend } from './features/caches/open-tile-cache.js';
import type { RouteOutline } from './http/route.js';
import type { RequestObserver } from './http/serving/mount.js';
import type { AnnotationMetadataSearch } from './features/annotations/documents/lists/metadata-search.js';
import type { FolderConfiguration } from './features/folder-configuration/folder-configuration.js';
import type { ItemLists } from './features/items/item-lists.js';
import type { JobStore } from './features/jobs/jobs.js';
import type { MetadataSearch } from './features/items/metadata-search.js';
import type { Settings } from './features/settings/settings.js';
import type { QueueLimits, QueueName } from './core/concurrency/queues.js';
import type { TileSourceDefinition } from './tilesource/tile-source.js';

/** The members of prom-client's `Registry` that the plugin uses. */
export interface MetricsRegistry {
  readonly contentType: string;
  metrics(): Promise<string>;
  removeSingleMetric(name: string): void;
}

/** Options of `install`, in addition to the host. */
export interface InstallOptions {
  /** Further tile sources. One with the name of a built-in source replaces it. */
  tileSources?: readonly TileSourceDefinition[];
  /** Where encoded tiles are cached. Default: `cache_backend` of the configuration, otherwise `memory`. */
  cacheBackend?: CacheBackend;
  /** Your own tile cache, instead of those that `cacheBackend` names. */
  tileCache?: TileCache;
  /**
   * Address of the Redis server for `cacheBackend: 'redis'`. Default: `cache_redis_url` of the configuration, otherwise
   * `127.0.0.1:6379`.
   */
  redisUrl?: string;
  /** Memory for encoded tiles in bytes; 0 disables the cache. Default: a 16th of the memory, or the value in the configuration. */
  tileCacheBytes?: number;
  /** Number of image files that stay open for later requests; 0 for none. Default 64, or the value in the configuration. */
  maxOpenSources?: number;
  /** Memory for all open image files in bytes. Default: a 32nd of the memory, or the value in the configuration. */
  maxOpenSourceBytes?: number;
  /** Memory for blocks of remote files (`localPath` is `null`), in bytes. Default: the same as for open image files. */
  remoteBytes?: number;
  /**
   * Milliseconds between cleanups of annotations, which remove old versions and leftovers of killed writes. Each cleanup is done by
   * one of the processes that share the database. Default: an hour; 0: never in this process.
   */
  annotationCleanupMs?: number;
  /**
   * Limits of the queues that differ from the defaults (docs/operations.md), such as `{ pictures: { running: 8, waiting: 2000 } }`.
   */
  queues?: Partial<Record<QueueName, QueueLimits>>;
  /**
   * Prefix of the plugin's collection names. Default `large_image_`. All processes on a database must use the same prefix, because
   * data stored under one is not found under another.
   */
  collectionPrefix?: string;
  /**
   * A registry of prom-client 15, to which metrics of requests, queues, caches, child processes and jobs are added
   * (docs/operations.md). Default: none.
   */
  metrics?: MetricsRegistry;
  /**
   * Number of processes, including this one, that share the memory of the machine. Defaults such as "a 16th of the memory" refer to
   * this process's share. Default 1.
   */
  processes?: number;
  /** Path of the configuration file. Default: the path in `SERVICE_CONFIG` (docs/configuration-text.md). */
  configFile?: string;
  /** Environment variables to read. Default: those of the process. */
  env?: Readonly<Record<string, string | undefined>>;
}

/** A running installation. */
export interface Installation {
  /** The settings of the plugin and of the host. */
  settings: Settings;
  /** Job records and their changes. */
  jobs: JobStore;
  /** Item lists with recursion, grouping and filters, for the host's own route `GET item`. */
  itemLists: ItemLists;
  /** The sort order that folders configure, for the host's own lists. */
  folderConfiguration: Pick<FolderConfiguration, 'defaultSort'>;
  /** The search mode `li_metadata`, for the host's own route `GET resource/search`. */
  metadataSearch: MetadataSearch;
  /** The search mode `li_annotation_metadata`, for the host's own route `GET resource/search`. */
  annotationMetadataSearch: AnnotationMetadataSearch;
  /** All routes of the plugin and the host, as `GET describe` shows them. */
  routes: readonly RouteOutline[];
  /**
   * The host passes this function to its own call of `mountRoutes`, so that the metrics count those requests too. `undefined`
   * without `metrics`.
   */
  observe: RequestObserver | undefined;
  /** Undoes the installation: its routes pass requests on, files are closed, and the host's schemas are restored. */
  close(): Promise<void>;
}
