import type { HostLogger, InstallOptions } from '../index.js';

/** Options of a reference host. */
export interface ReferenceHostOptions {
  /** Address of the database, with its name: `mongodb://localhost/images`. */
  mongoUri: string;
  /** How long to wait at the start for a database that cannot be reached, in milliseconds. Default 60 000. */
  databaseWaitMs?: number;
  /** Directory for the bytes of files. It is made if it does not exist. */
  dataDirectory: string;
  /** Word that names the product on the wire. Default `service`; `girder` for existing clients. */
  brand?: string;
  /** Default: silent. */
  logger?: HostLogger;
  /** Path of the REST API. Default `/api/v1`. */
  apiRoot?: string;
  /** Values of settings that are written at the start, and replace stored ones. */
  settings?: Readonly<Record<string, unknown>>;
  /** Restarts the server. Default: routes that ask for it answer 501. */
  restart?: () => void;
  /**
   * Trusted proxies, whose `X-Forwarded-For`, `-Proto` and `-Host` headers are used: their number, or their addresses and networks,
   * as in Express's `trust proxy`. Default: none.
   */
  trustProxy?: number | string;
  /** Memory for hashing a password, in KiB. The time for hashing grows with it. Default 19456 (Argon2id, two passes: 20 to 40 ms). */
  passwordMemoryKiB?: number;
  /** Hours after which an upload is discarded that was not continued. Default 168. */
  uploadLifetimeHours?: number;
  /**
   * Whether it completes what other processes have left unfinished, and sweeps. If several processes share the data, one of them is enough. Default
   * true.
   */
  upkeep?: boolean;
  /** Whether the viewer page is served at `/`. Default true. */
  viewer?: boolean;
  /** The registry in which metrics for Prometheus are collected, and a token for reading them at `/metrics`. Default: none. */
  metrics?: {
    register: NonNullable<InstallOptions['metrics']>;
    token: string | null;
    /** The text that is read there. Default: that of the registry. */
    text?: () => Promise<string>;
  };
  /** Options of the plugin. */
  install?: InstallOptions;
  /** Whether it only runs jobs, on the database and the data directory of a host that runs elsewhere. It then answers no requests. */
  worker?: boolean;
}
