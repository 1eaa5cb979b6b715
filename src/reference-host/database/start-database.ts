import { DatabaseUnavailableError, type Database, type DatabaseOptions } from './database-options.js';
import { downloadMongod } from './downloaded-mongod.js';
import { findExecutable } from './executable.js';
import { startJavaServer } from './java-server.js';
import { hasMongodData, startMongod } from './mongod.js';
import { retryWhileDatabaseIsAway } from './while-away.js';
import { hostsOf, ping, withDatabaseName, withoutCredentials } from './uri.js';

/** Name of the database if the connection string has none. */
const defaultDatabaseName = 'large_image';

const pingTimeoutMs = 5000;

const advice = [
  'To fix this, do one of the following:',
  '  - set MONGODB_URI to a MongoDB server of yours: MONGODB_URI=mongodb://localhost:27017/large_image',
  '  - install MongoDB, so that mongod is on PATH: https://www.mongodb.com/docs/manual/installation/',
  '  - let this machine reach https://fastdl.mongodb.org, from where mongod is downloaded',
  '  - install Java 17 or later and Maven (Debian, Ubuntu: apt-get install openjdk-17-jdk-headless maven) for a database in memory',
].join('\n');

/**
 * Finds or starts the database for `npm start` and the tests. If `MONGODB_URI` is set, only that server is tried. Otherwise, the first of
 * these that works is started: `mongod` on PATH, a `mongod` that mongodb-memory-server downloads, and mongo-java-server, in memory.
 *
 * @throws {@link DatabaseUnavailableError} if none works
 */
export async function startDatabase(options: DatabaseOptions): Promise<Database> {
  const callerUri = options.env.MONGODB_URI;
  if (callerUri !== undefined && callerUri !== '') return connectTo(callerUri, options);

  const { directory } = options;
  const failures: string[] = [];
  const tryToStart = async (description: string, start: () => Promise<Database>): Promise<Database | null> => {
    try {
      options.signal?.throwIfAborted();
      const database = await start();
      return { ...database, uri: withDatabaseName(database.uri, defaultDatabaseName) };
    } catch (error) {
      options.signal?.throwIfAborted();
      failures.push(`${description}: ${error instanceof Error ? error.message : String(error)}`);
      return null;
    }
  };

  const mongod =
    (await tryToStart('mongod on PATH', () => {
      const program = findExecutable(options.env, 'mongod');
      if (program === null) throw new Error('not found');
      return startMongod(program, options);
    })) ??
    (await tryToStart('mongod downloaded by mongodb-memory-server', async () =>
      startMongod(await downloadMongod(options), options),
    ));
  if (mongod !== null) return mongod;

  const listFailures = (): string => failures.map((line) => `  - ${line.replaceAll('\n', '\n    ')}`).join('\n');
  // An empty database in memory instead of a full one on disk would look as if all data were lost.
  if (directory !== null && hasMongodData(directory)) {
    throw new DatabaseUnavailableError(
      `${directory} contains MongoDB data, but no mongod could be started on it:\n${listFailures()}\n${advice}\n` +
        '  - or choose another DATA_DIR to start with an empty database',
    );
  }
  const memoryDatabase = await tryToStart('mongo-java-server', () => startJavaServer(options));
  if (memoryDatabase !== null) return memoryDatabase;
  throw new DatabaseUnavailableError(`No database. Tried in this order:\n  - MONGODB_URI: not set\n${listFailures()}\n${advice}`);
}

/** Connects to a server that the caller runs. */
async function connectTo(uri: string, { waitMs = 0, report, signal }: DatabaseOptions): Promise<Database> {
  const address = hostsOf(uri);
  if (address === null) {
    throw new DatabaseUnavailableError(
      'MONGODB_URI is not a MongoDB connection string. It has the form mongodb://host:port/database or mongodb+srv://host/database.',
    );
  }
  try {
    await retryWhileDatabaseIsAway(() => ping(uri, pingTimeoutMs), {
      uri,
      waitMs,
      reportOutage: (text) => report?.({ text }),
      signal,
    });
  } catch (error) {
    signal?.throwIfAborted();
    const reason = withoutCredentials(error instanceof Error ? error.message : String(error));
    throw new DatabaseUnavailableError(
      `MONGODB_URI: the server at ${address} cannot be used: ${reason}\n` +
        'Start it, or correct MONGODB_URI, or unset it to let this program start a database.',
      { cause: error },
    );
  }
  return {
    uri: withDatabaseName(uri, defaultDatabaseName, 'keep'),
    address,
    engine: 'server named by MONGODB_URI',
    durable: null,
    lost: new Promise(() => undefined),
    stop: () => Promise.resolve(),
  };
}
