import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { startDatabase } from '../../../src/reference-host/database/start-database.js';
import { DatabaseUnavailableError, type Progress } from '../../../src/reference-host/database/database-options.js';
import { findExecutable } from '../../../src/reference-host/database/executable.js';
import { findFreePort } from '../../../src/reference-host/database/mongod.js';
import { hostsOf, ping } from '../../../src/reference-host/database/uri.js';
import { mongodProgram, writeMongod } from '../../support/hosts/fake-mongod.js';
import { builtProgram } from '../../support/run/programs.js';
import { until } from '../../support/run/until.js';

/** A limit that ends only hanging requests, however busy the machine is. */
const patienceMs = 120_000;

let work: string;
beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), 'large-image-test-'));
});
afterEach(async () => {
  await rm(work, { recursive: true, force: true, maxRetries: 20 });
});

function runningServer(): { uri: string; host: string; port: number } {
  const database = inject('database');
  if ('failure' in database) throw new Error(database.failure);
  const [host = '', port = '27017'] = (hostsOf(database.uri) ?? '').split(':');
  return { uri: database.uri, host, port: Number(port) };
}

/** An environment without programs on PATH, with a mirror that refuses requests, and an empty cache. */
async function bareEnv(): Promise<Record<string, string>> {
  const port = await findFreePort();
  return {
    PATH: join(work, 'empty'),
    LARGE_IMAGE_CACHE_DIR: join(work, 'cache'),
    MONGOMS_DOWNLOAD_MIRROR: `http://127.0.0.1:${port}`,
    MONGOMS_USE_HTTP: 'true',
  };
}

