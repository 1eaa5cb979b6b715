import { execFile, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pattern } from '../../support/images/pattern.js';
import { newFolder, uploadItem } from '../../support/images/images.js';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

const run = promisify(execFile);
/** Pythons to use: `PYTHON` with zarr 3 and the other clients, `PYTHON_ZARR2` with zarr 2. */
const pythons = { 3: process.env.PYTHON ?? 'python3', 2: process.env.PYTHON_ZARR2 ?? 'python3' };

function hasZarr(version: 2 | 3): boolean {
  const code = `import zarr, fsspec, aiohttp, numpy; assert zarr.__version__.startswith("${version}.")`;
  if (spawnSync(pythons[version], ['-c', code]).status === 0) return true;
  console.warn(`skipped: ${pythons[version]} has no zarr ${version} with fsspec and aiohttp`);
  return false;
}

const browserPath = chromiumPath();

function hasNeuroglancer(): boolean {
  if (spawnSync(pythons[3], ['-c', 'import neuroglancer']).status === 0) return browserPath !== null;
  console.warn(`skipped: ${pythons[3]} has no neuroglancer`);
  return false;
}

/** Samples of an image as a file of NumPy. */
function npy(samples: Uint8Array | Uint16Array, [c, y, x]: readonly [number, number, number]): Buffer {
  const descr = samples instanceof Uint8Array ? '|u1' : '<u2';
  const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${c}, ${y}, ${x}), }`;
  const header = `${text.padEnd(117)}\n`;
  const start = Buffer.from(`\x93NUMPY\x01\x00\0\0`, 'latin1');
  start.writeUInt16LE(header.length, 8);
  return Buffer.concat([
    start,
    Buffer.from(header, 'latin1'),
    Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength),
  ]);
}

describe('clients of OME-Zarr', () => {
  let started: TestHost;
  let admin: Client;
  let folder: string;
  let work: string;

  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('admin');
    folder = await newFolder(admin, 'Private');
    work = await mkdtemp(join(tmpdir(), 'zarr-clients-'));
  });
  afterAll(async () => {
    await started?.close();
    await rm(work, { recursive: true, force: true });
  });

  const url = (at: string, item: string, token: string) => `${started.url}/api/v1/item/${item}/${at}/t/${token}/image.ome.zarr`;

  async function share(name: string, bytes: Buffer, samples: Buffer, isMade: boolean) {
    const item = await uploadItem(admin, folder, name, bytes);
    const token = String((await admin.ok('POST', `/item/${item}/link`)).token);
    const shapes = [
      { type: 'rectangle', center: [300, 200, 0], width: 90, height: 50, rotation: 0.3, group: 'box' },
      { type: 'ellipse', center: [330, 215, 0], width: 120, height: 60, rotation: -0.5, group: 'egg' },
      { type: 'rectangle', center: [520.3, 260.1, 0], width: 300.5, height: 11.7, rotation: 1.1, group: 'bar' },
    ];
    const { _id } = await admin.ok('POST', '/annotation', {
      query: { itemId: item },
      json: { name: 'Shapes', elements: shapes },
    });
    const path = join(work, `${name}.npy`);
    await writeFile(path, samples);
    return {
      item,
      given: {
        url3: url('zarr', item, token),
        url2: url('zarr2', item, token),
        samples: path,
        copy: join(work, `${name}.ome.zarr`),
        isMade,
        labels: 2,
        labelNames: [String(_id), `${String(_id)}.objects`],
        shapes,
      },
    };
  }

  async function ask(version: 2 | 3, options: object): Promise<Record<string, string>> {
    const script = fileURLToPath(new URL('./zarr_clients.py', import.meta.url));
    const { stdout } = await run(pythons[version], ['-W', 'ignore', script, JSON.stringify(options)], { maxBuffer: 1 << 26 });
    return JSON.parse(stdout.trim().split('\n').at(-1)!) as Record<string, string>;
  }

  async function failures(version: 2 | 3, options: object) {
    const results = await ask(version, options);
    const missing = Object.keys(results).filter((name) => results[name] === 'missing');
    if (missing.length > 0) console.warn(`skipped: ${pythons[version]} has no ${missing.join(', ')}`);
    return Object.entries(results).filter(([name, result]) => result !== 'ok' && !missing.includes(name));
  }

  it.skipIf(!hasZarr(3))('read every sample of a color image and the levels that are made of it', async () => {
    const [width, height] = [1111, 717];
    const interleaved = pattern(width, height, 3);
    const planes = new Uint8Array(interleaved.length);
    for (const [at, sample] of interleaved.entries()) planes[(at % 3) * width * height + Math.floor(at / 3)] = sample;
    const tiff = await sharp(interleaved, { raw: { width, height, channels: 3 } })
      .tiff({ tile: true, tileWidth: 256, tileHeight: 256, compression: 'deflate' })
      .toBuffer();
    const { item, given } = await share('color.tif', tiff, npy(planes, [3, height, width]), true);
    expect(await failures(3, given)).toEqual([]);
    if (hasZarr(2)) expect(await failures(2, given)).toEqual([]);

    // The copy that zarr-python has made, served by our own source, has the same samples.
    const copied = await uploadItem(admin, folder, 'copy.ome.zarr.zip', await readFile(`${given.copy}.zip`));
    const region = {
      query: { encoding: 'TILED', tiffCompression: 'raw', regionWidth: 500, regionHeight: 400, left: 600, top: 300 },
    };
    const pixels = async (id: string) => {
      const { bytes } = await admin.send('GET', `/item/${id}/tiles/region`, region);
      return sharp(bytes).raw().toBuffer();
    };
    expect((await pixels(copied)).equals(await pixels(item))).toBe(true);
  });

  it.skipIf(!hasZarr(3))('read every sample of an image of 16 bits', async () => {
    const [width, height] = [900, 600];
    const samples = Uint16Array.from({ length: width * height }, (_, at) => (at * 7919) % 65_521);
    const tiff = await sharp(samples, { raw: { width, height, channels: 1 } })
      .toColourspace('grey16')
      .tiff({ tile: true, tileWidth: 512, tileHeight: 512, compression: 'deflate' })
      .toBuffer();
    const { given } = await share('deep.tif', tiff, npy(samples, [1, height, width]), true);
    expect(await failures(3, given)).toEqual([]);
  });

  it.skipIf(!hasZarr(3))('reach the first chunk in at most six requests of zarr-python', async () => {
    const requests: string[] = [];
    const { createServer, request } = await import('node:http');
    const proxy = createServer((incoming, answer) => {
      requests.push(`${incoming.method} ${incoming.url!.replace(/^.*?ome\.zarr/, '')}`);
      const { port } = new URL(started.url);
      const { method, headers, url: path } = incoming;
      request({ port, method, headers, path }, (from) => {
        answer.writeHead(from.statusCode!, from.headers);
        from.pipe(answer);
      }).end();
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    try {
      const tiff = await sharp(pattern(600, 400, 3), { raw: { width: 600, height: 400, channels: 3 } })
        .tiff({ tile: true, tileWidth: 256, tileHeight: 256 })
        .toBuffer();
      const item = await uploadItem(admin, folder, 'few.tif', tiff);
      const token = String((await admin.ok('POST', `/item/${item}/link`)).token);
      const { port } = proxy.address() as { port: number };
      const through = url('zarr', item, token).replace(started.url, `http://127.0.0.1:${port}`);
      await run(pythons[3], ['-c', `import zarr; zarr.open_group("${through}", mode="r")["0"][0, :10, :10]`]);
      expect(requests.length, requests.join('\n')).toBeLessThanOrEqual(6);
    } finally {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    }
  });

  it.skipIf(!hasNeuroglancer())('include neuroglancer, which draws both versions in a browser', async () => {
    const tiff = await sharp(pattern(600, 400, 3), { raw: { width: 600, height: 400, channels: 3 } })
      .tiff({ tile: true, tileWidth: 256, tileHeight: 256 })
      .toBuffer();
    const item = await uploadItem(admin, folder, 'drawn.tif', tiff);
    const token = String((await admin.ok('POST', `/item/${item}/link`)).token);
    const urls = ['zarr', 'zarr2'].map((at) => url(at, item, token));
    const script = fileURLToPath(new URL('./neuroglancer_session.py', import.meta.url));
    const session = spawn(pythons[3], ['-W', 'ignore', script, ...urls], { stdio: ['ignore', 'pipe', 'inherit'] });
    const browser = await launchChromium(browserPath!, ['--use-angle=swiftshader', '--enable-unsafe-swiftshader']);
    try {
      const page = await browser.newPage();
      const drawn: { url: string; colors: number }[] = [];
      for await (const line of createInterface(session.stdout)) {
        if (line.startsWith('http')) await page.goto(line);
        else drawn.push(JSON.parse(line) as { url: string; colors: number });
      }
      expect(drawn.map((each) => each.url)).toEqual(urls);
      for (const { colors } of drawn) expect(colors).toBeGreaterThan(50);
    } finally {
      session.kill();
      await browser.close();
    }
  });
});
