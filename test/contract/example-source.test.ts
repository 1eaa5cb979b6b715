import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { netpbmSource } from '../../examples/netpbm-source.js';
import { describeTileSource } from '../../src/testing/index.js';
import { pattern } from '../support/images/pattern.js';
import { startHost, type Client, type TestHost } from '../support/hosts/reference-host.js';

const folder = await mkdtemp(join(tmpdir(), 'example-source-'));
const color = join(folder, 'color.ppm');
const gray = join(folder, 'gray.pgm');
const [width, height] = [700, 530];
const samples = pattern(width, height, 3);

beforeAll(async () => {
  await writeFile(color, Buffer.concat([Buffer.from(`P6\n# a comment\n${width} ${height}\n255\n`), samples]));
  const deep = Buffer.alloc(300 * 200 * 2);
  for (let i = 0; i < 300 * 200; i += 1) deep.writeUInt16BE(i % 4096, i * 2);
  await writeFile(gray, Buffer.concat([Buffer.from('P5 300 200 4095 '), deep]));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describeTileSource(() => netpbmSource, color, { describe, it });
describeTileSource(() => netpbmSource, gray, { describe, it });

describe('the example source, passed to install', () => {
  let started: TestHost;
  let admin: Client;
  let parent: string;

  beforeAll(async () => {
    started = await startHost({ install: { tileSources: [netpbmSource] } });
    admin = await started.register('admin');
    const folders = await admin.ok('GET', '/folder', { query: { parentType: 'user', parentId: admin.id! } });
    parent = String((folders[0] as { _id: string })._id);
  });
  afterAll(() => started?.close());

  it('turns uploaded files into large images and serves their exact pixels', async () => {
    const path = await admin.ok('POST', '/file', {
      query: { parentType: 'folder', parentId: parent, name: 'color.ppm', size: samples.length + 27 },
      body: Buffer.concat([Buffer.from(`P6\n# a comment\n${width} ${height}\n255\n`), samples]),
    });
    const item = String(path.itemId);
    expect((await admin.ok('GET', `/item/${item}`)).largeImage).toMatchObject({ sourceName: 'netpbm' });
    expect(await admin.ok('GET', `/item/${item}/tiles`)).toMatchObject({ sizeX: width, sizeY: height, levels: 3, bandCount: 3 });
    const tile = await admin.send('GET', `/item/${item}/tiles/zxy/2/1/1`, { query: { encoding: 'PNG' } });
    const served = await sharp(tile.bytes).removeAlpha().raw().toBuffer();
    const cut = { left: 256, top: 256, width: 256, height: 256 };
    const expected = await sharp(samples, { raw: { width, height, channels: 3 } })
      .extract(cut)
      .raw()
      .toBuffer();
    expect(served.equals(expected)).toBe(true);
  });
});
