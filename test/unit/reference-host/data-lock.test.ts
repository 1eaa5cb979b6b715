import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { DataDirectoryInUseError, lockDataDirectory } from '../../../src/reference-host/start/data-lock.js';
import { builtProgram } from '../../support/run/programs.js';

let work: string;
beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), 'large-image-lock-'));
});
afterEach(async () => {
  await rm(work, { recursive: true, force: true });
});

it('lets one process use a folder, and names both to other processes', async () => {
  const folder = join(work, 'data');
  const release = await lockDataDirectory(folder);
  await expect(lockDataDirectory(folder)).rejects.toThrow(DataDirectoryInUseError);
  await expect(lockDataDirectory(folder)).rejects.toThrow(`process ${process.pid}`);
  await expect(lockDataDirectory(folder)).rejects.toThrow(folder);
  const other = await lockDataDirectory(join(work, 'other'));
  await release();
  await other();
  const again = await lockDataDirectory(folder);
  await again();
});

it('works when the path is too long for a socket', async () => {
  const folder = join(work, 'x'.repeat(120));
  const release = await lockDataDirectory(folder);
  await expect(lockDataDirectory(folder)).rejects.toThrow(DataDirectoryInUseError);
  await release();
});

it('takes the folder over from a process that was killed, and only one of many does', async () => {
  const script = `
    import { lockDataDirectory } from ${JSON.stringify(builtProgram('data-lock'))};
    await lockDataDirectory(${JSON.stringify(work)});
    process.stdout.write('held');
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await once(child.stdout, 'data');
    await expect(lockDataDirectory(work)).rejects.toThrow(DataDirectoryInUseError);
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => lockDataDirectory(work)));
    const locks = results.filter((result) => result.status === 'fulfilled');
    expect(locks).toHaveLength(1);
    for (const result of locks) await result.value();
  } finally {
    child.kill('SIGKILL');
  }
});
