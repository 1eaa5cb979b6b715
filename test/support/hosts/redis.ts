import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './listening.js';
import { until } from '../run/until.js';

/** Why tests with Redis cannot run here; `null` if they can. */
export const noRedis: string | null =
  spawnSync('redis-server', ['--version']).status === 0 ? null : 'redis-server is not installed';

/** A redis-server on a free port of 127.0.0.1. It stores nothing on disk. */
export interface TestRedis {
  url: string;
  /** A client in addition to those under test. */
  client(): Promise<Redis>;
  start(): Promise<void>;
  /** Ends it at once, or makes it hang: connections stay open, but nothing answers. */
  stop(how?: 'kill' | 'hang'): Promise<void>;
  /** Lets it continue after it hung. */
  wake(): void;
  close(): Promise<void>;
}

export async function startRedis(options: readonly string[] = []): Promise<TestRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'redis-'));
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  const clients: Redis[] = [];
  let server: ChildProcess | null = null;
  const words = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'];
  const redis: TestRedis = {
    url,
    async client() {
      const client = new Redis(url, { lazyConnect: true });
      client.on('error', () => undefined);
      await client.connect();
      clients.push(client);
      return client;
    },
    async start() {
      server = spawn('redis-server', [...words, ...options], { stdio: 'ignore' });
      await until('redis-server answers', async () => {
        const probe = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
        probe.on('error', () => undefined);
        try {
          await probe.connect();
          return await probe.ping();
        } finally {
          probe.disconnect();
        }
      });
    },
    async stop(how = 'kill') {
      if (server === null) return;
      if (how === 'hang') {
        server.kill('SIGSTOP');
        return;
      }
      const ended = new Promise((resolve) => server!.once('exit', resolve));
      server.kill('SIGKILL');
      await ended;
      server = null;
    },
    wake() {
      server?.kill('SIGCONT');
    },
    async close() {
      for (const client of clients) client.disconnect();
      await redis.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
  await redis.start();
  return redis;
}
