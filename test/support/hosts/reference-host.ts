import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createReferenceHost, type ReferenceHost, type ReferenceHostOptions } from '../../../src/reference-host/index.js';
import { answerCheck } from '../access/answers.js';
import { Client } from './client.js';
import { startTestDatabase } from './database.js';

export { Client, type Answer, type Sending } from './client.js';

/** A reference host on a port, with an empty database and data directory of its own. */
export interface TestHost {
  host: ReferenceHost;
  url: string;
  dataDirectory: string;
  databaseUri: string;
  /** Nobody. */
  anonymous: Client;
  /** Registers a user, the first being administrator, and signs in. */
  register(login: string): Promise<Client>;
  close(): Promise<void>;
}

/** Options of a host for tests. */
export type HostOptions = Partial<ReferenceHostOptions> & {
  /** Whether an answer that is not as the description of the API has it is an error. */
  checksAnswers?: boolean;
};

/** How long a host waits for its database: only what hangs is ended, however busy the machine is. */
const patience = ['serverSelectionTimeoutMS', 'connectTimeoutMS', 'waitQueueTimeoutMS'].map((name) => `${name}=300000`).join('&');

/** Starts a host. */
export async function startHost({ checksAnswers = false, ...options }: HostOptions = {}): Promise<TestHost> {
  const database = await startTestDatabase();
  const dataDirectory = await mkdtemp(join(tmpdir(), 'reference-host-'));
  const host = await createReferenceHost({
    mongoUri: `${database.uri}${database.uri.includes('?') ? '&' : '?'}${patience}`,
    dataDirectory,
    brand: 'girder',
    passwordMemoryKiB: 8,
    ...options,
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
    async close() {
      await host.close();
      await database.stop();
      // What was broken off may still write a file.
      await rm(dataDirectory, { recursive: true, force: true, maxRetries: 20 });
    },
  };
}
