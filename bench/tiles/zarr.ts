/** Measures OME-Zarr chunks of a synthetic slide over HTTP, with token and access check. docs/benchmarks.md says what the lines mean. */
import sharp from 'sharp';
import { toChunkBytes } from '../../src/features/zarr/chunk-bytes.js';
import { loadZstdCompressor } from '../../src/tilesource/codecs/zstd-library.js';
import { printLoad } from '../support/measure.js';
import { compare, loop, requests, startClient, type Side } from './measure.js';
import { slideSize, startSlideHost } from './slide-host.js';

const side = 256;
const columns = slideSize / side;
const tileCount = columns * columns;
/** Number of chunks that are made at the same time on both sides. */
const chunkConcurrency = 4;
const manyChunks = 64;
const zstdLevel = 1;
const compareOptions = { rounds: 3, best: true } as const;

printLoad();

// No tile comes from the tile cache. The tiles take turns, so that none is still in memory from the previous round.
const host = await startSlideHost({ tileCacheBytes: 0 });
const client = await startClient();
let next = 0;

const chunkPath = (index: number, channel: number, token = '') =>
  `/api/v1/item/${host.itemId}/zarr${token}/slide.ome.zarr/0/c/${channel}/${Math.floor(index / columns)}/${index % columns}`;
const tilePath = (index: number) => `${host.tiles}/zxy/${host.levels - 1}/${index % columns}/${Math.floor(index / columns)}`;

async function fetchBytes(path: string, method = 'GET'): Promise<Buffer> {
  const response = await fetch(host.url + path, { method, headers: host.headers });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return Buffer.from(await response.arrayBuffer());
}

const downloads = (connections: number, path: () => string) =>
  client.downloads({ url: host.url, connections, headers: host.headers, path });

try {
  const storedTiles: Buffer[] = [];
  for (let index = 0; index < tileCount; index += 1) storedTiles.push(await fetchBytes(tilePath(index)));
  const compress = await loadZstdCompressor();
  const library = loop(chunkConcurrency, async () => {
    const { data, info } = await sharp(storedTiles[next++ % tileCount])
      .raw()
      .toBuffer({ resolveWithObject: true });
    const { width, height, channels } = info;
    compress(toChunkBytes({ data, width, height, bands: channels, dtype: 'uint8' }, 0, side), zstdLevel);
  });
  const oneChannel = downloads(chunkConcurrency, () => chunkPath(next++ % tileCount, 0));
  await compare(
    'chunk of a JPEG slide',
    { ours: oneChannel, reference: library, against: 'sharp and zstd' },
    { ...compareOptions, target: 0.7, cpu: 'judged' },
  );

  // The results are counted in tiles: three chunks are one tile.
  const channels = downloads(chunkConcurrency, () => chunkPath(Math.floor(next / 3) % tileCount, next++ % 3));
  const inTiles: Side = async (seconds) => {
    const { perSecond, perCpuSecond } = await channels(seconds);
    return { perSecond: perSecond / 3, perCpuSecond: perCpuSecond / 3 };
  };
  await compare(
    'three channels of a tile',
    { ours: inTiles, reference: oneChannel, against: 'one channel' },
    { ...compareOptions, target: 0.67, cpu: 'judged' },
  );

  const tiles = requests({ url: host.url, connections: 1, path: () => tilePath(next++ % tileCount), headers: host.headers });
  // Requests with a link have a separate place in the queue, like requests of another caller.
  const reply = await fetchBytes(`/api/v1/item/${host.itemId}/link`, 'POST');
  const link = `/t/${(JSON.parse(reply.toString()) as { token: string }).token}`;
  const tilesDuring =
    (connections: number): Side =>
    async (seconds) => {
      const chunks = downloads(connections, () => chunkPath(next++ % tileCount, 1, link))(seconds);
      const [throughput] = await Promise.all([tiles(seconds), chunks]);
      return throughput;
    };
  const tilesDuringManyChunks = tilesDuring(manyChunks);
  const tilesDuringFewChunks = tilesDuring(chunkConcurrency);
  await compare(
    'stored tile of another caller during 64 chunks',
    { ours: tilesDuringManyChunks, reference: tilesDuringFewChunks, against: `during ${chunkConcurrency} chunks` },
    { ...compareOptions, target: 0.8 },
  );
  await compare(
    'the same',
    { ours: tilesDuringManyChunks, reference: tiles, against: 'without chunks' },
    { ...compareOptions, target: 0 },
  );
} finally {
  await client.stop();
  await host.close();
}
