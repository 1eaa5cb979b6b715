import { copyFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Types, type Model } from 'mongoose';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FolderDocument } from '../../../src/reference-host/tree/folder.model.js';
import { newFolder } from '../../support/images/images.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

/** A pyramid with one color. */
function slide(color: string, side = 512): Promise<Buffer> {
  return sharp({ create: { width: side, height: side, channels: 3, background: color } })
    .tiff({ tile: true, tileWidth: 128, tileHeight: 128, pyramid: true, compression: 'deflate' })
    .toBuffer();
}

describe('a file that is replaced while it is served in place', () => {
  let started: TestHost;
  let admin: Client;
  let folder: string;
  let directory: string;
  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('admin');
    folder = await newFolder(admin, 'In place');
    directory = await mkdtemp(join(tmpdir(), 'replaced-file-'));
  });
  afterAll(async () => {
    await started.close();
    await rm(directory, { recursive: true, force: true });
  });

  async function serve(name: string, bytes: Uint8Array): Promise<{ path: string; item: string; file: string }> {
    const path = join(directory, name);
    await writeFile(path, bytes);
    const { models } = started.host.host;
    const doc = await (models.folder as Model<FolderDocument>).findById(new Types.ObjectId(folder)).lean<FolderDocument>();
    const registered = await started.host.registerFileInPlace({ path, folder: doc!, itemName: name, creatorId: null });
    return { path, item: registered.item._id.toHexString(), file: registered.file._id.toHexString() };
  }

  /** Whether a picture is red, and its entity tag. `red` is `null` if the response is not a picture. */
  async function pictureState(item: string, path: string): Promise<{ tag: string | null; red: boolean | null; status: number }> {
    const { status, headers, bytes } = await admin.send('GET', `/item/${item}/tiles/${path}`);
    const pixels = status === 200 ? await sharp(bytes).raw().toBuffer() : null;
    return { tag: headers.get('etag'), red: pixels && pixels[0]! > pixels[2]!, status };
  }

  const pictures = [
    'zxy/2/0/0?encoding=PNG',
    'zxy/2/3/3?encoding=PNG',
    'thumbnail?encoding=PNG',
    'region?width=100&encoding=PNG',
  ];

  it.each([
    ['by another of its name', (from: string, to: string) => rename(from, to)],
    ['by writing over it', (from: string, to: string) => copyFile(from, to)],
  ])('is shown with new tags when it is replaced %s', async (how, replace) => {
    const { path, item } = await serve(`${how}.tif`, await slide('#ff0000'));
    const before = await Promise.all(pictures.map((picture) => pictureState(item, picture)));
    expect(before.map(({ red }) => red)).toEqual(pictures.map(() => true));
    const fresh = join(directory, `${how}.new`);
    // The file has other colors and another size, so its directories are at other positions.
    await writeFile(fresh, Buffer.concat([await slide('#0000ff', 448), Buffer.alloc(100)]));
    await replace(fresh, path);
    await until('the new picture shows', async () => (await pictureState(item, pictures[0]!)).red === false);
    const after = await Promise.all(pictures.map((picture) => pictureState(item, picture)));
    expect(after.map(({ red }) => red)).toEqual(pictures.map(() => false));
    expect(after.filter(({ tag }, index) => tag === before[index]!.tag)).toEqual([]);
    expect(await admin.ok('GET', `/item/${item}/tiles`)).toMatchObject({ sizeX: 448, sizeY: 448 });
    // The tag of the former picture is no longer valid.
    const headers = { 'If-None-Match': before[0]!.tag! };
    expect((await admin.send('GET', `/item/${item}/tiles/${pictures[0]}`, { headers })).status).toBe(200);
  });

  it('is downloaded with its current length', async () => {
    const { path, file } = await serve('download.bin', Buffer.alloc(1000, 1));
    await writeFile(path, Buffer.alloc(1500, 2));
    expect((await admin.send('GET', `/file/${file}/download`)).bytes).toEqual(Buffer.alloc(1500, 2));
    await writeFile(path, Buffer.alloc(200, 3));
    const short = await admin.send('GET', `/file/${file}/download`);
    expect([short.headers.get('content-length'), short.bytes]).toEqual(['200', Buffer.alloc(200, 3)]);
  });

  it('is reported as missing, and served again when it is back', async () => {
    const { path, item } = await serve('gone.tif', await slide('#ff0000'));
    await pictureState(item, pictures[0]!);
    await rm(path);
    const status = async () => (await admin.send('GET', `/item/${item}/tiles/${pictures[0]}`)).status;
    await until('the file is missed', async () => (await status()) === 404);
    await writeFile(path, await slide('#0000ff'));
    await until('the file is back', async () => (await status()) === 200);
    expect((await pictureState(item, pictures[0]!)).red).toBe(false);
  });
});
