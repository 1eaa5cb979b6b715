import type { HostLogger, InstallOptions } from '../index.js';

/** Options of a reference host. */
export interface ReferenceHostOptions {
  /** Address of the database, with its name: `mongodb://localhost/images`. */
  mongoUri: string;
  /** How long to wait at startup for an unreachable database, in milliseconds. Default 60,000. */
  databaseWaitMs?: number;
  /** Directory for the bytes of files. It is created if it does not exist. */
  dataDirectory: string;
  /** Name of the product in the API. Default `service`; `girder` for existing clients. */
  brand?: string;
  /** By default, nothing is logged. */
  logger?: HostLogger;
  /** Path of the REST API. Default `/api/v1`. */
  apiRoot?: string;
  /** Settings to write at startup, which replace stored ones. */
  settings?: Readonly<Record<string, unknown>>;
  /** Restarts the server. Default: routes that request a restart answer 501. */
  restart?: () => void;
  /**
   * Trusted proxies, whose `X-Forwarded-For`, `-Proto` and `-Host` headers are used: their number, or their addresses and networks,
   * as in Express's `trust proxy`. Default: none.
   */
  trustProxy?: number | string;
  /** Memory for hashing a password, in KiB. The time for hashing grows with it. Default 19456 (Argon2id, two passes: 20 to 40 ms). */
  passwordMemoryKiB?: number;
  /** Hours after which an upload that is not continued is discarded. Default 168. */
  uploadLifetimeHours?: number;
  /**
   * Whether this host completes changes that other processes have left unfinished, and removes data that nothing refers to. If several
   * processes share the data, only one of them needs to do this. Default true.
   */
  upkeep?: boolean;
  /** Whether the viewer page is served at `/`. Default true. */
  viewer?: boolean;
  /** The registry in which metrics for Prometheus are collected, and a token for reading them at `/metrics`. Default: none. */
  metrics?: {
    register: NonNullable<InstallOptions['metrics']>;
    token: string | null;
    /** The text of the metrics. Default: the text of the registry. */
    text?: () => Promise<string>;
  };
  /** Options of the plugin. */
  install?: InstallOptions;
  /**
   * Whether this host is a worker, which only runs jobs on the database and the data directory of another host, and serves no requests.
   * Default false.
   */
  worker?: boolean;
}
