import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { MissingPartsError, TileSourceError } from '../../../../src/errors.js';
import type { TileSource, TileSourceDefinition } from '../../../../src/tilesource/tile-source.js';
import { wireMetadata } from '../../../../src/tilesource/metadata.js';
import type { Raster } from '../../../../src/tilesource/raster.js';
import { TileSourceRegistry } from '../../../../src/tilesource/registry/registry.js';
import { multiSource } from '../../../../src/tilesource/sources/multi/multi-source.js';
import { sharpSource } from '../../../../src/tilesource/sources/sharp/sharp-source.js';
import { tiffSource } from '../../../../src/tilesource/sources/tiff/tiff-source.js';
import { fuzz } from '../../../support/images/fuzz.js';
import { memoryFolder, type MemoryFolder } from '../../../support/images/folder-input.js';

const registry = new TileSourceRegistry().register(sharpSource, tiffSource, multiSource);

type Sample = (x: number, y: number, band: number) => number;

/** A PNG whose samples are computed by a function. */
async function png(width: number, height: number, channels: 1 | 3 | 4, sample: Sample): Promise<Uint8Array> {
  const data = new Uint8Array(width * height * channels);
  for (let i = 0; i < data.length; i++) {
    const pixel = Math.floor(i / channels);
    data[i] = sample(pixel % width, Math.floor(pixel / width), i % channels);
  }
  const picture = sharp(data, { raw: { width, height, channels } }).toColourspace(channels === 1 ? 'b-w' : 'srgb');
  return new Uint8Array(await picture.png().toBuffer());
}

/** Colors that identify the position of a pixel. */
const slope: Sample = (x, y, band) => [x * 3, y * 3, 40][band] ?? 255;
const shade =
  (value: number): Sample =>
  () =>
    value;

async function folderOf(description: unknown, further: Record<string, Uint8Array> = {}): Promise<MemoryFolder> {
  const text = typeof description === 'string' ? description : JSON.stringify(description);
  const files = {
    'a.png': await png(80, 60, 3, slope),
    'b.png': await png(80, 60, 3, shade(200)),
    'gray.png': await png(80, 60, 1, shade(90)),
    'clear.png': await png(80, 60, 4, (x, _y, band) => (band === 3 ? (x < 40 ? 0 : 255) : 100)),
  };
  return memoryFolder({ 'multi.yaml': Buffer.from(text), ...files, ...further }, registry);
}

/** Opens a description, with large tiles by default. */
async function open(description: unknown, further?: Record<string, Uint8Array>): Promise<TileSource> {
  const usual = typeof description === 'string' ? description : { tileWidth: 512, tileHeight: 512, ...(description as object) };
  const folder = await folderOf(usual, further);
  return multiSource.open(folder.input('multi.yaml'));
}

/** The samples of a whole frame at full resolution. */
async function wholeFrame(source: TileSource, frame = 0): Promise<Raster> {
  const { sizeX, sizeY, tileWidth, tileHeight, levels } = source.metadata;
  expect(sizeX <= tileWidth && sizeY <= tileHeight, 'one tile').toBe(true);
  return source.readTile({ level: levels - 1, x: 0, y: 0, frame });
}

const pixel = ({ data, width, bands }: Raster, x: number, y: number): number[] =>
  Array.from(data.subarray((y * width + x) * bands, (y * width + x + 1) * bands));

async function refusal(description: unknown, further?: Record<string, Uint8Array>): Promise<Error> {
  return open(description, further).then(
    () => new Error('opened'),
    (error: unknown) => error as Error,
  );
}

