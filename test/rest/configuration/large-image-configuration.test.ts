import { spawnSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

const former = '[large_image]\ncache_sources = True\n';
const changed = '[large_image]\n# files are slow here\ncache_sources = False\n';

describe('the configuration file', () => {
  let started: TestHost;
  let admin: Client;
  let folder: string;
  let path: string;
  let restarts = 0;

  const replace = (body: string | Uint8Array, restart: boolean | null = false) =>
    admin.send('POST', '/large_image/config/replace', { body, ...(restart !== null && { query: { restart } }) });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'configuration-'));
    path = join(folder, 'server.cfg');
    started = await startHost({ restart: () => (restarts += 1), install: { env: { SERVICE_CONFIG: path } } });
    admin = await started.register('admin');
  });
  afterAll(async () => {
    await started?.close();
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
    await writeFile(path, former);
    // A fixed time, so that the name of the backup is known.
    const modified = new Date(2026, 2, 4, 5, 6, 7);
    await utimes(path, modified, modified);
    restarts = 0;
  });

  it.each([
    ['a valid text', changed, []],
    ['an empty text', '', []],
    ['a line before the first section', 'a = 1\n[b]\n', [{ line: 0, message: 'File contains no section headers.' }]],
    ['an invalid value', '[a]\nb = 1\nc = x y\n', [{ line: 2, message: 'Config values must be valid Python.' }]],
    ['a duplicate option', '[a]\nb = 1\nb = 2\n', [{ line: 2, message: "[line  3]: option 'b' in section 'a' already exists" }]],
    ['a reference to nothing', '[a]\nb = "%(nope)s"\n', [{ line: 0, message: 'General error' }]],
  ])('validates %s', async (_what, body, problems) => {
    expect(await admin.ok('POST', '/large_image/config/validate', { body })).toEqual(problems);
  });

  it('formats, and returns invalid text unchanged', async () => {
    const format = (body: string) => admin.ok('POST', '/large_image/config/format', { body });
    expect(await format('[a]\nb:"c"\n\n# d\ne = [1,2]\n')).toBe("[a]\nb = 'c'\n# d\ne = [1, 2]\n\n");
    expect(await format('a = 1\n[b]\nc = 2\n')).toBe('a = 1\n[b]\nc = 2\n');
  });

  it('treats the body of a form as an empty text', async () => {
    expect(await admin.ok('POST', '/large_image/config/validate', { form: { x: 'y' } })).toEqual([]);
  });

  it('replaces nothing when the body is a form, which clients send by default', async () => {
    for (const sending of [
      { form: { restart: 'false' } },
      { body: changed, headers: { 'Content-Type': 'application/x-www-form-urlencoded' } },
    ]) {
      expect(await admin.fails('POST', '/large_image/config/replace', sending)).toMatchObject({
        status: 400,
        message: expect.stringContaining('with its Content-Type'),
      });
    }
    expect(await readdir(folder)).toEqual(['server.cfg']);
    expect(await readFile(path, 'utf8')).toBe(former);
  });

  it('replaces the file, keeps the previous one with its time, mode and bytes, and then reports no change', async () => {
    await chmod(path, 0o640);
    const before = Date.now();
    const { status, body } = await replace(changed);
    expect([status, body]).toEqual([200, { status: 'updated', time: expect.any(String) }]);
    expect(new Date(String((body as Record<string, unknown>).time)).getTime()).toBeGreaterThanOrEqual(before - 1000);
    expect(await readFile(path, 'utf8')).toBe(changed);
    expect((await readdir(folder)).toSorted()).toEqual(['server.cfg', 'server.cfg.20260304-050607']);
    const backup = join(folder, 'server.cfg.20260304-050607');
    expect(await readFile(backup, 'utf8')).toBe(former);
    expect(((await stat(path)).mode & 0o777).toString(8)).toBe('640');
    expect((await stat(backup)).mtime).toEqual(new Date(2026, 2, 4, 5, 6, 7));
    expect((await replace(changed)).body).toEqual({ status: 'no change' });
    expect(restarts).toBe(0);
  });

  it('replaces the version that is expected, and no other', async () => {
    const { version } = await admin.ok('GET', '/large_image/config');
    const write = (body: string) =>
      admin.send('POST', '/large_image/config/replace', { body, query: { restart: false, expected: String(version) } });
    const answers = await Promise.all([write(changed), write(`${changed}# other\n`)]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    expect(answers.find(({ status }) => status === 409)!.body.message).toContain('Someone else has changed');
    expect((await readdir(folder)).length).toBe(2);
    // Writing the current text succeeds.
    expect((await write(await readFile(path, 'utf8'))).body).toEqual({ status: 'no change' });
  });

  it('restarts by default, once, after the response, and not when nothing changes', async () => {
    expect((await replace(changed, null)).body).toEqual({ restarted: expect.any(String) });
    expect(restarts).toBe(0);
    expect((await replace(changed, null)).body).toEqual({ status: 'no change' });
    await until('the restart', () => restarts > 0);
    expect(restarts).toBe(1);
  });

  it('writes nothing when the text is not valid', async () => {
    expect(await admin.fails('POST', '/large_image/config/replace', { body: '[a]\nb = c\n' })).toMatchObject({
      status: 400,
      message: 'Invalid config file',
      type: 'rest',
    });
    expect(await readdir(folder)).toEqual(['server.cfg']);
    expect(await readFile(path, 'utf8')).toBe(former);
  });

  it('loses no version when several are written at once', async () => {
    const texts = Array.from({ length: 6 }, (_, i) => `[large_image]\nmax_small_image_size = ${1000 + i}\n`);
    const answers = await Promise.all(texts.map((text) => replace(text)));
    expect(answers.map(({ status }) => status)).toEqual(texts.map(() => 200));
    const contents = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')));
    expect(contents.toSorted()).toEqual([former, ...texts].toSorted());
  });

  const wrong: [string, Uint8Array, number, string][] = [
    ['10 MiB', Buffer.alloc(10 * 1024 * 1024, '#'), 413, 'The request body is longer than 131072 bytes.'],
    ['no UTF-8', Buffer.from([0x5b, 0x61, 0x5d, 0x0a, 0xff, 0xfe]), 400, 'The request body must be UTF-8 text.'],
  ];
  it.each(wrong)('refuses %s', async (_what, body, status, message) => {
    for (const route of ['validate', 'format', 'replace']) {
      expect(await admin.fails('POST', `/large_image/config/${route}`, { body }), route).toMatchObject({ status, message });
    }
    expect(await readFile(path, 'utf8')).toBe(former);
  });

  it('accepts the largest allowed text', async () => {
    const line = "key = [1, 2, 'three', {'four': 5.5}]\n";
    const body =
      '[a]\n' + Array.from({ length: Math.floor((127 * 1024) / (line.length + 5)) }, (_, i) => `k${i}${line}`).join('');
    expect((await admin.send('POST', '/large_image/config/validate', { body })).status).toBe(200);
  });

  it('reports that the folder is missing', async () => {
    await rm(folder, { recursive: true });
    try {
      expect(
        await admin.fails('POST', '/large_image/config/replace', { body: changed, query: { restart: false } }),
      ).toMatchObject({
        status: 503,
        message: expect.stringContaining('its folder does not exist'),
      });
    } finally {
      await mkdir(folder);
    }
  });

  it('creates the default folder', async () => {
    const home = await mkdtemp(join(tmpdir(), 'home-'));
    const host = await startHost({ install: { env: { HOME: home } } });
    try {
      const administrator = await host.register('admin');
      const sending = { body: changed, query: { restart: false } };
      expect(await administrator.ok('POST', '/large_image/config/replace', sending)).toMatchObject({ status: 'updated' });
      expect(await readFile(join(home, '.girder', 'girder.cfg'), 'utf8')).toBe(changed);
      expect((await stat(join(home, '.girder'))).mode & 0o777).toBe(0o700);
    } finally {
      await host.close();
      await rm(home, { recursive: true });
    }
  });

  it('refuses a path that is a folder', async () => {
    await rm(path);
    await mkdir(path);
    expect(await admin.fails('POST', '/large_image/config/replace', { body: changed, query: { restart: false } })).toMatchObject({
      status: 409,
      message: expect.stringContaining('is not a regular file'),
    });
  });

  const mount = (...words: string[]): boolean => spawnSync('mount', words).status === 0;
  const canMount = (() => {
    if (process.getuid?.() !== 0) return false;
    const works = mount('-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', '/mnt');
    if (works) spawnSync('umount', ['/mnt']);
    return works;
  })();

  it.skipIf(!canMount).each([
    ['full', '507', 'the disk is full'],
    ['read-only', '503', 'its folder is on a read-only disk'],
  ])(
    `keeps the file on a disk that is %s${canMount ? '' : ' (skipped: mounting a tmpfs needs root)'}`,
    async (kind, status, reason) => {
      expect(mount('-t', 'tmpfs', '-o', 'size=32k', 'tmpfs', folder)).toBe(true);
      try {
        await writeFile(path, former);
        if (kind === 'read-only') expect(mount('-o', 'remount,ro', folder)).toBe(true);
        const text = `${changed}# ${'x'.repeat(100_000)}\n`;
        expect(await admin.fails('POST', '/large_image/config/replace', { body: text, query: { restart: false } })).toMatchObject(
          {
            status: Number(status),
            message: expect.stringContaining(reason),
          },
        );
        expect(await readFile(path, 'utf8')).toBe(former);
        expect(await readdir(folder)).toEqual(['server.cfg']);
      } finally {
        spawnSync('umount', [folder]);
      }
    },
  );

  it.skipIf(process.getuid?.() !== 0)('keeps the owner (needs root)', async () => {
    spawnSync('chown', ['12345:23456', path]);
    await replace(changed);
    const { uid, gid } = await stat(path);
    expect([uid, gid]).toEqual([12345, 23456]);
  });
});

