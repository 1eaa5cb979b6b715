/**
 * Measures tiles and regions of a synthetic slide over HTTP, with token and access check, each in comparison with a reference. The two take
 * turns. docs/benchmarks.md says what the lines mean.
 */
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import sharp, { type Sharp } from 'sharp';
import { startIipImage } from './iipimage.js';
import { compare, loop, requests, startClient } from './measure.js';
import { slideSize, startSlideHost, type SlideHost } from './slide-host.js';

const tileSize = 256;
const columns = slideSize / tileSize;
const tileCount = columns * columns;
const connections = 16;

/** Number of pictures that are decoded at the same time on both sides. */
const decodingConcurrency = 4;

/** `--only TEXT`: only lines whose name contains the text. */
const only = process.argv[process.argv.indexOf('--only') + 1];
const isWanted = (name: string) => !process.argv.includes('--only') || name.includes(only ?? '');

const random = (below: number) => Math.floor(Math.random() * below);

let uncachedCount = 0;

/**
 * A parameter that changes the name of a picture but not the picture, because subsampling below 0 is 0. So no response comes from a
 * cache.
 */
const uncachedParameter = () => `jpegSubsampling=-${++uncachedCount}`;

function tilePath({ tiles, levels }: SlideHost, index: number): string {
  return `${tiles}/zxy/${levels - 1}/${index % columns}/${Math.floor(index / columns)}`;
}

async function fetchBytes(host: SlideHost, path: string): Promise<Buffer> {
  const response = await fetch(host.url + path, { headers: host.headers });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return Buffer.from(await response.arrayBuffer());
}

/** Serves stored tiles as plainly as Express can: bytes read at a known offset of a file. */
async function startBareExpress(tiles: readonly Buffer[], directory: string) {
  const offsets: number[] = [];
  let end = 0;
  for (const { length } of tiles) {
    offsets.push(end);
    end += length;
  }
  const tilesPath = join(directory, 'tiles.bin');
  await writeFile(tilesPath, Buffer.concat(tiles));
  const file = await open(tilesPath);
  const app = express();
  app.get('/tile/:index', async (request, response) => {
    const index = Number(request.params.index);
    const buffer = Buffer.allocUnsafe(tiles[index]!.length);
    await file.read(buffer, 0, buffer.length, offsets[index]!);
    response.type('image/jpeg').send(buffer);
  });
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await file.close();
    },
  };
}

async function measureStoredTiles(host: SlideHost, tiles: readonly Buffer[], directory: string): Promise<void> {
  const bare = await startBareExpress(tiles, directory);
  const iip = await startIipImage(host.file);
  try {
    const ours = (query: () => string) =>
      requests({
        url: host.url,
        connections,
        headers: host.headers,
        path: () => `${tilePath(host, random(tileCount))}${query()}`,
      });
    const reference = requests({ url: bare.url, connections, path: () => `/tile/${random(tileCount)}` });
    const warm = ours(() => '');
    const cold = ours(() => `?${uncachedParameter()}`);
    await compare('stored tile, warm', { ours: warm, reference, against: 'bare Express' }, { target: 0.7 });
    await compare('stored tile, uncached', { ours: cold, reference, against: 'bare Express' }, { target: 0.7 });
    if (iip === null) return;
    const resolution = host.levels - 1;
    const path = () => iip.tilePath(host.file, resolution, random(tileCount));
    const iipRequests = requests({ url: iip.url, connections, path });
    await compare('stored tile, warm', { ours: warm, reference: iipRequests, against: 'IIPImage' }, { target: 5 });
    await compare('stored tile, uncached', { ours: cold, reference: iipRequests, against: 'IIPImage' }, { target: 5 });
  } finally {
    await iip?.close();
    await bare.close();
  }
}

const style = (value: object) => `style=${encodeURIComponent(JSON.stringify(value))}`;
const oneColor = style({ band: 1, min: 20, max: 220, palette: '#ff8000' });
const threeColors = style({
  bands: ['#f00', '#0f0', '#00f'].map((palette, band) => ({ band: band + 1, min: 20, max: 220, palette })),
});
const multiplied = style({
  bands: [
    { band: 1, palette: 'viridis' },
    { band: 2, palette: ['#000', '#fff'], composite: 'multiply' },
  ],
});

