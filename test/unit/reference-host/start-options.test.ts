import { once } from 'node:events';
import { mkdir, mkdtemp, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listen } from '../../../src/reference-host/start/listen.js';
import { environmentVariables, readOptions, UsageError } from '../../../src/reference-host/start/options.js';
import { listLocalFiles, type LocalFile } from '../../../src/reference-host/start/content/local-files.js';
import { readOrCreatePassword } from '../../../src/reference-host/start/content/password.js';
import { until } from '../../support/run/until.js';

let work: string;
beforeEach(async () => {
  work = await realpath(await mkdtemp(join(tmpdir(), 'large-image-start-')));
});
afterEach(async () => {
  await rm(work, { recursive: true, force: true });
});

describe('the command line and the environment', () => {
  it('have defaults', () => {
    expect(readOptions([], {}, '1.0.0')).toEqual({
      port: 8080,
      host: '127.0.0.1',
      dataDirectory: resolve('data'),
      brand: null,
      adminPassword: null,
      databaseWaitMs: 60_000,
      comparesContents: true,
      metricsToken: null,
      trustProxy: null,
      serverRoot: null,
      bare: false,
      isPublic: false,
      processCount: 1,
      worker: false,
      logLevel: 'info',
      paths: [],
      buckets: [],
    });
  });

  it('are read', async () => {
    await writeFile(join(work, '1.5'), '');
    await writeFile(join(work, '--odd'), '');
    const env = {
      PORT: '0',
      HOST: '::1',
      DATA_DIR: work,
      BRAND: 'girder',
      ADMIN_PASSWORD: 'secret!',
      DATABASE_WAIT: '5',
      CHECKSUMS: 'off',
      METRICS_TOKEN: 'a token of sixteen or more',
      TRUST_PROXY: '10.0.0.0/8, loopback',
      SERVER_ROOT: 'https://Host:443/images/',
    };
    expect(readOptions([join(work, '1.5'), 's3://slides/of/2026/', '--', join(work, '--odd')], env, '1.0.0')).toEqual({
      port: 0,
      host: '::1',
      dataDirectory: work,
      brand: 'girder',
      adminPassword: 'secret!',
      databaseWaitMs: 5000,
      comparesContents: false,
      metricsToken: 'a token of sixteen or more',
      trustProxy: '10.0.0.0/8,loopback',
      serverRoot: 'https://host/images',
      bare: false,
      isPublic: false,
      processCount: 1,
      worker: false,
      logLevel: 'info',
      paths: [join(work, '1.5'), join(work, '--odd')],
      buckets: [{ bucket: 'slides', prefix: 'of/2026/' }],
    });
    expect(readOptions(['--bare'], { TRUST_PROXY: '2' }, '1.0.0')).toMatchObject({ bare: true, trustProxy: 2 });
    expect(readOptions(['--public'], {}, '1.0.0')).toMatchObject({ isPublic: true });
    expect(readOptions(['--processes', '3'], {}, '1.0.0')).toMatchObject({ processCount: 3 });
  });

  it.each<[string[], Record<string, string>, string]>([
    [['--bear'], {}, 'Unknown option: --bear'],
    [['-x'], {}, 'Unknown option: -x'],
    [['--bare=3'], {}, '--bare takes no value'],
    [['--public=no'], {}, '--public takes no value'],
    [['--no-public'], {}, 'Unknown option: --no-public'],
    [['--public', '--bare'], {}, '--public makes files visible to everyone, but --bare serves no files'],
    [['--processes', '0'], {}, '--processes is 0; it must be a whole number from 1 to 256'],
    [['--processes', 'many'], {}, '--processes is many;'],
    [['--worker', '--processes', '2'], { MONGODB_URI: 'mongodb://127.0.0.1' }, '--worker is a single process'],
    [['/does/not/exist.svs'], {}, 'There is no file or folder /does/not/exist.svs'],
    [['--bare', tmpdir()], {}, '--bare starts an empty server'],
    [[], { PORT: '80a' }, 'PORT is "80a"'],
    [[], { PORT: '65536' }, '0 (any free port) to 65535'],
    [[], { PORT: '-1' }, 'PORT is "-1"'],
    [[], { ADMIN_PASSWORD: '12345' }, 'at least 6 characters'],
    [[], { ADMIN_PASSWORD: 'x'.repeat(1025) }, 'at most 1024'],
    [[], { DATABASE_WAIT: 'long' }, 'DATABASE_WAIT is "long"'],
    [[], { CHECKSUMS: 'yes' }, 'CHECKSUMS is "yes"'],
    [[], { SERVER_ROOT: 'host/images' }, 'SERVER_ROOT is "host/images"; it must be an address such as https://host/images'],
    [[], { SERVER_ROOT: 'https://host/a?b' }, 'SERVER_ROOT is'],
    [[], { SERVER_ROOT: 'https://host//evil' }, 'SERVER_ROOT is'],
    [[], { SERVER_ROOT: 'javascript:alert(1)' }, 'SERVER_ROOT is'],
    [[], { TRUST_PROXY: 'true' }, 'TRUST_PROXY is "true"'],
    [[], { TRUST_PROXY: '10.0.0.0/33' }, 'TRUST_PROXY is "10.0.0.0/33"'],
    [[], { BRAND: 'two words' }, 'BRAND is "two words"'],
    [[], { BRAND: '$where' }, 'BRAND is "$where"'],
    [[], { LOG_LEVEL: 'loud' }, 'LOG_LEVEL is "loud"'],
  ])('are refused with a message: %j with %j', (words, env, message) => {
    expect(() => readOptions(words, env, '1.0.0')).toThrow(UsageError);
    expect(() => readOptions(words, env, '1.0.0')).toThrow(message);
  });

  it('answer --help with every option and variable', () => {
    const answer = readOptions(['x', '--help'], {}, '1.2.3');
    if (!('help' in answer)) throw new Error('no help');
    expect(answer.help).toContain('1.2.3');
    for (const word of ['--bare', '--public', ...environmentVariables.map(([name]) => name)]) expect(answer.help).toContain(word);
  });
});

