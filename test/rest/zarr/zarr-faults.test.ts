import { copyFile, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Types, type Model } from 'mongoose';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FolderDocument } from '../../../src/reference-host/tree/folder.model.js';
import { newFolder } from '../../support/images/images.js';
import { pattern } from '../../support/images/pattern.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

describe('OME-Zarr of damaged files', () => {
  let started: TestHost;
  let admin: Client;
  let folder: string;
  let work: string;

  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('admin');
    folder = await newFolder(admin, 'Private');
    work = await mkdtemp(join(tmpdir(), 'zarr-faults-'));
  });
  afterAll(async () => {
    await started?.close();
    await rm(work, { recursive: true, force: true });
  });

  const tiff = (seed: number) =>
    sharp(
      pattern(600, 300, 3).map((sample) => (sample + seed) % 256),
      { raw: { width: 600, height: 300, channels: 3 } },
    )
      .tiff({ tile: true, tileWidth: 256, tileHeight: 256, compression: 'deflate' })
      .toBuffer();

  /** An item whose file is served in place. */
  async function inPlace(name: string, bytes: Buffer): Promise<{ item: string; path: string }> {
    const path = join(work, name);
    await writeFile(path, bytes);
    const { models } = started.host.host;
    const doc = await (models.folder as Model<FolderDocument>).findById(new Types.ObjectId(folder)).lean<FolderDocument>();
    const registered = await started.host.registerFileInPlace({ path, folder: doc!, itemName: name, creatorId: null });
    const item = registered.item._id.toHexString();
    await until('the item is a large image', async () => (await admin.send('GET', `/item/${item}/tiles`)).status === 200);
    return { item, path };
  }

  const get = (item: string, key: string) => admin.send('GET', `/item/${item}/zarr/a.ome.zarr/${key}`);

  it('names the tile whose bytes are corrupt, and serves the others', async () => {
    const bytes = await tiff(0);
    // The tiles follow the header, one after the other.
    bytes.fill(0xee, 40, 2000);
    const { item } = await inPlace('corrupt.tif', bytes);
    const chunks = await Promise.all(['0/0/0', '0/0/1', '0/0/2', '0/1/2'].map((chunk) => get(item, `0/c/${chunk}`)));
    const refused = chunks.filter(({ status }) => status !== 200);
    expect(refused.map(({ status }) => status)).toEqual([422]);
    expect(refused[0]!.body.message).toMatch(/^The tile x=\d, y=\d of level \d is corrupt: /);
  });

  it('changes tags and samples when the file is replaced', async () => {
    const { item, path } = await inPlace('replaced.tif', await tiff(0));
    const before = await get(item, '0/c/0/0/0');
    const other = join(work, 'other.tif');
    await writeFile(other, await tiff(100));
    await copyFile(other, path);
    await utimes(path, new Date(), new Date(Date.now() + 5000));
    expect(before.status).toBe(200);
    let after = before;
    await until('the file was noticed', async () => {
      after = await get(item, '0/c/0/0/0');
      return after.status === 200 && !after.bytes.equals(before.bytes);
    });
    expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'));
  });

  it('answers 503 or 422, not zeros, when the file can no longer be read', async () => {
    const bytes = await tiff(0);
    const { item, path } = await inPlace('gone.tif', bytes);
    expect((await get(item, 'zarr.json')).status).toBe(200);
    await writeFile(path, (await readFile(path)).subarray(0, 100));
    await until('the loss was noticed', async () => (await get(item, '0/c/0/1/2')).status !== 200);
    const answer = await get(item, '0/c/0/1/2');
    expect([422, 503]).toContain(answer.status);
  });
});