const decodedCases: { name: string; query: string; write: (image: Sharp) => Sharp }[] = [
  { name: 'PNG tile of a JPEG slide', query: 'encoding=PNG', write: (image) => image.png({ compressionLevel: 2 }) },
  {
    name: 'JPEG tile of another quality',
    query: 'jpegQuality=80',
    write: (image) => image.jpeg({ quality: 80, chromaSubsampling: '4:4:4', optimiseCoding: false }),
  },
  ...[
    { name: 'one color', query: oneColor },
    { name: 'three colors', query: threeColors },
    { name: 'palette, multiplied', query: multiplied },
  ].map(({ name, query }) => ({
    name: `styled tile: ${name}`,
    query,
    write: (image: Sharp) => image.jpeg({ quality: 95, chromaSubsampling: '4:4:4', optimiseCoding: false }),
  })),
];

/** Measures tiles that must be decoded. The reference decodes the stored tile and encodes the pixels of the host's response. */
async function measureDecodedTiles(host: SlideHost, tiles: readonly Buffer[]): Promise<void> {
  for (const { name, query, write } of decodedCases.filter((each) => isWanted(each.name))) {
    const samples = await Promise.all(
      Array.from({ length: 64 }, async () => {
        const index = random(tileCount);
        const png = await fetchBytes(
          host,
          `${tilePath(host, index)}?${query}&encoding=PNG`.replace('encoding=PNG&encoding', 'encoding'),
        );
        const { data, info } = await sharp(png).removeAlpha().raw().toBuffer({ resolveWithObject: true });
        return { stored: tiles[index]!, data, info };
      }),
    );
    const reference = loop(decodingConcurrency, async () => {
      const { stored, data, info } = samples[random(samples.length)]!;
      await sharp(stored).raw().toBuffer();
      await write(sharp(data, { raw: { width: info.width, height: info.height, channels: info.channels } })).toBuffer();
    });
    const path = () => `${tilePath(host, random(tileCount))}?${query}&${uncachedParameter()}`;
    const ours = client.downloads({ url: host.url, connections: decodingConcurrency, headers: host.headers, path });
    await compare(name, { ours, reference, against: 'sharp' }, { target: 0.7, cpu: true });
  }
}

/** Measures rectangles of the finest level, in comparison with libvips reading the same rectangles of the same file. */
async function measureRegions(host: SlideHost): Promise<void> {
  const randomCorner = (side: number, step: number) => ({
    left: random((slideSize - side) / step) * step,
    top: random((slideSize - side) / step) * step,
  });
  const cases = [
    { name: 'tile of a different size: 512 (Deep Zoom)', side: 512, output: 512, step: 512 },
    { name: 'region of 1024 x 1024', side: 1024, output: 1024, step: 1 },
    { name: 'region of 1024 x 1024, scaled to 700 x 700', side: 1024, output: 700, step: 1 },
  ];
  for (const { name, side, output, step } of cases.filter((each) => isWanted(each.name))) {
    const reference = loop(decodingConcurrency, async () => {
      const image = sharp(host.file).extract({ ...randomCorner(side, step), width: side, height: side });
      await (output === side ? image : image.resize(output, output)).jpeg({ quality: 95, chromaSubsampling: '4:4:4' }).toBuffer();
    });
    const path = () => {
      const { left, top } = randomCorner(side, step);
      if (step > 1) return `${host.tiles}/dzi_files/13/${left / step}_${top / step}.jpg?tilesize=${step}&${uncachedParameter()}`;
      return `${host.tiles}/region?left=${left}&top=${top}&regionWidth=${side}&regionHeight=${side}&width=${output}&height=${output}`;
    };
    const ours = client.downloads({ url: host.url, connections: decodingConcurrency, headers: host.headers, path });
    await compare(name, { ours, reference, against: 'libvips' }, { target: 0.7, cpu: true });
  }
}

const directory = await mkdtemp(join(tmpdir(), 'bench-tiles-'));
const host = await startSlideHost();
const client = await startClient();
try {
  const tiles: Buffer[] = [];
  for (let index = 0; index < tileCount; index += 1) tiles.push(await fetchBytes(host, tilePath(host, index)));
  if (isWanted('stored tile, warm') || isWanted('stored tile, uncached')) await measureStoredTiles(host, tiles, directory);
  await measureDecodedTiles(host, tiles);
  await measureRegions(host);
} finally {
  await client.stop();
  await host.close();
  await rm(directory, { recursive: true, force: true });
}
