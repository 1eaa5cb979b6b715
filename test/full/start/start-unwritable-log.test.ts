/** The server continues although its output and log cannot be written, because the disk is full or nobody reads them. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestDatabase } from '../../support/hosts/database.js';
import { freePort } from '../../support/hosts/listening.js';
import { builtProgram } from '../../support/run/programs.js';
import { until } from '../../support/run/until.js';

let database: Awaited<ReturnType<typeof startTestDatabase>>;

beforeAll(async () => {
  database = await startTestDatabase();
});
afterAll(() => database?.stop());

function start(env: Record<string, string>, output: number | 'pipe'): ChildProcess {
  return spawn(process.execPath, [builtProgram('main'), '--bare'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', output, output],
  });
}

it.each([
  ['a full disk', existsSync('/dev/full')],
  ['a closed pipe', true],
])('the server continues when its output is %s', async (what, isPossible) => {
  if (!isPossible) return;
  const port = await freePort();
  const data = await mkdtemp(join(tmpdir(), 'unwritable-'));
  const full = what === 'a full disk' ? await open('/dev/full', 'w') : null;
  const env = { PORT: String(port), DATA_DIR: data, MONGODB_URI: database.uri, LOG_LEVEL: 'debug' };
  const child = start(env, full?.fd ?? 'pipe');
  const ended = once(child, 'exit');
  try {
    child.stdout?.destroy();
    child.stderr?.destroy();
    const version = `http://127.0.0.1:${port}/api/v1/system/version`;
    await until('the server answers', async () => (await fetch(version)).status === 200);
    // Each request is refused, with a line in the log.
    const wrong = Array.from({ length: 20 }, (_, i) => fetch(`http://127.0.0.1:${port}/api/v1/item/${i}`));
    expect((await Promise.all(wrong)).every(({ status }) => status < 500)).toBe(true);
    expect((await fetch(version)).status).toBe(200);
    expect(child.exitCode).toBe(null);
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  } finally {
    child.kill('SIGKILL');
    await full?.close();
  }
});
