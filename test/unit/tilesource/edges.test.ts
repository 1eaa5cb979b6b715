import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fileInput } from '../../../src/tilesource/byte-reader.js';
import type { TileSource, TileSourceDefinition } from '../../../src/tilesource/tile-source.js';
import { openLargeImage } from '../../../src/tilesource/large-image.js';
import type { RegionRequest } from '../../../src/tilesource/requests.js';
import { cziSource } from '../../../src/tilesource/sources/czi/czi-source.js';
import { deepZoomSource } from '../../../src/tilesource/sources/deepzoom/deepzoom-source.js';
import { dicomSource } from '../../../src/tilesource/sources/dicom/dicom-source.js';
import { jpeg2000Source } from '../../../src/tilesource/sources/jpeg2000/jpeg2000-source.js';
import { openSlideSource } from '../../../src/tilesource/sources/openslide/openslide-source.js';
import { SlideProcesses } from '../../../src/tilesource/sources/openslide/slide-processes.js';
import { scanlinesSource } from '../../../src/tilesource/sources/scanlines/scanlines-source.js';
import { sharpSource } from '../../../src/tilesource/sources/sharp/sharp-source.js';
import { tiffSource } from '../../../src/tilesource/sources/tiff/tiff-source.js';
import { zarrSource } from '../../../src/tilesource/sources/zarr/zarr-source.js';
import { writeCzi } from '../../support/writers/czi-writer.js';
import { writeDicom } from '../../support/writers/dicom-writer.js';
import { writeJpeg2000 } from '../../support/writers/jpeg2000-writer.js';
import { memoryInput } from '../../support/images/memory-input.js';
import { paint, rasterSource } from '../../support/images/raster-source.js';
import { writeZip } from '../../support/writers/zip-writer.js';
import { sampleOf } from '../../support/run/sample.js';

/** Odd sides that are not multiples of tile sides, so that coarser levels end with a fraction of a pixel. */
const width = 1111;
const height = 669;
/** Where the image turns from dark to bright, in pixels from its left and upper edge. */
const edge = { x: 751, y: 351 };
const [dark, bright] = [40, 220];

// Nothing changes the pictures, so all formats use the same two.
const verticalEdge = paint({ width, height, bands: 3 }, (x) => (x < edge.x ? dark : bright));
const horizontalEdge = paint({ width, height, bands: 3 }, (_x, y) => (y < edge.y ? dark : bright));

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'edges-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const openFile = (definition: TileSourceDefinition, name: string, bytes: Uint8Array): Promise<TileSource> =>
  definition.open(memoryInput(bytes, name), { temporaryDirectory: folder });

type Picture = ReturnType<typeof paint>;
const sharpOf = ({ data }: Picture) => sharp(data as Uint8Array, { raw: { width, height, channels: 3 } });
const tiled = { tile: true, tileWidth: 128, tileHeight: 128 } as const;

let slides = 0;
/** Whether OpenSlide can be used here. */
const openSlideIsThere = await new SlideProcesses().ask({ kind: 'open', path: join(tmpdir(), 'no such slide') }).then(
  () => true,
  ({ message }: Error) => message.includes('does not recognize the file'),
);
if (!openSlideIsThere) console.warn('skipped: the edges of slides that OpenSlide reads, which is not installed');

/** Frames of 128 by 128 pixels, row by row. */
function dicomOf({ data }: Picture): Buffer {
  const side = 128;
  const frames: Buffer[] = [];
  for (let top = 0; top < height; top += side) {
    for (let left = 0; left < width; left += side) {
      const frame = Buffer.alloc(side * side * 3);
      for (let y = 0; y < Math.min(side, height - top); y += 1) {
        const from = ((top + y) * width + left) * 3;
        frame.set((data as Uint8Array).subarray(from, from + Math.min(side, width - left) * 3), y * side * 3);
      }
      frames.push(frame);
    }
  }
  const form = { transferSyntax: '1.2.840.10008.1.2.1', photometric: 'RGB', samples: 3, bits: 8 };
  return writeDicom({ ...form, rows: side, columns: side, frames, matrix: { columns: width, rows: height } }).file;
}

/** One chunk of gray samples. */
function zarrOf({ data }: Picture): Buffer {
  const axes = ['y', 'x'].map((name) => ({ name, type: 'space' }));
  const scale = [{ type: 'scale', scale: [1, 1] }];
  const multiscales = [{ version: '0.4', axes, datasets: [{ path: '0', coordinateTransformations: scale }] }];
  const shape = { shape: [height, width], chunks: [height, width], dtype: '|u1', order: 'C', fill_value: 0 };
  return writeZip({
    '.zgroup': JSON.stringify({ zarr_format: 2 }),
    '.zattrs': JSON.stringify({ multiscales }),
    '0/.zarray': JSON.stringify({ zarr_format: 2, ...shape, compressor: null, filters: null, dimension_separator: '/' }),
    '0/0/0': Uint8Array.from({ length: width * height }, (_, at) => data[at * 3]!),
  }).file;
}

