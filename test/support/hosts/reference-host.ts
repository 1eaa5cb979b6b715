import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createReferenceHost, type ReferenceHost, type ReferenceHostOptions } from '../../../src/reference-host/index.js';
import type { HostLogger } from '../../../src/index.js';
import { answerCheck } from '../access/answers.js';
import { Client } from './client.js';
import { startTestDatabase } from './database.js';
import { until } from '../run/until.js';

export { Client, type Answer, type Sending } from './client.js';

/** A reference host on a port, with its own empty database and data directory. */
export interface TestHost {
  host: ReferenceHost;
  url: string;
  dataDirectory: string;
  databaseUri: string;
  /** A caller without a token. */
  anonymous: Client;
  /** Registers a user and signs in. The first user is the administrator. */
  register(login: string): Promise<Client>;
  /**
   * Resolves when the sweeps that start with a host have ended. Otherwise their reads of the database and their log lines could
   * be counted by a test on a busy machine.
   */
  swept(): Promise<unknown>;
  close(): Promise<void>;
}

/** Options of a host for tests. */
export type HostOptions = Partial<ReferenceHostOptions> & {
  /** Whether a response that differs from the description of the API is an error. */
  checksAnswers?: boolean;
};

/** How long a host waits for its database: so long that only hanging requests end, however busy the machine is. */
const patience = ['serverSelectionTimeoutMS', 'connectTimeoutMS', 'waitQueueTimeoutMS'].map((name) => `${name}=300000`).join('&');

/** Starts a host. */
export async function startHost({ checksAnswers = false, ...options }: HostOptions = {}): Promise<TestHost> {
  const database = await startTestDatabase();
  const dataDirectory = await mkdtemp(join(tmpdir(), 'reference-host-'));
  const sweeps = new Set(['Sweep:Done', 'Host:Swept']);
  const ownLogger = options.logger;
  const logger: HostLogger = {
    debug: (...entry) => ownLogger?.debug(...entry),
    info(...entry) {
      sweeps.delete(entry[1]);
      ownLogger?.info(...entry);
    },
    warn: (...entry) => ownLogger?.warn(...entry),
    error: (...entry) => ownLogger?.error(...entry),
  };
  const host = await createReferenceHost({
    mongoUri: `${database.uri}${database.uri.includes('?') ? '&' : '?'}${patience}`,
    dataDirectory,
    brand: 'girder',
    passwordMemoryKiB: 8,
    ...options,
    logger,
  });
  const { url } = await host.listen();
  const check = checksAnswers ? answerCheck(host.routes, options.brand ?? 'girder') : null;
  const anonymous = new Client(url, null, null, {}, check);
  return {
    host,
    url,
    dataDirectory,
    databaseUri: database.uri,
    anonymous,
    async register(login) {
      const query = { login, email: `${login}@example.org`, firstName: 'First', lastName: login, password: `${login}.password` };
      const user = await anonymous.ok('POST', '/user', { query });
      return new Client(url, (user.authToken as { token: string }).token, String(user._id), {}, check);
    },
    swept: () => until('the first sweeps are over', () => sweeps.size === 0),
    async close() {
      await host.close();
      await database.stop();
      // Interrupted work may still write a file.
      await rm(dataDirectory, { recursive: true, force: true, maxRetries: 20 });
    },
  };
}