describe("the caller's own files", () => {
  let leftOut: [string, string][] = [];
  const list = async (paths: string[]): Promise<Omit<LocalFile, 'stats'>[]> => {
    leftOut = [];
    const files: Omit<LocalFile, 'stats'>[] = [];
    const walk = listLocalFiles(paths, { onLeftOut: (...report) => leftOut.push(report) });
    for await (const { stats: _stats, ...file } of walk) files.push(file);
    return files;
  };

  it('are the given files and everything in the given folders', async () => {
    await mkdir(join(work, 'slides', 'deep'), { recursive: true });
    for (const name of ['one.svs', 'slides/b.tif', 'slides/a.tif', 'slides/.hidden', 'slides/.zattrs', 'slides/deep/c.tif']) {
      await writeFile(join(work, name), '');
    }
    expect(await list([join(work, 'one.svs'), join(work, 'slides')])).toEqual([
      { path: join(work, 'one.svs'), folderNames: ['Files'], name: 'one.svs', isZarr: false },
      { path: join(work, 'slides', '.zattrs'), folderNames: ['slides'], name: '.zattrs', isZarr: false },
      { path: join(work, 'slides', 'a.tif'), folderNames: ['slides'], name: 'a.tif', isZarr: false },
      { path: join(work, 'slides', 'b.tif'), folderNames: ['slides'], name: 'b.tif', isZarr: false },
      { path: join(work, 'slides', 'deep', 'c.tif'), folderNames: ['slides', 'deep'], name: 'c.tif', isZarr: false },
    ]);
  });

  it('are found without a loop through links that lead back, and without links to nothing', async () => {
    const slides = join(work, 'slides');
    await mkdir(slides);
    await writeFile(join(slides, 'a.tif'), '');
    await symlink(slides, join(slides, 'round'));
    await symlink(join(work, 'nothing'), join(slides, 'broken'));
    expect(await list([slides])).toEqual([
      { path: join(slides, 'a.tif'), folderNames: ['slides'], name: 'a.tif', isZarr: false },
    ]);
    expect(leftOut).toEqual([[join(slides, 'broken'), expect.stringContaining('ENOENT')]]);
  });

  it('do not include links that lead out of what is served, which is reported', async () => {
    const slides = join(work, 'slides');
    await mkdir(join(slides, 'in'), { recursive: true });
    await mkdir(join(work, 'secrets'));
    await writeFile(join(work, 'secrets', 'key.tif'), '');
    await writeFile(join(slides, 'in', 'a.tif'), '');
    await symlink(join(work, 'secrets'), join(slides, 'folder'));
    await symlink(join(work, 'secrets', 'key.tif'), join(slides, 'file.tif'));
    await symlink(join(slides, 'in', 'a.tif'), join(slides, 'same.tif'));
    expect((await list([slides])).map(({ path }) => path)).toEqual([join(slides, 'in', 'a.tif'), join(slides, 'in', 'a.tif')]);
    expect(leftOut.map(([path]) => path)).toEqual([join(slides, 'file.tif'), join(slides, 'folder')]);
    expect(leftOut[0]![1]).toBe(
      `it is a link to ${join(work, 'secrets', 'key.tif')}, which is outside; name the target on the command line to serve it`,
    );
  });

  it('include a folder *.zarr as one file, its description', async () => {
    for (const name of ['a.zarr', 'a.zarr/0/0', 'plain.zarr']) await mkdir(join(work, name), { recursive: true });
    for (const name of ['a.zarr/.zattrs', 'a.zarr/.zgroup', 'a.zarr/0/.zarray', 'a.zarr/0/0/0', 'plain.zarr/b.tif']) {
      await writeFile(join(work, name), '');
    }
    const folder = basename(work);
    const zarr = {
      path: join(work, 'a.zarr', '.zattrs'),
      name: 'a.zarr',
      isZarr: true,
      treeDigest: expect.any(String) as string,
    };
    expect(await list([work])).toEqual([
      { ...zarr, folderNames: [folder] },
      { path: join(work, 'plain.zarr', 'b.tif'), folderNames: [folder, 'plain.zarr'], name: 'b.tif', isZarr: false },
    ]);
    expect(await list([join(work, 'a.zarr')])).toEqual([{ ...zarr, folderNames: ['Files'] }]);
    expect(await list([join(work, 'gone'), join(work, 'a.zarr')])).toHaveLength(1);
    expect(leftOut).toEqual([[join(work, 'gone'), expect.stringContaining('ENOENT')]]);
  });

  it.skipIf(process.platform !== 'linux')(
    'are reported as left out when their name is not UTF-8, which only Linux allows',
    async () => {
      await writeFile(Buffer.concat([Buffer.from(`${work}/caf`), Buffer.from([0xe9]), Buffer.from('.tif')]), '');
      expect(await list([work])).toEqual([]);
      expect(leftOut).toEqual([[join(work, 'caf\ufffd.tif'), 'its name is not UTF-8']]);
    },
  );
});