describe('an image that combines others', () => {
  it('has a frame for each position on its axes, with channels changing fastest', async () => {
    const source = await open(`
      # A comment first.
      tileWidth: 256
      tileHeight: 256
      channels: [red, green]
      sources:
        - {path: a.png, z: 0, c: 0}
        - {path: b.png, z: 0, c: 1}
        - {path: ./b.png, z: 1, c: 0}
        - {path: a.png, z: 1, c: 1}
    `);
    expect(wireMetadata(source.metadata)).toMatchObject({
      sizeX: 80,
      sizeY: 60,
      channels: ['red', 'green'],
      IndexRange: { IndexC: 2, IndexZ: 2 },
      IndexStride: { IndexC: 1, IndexZ: 2 },
      frames: [
        { Frame: 0, IndexC: 0, IndexZ: 0, Channel: 'red' },
        { Frame: 1, IndexC: 1, IndexZ: 0, Channel: 'green' },
        { Frame: 2, IndexC: 0, IndexZ: 1, Channel: 'red' },
        { Frame: 3, IndexC: 1, IndexZ: 1, Channel: 'green' },
      ],
    });
    expect(pixel(await wholeFrame(source, 3), 20, 10)).toEqual([60, 30, 40]);
    expect(pixel(await wholeFrame(source, 1), 20, 10)).toEqual([200, 200, 200]);
  });

  it.each([
    ['sources one after another, by default', [{ path: 'a.png' }, { path: 'b.png' }], { IndexZ: 2 }],
    ['values of an axis', [{ path: 'a.png', tValues: [2] }], { IndexT: 3 }],
    ['an axis that is set', [{ path: 'a.png', xySet: 1, z: 0 }], { IndexXY: 2 }],
    [
      'channels by their names',
      [
        { path: 'a.png', channel: 'DAPI', z: 0 },
        { path: 'b.png', channel: 'CY5', z: 0 },
      ],
      { IndexC: 2 },
    ],
    ['files that match a pattern, by steps', [{ path: '.', pathPattern: '^[ab]\\.png$', tStep: 2 }], { IndexT: 3 }],
    ['custom axes', [{ path: 'a.png', i: 3 }], { IndexI: 4 }],
  ])('counts %s', async (_what, sources, IndexRange) => {
    const source = await open({ axes: ['i'], sources });
    expect(wireMetadata(source.metadata).IndexRange).toEqual(IndexRange);
  });

  it('takes positions and names from the names of files', async () => {
    const pictures = Object.fromEntries(
      await Promise.all([2, 1, 3].map(async (n) => [`plane_DAPI_${n}.png`, await png(70, 64, 1, shade(n * 20))])),
    ) as Record<string, Uint8Array>;
    const source = await open(
      { sources: [{ path: '.', pathPattern: 'plane_(?P<channel>[A-Z]+)_(?P<z1>[0-9]+)\\.png' }] },
      pictures,
    );
    expect(source.metadata).toMatchObject({ sizeX: 70, channels: ['DAPI'], bandCount: 1 });
    expect(source.metadata.frames).toHaveLength(3);
    expect(pixel(await wholeFrame(source, 2), 5, 5)).toEqual([60]);
  });

  it('places sources on the background, later ones over earlier ones', async () => {
    const source = await open({
      width: 150,
      height: 100,
      tileWidth: 256,
      tileHeight: 256,
      backgroundColor: [1, 2, 3],
      sources: [
        { path: 'a.png', z: 0, position: { x: 10, y: 5 } },
        { path: 'b.png', z: 0, position: { x: 50, y: 30, crop: { left: 10, top: 10, right: 30, bottom: 20 } } },
      ],
    });
    const raster = await wholeFrame(source);
    expect(raster).toMatchObject({ width: 150, height: 100, bands: 3 });
    expect(pixel(raster, 9, 5)).toEqual([1, 2, 3]);
    expect(pixel(raster, 10, 5)).toEqual([0, 0, 40]);
    expect(pixel(raster, 59, 39)).toEqual([49 * 3, 34 * 3, 40]);
    expect(pixel(raster, 60, 40)).toEqual([200, 200, 200]);
    expect(pixel(raster, 79, 49)).toEqual([200, 200, 200]);
    expect(pixel(raster, 80, 50)).toEqual([70 * 3, 45 * 3, 40]);
    expect(pixel(raster, 140, 90)).toEqual([1, 2, 3]);
  });

  it('scales and rotates sources to the calculated positions', async () => {
    const half: Sample = (x) => (x < 40 ? 0 : 250);
    const edges = { 'edge.png': await png(80, 60, 1, half) };
    const row = async (position: object): Promise<number[]> => {
      const source = await open({ width: 240, height: 240, tileWidth: 256, sources: [{ path: 'edge.png', position }] }, edges);
      const { data, width } = await wholeFrame(source);
      return Array.from(data.subarray(30 * width, 31 * width));
    };
    const edgeOf = (samples: number[], end: number): number =>
      end - samples.slice(0, end).reduce((sum, value) => sum + value, 0) / 250;
    expect(edgeOf(await row({ scale: 2 }), 160)).toBeCloseTo(80, 1);
    expect(edgeOf(await row({ scale: 0.7, y: 0 }), 56)).toBeCloseTo(28, 1);
    expect(edgeOf(await row({ scale: 1, x: 0.4 }), 80)).toBeCloseTo(40.4, 1);
    expect(edgeOf(await row({ s11: 1.5, s22: 3 }), 120)).toBeCloseTo(60, 1);
    // A quarter turn: what was below is to the left, x = 60 - y.
    const turned = await open(
      { width: 60, height: 80, sources: [{ path: 'a.png', position: { s11: 0, s12: -1, s21: 1, s22: 0, x: 60 } }] },
      edges,
    );
    expect(pixel(await wholeFrame(turned), 59 - 20, 33)).toEqual([33 * 3, 20 * 3, 40]);
  });

  it('warps sources so that landmarks reach their positions', async () => {
    const marks = {
      src: [
        [10, 10],
        [70, 10],
        [10, 50],
        [70, 50],
        [40, 30],
      ],
      dst: [
        [10, 10],
        [70, 10],
        [10, 50],
        [70, 50],
        [48, 30],
      ],
    };
    const bent = await open({ width: 80, height: 60, sources: [{ path: 'a.png', position: { warp: marks } }] });
    const [red] = pixel(await wholeFrame(bent), 48, 30);
    expect(Math.abs(red! - 40 * 3)).toBeLessThanOrEqual(6);
    const moved = { src: { nose: [5, 5] }, dst: { nose: [15, 25] } };
    const shifted = await open({ width: 100, height: 100, sources: [{ path: 'a.png', position: { warp: moved } }] });
    expect(pixel(await wholeFrame(shifted), 30, 45)).toEqual([60, 75, 40]);
  });

  it('shows gray next to colors, and content behind transparent areas', async () => {
    const source = await open({
      sources: [
        { path: 'b.png', z: 0 },
        { path: 'gray.png', z: 0, position: { x: 60 } },
        { path: 'clear.png', z: 0, position: { x: 0 } },
      ],
    });
    const raster = await wholeFrame(source);
    expect(raster.bands).toBe(4);
    expect(pixel(raster, 10, 10)).toEqual([200, 200, 200, 255]);
    expect(pixel(raster, 50, 10)).toEqual([100, 100, 100, 255]);
    expect(pixel(raster, 100, 10)).toEqual([90, 90, 90, 255]);
  });

  it('changes samples as described', async () => {
    const scaled = await open({ dtype: 'uint16', sources: [{ path: 'gray.png', sampleOffset: 10, sampleScale: 0.5 }] });
    expect(scaled.metadata.dtype).toBe('uint16');
    expect(pixel(await wholeFrame(scaled), 3, 3)).toEqual([200]);
    const wider = await open({ dtype: 'uint16', sources: [{ path: 'gray.png' }] });
    expect(pixel(await wholeFrame(wider), 3, 3)).toEqual([90 * 257]);
    const single = await open({ singleBand: true, sources: [{ path: 'a.png' }] });
    expect(single.metadata.bandCount).toBe(1);
    expect(pixel(await wholeFrame(single), 20, 10)).toEqual([60]);
    const styled = await open({ sources: [{ path: 'gray.png', style: { min: 0, max: 255, palette: '#f00' } }] });
    expect(pixel(await wholeFrame(styled), 3, 3)).toEqual([90, 0, 0]);
  });

  it('makes coarser tiles from coarser tiles of its sources, and opens only those that a tile shows', async () => {
    const many = Array.from({ length: 16 }, (_, i) => ({
      path: i % 2 === 0 ? 'a.png' : 'b.png',
      z: 0,
      position: { x: (i % 4) * 80, y: Math.floor(i / 4) * 60 },
    }));
    const folder = await folderOf({ tileWidth: 80, tileHeight: 64, sources: many });
    const source = await multiSource.open(folder.input('multi.yaml'));
    expect(source.metadata).toMatchObject({ sizeX: 320, sizeY: 240, levels: 3 });
    folder.opened.clear();
    const tile = await source.readTile({ level: 2, x: 1, y: 0, frame: 0 });
    expect(pixel(tile, 10, 10)).toEqual([200, 200, 200]);
    expect([...folder.opened.keys()]).toEqual(['b.png']);
    const small = await source.readTile({ level: 0, x: 0, y: 0, frame: 0 });
    expect(small).toMatchObject({ width: 80, height: 60 });
    expect(pixel(small, 30, 7)).toEqual([200, 200, 200]);
    expect(pixel(small, 10, 7).map((value) => Math.abs(value - 120) < 20)).toEqual([true, false, false]);
  });

  it.each([
    ['on pixels of coarser levels', 0, 402],
    ['between them', 10, 400],
    ['where little of a pixel is left', 0, 401],
  ])('covers the last pixels of coarser levels, which show only in part: %s', async (_name, x, width) => {
    const white = await png(width, 60, 3, shade(255));
    const description = { tileWidth: 64, tileHeight: 64, sources: [{ path: 'white.png', z: 0, position: { x, y: 0 } }] };
    const source = await open(description, { 'white.png': white });
    const { levels, sizeX } = source.metadata;
    expect(sizeX).toBe(x + width);
    for (let level = 0; level < levels; level++) {
      const column = Math.ceil((Math.ceil(sizeX / 2 ** (levels - 1 - level)) - 64) / 64);
      const tile = await source.readTile({ level, x: Math.max(0, column), y: 0, frame: 0 });
      expect(pixel(tile, tile.width - 1, 3), `level ${level}`).toEqual([255, 255, 255]);
    }
  });

  it('sends stored tiles on unchanged if they are whole', async () => {
    const jpeg = await sharp({ create: { width: 256, height: 256, channels: 3, background: 'red' } })
      .jpeg()
      .toBuffer();
    const tiff = await sharp({ create: { width: 512, height: 512, channels: 3, background: '#456' } })
      .tiff({ tile: true, tileWidth: 256, tileHeight: 256, compression: 'jpeg', pyramid: true })
      .toBuffer();
    const source = await open(
      { sources: [{ path: 't.tif' }, { path: 't.tif', position: { x: 1 } }], tileWidth: 256, tileHeight: 256 },
      { 't.tif': tiff, 'j.jpg': jpeg },
    );
    const address = { level: 1, x: 0, y: 0 };
    expect((await source.readStoredTile?.({ ...address, frame: 0 }))?.encoding).toBe('JPEG');
    expect(await source.readStoredTile?.({ ...address, frame: 1 })).toBeNull();
  });

  it('can contain images that combine others', async () => {
    const inner = Buffer.from('sources: [{path: a.png, z: 0}, {path: b.png, z: 1}]');
    const source = await open({ sources: [{ path: 'inner.yml', t: 1 }] }, { 'inner.yml': inner });
    expect(wireMetadata(source.metadata).IndexRange).toEqual({ IndexZ: 2, IndexT: 2 });
    expect(pixel(await wholeFrame(source, 3), 5, 5)).toEqual([200, 200, 200]);
    expect(pixel(await wholeFrame(source, 0), 5, 5)).toEqual([0, 0, 0]);
  });
});

