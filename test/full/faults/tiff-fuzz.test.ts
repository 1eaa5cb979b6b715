import sharp, { type Sharp } from 'sharp';
import { expect, it } from 'vitest';
import { tiffSource } from '../../../src/tilesource/sources/tiff/tiff-source.js';
import { fuzz, type FuzzKind } from '../../support/images/fuzz.js';
import { pattern } from '../../support/images/pattern.js';
import { grayTags, writeTiff, type TagValue, type WrittenDirectory } from '../../support/writers/tiff-writer.js';

const filesPerKind = 450;

const picture = (): Sharp => sharp(pattern(300, 200, 3), { raw: { width: 300, height: 200, channels: 3 } });
const grayPlane = (fill: number): WrittenDirectory => ({
  tags: grayTags(64, 64, 32),
  chunks: Array.from({ length: 4 }, () => Buffer.alloc(32 * 32, fill)),
});

function omeFile(): Buffer {
  const xml =
    '<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0"><Pixels ID="Pixels:0" ' +
    'DimensionOrder="XYCZT" SizeX="64" SizeY="64" SizeC="2" SizeZ="2" SizeT="1" Type="uint8" PhysicalSizeX="0.5" PhysicalSizeY="0.5">' +
    '<Channel ID="Channel:0" Name="DAPI"/><Channel ID="Channel:1" Name="FITC"/><TiffData/></Pixels></Image></OME>';
  const planes = [10, 20, 30, 40].map(grayPlane);
  const sub = { tags: grayTags(32, 32, 32), chunks: [Buffer.alloc(1024, 7)] };
  return writeTiff(
    planes.map((plane, index) => {
      const described: Record<number, TagValue> = index === 0 ? { ...plane.tags, 270: { ascii: xml } } : plane.tags;
      return { ...plane, sub: [sub], tags: described };
    }),
  );
}

function svsLike(): Buffer {
  const description = 'Aperio Image Library v11.2.1 \r\n64x64 (32x32)|AppMag = 20|MPP = 0.4990';
  const strip = (text: string): WrittenDirectory => ({
    tags: {
      256: { long: [16] },
      257: { long: [16] },
      258: { short: [8] },
      259: { short: [1] },
      262: { short: [1] },
      277: { short: [1] },
      278: { long: [8] },
      270: { ascii: text },
    },
    chunks: [Buffer.alloc(128, 1), Buffer.alloc(128, 2)],
  });
  const base = grayPlane(99);
  return writeTiff([
    { ...base, tags: { ...base.tags, 270: { ascii: description } } },
    strip('Aperio Image Library v11.2.1 \r\n64x64 -> 16x16'),
    strip('Aperio Image Library v11.2.1 \r\nlabel 16x16'),
    strip('Aperio Image Library v11.2.1 \r\nmacro 16x16'),
  ]);
}

async function kinds(): Promise<Map<string, Buffer>> {
  const tile = { tile: true, tileWidth: 64, tileHeight: 64 };
  return new Map([
    [
      'tiled jpeg pyramid',
      await picture()
        .tiff({ ...tile, pyramid: true, compression: 'jpeg' })
        .toBuffer(),
    ],
    [
      'tiled lzw',
      await picture()
        .tiff({ ...tile, compression: 'lzw', predictor: 'horizontal' })
        .toBuffer(),
    ],
    [
      'bigtiff deflate',
      await picture()
        .tiff({ ...tile, pyramid: true, compression: 'deflate', bigtiff: true })
        .toBuffer(),
    ],
    ['ome multi-frame', omeFile()],
    ['svs-like', svsLike()],
  ]);
}

/** The position of the first directory of a file. */
function firstDirectory(file: Buffer): number {
  return file.readUInt16LE(2) === 43 ? Number(file.readBigUInt64LE(8)) : file.readUInt32LE(4);
}

it('the source tiff answers thousands of mutated files with clear errors only: no crash, hang, stray read, leak or unbounded memory', async () => {
  const mutated = new Map<string, FuzzKind>();
  for (const [kind, file] of await kinds()) {
    mutated.set(kind, { file, name: 'memory.tif', near: [{ offset: firstDirectory(file), length: 300 }] });
  }
  const { files, readable } = await fuzz(tiffSource, mutated, { count: filesPerKind });
  expect(files).toBeGreaterThanOrEqual(500);
  // If no mutated file got past the header, nothing would be tested.
  expect(readable).toBeGreaterThan(files / 10);
});