describe('the stored password', () => {
  it('is made once, and readable by its owner only', async () => {
    const first = await readOrCreatePassword(work);
    expect(first.password.length).toBeGreaterThanOrEqual(16);
    expect((await stat(first.path)).mode & 0o777).toBe(0o600);
    expect(await readOrCreatePassword(work)).toEqual(first);
  });

  it('is made again, with the right mode, when the file is empty', async () => {
    await writeFile(join(work, 'admin-password'), '', { mode: 0o644 });
    const { password, path } = await readOrCreatePassword(work);
    expect(password.length).toBeGreaterThanOrEqual(16);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });
});

describe('listening', () => {
  it('answers 503 until there is something to serve, then serves it, and then closes', async () => {
    const server = await listen('127.0.0.1', 0);
    const early = await fetch(server.url);
    expect(early.status).toBe(503);
    expect(await early.text()).toContain('starting');
    await server.serve((_request, reply) => reply.end('here'));
    expect(await (await fetch(server.url)).text()).toBe('here');
    await server.close();
    await expect(fetch(server.url)).rejects.toThrow();
  });

  it.each(['pause', 'close'] as const)(
    'answers 503 when work does not end in time (%s), and to waiting requests',
    async (how) => {
      const server = await listen('127.0.0.1', 0, { graceMs: 50 });
      const requests: string[] = [];
      await server.serve((request) => void requests.push(request.url!));
      const get = async (path: string, init?: RequestInit) => {
        const answer = await fetch(`${server.url}${path}`, init);
        return [answer.status, answer.headers.get('retry-after'), ((await answer.json()) as { message: string }).message];
      };
      const refusal = [503, '2', expect.stringContaining('stopping or restarting')];
      const slow = [get('/get'), get('/post', { method: 'POST', body: 'x' })];
      await until('both are asked', () => requests.length === 2);
      if (how === 'pause') {
        await server.pause();
        expect(await Promise.all(slow)).toEqual([refusal, refusal]);
        const late = request(server.url, {
          method: 'PUT',
          agent: false,
          headers: { Expect: '100-continue', 'Content-Length': 1 },
        });
        late.flushHeaders();
        await once(late, 'continue');
        const [[answer]] = await Promise.all([once(late, 'response') as Promise<[IncomingMessage]>, server.close()]);
        expect(answer.statusCode).toBe(503);
        late.destroy();
        return;
      }
      await server.close();
      expect(await Promise.all(slow)).toEqual([refusal, refusal]);
    },
  );

  it('keeps idle connections longer than clients do, so that no request on its way is lost', async () => {
    const server = await listen('127.0.0.1', 0);
    const { headers } = await fetch(server.url);
    await server.close();
    expect(Number(/timeout=(\d+)/.exec(headers.get('keep-alive') ?? '')?.[1])).toBeGreaterThan(60);
  });

  it('says what to do when the port is taken', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    await expect(listen('127.0.0.1', port)).rejects.toThrow(`Port ${port} on 127.0.0.1 is in use`);
    await expect(listen('127.0.0.1', port)).rejects.toThrow(`choose another port with PORT: ${port + 1}`);
    await new Promise((resolve) => other.close(resolve));
  });

  it('says so when the address does not belong to this machine', async () => {
    await expect(listen('192.0.2.1', 0)).rejects.toThrow('HOST is "192.0.2.1"');
  });
});