describe('a host that cannot restart', () => {
  it('answers 501 and writes nothing, and replaces when no restart is requested', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'configuration-'));
    const path = join(folder, 'server.cfg');
    const started = await startHost({ install: { configFile: path } });
    try {
      const admin = await started.register('admin');
      const send = (query: Record<string, boolean>) =>
        admin.send('POST', '/large_image/config/replace', { body: changed, query });
      expect((await send({})).status).toBe(501);
      expect(await readdir(folder)).toEqual([]);
      expect((await send({ restart: false })).body).toMatchObject({ status: 'updated' });
      expect((await send({})).body).toEqual({ status: 'no change' });
      expect(((await stat(path)).mode & 0o777).toString(8)).toBe('600');
    } finally {
      await started.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe('the section [large_image]', () => {
  it('sets caches, sources and defaults at startup; options take precedence', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'configuration-'));
    const path = join(folder, 'server.cfg');
    await writeFile(
      path,
      '[large_image]\ncache_backend = "none"\ncache_tilesource_maximum = 7\nmax_small_image_size = 512\nicc_correction = "saturation"\n' +
        'cache_nonsense = 1\nsource_sharp_ignored_names = r"\\.png$"\n',
    );
    const warned: object[] = [];
    const logger = { debug() {}, info() {}, warn: (fields: object) => void warned.push(fields), error() {} };
    const open = (install: object) => startHost({ logger, install: { env: { SERVICE_CONFIG: path }, ...install } });
    try {
      const first = await open({});
      const admin = await first.register('admin');
      expect(await admin.ok('GET', '/large_image/cache')).toEqual({
        tilesource: { maxsize: 7, used: 0 },
        tileCache: { maxsize: 0, used: 0, items: 0 },
      });
      expect(await admin.ok('GET', '/large_image/settings')).toMatchObject({
        'large_image.max_small_image_size': 512,
        'large_image.icc_correction': 'SATURATION',
      });
      expect(warned).toContainEqual(expect.objectContaining({ key: 'cache_nonsense' }));
      const collection = await admin.create('/collection', { name: 'c' });
      const target = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'f' });
      const png = Buffer.from(
        'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
        'base64',
      );
      const query = { parentType: 'folder', parentId: target, name: 'a.png', size: png.length };
      const file = await admin.ok('POST', '/file', { query, body: png });
      expect(await admin.fails('POST', `/item/${String(file.itemId)}/tiles`)).toMatchObject({ status: 400 });
      await first.close();
      const second = await open({ cacheBackend: 'memory', tileCacheBytes: 1e6, maxOpenSources: 3 });
      const other = await second.register('admin');
      expect(await other.ok('GET', '/large_image/cache')).toEqual({
        tilesource: { maxsize: 3, used: 0 },
        tileCache: { maxsize: 1e6, used: 0, items: 0 },
      });
      await second.close();
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
