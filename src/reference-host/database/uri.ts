import mongoose from 'mongoose';

const connectionStringPattern = /^(mongodb(?:\+srv)?:\/\/)(?:([^/?#]*)@)?([^/?#@]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/;

/** Parts of a connection string; `null` for any other text. */
function parseUri(
  uri: string,
): { scheme: string; login: string | null; hosts: string; databaseName: string; query: string } | null {
  const match = connectionStringPattern.exec(uri);
  if (!match) return null;
  return {
    scheme: match[1] ?? '',
    login: match[2] ?? null,
    hosts: match[3] ?? '',
    databaseName: match[4] ?? '',
    query: match[5] ?? '',
  };
}

/** The hosts of a connection string as `host:port`, separated by commas, without credentials; `null` for other texts. */
export function hostsOf(uri: string): string | null {
  return parseUri(uri)?.hosts ?? null;
}

/** The text with users and passwords removed from connection strings. */
export function withoutCredentials(text: string): string {
  return text.replace(/\S+/g, (word) => {
    const [start, end] = [word.indexOf('//'), word.lastIndexOf('@')];
    return start >= 0 && end > start + 1 ? `${word.slice(0, start)}//${word.slice(end + 1)}` : word;
  });
}

/**
 * Returns the connection string with this database name. With `'keep'`, a string that names a database is returned unchanged. The same
 * database as before authenticates the user.
 */
export function withDatabaseName(uri: string, name: string, existing: 'keep' | 'replace' = 'replace'): string {
  const uriParts = parseUri(uri);
  if (!uriParts) throw new Error('Not a MongoDB connection string: it has the form mongodb://host:port/database.');
  if (existing === 'keep' && uriParts.databaseName !== '') return uri;
  const query = new URLSearchParams(uriParts.query);
  // Without authSource the driver authenticates the user in the database that the path names, which is about to change.
  if (uriParts.login !== null && !query.has('authSource'))
    query.set('authSource', uriParts.databaseName === '' ? 'admin' : uriParts.databaseName);
  const queryText = query.toString();
  return `${uriParts.scheme}${uriParts.login === null ? '' : `${uriParts.login}@`}${uriParts.hosts}/${name}${queryText === '' ? '' : `?${queryText}`}`;
}

/**
 * Connects, authenticates and sends one `ping`.
 *
 * @throws an error whose message contains no credentials
 */
export async function ping(uri: string, timeoutMs: number): Promise<void> {
  let client: InstanceType<typeof mongoose.mongo.MongoClient> | undefined;
  try {
    client = new mongoose.mongo.MongoClient(uri, {
      serverSelectionTimeoutMS: timeoutMs,
      connectTimeoutMS: timeoutMs,
      socketTimeoutMS: timeoutMs,
      maxPoolSize: 1,
    });
    await client.db('admin').command({ ping: 1 });
  } catch (cause) {
    throw new Error(withoutCredentials(cause instanceof Error ? cause.message : String(cause)), { cause });
  } finally {
    await client?.close();
  }
}