describe('an invalid description', () => {
  const describing = (entry: object) => ({ sources: [{ path: 'a.png', ...entry }] });
  it.each([
    ['text that is not a description', '<svg>sources</svg>', /no "sources"/],
    ['other JSON', { type: 'FeatureCollection', features: [] }, /no "sources"/],
    ['broken YAML', 'sources: [\n - {', /not valid YAML.*line/],
    ['no sources', { sources: [] }, /sources must NOT have fewer than 1/],
    ['an unknown member', { ...describing({}), colour: 'red' }, /additional properties \(colour\)/],
    ['/etc/passwd', describing({ path: '/etc/passwd' }), /"\/etc\/passwd" is not allowed/],
    ['a path that leaves the folder', describing({ path: 'x/../../a.png' }), /is not allowed/],
    ['a base that leaves the folder', { ...describing({}), basePath: '..' }, /is not allowed/],
    ['an address', describing({ path: 'http://127.0.0.1/a.png' }), /is not allowed/],
    ['an item by its id', describing({ path: 'girder://0123456789abcdef01234567' }), /is not allowed/],
    ['a drive', describing({ path: 'C:\\a.png' }), /is not allowed/],
    ['a missing file', describing({ path: 'none.png' }), /are missing: none\.png/],
    ['a pattern that nothing matches', describing({ path: '.', pathPattern: 'zzz' }), /matches the pathPattern/],
    ['an invalid pattern', describing({ path: '.', pathPattern: '(' }), /pathPattern "\(" cannot be used/],
    ['a pattern in a folder above', describing({ path: '../', pathPattern: '.' }), /is not allowed/],
    ['itself', describing({ path: 'multi.yaml' }), /multi\.yaml contains itself/],
    ['a matrix without inverse', describing({ position: { s11: 0, s22: 0 } }), /no inverse/],
    ['a scale that is not a number', 'sources: [{path: a.png, position: {scale: .nan}}]', /sources\.0\.position\.scale must be/],
    ['a position that is too far', describing({ position: { x: 1e10 } }), /must be <= 1000000000/],
    ['too many frames', { sources: [{ path: 'a.png', z: 9999, t: 9999 }] }, /100000000 frames; at most 100000/],
    ['a frame that is too far', describing({ frame: 1e9 }), /must be <= 100000/],
    ['too many sources', { sources: Array.from({ length: 10_001 }, () => ({ path: 'a.png' })) }, /more than 10000 items/],
    [
      'warps on one line',
      describing({
        position: {
          warp: {
            src: [
              [0, 0],
              [1, 1],
              [2, 2],
            ],
            dst: [
              [0, 0],
              [1, 1],
              [2, 2],
            ],
          },
        },
      }),
      /on one line/,
    ],
    ['warps with different numbers of points', describing({ position: { warp: { src: [[0, 0]], dst: [] } } }), /same number/],
    ['parameters of sources', describing({ params: { maxLevel: 3 } }), /params must NOT have more than 0/],
    ['a file that is not an image', describing({ path: 'bad.png' }), /Of the 1 sources of the image, 1 cannot be read: bad\.png/],
    ['an image without pixels', describing({ position: { x: -100 } }), /which is impossible/],
  ])('is refused for %s', async (_what, description, message) => {
    const error = await refusal(description, { 'bad.png': Buffer.from('no picture') });
    expect(error).toBeInstanceOf(TileSourceError);
    expect(error.message).toMatch(message);
  });

  it('names all files that are missing', async () => {
    const sources = Array.from({ length: 30 }, (_, i) => ({ path: `${i}.png` }));
    const error = (await refusal({ sources })) as MissingPartsError;
    expect(error).toBeInstanceOf(MissingPartsError);
    expect(error.missing).toHaveLength(30);
    expect(error.message).toMatch(/0\.png, 1\.png, .* and 10 more\.$/);
  });

  it('is refused when two contain each other', async () => {
    const error = await refusal(
      { sources: [{ path: 'other.json' }] },
      { 'other.json': Buffer.from(JSON.stringify({ sources: [{ path: 'multi.yaml' }] })) },
    );
    expect(error.message).toMatch(/multi\.yaml contains itself/);
  });

  it('is refused when its aliases expand too far, and when it is too long', async () => {
    const bomb = `a: &a [${'x,'.repeat(90)}]\n${Array.from({ length: 8 }, (_, i) => {
      const [name, former] = [String.fromCodePoint(98 + i), String.fromCodePoint(97 + i)];
      return `${name}: &${name} [${`*${former},`.repeat(90)}]`;
    }).join('\n')}\nsources: *i`;
    expect((await refusal(bomb)).message).toMatch(/aliases expand to too much/);
    expect((await refusal(`sources: []\n#${'x'.repeat(2 ** 20)}`)).message).toMatch(/may have at most 1048576 bytes/);
  });
});