/** A code stream without loss, whose reductions are those of its wavelet. */
function jpeg2000Of({ data }: Picture): Promise<Buffer> {
  const gray = Uint8Array.from({ length: width * height }, (_, at) => data[at * 3]!);
  return writeJpeg2000({ data: gray, width, height, components: 1 });
}

/** The same image in every format. */
const sources: Record<string, (picture: Picture) => Promise<TileSource>> = {
  'a source of one level': async (picture) => rasterSource(picture, { tileWidth: 128, tileHeight: 128 }).source,
  'a tiled TIFF of one level': async (picture) =>
    openFile(
      tiffSource,
      'flat.tiff',
      await sharpOf(picture)
        .tiff({ ...tiled, compression: 'lzw' })
        .toBuffer(),
    ),
  'a pyramid of JPEG tiles': async (picture) =>
    openFile(
      tiffSource,
      'pyramid.tiff',
      await sharpOf(picture)
        .tiff({ ...tiled, pyramid: true, compression: 'jpeg', quality: 100 })
        .toBuffer(),
    ),
  'a TIFF of strips': async (picture) =>
    openFile(tiffSource, 'strips.tiff', await sharpOf(picture).tiff({ compression: 'lzw' }).toBuffer()),
  PNG: async (picture) => openFile(sharpSource, 'picture.png', await sharpOf(picture).png({ compressionLevel: 1 }).toBuffer()),
  DICOM: async (picture) => openFile(dicomSource, 'slide.dcm', dicomOf(picture)),
  CZI: async ({ data }) => {
    const block = {
      axes: { C: 0, M: 0 },
      left: 0,
      top: 0,
      storedWidth: width,
      storedHeight: height,
      pixelType: 3,
      compression: 0,
    };
    return openFile(cziSource, 'slide.czi', writeCzi({ blocks: [{ ...block, data: data as Uint8Array }] }).file);
  },
  'OME-Zarr': async (picture) => openFile(zarrSource, 'image.zarr.zip', zarrOf(picture)),
  'JPEG 2000, with its reductions': async (picture) => openFile(jpeg2000Source, 'picture.j2k', await jpeg2000Of(picture)),
  'Deep Zoom': async (picture) =>
    openFile(
      deepZoomSource,
      'picture.zip',
      await sharpOf(picture)
        .png({ compressionLevel: 1 })
        .tile({ size: 128, overlap: 1, layout: 'dz', container: 'zip', basename: 'picture' })
        .toBuffer(),
    ),
  ...(openSlideIsThere && {
    'a pyramid that OpenSlide reads': async (picture: Picture) => {
      const path = join(folder, `slide-${(slides += 1)}.tiff`);
      await sharpOf(picture)
        .tiff({ ...tiled, pyramid: true, compression: 'lzw' })
        .toFile(path);
      return openSlideSource.open(fileInput(path), { temporaryDirectory: folder });
    },
  }),
  Netpbm: async (picture) =>
    openFile(
      scanlinesSource,
      'picture.ppm',
      Buffer.concat([Buffer.from(`P6\n${width} ${height}\n255\n`), picture.data as Uint8Array]),
    ),
};

/** Where a line through the picture turns from dark to bright, in pixels from the start of the line. */
async function edgePosition(bytes: Uint8Array, axis: 'x' | 'y'): Promise<number> {
  const { data, info } = await sharp(bytes).greyscale().raw().toBuffer({ resolveWithObject: true });
  const length = axis === 'x' ? info.width : info.height;
  const at = (position: number) =>
    axis === 'x'
      ? data[(Math.floor(info.height / 8) * info.width + position) * info.channels]!
      : data[(position * info.width + Math.floor(info.width / 8)) * info.channels]!;
  // The area under a step gives its position to a fraction of a pixel, even if kernels overshoot.
  let sum = 0;
  for (let position = 0; position < length; position += 1) sum += (bright - at(position)) / (bright - dark);
  return sum;
}

/** Regions, with what part of the image they show. */
const regions: [name: string, RegionRequest][] = [
  ['all, at a sixth', { width: 185 }],
  ['all, at about an eighth', { width: 138 }],
  ['all, at about a seventh', { width: 159 }],
  ['a part at odd places, at a third', { left: 351, top: 151, regionWidth: 601, regionHeight: 451, width: 200 }],
  ['a part at odd places, at a quarter', { left: 603, top: 251, regionWidth: 300, regionHeight: 200, width: 75 }],
  ['a part, a little smaller', { left: 651, top: 303, regionWidth: 201, regionHeight: 149, width: 190 }],
  ['a part as it is', { left: 651, top: 303, regionWidth: 201, regionHeight: 149 }],
  ['a part, three times as large', { left: 701, top: 303, regionWidth: 101, regionHeight: 99, width: 303 }],
  ['a part, eight times as large', { left: 735, top: 333, regionWidth: 30, regionHeight: 30, width: 240 }],
  ['the right edge, at an eighth', { left: 693, top: 101, right: 1111, bottom: 669, width: 52 }],
];
const requests = regions.flatMap(([region, request]) => [1, 2, 3].map((resample) => [region, request, resample] as const));

