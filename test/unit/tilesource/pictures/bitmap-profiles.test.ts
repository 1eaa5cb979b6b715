import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { openLargeImage } from '../../../../src/tilesource/large-image.js';
import { icoSource } from '../../../../src/tilesource/sources/pictures/ico-source.js';
import { scanlinesSource } from '../../../../src/tilesource/sources/scanlines/scanlines-source.js';
import { sharpSource } from '../../../../src/tilesource/sources/sharp/sharp-source.js';
import type { EncodedPicture } from '../../../../src/tilesource/requests.js';
import type { TileSourceDefinition } from '../../../../src/tilesource/tile-source.js';
import { memoryInput } from '../../../support/images/memory-input.js';

const side = 8;
const color = { r: 40, g: 200, b: 90 };
const png = await sharp({ create: { width: side, height: side, channels: 3, background: color } })
  .withIccProfile('p3')
  .png()
  .toBuffer();
const { icc } = await sharp(png).metadata();
const { data: stored } = await sharp(png).keepIccProfile().raw().toBuffer({ resolveWithObject: true });

/** A bitmap of 32 bits with a header of version 5: header, pixels, the mask, then the profile. */
function bitmap({ mask, profile, place }: { mask: Buffer; profile: Buffer; place?: number }): Buffer {
  const header = Buffer.alloc(124);
  header.writeUInt32LE(124, 0);
  header.writeInt32LE(side, 4);
  header.writeInt32LE(side * (mask.length > 0 ? 2 : 1), 8);
  header.writeUInt16LE(1, 12);
  header.writeUInt16LE(32, 14);
  header.write('DEBM', 56, 'latin1');
  const pixel = [stored[2]!, stored[1]!, stored[0]!, 255];
  const pixels = Buffer.from(Array.from({ length: side * side }, () => pixel).flat());
  header.writeUInt32LE(place ?? 124 + pixels.length + mask.length, 112);
  header.writeUInt32LE(profile.length, 116);
  return Buffer.concat([header, pixels, mask, profile]);
}

function bmp(profile: Buffer, place?: number): Buffer {
  const picture = bitmap({ mask: Buffer.alloc(0), profile, ...(place !== undefined && { place }) });
  const head = Buffer.alloc(14);
  head.write('BM', 'latin1');
  head.writeUInt32LE(14 + picture.length, 2);
  head.writeUInt32LE(14 + 124, 10);
  return Buffer.concat([head, picture]);
}

function ico(profile: Buffer): Buffer {
  const picture = bitmap({ mask: Buffer.alloc(side * 4), profile });
  const head = Buffer.alloc(22);
  head.set([0, 0, 1, 0, 1, 0, side, side]);
  head.writeUInt16LE(1, 10);
  head.writeUInt16LE(32, 12);
  head.writeUInt32LE(picture.length, 14);
  head.writeUInt32LE(22, 18);
  return Buffer.concat([head, picture]);
}

async function shown(definition: TileSourceDefinition, file: Buffer, name: string): Promise<number[]> {
  const source = await definition.open(memoryInput(file, name));
  const { bytes } = (await openLargeImage(source, { icc: true }).region({ encoding: 'PNG' })) as EncodedPicture;
  await source.close();
  return [...(await sharp(bytes).raw().toBuffer())].slice(0, 3);
}

describe('colors of a bitmap with a profile', () => {
  it('are those of a PNG with the same profile', async () => {
    const right = await shown(sharpSource, png, 'a.png');
    expect(right).not.toEqual([...stored.subarray(0, 3)]);
    for (const [definition, file, name] of [
      [scanlinesSource, bmp(icc!), 'a.bmp'],
      [icoSource, ico(icc!), 'a.ico'],
    ] as const) {
      for (const [at, sample] of (await shown(definition, file, name)).entries()) {
        expect(Math.abs(sample - right[at]!), name).toBeLessThanOrEqual(1);
      }
    }
  });

  it('are those of the file where the profile is damaged or outside the file', async () => {
    const damaged = Buffer.from(icc!).fill(0, 16, 20);
    for (const file of [bmp(damaged), bmp(icc!, 1_000_000)]) {
      expect(await shown(scanlinesSource, file, 'a.bmp')).toEqual([...stored.subarray(0, 3)]);
    }
    expect(await shown(icoSource, ico(damaged), 'a.ico')).toEqual([...stored.subarray(0, 3)]);
  });
});
