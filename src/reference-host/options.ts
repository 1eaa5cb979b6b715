import type { HostLogger, InstallOptions } from '../index.js';

/** What a reference host is made of. */
export interface ReferenceHostOptions {
  /** Address of the database, with its name: `mongodb://localhost/images`. */
  mongoUri: string;
  /** How long a database that cannot be reached is waited for at the start, in milliseconds. Default 60 000. */
  databaseWaitMs?: number;
  /** Directory for the bytes of files. Made when it is missing. */
  dataDirectory: string;
  /** Word that names the product on the wire. Default `service`; `girder` for existing clients. */
  brand?: string;
  /** Default: silent. */
  logger?: HostLogger;
  /** Path of the REST API. Default `/api/v1`. */
  apiRoot?: string;
  /** Values of settings that are written at the start, whatever was stored before. */
  settings?: Readonly<Record<string, unknown>>;
  /** Restarts the server. Default: routes that ask for it answer 501. */
  restart?: () => void;
  /**
   * Which proxies are believed when they say who their client is and how it came (`X-Forwarded-For`, `-Proto` and `-Host`): how many stand
   * before the server, or their addresses and networks, as Express's `trust proxy` has it. Default: none.
   */
  trustProxy?: number | string;
  /** Memory that hashing a password takes, in KiB; its time grows with it. Default 19456 (Argon2id, two passes: 20 to 40 ms). */
  passwordMemoryKiB?: number;
  /** Hours after which an upload that nobody continues is discarded. Default 168. */
  uploadLifetimeHours?: number;
  /** Whether it recovers from what other processes left half done, and sweeps; where several share the data, one is enough. Default true. */
  upkeep?: boolean;
  /** Whether the viewer page is served at `/`. Default true. */
  viewer?: boolean;
  /** Where numbers for Prometheus are collected, and a token for whoever reads them at `/metrics`. Default: nowhere. */
  metrics?: {
    register: NonNullable<InstallOptions['metrics']>;
    token: string | null;
    /** What is read there; default: what the registry holds. */
    text?: () => Promise<string>;
  };
  /** Options of the plugin. */
  install?: InstallOptions;
  /** Only run jobs: on the database and the data directory of a host that runs elsewhere. Nothing is served then. */
  worker?: boolean;
}
