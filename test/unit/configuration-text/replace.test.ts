import { spawnSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nonThrowingLogger } from '../../../src/core/host/logger.js';
import { Configuration } from '../../../src/features/configuration/configuration.js';
import { configPath, readConfigFile, replaceConfig } from '../../../src/features/configuration/config-file.js';
import { BadParameterError, LargeImageError } from '../../../src/errors.js';
import type { HostLogger } from '../../../src/host.js';

let folder = '';
let path = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'config-replace-'));
  path = join(folder, 'service.cfg');
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const old = '[a]\nb = 1\n';
const fresh = '[a]\nb = "é"\n';
const modified = new Date(2024, 1, 3, 4, 5, 6, 700);
const backupName = 'service.cfg.20240203-040506';

async function writeOld(text = old) {
  await writeFile(path, text);
  await utimes(path, modified, modified);
}

/** The code and message of the error with which a replacement fails. */
async function failure(replaced: Promise<unknown>): Promise<{ code: string; message: string }> {
  const error = await replaced.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof LargeImageError)) throw new Error(`expected a LargeImageError, got ${String(error)}`);
  return { code: error.code, message: error.message };
}

describe('configPath', () => {
  it.each([
    [{}, 'service', '/home/x/.service/service.cfg'],
    [{}, 'girder', '/home/x/.girder/girder.cfg'],
    [{ SERVICE_CONFIG: '/a', GIRDER_CONFIG: '/b' }, 'girder', '/a'],
    [{ GIRDER_CONFIG: '/b' }, 'service', '/b'],
    [{ ACME_CONFIG: '/c', GIRDER_CONFIG: '/b' }, 'acme', '/c'],
    [{ SERVICE_CONFIG: '' }, 'service', '/home/x/.service/service.cfg'],
  ])('of %j and brand %s is %s', (env, brand, expected) => {
    expect(configPath(env, '/home/x', brand)).toBe(expected);
  });
});

