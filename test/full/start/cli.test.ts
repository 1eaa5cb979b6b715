/** The program `express-large-image`, in its own process. */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { convertTo } from '../../../src/cli/convert.js';
import { builtProgram } from '../../support/run/programs.js';

interface Run {
  code: number | null;
  stdout: string;
  stderr: string;
}

let work: string;

beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), 'large-image-cli-'));
  const picture = sharp({ create: { width: 700, height: 500, channels: 3, background: '#c02040' } });
  await picture.png().toFile(join(work, 'in.png'));
});
afterAll(() => rm(work, { recursive: true, force: true }));

/** Runs the program in the folder of the test. */
function run(words: readonly string[]): Promise<Run> {
  const child = spawn(process.execPath, [builtProgram('cli'), ...words], { cwd: work });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...output }));
  });
}

describe('convert', () => {
  it('writes a pyramid of tiles, reports its progress, and replaces nothing unless told to', async () => {
    const conversion = await run([
      'convert',
      'in.png',
      'out.tiff',
      '--tile-size',
      '128',
      '--compression',
      'jpeg',
      '--quality',
      '80',
    ]);
    expect(conversion).toMatchObject({ code: 0, stdout: expect.stringMatching(/^out\.tiff: [\d.]+ MB\n$/) });
    expect(conversion.stderr).toContain('Converting in.png 100 %');
    const { pages, width, height } = await sharp(join(work, 'out.tiff')).metadata();
    expect([pages! > 1, width, height]).toEqual([true, 700, 500]);
    // The mode is that of any other file that this user makes.
    expect((await stat(join(work, 'out.tiff'))).mode & 0o777).toBe(0o666 & ~process.umask());
    const refused = await run(['convert', 'in.png', 'out.tiff']);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('--overwrite replaces it') });
    expect((await run(['convert', 'in.png', 'out.tiff', '--overwrite'])).code).toBe(0);
    expect(JSON.parse((await run(['info', 'out.tiff'])).stdout)).toMatchObject({ source: 'tiff', tileWidth: 256, sizeX: 700 });
  });

  it('leaves nothing behind when it is interrupted', async () => {
    const interrupted = new AbortController();
    const converting = convertTo(join(work, 'in.png'), join(work, 'never.tiff'), {
      request: {},
      overwrite: false,
      onProgress: () => interrupted.abort(new Error('enough')),
      signal: interrupted.signal,
    });
    await expect(converting).rejects.toThrow('enough');
    expect((await readdir(work)).filter((name) => /never|large-image/.test(name))).toEqual([]);
  });

  it.each<[string, string[], string]>([
    ['a missing file', ['nosuch.png', 'x.tiff'], 'There is no file nosuch.png'],
    ['a missing folder', ['in.png', 'nosuch/x.tiff'], 'There is no folder'],
    ['the file itself', ['in.png', './in.png', '--overwrite'], 'is the file to convert'],
    [
      'an unknown compression',
      ['in.png', 'x.tiff', '--compression', 'zip'],
      '--compression is zip; it must be one of none, jpeg, deflate, lzw, zstd, packbits, webp.',
    ],
    ['text for a number', ['in.png', 'x.tiff', '--quality', 'best'], '--quality is best; it must be a whole number'],
    ['an unknown option', ['in.png', 'x.tiff', '--best'], 'Unknown option'],
    ['too few arguments', ['in.png'], 'missing required args'],
  ])('exits with 2 and a message when it is given %s', async (_, words, message) => {
    expect(await run(['convert', ...words])).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
  });
});

