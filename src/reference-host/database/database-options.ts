/** Progress of something slow: a line of text and, where it is known, how much of it is done (0 to 1). */
export interface Progress {
  text: string;
  fraction?: number;
}

/** Options of all steps that find or start a database. */
export interface DatabaseOptions {
  /** Environment variables: `MONGODB_URI`, `PATH`, `JAVA_HOME`, `XDG_CACHE_HOME`, `LARGE_IMAGE_CACHE_DIR`, `MONGOMS_*`. */
  env: Readonly<Record<string, string | undefined>>;
  /** Folder where a durable engine keeps its data; `null`: a throw-away folder that is removed at the end. */
  directory: string | null;
  /** How long to wait for the server that the caller has named, in milliseconds. Default 0. */
  waitMs?: number;
  /** Is told what takes time. */
  report?: (progress: Progress) => void;
  /** Aborting it stops downloads and the start, and ends what was already started. */
  signal?: AbortSignal;
}

/** A database that answers. */
export interface Database {
  /** Connection string with the name of a database in it. May hold credentials: print {@link Database.address} instead. */
  uri: string;
  /** Address of the database, without credentials. */
  address: string;
  /** Name of the engine, in words for a banner. */
  engine: string;
  /** Whether the data survive a restart of this process and of the engine; `null` where that is unknown. */
  durable: boolean | null;
  /**
   * Resolves with the reason if the engine ends without {@link Database.stop}. It never resolves for an engine that this process
   * did not start.
   */
  lost: Promise<Error>;
  /** Ends an engine that the resolver started, waits for its end and removes a throw-away folder. May be called twice. */
  stop(): Promise<void>;
}

/** No database could be reached or started. The message says what was tried, why each attempt failed, and what to do. */
export class DatabaseUnavailableError extends Error {
  override name = 'DatabaseUnavailableError';
}
