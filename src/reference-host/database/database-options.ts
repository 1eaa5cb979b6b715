/** Progress of something slow: a line of text and, if known, the completed share (0 to 1). */
export interface Progress {
  text: string;
  fraction?: number;
}

/** Options of all steps that find or start a database. */
export interface DatabaseOptions {
  /** Environment variables: `MONGODB_URI`, `PATH`, `JAVA_HOME`, `XDG_CACHE_HOME`, `LARGE_IMAGE_CACHE_DIR`, `MONGOMS_*`. */
  env: Readonly<Record<string, string | undefined>>;
  /** Folder where a durable engine keeps its data; `null` for a temporary folder that is removed at the end. */
  directory: string | null;
  /** How long to wait for the server at `MONGODB_URI`, in milliseconds. Default 0. */
  waitMs?: number;
  /** How long a download may make no progress, in milliseconds. Default: 10 seconds before the first byte, and a minute after it. */
  downloadStallMs?: number;
  /** Called with the progress of slow steps. */
  report?: (progress: Progress) => void;
  /** Aborting the signal cancels the search for a database, and stops programs that were started for it. */
  signal?: AbortSignal;
}

/** A database that accepts connections. */
export interface Database {
  /**
   * Connection string that contains the name of a database. It may contain credentials: print {@link Database.address} instead.
   */
  uri: string;
  /** Address of the database, without credentials. */
  address: string;
  /** Name of the engine, for the banner. */
  engine: string;
  /** Whether the data survive a restart of this process and of the engine; `null` if that is unknown. */
  durable: boolean | null;
  /**
   * Resolves with the reason if the engine ends without {@link Database.stop}. It never resolves for an engine that this process
   * did not start.
   */
  lost: Promise<Error>;
  /** Stops the database if `startDatabase` started it, waits until it has ended, and removes its temporary folder. Can be called twice. */
  stop(): Promise<void>;
}

/** No database could be reached or started. The message says what was tried, why each attempt failed, and what to do. */
export class DatabaseUnavailableError extends Error {
  override name = 'DatabaseUnavailableError';
}
