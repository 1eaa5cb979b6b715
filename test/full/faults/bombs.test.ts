import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { expect, it } from 'vitest';
import type { TileSource } from '../../../src/tilesource/tile-source.js';
import { sharpSource } from '../../../src/tilesource/sources/sharp/sharp-source.js';
import { memoryInput } from '../../support/images/memory-input.js';

function open(bytes: Uint8Array): Promise<TileSource> {
  return sharpSource.open(memoryInput(bytes, 'bomb'));
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}

/** A PNG with chunks between its header, which ends at byte 33, and its pixels. */
async function pngWith(...chunks: Buffer[]): Promise<Buffer> {
  const plain = await sharp({ create: { width: 20, height: 10, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  return Buffer.concat([plain.subarray(0, 33), ...chunks, plain.subarray(33)]);
}

/** libvips inflates all texts whenever it opens the file: 5 MB took a minute and a half. */
it('the source sharp refuses a PNG with megabytes of compressed text, and reads one with little text or uncompressed text', async () => {
  const empty = deflateSync(Buffer.alloc(200_000_000));
  const bomb = chunk('zTXt', Buffer.concat([Buffer.from('Comment\0\0'), empty]));
  const hidden = chunk('iTXt', Buffer.concat([Buffer.from('Comment\0\x01\0\0\0'), empty]));
  for (const kind of [bomb, hidden]) {
    await expect(open(await pngWith(...Array.from({ length: 10 }, () => kind)))).rejects.toThrow(
      'The PNG contains more than 1048576 bytes of compressed text.',
    );
  }
  const textChunk = chunk('zTXt', Buffer.concat([Buffer.from('Comment\0\0'), deflateSync('a note')]));
  const long = chunk('iTXt', Buffer.concat([Buffer.from('XML:com.adobe.xmp\0\0\0\0\0'), Buffer.alloc(2_000_000, 65)]));
  const source = await open(await pngWith(textChunk, long));
  expect(source.metadata).toMatchObject({ sizeX: 20, sizeY: 10 });
  await source.close();
});

it('the source sharp refuses a PNG with many texts, because the library makes objects of all of them at once', async () => {
  const text = chunk('tEXt', Buffer.from('A\0B'));
  const texts = (count: number) => pngWith(...Array.from({ length: count }, () => text));
  await expect(open(await texts(10_001))).rejects.toThrow('The PNG contains more than 10000 texts.');
  await (await open(await texts(10_000))).close();
});

/** Each frame is drawn over the previous ones: the last of 900 took 25 s. */
it('the source sharp refuses an animation whose last frame would take minutes', async () => {
  const side = 1500;
  const single = await sharp({ create: { width: side, height: side, channels: 3, background: 'red' } })
    .gif()
    .toBuffer();
  const frame = single.subarray(single.indexOf(Buffer.from([0x21, 0xf9])), -1);
  const head = single.subarray(0, single.length - 1 - frame.length);
  const animation = (frames: number) =>
    Buffer.concat([head, ...Array.from({ length: frames }, () => frame), single.subarray(-1)]);
  await expect(open(animation(900))).rejects.toThrow(
    'The animation has 900 frames of 1500 x 1500 pixels; at most 1073741824 pixels are served in total.',
  );
  const source = await open(animation(3));
  expect(source.metadata.frames).toHaveLength(3);
  await source.close();
});

/** The tiles of its pyramid are empty except for two columns: 33 million pixels took a minute and a half. */
it('the source sharp refuses a picture of a few columns that would have many tiles', async () => {
  const picture = (height: number) =>
    sharp({ create: { width: 2, height, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
  await expect(open(await picture(3_000_000))).rejects.toThrow(
    '2 x 3000000 pixels, which would be 768016384 pixels in tiles; at most 536805378',
  );
  const source = await open(await picture(20_000));
  expect(source.metadata).toMatchObject({ sizeX: 2, sizeY: 20_000 });
  await source.close();
});
