import { deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { newFolder, uploadItem } from '../../support/images/images.js';
import { endedJob } from '../../support/jobs/job-status.js';

/** A black PNG of one bit per pixel, which is made at once, however large it is. */
function black(width: number, height: number): Buffer {
  const chunk = (type: string, data: Uint8Array) => {
    const content = Buffer.concat([Buffer.from(type), data]);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(data.length);
    // A gzip file ends with the checksum of PNG in reverse byte order.
    return Buffer.concat([length, content, gzipSync(content).subarray(-8, -4).reverse()]);
  };
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  const rows = deflateSync(Buffer.alloc((Math.ceil(width / 8) + 1) * height), { level: 1 });
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', rows), chunk('IEND', new Uint8Array())]);
}

let host: TestHost;
let admin: Client;
beforeAll(async () => {
  host = await startHost();
  admin = await host.register('admin');
});
afterAll(() => host?.close());

it('an image that is too large for every source is converted in a job', async () => {
  const item = await uploadItem(admin, await newFolder(admin, 'Large'), 'large.png', black(20_000, 14_000));
  const marker = async () => (await admin.ok('GET', `/item/${item}`)).largeImage;
  expect(await marker()).toBeUndefined();
  const { _id } = await admin.ok('POST', `/item/${item}/tiles`, { query: { compression: 'jpeg', localJob: true } });
  expect((await endedJob(admin, String(_id))).status).toBe(3);
  expect(await admin.ok('GET', `/item/${item}/tiles`)).toMatchObject({ sizeX: 20_000, sizeY: 14_000, levels: 8, mm_x: null });
  expect(await marker()).toMatchObject({ sourceName: 'tiff' });
});