describe.each(Object.keys(sources))('edges of %s', (name) => {
  it.each([
    ['x', verticalEdge],
    ['y', horizontalEdge],
  ] as const)('are at the right position along %s, at every size and scale', async (axis, drawing) => {
    const source = await sources[name]!(drawing);
    const image = openLargeImage(source, { temporaryDirectory: folder });
    const wrong: string[] = [];
    try {
      for (const [region, request, resample] of sampleOf(requests, 3)) {
        const picture = await image.region({ ...request, resample, encoding: 'PNG' });
        if (picture.kind !== 'bytes') throw new Error('expected bytes');
        const size = await sharp(picture.bytes).metadata();
        const { left = 0, top = 0, regionWidth = width - left, regionHeight = height - top } = request;
        const expected =
          axis === 'x' ? ((edge.x - left) * size.width) / regionWidth : ((edge.y - top) * size.height) / regionHeight;
        const off = (await edgePosition(picture.bytes, axis)) - expected;
        if (Math.abs(off) > 0.05) wrong.push(`${region}, resample ${resample}: ${off.toFixed(3)}`);
      }
    } finally {
      await source.close();
    }
    expect(wrong).toEqual([]);
  });
});

describe('edges elsewhere', () => {
  it('are in the right place in tiles of every level, Deep Zoom tiles and streamed pyramids', async () => {
    const image = openLargeImage(rasterSource(verticalEdge, { tileWidth: 128, tileHeight: 128 }).source, {
      temporaryDirectory: folder,
    });
    const { levels } = image.metadata();
    for (let z = 0; z < levels; z += 1) {
      const scale = 2 ** (levels - 1 - z);
      const x = Math.floor(edge.x / scale / 128);
      const tile = await image.tile({ level: z, x, y: 0, encoding: 'PNG', edge: 'crop' });
      expect(Math.abs((await edgePosition(tile.bytes, 'x')) - (edge.x / scale - x * 128)), `level ${z}`).toBeLessThan(0.05);
    }
    for (const dzi of [8, 9, 10, 11]) {
      const factor = 2 ** (11 - dzi);
      const x = Math.floor(edge.x / factor / 128);
      const tile = await image.dziTile({ level: dzi, name: `${x}_0.png`, tilesize: 128 });
      expect(Math.abs((await edgePosition(tile.bytes, 'x')) - (edge.x / factor - x * 128)), `level ${dzi}`).toBeLessThan(0.05);
    }
    // The last column of tiles ends with a part of a pixel.
    const right = paint({ width, height, bands: 3 }, (x) => (x < 1051 ? dark : bright));
    const last = await openLargeImage(rasterSource(right, { tileWidth: 128, tileHeight: 128 }).source).dziTile({
      level: 8,
      name: '1_0.png',
      tilesize: 128,
    });
    expect(Math.abs((await edgePosition(last.bytes, 'x')) - (1051 / 8 - 128))).toBeLessThan(0.05);
    const streamed = await image.region({ width: 749, encoding: 'TILED', tiffCompression: 'none' });
    if (streamed.kind !== 'stream') throw new Error('expected a stream');
    const chunks: Buffer[] = [];
    for await (const chunk of streamed.stream) chunks.push(chunk as Buffer);
    expect(Math.abs((await edgePosition(Buffer.concat(chunks), 'x')) - (edge.x * 749) / width)).toBeLessThan(0.05);
  });

  it('a region whose pixels are picked contains only values of the image', async () => {
    const labels = paint({ width: 1200, height: 900, bands: 1 }, (x, y) => [1, 90, 200, 250][(x + 3 * y) % 4]!);
    const image = openLargeImage(rasterSource(labels).source);
    for (const size of [{ width: 101 }, { width: 1000 }, { width: 40, left: 13 }, { left: 3, right: 103, width: 777 }]) {
      const picture = await image.region({ ...size, resample: 0, encoding: 'PNG' });
      if (picture.kind !== 'bytes') throw new Error('expected bytes');
      const { data, info } = await sharp(picture.bytes).raw().toBuffer({ resolveWithObject: true });
      const values = new Set(data.filter((_, at) => at % info.channels === 0));
      expect([...values].filter((value) => ![1, 90, 200, 250].includes(value))).toEqual([]);
    }
  });
});
