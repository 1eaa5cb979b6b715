import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLargeImage } from '../../../src/tilesource/large-image.js';
import { tiffSource } from '../../../src/tilesource/sources/tiff/tiff-source.js';
import { memoryInput } from '../../support/images/memory-input.js';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

describe('a pixel size that users enter', () => {
  let started: TestHost;
  let admin: Client;
  let reader: Client;
  let folder: string;
  let item: string;

  const enterPixelSize = (id: string, query: Record<string, string | number>, client = admin) =>
    client.send('PUT', `/item/${id}/tiles/pixel_size`, { query });
  const metadata = (id: string) => admin.ok('GET', `/item/${id}/tiles`);
  const scaleOf = async (bytes: Uint8Array) => {
    const source = await tiffSource.open(memoryInput(Buffer.from(bytes), 'again.tif'));
    const { mm_x, mm_y } = openLargeImage(source).metadata();
    await source.close();
    return [mm_x, mm_y];
  };

  beforeAll(async () => {
    started = await startHost({ checksAnswers: true });
    admin = await started.register('admin');
    reader = await started.register('reader');
    folder = await newFolder(admin, 'Sizes', true);
    item = await uploadItem(admin, folder, 'unsized.tif', await pyramid());
  });
  afterAll(() => started?.close());

  it('is used by everything made from the image, and can be removed', async () => {
    const scalesEverywhere = async () => {
      const region = (query: Record<string, string | number>) => admin.send('GET', `/item/${item}/tiles/region`, { query });
      const { mm_x, mm_y, pixelSizeEntered, magnificationComputed } = await metadata(item);
      const manifest = await admin.send('GET', `/iiif/${item}/manifest.json`);
      const zarr = await admin.send('GET', `/item/${item}/zarr/a.ome.zarr/zarr.json`);
      const dicom = await admin.send('GET', `/item/${item}/dicomweb`);
      const inMillimeters = await region({ left: 0, top: 0, regionWidth: 0.01, regionHeight: 0.02, units: 'mm' });
      const thumbnail = await admin.send('GET', `/item/${item}/tiles/thumbnail`);
      return {
        metadata: [mm_x, mm_y, pixelSizeEntered, magnificationComputed],
        iiif: /"physicalScale":([\d.e-]+)/.exec(JSON.stringify(manifest.body))?.[1],
        zarr: /"scale":(\[[^\]]*\])/.exec(JSON.stringify(zarr.body))?.[1],
        dicom: dicom.status,
        millimeters: inMillimeters.status,
        samples: await scaleOf((await region({ encoding: 'OMETIFF', regionWidth: 50, regionHeight: 50 })).bytes),
        tiff: await scaleOf((await region({ encoding: 'TILED', regionWidth: 300, regionHeight: 300 })).bytes),
        tag: thumbnail.headers.get('etag'),
      };
    };
    const before = await scalesEverywhere();
    expect(before).toMatchObject({
      metadata: [null, null, undefined, undefined],
      iiif: undefined,
      dicom: 409,
      millimeters: 400,
      samples: [null, null],
      tiff: [null, null],
    });
    const answer = await enterPixelSize(item, { mm_x: 0.00025, mm_y: 0.0005 });
    expect([answer.status, answer.body]).toMatchObject([200, { mm_x: 0.00025, mm_y: 0.0005, pixelSizeEntered: true }]);
    const entered = await scalesEverywhere();
    expect(entered).toMatchObject({
      metadata: [0.00025, 0.0005, true, true],
      iiif: '0.00025',
      dicom: 200,
      millimeters: 200,
      samples: [0.00025, 0.0005],
    });
    expect(JSON.parse(entered.zarr!)).toEqual([1, 0.5, 0.25]);
    for (const [at, mm] of [0.00025, 0.0005].entries()) expect(entered.tiff[at]).toBeCloseTo(mm, 8);
    expect(entered.tag).not.toBe(before.tag);
    const changed = await enterPixelSize(item, { mm_x: '5e-4' });
    expect(changed.body).toMatchObject({ mm_x: 0.0005, mm_y: 0.0005 });
    expect(await scalesEverywhere()).toMatchObject({ metadata: [0.0005, 0.0005, true, true], iiif: '0.0005' });
    const removed = await admin.ok('DELETE', `/item/${item}/tiles/pixel_size`);
    expect(removed).toMatchObject({ mm_x: null, mm_y: null });
    expect(await scalesEverywhere()).toEqual(before);
  });

  it('is written into converted copies, and kept in copies of the item', async () => {
    const copied = await uploadItem(admin, folder, 'copied.tif', await pyramid(300, 200));
    expect((await enterPixelSize(copied, { mm_x: 0.002 })).status).toBe(200);
    const target = await newFolder(admin, 'Converted');
    const { _id } = await admin.ok('POST', `/item/${copied}/tiles/convert`, { query: { folderId: target } });
    await until(
      'the conversion',
      async () => {
        const { status, log } = await admin.ok('GET', `/job/${String(_id)}`);
        if (status === 4) throw new Error(String(log));
        return status === 3;
      },
      120_000,
    );
    const [converted] = (await admin.ok('GET', '/item', { query: { folderId: target } })) as unknown as { _id: string }[];
    expect(await metadata(converted!._id)).not.toHaveProperty('pixelSizeEntered');
    const { bytes } = await admin.send('GET', `/item/${converted!._id}/download`);
    for (const mm of await scaleOf(bytes)) expect(mm).toBeCloseTo(0.002, 7);
    const copy = await admin.ok('POST', `/item/${copied}/copy`, { query: { name: 'copy' } });
    expect(await metadata(String(copy._id))).toMatchObject({ mm_x: 0.002, pixelSizeEntered: true });
    // The size belongs to the image, and is forgotten when the image is removed.
    await admin.ok('DELETE', `/item/${copied}/tiles`);
    await admin.ok('POST', `/item/${copied}/tiles`);
    expect(await metadata(copied)).toMatchObject({ mm_x: null });
  });

  it.each<Record<string, string | number>>([
    { mm_x: 0 },
    { mm_x: -1 },
    { mm_x: 'NaN' },
    { mm_x: 'Infinity' },
    { mm_x: 1e5 },
    { mm_x: 1e-8 },
    { mm_x: '' },
    { mm_x: '1,5' },
    { mm_x: 1, mm_y: 0 },
    { mm_y: 1 },
  ])('is refused as %j', async (query) => {
    expect((await enterPixelSize(item, query)).status).toBe(400);
    expect(await metadata(item)).toMatchObject({ mm_x: null });
  });

  it('is refused without write access, for files that state one, and without an image', async () => {
    expect((await enterPixelSize(item, { mm_x: 1 }, reader)).status).toBe(403);
    expect((await enterPixelSize(item, { mm_x: 1 }, started.anonymous)).status).toBe(401);
    const picture = sharp(await pyramid(100, 100)).tiff({ tile: true, tileWidth: 256, tileHeight: 256, xres: 2000, yres: 2000 });
    const sized = await uploadItem(admin, folder, 'sized.tif', await picture.toBuffer());
    const { mm_x: stated } = await metadata(sized);
    const answer = await enterPixelSize(sized, { mm_x: 1 });
    expect([typeof stated, answer.status, answer.body.message]).toEqual([
      'number',
      400,
      'Value Error: The file states the pixel size. Only a missing pixel size can be entered.',
    ]);
    const text = await uploadItem(admin, folder, 'notes.txt', Buffer.from('no image'));
    expect((await enterPixelSize(text, { mm_x: 1 })).status).toBe(400);
    // The field cannot be written in a different way.
    const internal = await admin.fails('PUT', `/item/${item}/internal_metadata/largeImageScale`, { json: { mmX: 1, mmY: 1 } });
    expect(internal).toMatchObject({ status: 400 });
  });
});