it('opens a description that is broken in any way, or refuses it with a clear error', async () => {
  const description = {
    axes: ['i'],
    channels: ['one', 'two'],
    scale: { mm_x: 0.001, mm_y: 0.001, magnification: 20 },
    backgroundColor: [1, 2, 3],
    sources: [
      { path: 'a.png', z: 0, cValues: [0, 2], position: { x: 3, y: 4, s11: 0.9, s12: 0.1, s21: -0.1, s22: 0.9, scale: 2 } },
      { path: 'gray.png', tSet: 1, channel: 'two', sampleScale: 2, sampleOffset: 1, style: { min: 0, max: 200 } },
      { path: '.', pathPattern: '(?P<z1>[0-9]+)|b', zStep: 1, position: { crop: { left: 1, top: 1, right: 40, bottom: 40 } } },
    ],
  };
  const folder = await folderOf(description);
  const definition: TileSourceDefinition = {
    ...multiSource,
    open: (input, options) => multiSource.open({ ...input, folder: () => folder.input('multi.yaml').folder!() }, options),
  };
  const file = Buffer.from(JSON.stringify(description, null, 1));
  const kinds = new Map([['description', { file, name: 'other.yaml', near: [{ offset: 0, length: file.length }] }]]);
  const { files, readable } = await fuzz(definition, kinds, { count: 100 });
  expect(files).toBeGreaterThan(20);
  expect(readable).toBeLessThan(files);
  expect(folder.openReaderCount()).toBe(0);
});