describe('replaceConfig', () => {
  it('creates a file that is readable by its owner alone', async () => {
    const time = new Date(0);
    expect(await replaceConfig(fresh, { path, now: () => time })).toEqual({ status: 'updated', time });
    expect(await readFile(path, 'utf8')).toBe(fresh);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(['service.cfg']);
  });

  it('leaves a file with the same text alone', async () => {
    await writeOld();
    expect(await replaceConfig(old, { path })).toEqual({ status: 'no change' });
    expect(await readdir(folder)).toEqual(['service.cfg']);
    expect((await stat(path)).mtimeMs).toBe(modified.getTime());
  });

  it('keeps the old file under its local time of modification, with its times and permissions', async () => {
    await writeOld();
    await chmod(path, 0o640);
    const logged: string[] = [];
    const log = (_fields: object, event: string) => void logged.push(event);
    const logger: HostLogger = { debug: log, info: log, warn: log, error: log };
    const result = await replaceConfig(fresh, { path, logger });
    const backup = join(folder, backupName);
    expect(result).toEqual({ status: 'updated', time: expect.any(Date), backupPath: backup });
    expect(await readFile(backup, 'utf8')).toBe(old);
    expect(await readFile(path, 'utf8')).toBe(fresh);
    expect((await stat(backup)).mtimeMs).toBe(modified.getTime());
    expect((await stat(backup)).mode & 0o777).toBe(0o640);
    expect((await stat(path)).mode & 0o777).toBe(0o640);
    expect((await readdir(folder)).toSorted()).toEqual(['service.cfg', backupName]);
    expect(logged).toEqual([`Copying existing config file from ${path} to ${backup}`, `Replacing config file ${path}`]);
  });

  it.skipIf(process.getuid?.() !== 0)('keeps the owner', async () => {
    await writeOld();
    spawnSync('chown', ['1234:2345', path]);
    await replaceConfig(fresh, { path });
    for (const name of await readdir(folder)) {
      const { uid, gid } = await stat(join(folder, name));
      expect({ name, uid, gid }).toEqual({ name, uid: 1234, gid: 2345 });
    }
  });

  it('writes nothing of a text that does not validate', async () => {
    await writeOld();
    const configuration = new Configuration({ path, env: {}, brand: 'service', logger: nonThrowingLogger(undefined) });
    const replaced = configuration.replace('[a]\nb = foo\n', { restart: false });
    await expect(replaced).rejects.toThrow(BadParameterError);
    await expect(replaced).rejects.toThrow('Invalid config file');
    await configuration.close();
    expect(await readFile(path, 'utf8')).toBe(old);
    expect(await readdir(folder)).toEqual(['service.cfg']);
  });

  it('loses no version when many replace at once', async () => {
    await writeOld('[a]\nb = -1\n');
    const texts = Array.from({ length: 20 }, (_, index) => `[a]\nb = ${index}\n`);
    const results = await Promise.all(texts.map((text) => replaceConfig(text, { path })));
    expect(results.map((result) => result.status)).toEqual(texts.map(() => 'updated'));
    const storedTexts = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')));
    expect(storedTexts.toSorted()).toEqual(['[a]\nb = -1\n', ...texts].toSorted());
    expect(await readFile(path, 'utf8')).toBe(texts.at(-1));
  });

  it('replaces a file even if another replacement fails', async () => {
    await writeOld();
    const [bad, good] = await Promise.allSettled([replaceConfig(old, { path: folder }), replaceConfig(fresh, { path })]);
    expect([bad.status, good.status]).toEqual(['rejected', 'fulfilled']);
  });

  it('never overwrites a backup of other content, and reuses a backup of the same content', async () => {
    await writeOld();
    await writeFile(join(folder, backupName), 'precious');
    const first = await replaceConfig(fresh, { path });
    expect(first).toMatchObject({ backupPath: join(folder, `${backupName}.1`) });
    await writeOld();
    expect(await replaceConfig(fresh, { path })).toMatchObject({ backupPath: join(folder, `${backupName}.1`) });
    expect(await readFile(join(folder, backupName), 'utf8')).toBe('precious');
    expect((await readdir(folder)).toSorted()).toEqual(['service.cfg', backupName, `${backupName}.1`]);
  });

  it('replaces the file behind a symbolic link, which stays', async () => {
    await mkdir(join(folder, 'real'));
    const real = join(folder, 'real', 'server.cfg');
    await writeFile(real, old);
    await utimes(real, modified, modified);
    await symlink(real, path);
    await replaceConfig(fresh, { path });
    expect(await readFile(real, 'utf8')).toBe(fresh);
    expect((await readdir(folder, { withFileTypes: true })).find((entry) => entry.name === 'service.cfg')?.isSymbolicLink()).toBe(
      true,
    );
    expect(await readFile(join(folder, backupName), 'utf8')).toBe(old);
    expect(await readdir(join(folder, 'real'))).toEqual(['server.cfg']);
  });

  it('refuses a link to nothing, a link in a circle, a folder and a missing folder, saying so', async () => {
    await symlink(join(folder, 'nowhere'), path);
    expect(await failure(replaceConfig(fresh, { path }))).toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('does not exist'),
    });
    const circle = join(folder, 'circle');
    await symlink(circle, circle);
    expect(await failure(replaceConfig(fresh, { path: circle }))).toMatchObject({ code: 'unavailable' });
    expect(await failure(replaceConfig(fresh, { path: folder }))).toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('regular file'),
    });
    const missing = join(folder, 'missing', 'service.cfg');
    expect(await failure(replaceConfig(fresh, { path: missing }))).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('folder does not exist'),
    });
    expect((await readdir(folder)).toSorted()).toEqual(['circle', 'service.cfg']);
  });

  // Root may write anywhere, so this runs as another user.
  it.skipIf(process.getuid?.() !== 0)('leaves nothing behind in a folder that may not be written to', async () => {
    await writeOld();
    await chmod(folder, 0o555);
    const before = process.geteuid?.() ?? 0;
    process.seteuid?.(65_534);
    try {
      const error = await failure(replaceConfig(fresh, { path }));
      expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining('has no permission') });
    } finally {
      process.seteuid?.(before);
      await chmod(folder, 0o755);
    }
    expect(await readFile(path, 'utf8')).toBe(old);
    expect(await readdir(folder)).toEqual(['service.cfg']);
  });

  it('leaves the old file and nothing else when the disk is full', async (context) => {
    const disk = join(folder, 'disk');
    await mkdir(disk);
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk], { encoding: 'utf8' });
    if (mounted.status !== 0) {
      console.warn(`skipped: no small disk can be mounted here (${mounted.stderr?.trim() ?? 'no mount'})`);
      context.skip();
    }
    try {
      const target = join(disk, 'service.cfg');
      await writeFile(target, old);
      // The file is too large for the disk, or there is space for the new file but not for the backup.
      const large = `[a]\nb = "${'x'.repeat(100_000)}"\n`;
      expect(await failure(replaceConfig(large, { path: target }))).toMatchObject({
        code: 'storage-full',
        message: expect.stringContaining('disk is full'),
      });
      expect(await readFile(target, 'utf8')).toBe(old);
      expect(await readdir(disk)).toEqual(['service.cfg']);
      const half = `[a]\nb = "${'y'.repeat(24_000)}"\n`;
      await writeFile(target, half);
      expect(await failure(replaceConfig(half.replaceAll('y', 'z'), { path: target }))).toMatchObject({ code: 'storage-full' });
      expect(await readFile(target, 'utf8')).toBe(half);
      expect(await readdir(disk)).toEqual(['service.cfg']);
    } finally {
      spawnSync('umount', [disk]);
    }
  });
});

describe('readConfigFile', () => {
  it('gives the bytes, or null if there is no file', async () => {
    expect(await readConfigFile(path)).toBeNull();
    await writeOld();
    expect((await readConfigFile(path))?.toString()).toBe(old);
  });
});