describe('info', () => {
  it('prints the metadata of an image as JSON', async () => {
    const { code, stdout } = await run(['info', 'in.png', '--internal']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ source: 'sharp', sizeX: 700, sizeY: 500, bandCount: 3, internal: {} });
  });

  it('opens images that consist of other files of the folder', async () => {
    await writeFile(join(work, 'two.yaml'), 'sources:\n  - path: in.png\n  - path: in.png\n    position: { x: 700 }\n');
    const { code, stdout, stderr } = await run(['info', 'two.yaml']);
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toMatchObject({ source: 'multi', sizeX: 1400, sizeY: 500 });
  });

  it('uses the sources of installed packages, as convert does, and names those that cannot be loaded', async () => {
    const install = async (name: string, module: string) => {
      const folder = join(work, 'node_modules', name);
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, 'plugin.json'), '{ "extends": "express-large-image", "tileSources": "./index.mjs" }');
      await writeFile(join(folder, 'index.mjs'), module);
    };
    await install('broken-source', 'export const tileSources = 7;');
    await install(
      'flat-source',
      `export const tileSources = [{
        name: 'flat', version: '1', extensions: { flat: 0, default: 12 }, mimeTypes: { default: 12 },
        async open() {
          const shape = { sizeX: 40, sizeY: 30, tileWidth: 256, tileHeight: 256, levels: 1 };
          const metadata = { ...shape, magnification: null, mmX: null, mmY: null, dtype: 'uint8', bandCount: 1 };
          const readTile = async () => ({ width: 40, height: 30, bands: 1, dtype: 'uint8', data: new Uint8Array(1200).fill(77) });
          return { metadata, populatedLevels: [0], readTile, async close() {} };
        },
      }];`,
    );
    await writeFile(join(work, 'one.flat'), 'flat');
    const { code, stdout, stderr } = await run(['info', 'one.flat']);
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ source: 'flat', sizeX: 40, sizeY: 30 })]);
    expect(stderr).toMatch(/^The tile source in \S+broken-source failed: TypeError: .* exports no list "tileSources"\n$/);
    expect(await run(['convert', 'one.flat', 'flat.tiff'])).toMatchObject({ code: 0 });
    expect((await sharp(join(work, 'flat.tiff')).stats()).channels.map(({ min, max }) => [min, max])).toEqual([[77, 77]]);
    const module = join(work, 'node_modules', 'flat-source', 'index.mjs');
    await writeFile(module, (await readFile(module, 'utf8')).replace('bandCount: 1', 'bandCount: 1, frames: []'));
    const fault = 'The tile source flat describes an impossible image: frames is not a list, or is empty';
    for (const words of [
      ['info', 'one.flat'],
      ['convert', 'one.flat', 'none.tiff'],
    ]) {
      expect(await run(words)).toMatchObject({ code: 1, stderr: expect.stringContaining(fault) });
    }
    expect(await readdir(work)).not.toContain('none.tiff');
    await rm(join(work, 'node_modules'), { recursive: true });
  });

  it('says in one line why a file is not an image, with exit code 1', async () => {
    await writeFile(join(work, 'text.svs'), 'no image');
    const { code, stdout, stderr } = await run(['info', 'text.svs']);
    expect([code, stdout, stderr.trim().split('\n').length]).toEqual([1, '', 1]);
    expect(stderr).toBe('express-large-image: text.svs cannot be read. It is in none of the supported formats.\n');
  });
});

describe('check-config', () => {
  it.each<[string, string, number, string]>([
    ['good.cfg', '[large_image]\ncache_backend = "redis"\n', 0, 'good.cfg is valid.'],
    ['syntax.cfg', '[large_image]\nkey = {\n', 1, 'syntax.cfg:2: '],
    ['value.cfg', '# why\n[large_image]\ncache_backend = 5\n', 1, 'value.cfg:3: cache_backend must be '],
    ['good.yaml', 'itemList:\n  columns: []\n', 0, 'good.yaml is valid.'],
    ['bad.yaml', 'a: [1\n', 1, 'bad.yaml: '],
  ])('says of %s whether it is valid, and if not, why', async (name, text, code, message) => {
    await writeFile(join(work, name), text);
    expect(await run(['check-config', name])).toMatchObject({ code, stderr: '', stdout: expect.stringContaining(message) });
  });
});

describe('help', () => {
  it('names every command and the exit codes; every command has its own help', async () => {
    const help = await run(['--help']);
    for (const words of ['serve [...files]', 'convert <in> <out>', 'info <file>', 'check-config <file>', 'Exit codes:']) {
      expect(help.stdout).toContain(words);
    }
    expect((await run(['convert', '--help'])).stdout).toContain('--tile-size <pixels>');
    expect((await run(['serve', '--help'])).stdout).toContain('npx express-large-image serve slide.svs folder/');
  });

  it('is shown for an unknown or missing command', async () => {
    expect(await run(['server'])).toMatchObject({ code: 2, stderr: expect.stringContaining('Unknown command server.') });
    expect(await run([])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Commands: serve, convert, info, check-config'),
    });
  });
});