async function failureOf(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error('It succeeded, or threw something that is no error.');
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('MONGODB_URI', () => {
  it('is used, with a database name added if it has none', async () => {
    const server = runningServer();
    const address = `${server.host}:${server.port}`;
    const database = await startDatabase({ env: { MONGODB_URI: `mongodb://${address}` }, directory: null, waitMs: patienceMs });
    expect(database).toMatchObject({ uri: `mongodb://${address}/large_image`, address, durable: null });
    await database.stop();
    await ping(server.uri, patienceMs);
  });

  it('keeps the database it names', async () => {
    const server = runningServer();
    const uri = `mongodb://${server.host}:${server.port}/mine?retryWrites=false`;
    const database = await startDatabase({ env: { MONGODB_URI: uri }, directory: null, waitMs: patienceMs });
    expect(database.uri).toBe(uri);
  });

  it('leads to an error with the host but not the password when it does not answer, and no other engine is started', async () => {
    const port = await findFreePort();
    const bin = await writeMongod(join(work, 'bin'), runningServer());
    const env = { MONGODB_URI: `mongodb://ann:s3cret@127.0.0.1:${port}/x`, PATH: bin };
    const directory = join(work, 'data');
    const error = await failureOf(startDatabase({ env, directory }));
    expect(error).toBeInstanceOf(DatabaseUnavailableError);
    expect(error.message).toContain(`127.0.0.1:${port}`);
    expect(error.message).not.toMatch(/s3cret|ann:/);
    expect(existsSync(directory)).toBe(false);
  });

  it.each(['localhost:27017', 'http://localhost/', 'mongodb://', 'mongodb://a b:s3cret@/x'])(
    '%j is not a connection string',
    async (uri) => {
      const error = await failureOf(startDatabase({ env: { MONGODB_URI: uri }, directory: null }));
      expect(error).toBeInstanceOf(DatabaseUnavailableError);
      expect(error.message).toContain('mongodb://host:port/database');
      expect(error.message).not.toContain('s3cret');
    },
  );
});

describe('mongod on PATH', () => {
  it('is started on a folder that stays', async () => {
    const bin = await writeMongod(join(work, 'bin'), runningServer());
    const directory = join(work, 'data');
    const database = await startDatabase({ env: { ...(await bareEnv()), PATH: bin }, directory });
    expect(database.durable).toBe(true);
    expect(database.uri).toContain('127.0.0.1');
    await ping(database.uri, patienceMs);
    await database.stop();
    expect(isAlive(Number(await readFile(join(directory, 'pid'), 'utf8')))).toBe(false);
    expect(await readFile(join(directory, 'ended'), 'utf8')).toBe('SIGTERM');
  });

  it('works in a temporary folder that is removed at the end', async () => {
    const bin = await writeMongod(join(work, 'bin'), runningServer());
    const database = await startDatabase({ env: { ...(await bareEnv()), PATH: bin }, directory: null });
    expect(database.durable).toBe(false);
    expect(await throwAwayFolders()).toHaveLength(1);
    await database.stop();
    expect(await throwAwayFolders()).toEqual([]);
  });

  it('reports that it has exited on its own', async () => {
    const bin = await writeMongod(join(work, 'bin'), runningServer());
    const directory = join(work, 'data');
    const database = await startDatabase({ env: { ...(await bareEnv()), PATH: bin }, directory });
    process.kill(Number(await readFile(join(directory, 'pid'), 'utf8')), 'SIGKILL');
    expect((await database.lost).message).toContain('mongod.log');
    await database.stop();
  });

  it('ends when the process that started it is killed', async () => {
    const bin = await writeMongod(join(work, 'bin'), runningServer());
    const directory = join(work, 'data');
    const parent = startInProcess({ ...(await bareEnv()), PATH: bin }, directory);
    try {
      const pid = await until('mongod is ready', async () => {
        await ping(await parent.uri(), 500);
        return Number(await readFile(join(directory, 'pid'), 'utf8'));
      });
      parent.kill();
      await until('mongod has ended', () => !isAlive(pid));
      // It ends in order, so that it can write its data.
      expect(await readFile(join(directory, 'ended'), 'utf8')).toBe('SIGTERM');
    } finally {
      parent.kill();
    }
  });

  it('reports its output when it fails, and never replaces an existing data folder', async () => {
    const bin = join(work, 'bin');
    await mkdir(bin);
    await writeFile(join(bin, 'mongod'), '#!/bin/sh\necho "wrong version of the data files" >&2\nexit 62\n');
    await chmod(join(bin, 'mongod'), 0o755);
    const directory = join(work, 'data');
    await mkdir(directory);
    await writeFile(join(directory, 'WiredTiger'), '');
    const path = `${bin}:${process.env.PATH}`;
    const error = await failureOf(startDatabase({ env: { ...(await bareEnv()), PATH: path }, directory }));
    expect(error).toBeInstanceOf(DatabaseUnavailableError);
    expect(error.message).toContain('wrong version of the data files');
    expect(error.message).toContain(`${directory} contains MongoDB data`);
  });
});

describe('the download', () => {
  let mirror: Server | undefined;
  afterEach(async () => {
    await new Promise<void>((resolve) => (mirror ? mirror.close(() => resolve()) : resolve()));
    mirror = undefined;
  });

  it('is awaited while it progresses, and its mongod is started; the second time nothing is downloaded', async () => {
    await mkdir(join(work, 'mongodb', 'bin'), { recursive: true });
    // mongodb-memory-server regards a small program as broken.
    const program = `${mongodProgram(runningServer())}//${' '.repeat(2 << 20)}`;
    await writeFile(join(work, 'mongodb', 'bin', 'mongod'), program, { mode: 0o755 });
    execFileSync('tar', ['-czf', 'archive.tgz', 'mongodb'], { cwd: work });
    const bytes = await readFile(join(work, 'archive.tgz'));
    let requests = 0;
    const http = createHttpServer((request, reply) => {
      requests++;
      if (request.url?.endsWith('.md5')) {
        reply.end(`${createHash('md5').update(bytes).digest('hex')}  archive.tgz\n`);
        return;
      }
      reply.writeHead(200, { 'content-length': bytes.length });
      reply.write(bytes.subarray(0, 100));
      setTimeout(() => reply.end(bytes.subarray(100)), 700);
    });
    mirror = http;
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    const env = { ...(await bareEnv()), MONGOMS_DOWNLOAD_MIRROR: `http://127.0.0.1:${(http.address() as AddressInfo).port}` };
    const reports: Progress[] = [];
    const options = { env, directory: join(work, 'data'), downloadStallMs: patienceMs };
    const first = await startDatabase({ ...options, report: (progress) => reports.push(progress) });
    expect(first.durable).toBe(true);
    expect(reports.some(({ fraction }) => fraction !== undefined && fraction > 0)).toBe(true);
    await first.stop();
    const after = requests;
    const second = await startDatabase(options);
    await second.stop();
    expect(requests).toBe(after);
  });

  it('is abandoned when the server accepts the connection and sends nothing', async () => {
    const http = createHttpServer(() => undefined);
    mirror = http;
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    const env = { ...(await bareEnv()), MONGOMS_DOWNLOAD_MIRROR: `http://127.0.0.1:${(http.address() as AddressInfo).port}` };
    const error = await failureOf(startDatabase({ env, directory: null, downloadStallMs: 2000 }));
    http.closeAllConnections();
    expect(error.message).toContain('no progress for 2 seconds');
  });

  it('is canceled by the signal', async () => {
    const http = createHttpServer(() => undefined);
    mirror = http;
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    const env = { ...(await bareEnv()), MONGOMS_DOWNLOAD_MIRROR: `http://127.0.0.1:${(http.address() as AddressInfo).port}` };
    const controller = new AbortController();
    http.once('request', () => controller.abort(new Error('stop it')));
    const error = await failureOf(startDatabase({ env, directory: null, signal: controller.signal }));
    http.closeAllConnections();
    expect(error.message).toBe('stop it');
  });
});

describe('mongo-java-server', () => {
  const programs = ['java', 'mvn'].map((name) => findExecutable(process.env, name));
  const reason = programs.includes(null) ? 'java or mvn is not on PATH' : null;
  if (reason) console.warn(`skipped: mongo-java-server, ${reason}`);
  /** A bare environment with Java, Maven and the usual cache, so that Maven fetches the server at most once. */
  const env = async (): Promise<Record<string, string>> => {
    const { LARGE_IMAGE_CACHE_DIR: _, ...rest } = await bareEnv();
    const bin = join(work, 'bin');
    await mkdir(bin);
    for (const [name, program] of [
      ['java', programs[0]],
      ['mvn', programs[1]],
    ] as const) {
      await writeFile(join(bin, name), `#!/bin/sh\nPATH=${process.env.PATH}\nexec ${program} "$@"\n`);
      await chmod(join(bin, name), 0o755);
    }
    const variables = Object.entries(process.env).filter(([name]) =>
      /^(HOME|XDG_CACHE_HOME|LARGE_IMAGE_CACHE_DIR|MAVEN_.*)$/.test(name),
    );
    return { ...rest, ...Object.fromEntries(variables.map(([name, value]) => [name, value ?? ''])), PATH: bin };
  };

  it.skipIf(reason)('is the last resort, and not durable', async () => {
    const database = await startDatabase({ env: await env(), directory: join(work, 'data') });
    expect(database.durable).toBe(false);
    expect(database.engine).toContain('memory');
    await ping(database.uri, patienceMs);
    await database.stop();
    await expect(ping(database.uri, 500)).rejects.toThrow();
  });

  it.skipIf(reason)('ends when the process that started it is killed', async () => {
    const parent = startInProcess(await env(), null);
    try {
      const uri = await until('it is ready', async () => {
        await ping(await parent.uri(), 500);
        return parent.uri();
      });
      parent.kill();
      await until('it has ended', () =>
        ping(uri, 300).then(
          () => false,
          () => true,
        ),
      );
    } finally {
      parent.kill();
    }
  });
});

it('names each attempt, its failure and the remedy when no database works', async () => {
  const error = await failureOf(startDatabase({ env: await bareEnv(), directory: null }));
  expect(error).toBeInstanceOf(DatabaseUnavailableError);
  expect(error.message).toMatch(/MONGODB_URI: not set[^]*mongod on PATH: not found[^]*ECONNREFUSED[^]*java is not on PATH/);
  expect(error.message).toMatch(/install MongoDB[^]*apt-get install/);
});

async function throwAwayFolders(): Promise<string[]> {
  return (await readdir(tmpdir())).filter((name) => name.startsWith('large-image-database-'));
}

/** Starts a database in its own process, which can be killed. */
function startInProcess(env: Record<string, string>, directory: string | null): { uri: () => Promise<string>; kill: () => void } {
  const script = `
    import { startDatabase } from ${JSON.stringify(builtProgram('start-database'))};
    const database = await startDatabase(${JSON.stringify({ env, directory })});
    console.log('URI ' + database.uri);
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script]);
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
  child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
  return {
    uri: () =>
      until('the process has a database', () => {
        if (child.exitCode !== null) throw new Error(text);
        return /^URI (.*)$/m.exec(text)?.[1];
      }),
    kill: () => child.kill('SIGKILL'),
  };
}
