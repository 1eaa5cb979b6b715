import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { fileInput } from '../../../../src/tilesource/byte-reader.js';
import type { SourceOptions, TileSource, TileSourceDefinition } from '../../../../src/tilesource/tile-source.js';
import { openLargeImage } from '../../../../src/tilesource/large-image.js';
import { ownSources } from '../../../../src/tilesource/registry/own-sources.js';
import { TileSourceRegistry } from '../../../../src/tilesource/registry/registry.js';
import { drawSvg } from '../../../../src/tilesource/sources/sharp/drawing.js';
import { sharpSource } from '../../../../src/tilesource/sources/sharp/sharp-source.js';
import { tiffSource } from '../../../../src/tilesource/sources/tiff/tiff-source.js';
import { openTestImage, testSource } from '../../../../src/tilesource/sources/test/test-source.js';
import { MissingPartsError, OtherFormatError, TileSourceError } from '../../../../src/errors.js';
import { sampleFile } from '../../../support/images/data.js';
import { grayTags, writeTiff } from '../../../support/writers/tiff-writer.js';

const folder = mkdtempSync(join(tmpdir(), 'large-image-sources-'));
const temporaryDirectory = mkdtempSync(join(tmpdir(), 'large-image-temporary-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
  rmSync(temporaryDirectory, { recursive: true });
});

function write(name: string, bytes: Uint8Array | string): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

async function open(path: string, options: SourceOptions = {}): Promise<TileSource> {
  return sharpSource.open(fileInput(path), { temporaryDirectory, ...options });
}

const ramp = Buffer.from(Uint8Array.from({ length: 300 * 200 * 3 }, (_, at) => (at * 7) % 256));
const raw = { raw: { width: 300, height: 200, channels: 3 as const } };

/** libvips returns black for tiles that it cannot decode, and reports no error. */
it('a TIFF with a compression that no source can decode is refused by all of them', async () => {
  const lzma = { ...grayTags(64, 64, 64), 259: { short: [34_925] } };
  const path = write('lzma.tif', writeTiff([{ tags: lzma, chunks: [Buffer.alloc(100, 7)] }]));
  const registry = new TileSourceRegistry().register(tiffSource, sharpSource);
  await expect(registry.open(fileInput(path), { temporaryDirectory })).rejects.toMatchObject({
    message: expect.stringContaining('compression 34925 is not supported'),
    cause: { errors: [{}, { message: expect.stringContaining('read by the tiff source') }] },
  });
});

/** libvips would cut off signed samples at 0 and 255. */
it('a large TIFF in strips whose samples are signed is left to the tiff source', async () => {
  const { 322: _width, 323: _length, ...strips } = grayTags(100, 100, 100);
  const signed = { ...strips, 258: { short: [16] }, 339: { short: [2] }, 278: { long: [100] } };
  const path = write('signed.tif', writeTiff([{ tags: signed, chunks: [Buffer.alloc(20_000, 0x81)] }]));
  await expect(open(path, { maxSmallImageSize: 64 })).rejects.toThrow(/samples of type short/);
  const registry = new TileSourceRegistry().register(tiffSource, sharpSource);
  const opened = await registry.open(fileInput(path), { temporaryDirectory, maxSmallImageSize: 64 });
  expect([opened.name, opened.source.metadata.dtype]).toEqual(['tiff', 'int16']);
  await opened.source.close();
});

it('adds alpha to opaque tiles of a WebP TIFF with alpha, because their encoder leaves it out', async () => {
  const samples = Uint8Array.from({ length: 64 * 32 * 4 }, (_, at) => (at % 4 === 3 && at % 256 >= 128 ? 0 : 255));
  const picture = sharp(samples, { raw: { width: 64, height: 32, channels: 4 } }).tiff({
    tile: true,
    tileWidth: 32,
    tileHeight: 32,
    compression: 'webp',
  });
  const source = await tiffSource.open(fileInput(write('webp-alpha.tiff', await picture.toBuffer())));
  const alphas = await Promise.all(
    [0, 1].map(async (x) => (await source.readTile({ level: source.metadata.levels - 1, x, y: 0, frame: 0 })).data[3]),
  );
  expect([source.metadata.bandCount, ...alphas]).toEqual([4, 255, 0]);
  await source.close();
});

describe('the sharp source', () => {
  it.each(['png', 'webp', 'gif', 'tiff', 'avif', 'jpeg'] as const)(
    'reads %s as a single tile of a single level',
    async (format) => {
      const path = write(
        `a.${format}`,
        await sharp(ramp, raw)
          .toFormat(format, format === 'tiff' ? { compression: 'lzw' } : {})
          .toBuffer(),
      );
      const source = await open(path);
      expect(source.metadata).toMatchObject({
        sizeX: 300,
        sizeY: 200,
        tileWidth: 300,
        tileHeight: 200,
        levels: 1,
        dtype: 'uint8',
      });
      const tile = await source.readTile({ level: 0, x: 0, y: 0, frame: 0 });
      const expected = await sharp(path).removeAlpha().raw().toBuffer();
      const image = openLargeImage(source);
      const shown = await image.tile({ level: 0, x: 0, y: 0, encoding: 'PNG', style: '{"icc":false}' });
      expect((await sharp(shown.bytes).removeAlpha().raw().toBuffer()).equals(expected)).toBe(true);
      expect(tile.data.length).toBe(300 * 200 * source.metadata.bandCount);
      await source.close();
    },
  );

  it('keeps gray, alpha and sixteen bits', async () => {
    const gray16 = await sharp(
      Uint16Array.from({ length: 64 }, (_, at) => at * 1000),
      { raw: { width: 8, height: 8, channels: 1 } },
    )
      .toColourspace('grey16')
      .png()
      .toBuffer();
    const deep = await open(write('gray16.png', gray16));
    expect(deep.metadata).toMatchObject({ dtype: 'uint16', bandCount: 1 });
    expect((await deep.readTile({ level: 0, x: 0, y: 0, frame: 0 })).data[5]).toBe(5000);
    const la = await sharp(Buffer.from(Array.from({ length: 128 }, (_, at) => at)), { raw: { width: 8, height: 8, channels: 2 } })
      .toColourspace('b-w')
      .png()
      .toBuffer();
    const grayWithAlpha = await open(write('la.png', la));
    expect(grayWithAlpha.metadata.bandCount).toBe(2);
    expect([...(await grayWithAlpha.readTile({ level: 0, x: 0, y: 0, frame: 0 })).data.subarray(0, 6)]).toEqual([
      0, 1, 2, 3, 4, 5,
    ]);
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])('applies orientation %i', async (orientation) => {
    const path = write(`o${orientation}.jpg`, await sharp(ramp, raw).jpeg().withMetadata({ orientation }).toBuffer());
    const source = await open(path);
    const expected = await sharp(path).autoOrient().raw().toBuffer({ resolveWithObject: true });
    expect([source.metadata.sizeX, source.metadata.sizeY]).toEqual([expected.info.width, expected.info.height]);
    expect(Buffer.from((await source.readTile({ level: 0, x: 0, y: 0, frame: 0 })).data.buffer).equals(expected.data)).toBe(true);
  });

  it('serves the pages of an animation as frames', async () => {
    const pages = await Promise.all(
      ['#ff0000', '#00ff00', '#0000ff'].map((background) =>
        sharp({ create: { width: 20, height: 10, channels: 3, background } })
          .png()
          .toBuffer(),
      ),
    );
    const source = await open(
      write(
        'moving.gif',
        await sharp(pages, { join: { animated: true } })
          .gif()
          .toBuffer(),
      ),
    );
    expect(source.metadata.frames).toHaveLength(3);
    const image = openLargeImage(source);
    expect(await image.pixel({ frame: 1 })).toMatchObject({ r: 0, g: 255, b: 0 });
    expect(await image.pixel({ frame: 2 })).toMatchObject({ r: 0, g: 0, b: 255 });
  });

  it('turns an image that is too large for one tile into a temporary pyramid that leaves nothing behind', async () => {
    const large = Buffer.from(Uint8Array.from({ length: 1000 * 700 * 3 }, (_, at) => (at * 13) % 251));
    const path = write(
      'large.png',
      await sharp(large, { raw: { width: 1000, height: 700, channels: 3 } })
        .png()
        .toBuffer(),
    );
    const source = await open(path, { maxSmallImageSize: 512 });
    expect(source.metadata).toMatchObject({ sizeX: 1000, sizeY: 700, tileWidth: 256, tileHeight: 256, levels: 3, mmX: null });
    expect(readdirSync(temporaryDirectory)).toEqual([]);
    const region = await openLargeImage(source).region({ encoding: 'PNG' });
    if (region.kind === 'bytes') expect((await sharp(region.bytes).raw().toBuffer()).equals(large)).toBe(true);
    expect(await source.internalMetadata?.()).toMatchObject({ sharp: { format: 'png', width: 1000 } });
    await source.close();
    expect(readdirSync(temporaryDirectory)).toEqual([]);
  });

  it('converts colors of a profile to sRGB on demand', async () => {
    const path = write(
      'p3.png',
      await sharp({ create: { width: 8, height: 8, channels: 3, background: '#c86432' } })
        .withIccProfile('p3')
        .png()
        .toBuffer(),
    );
    const source = await open(path);
    expect(source.iccProfile?.(0)?.length).toBeGreaterThan(100);
    const warnings: string[] = [];
    const image = openLargeImage(source, { sourceName: 'sharp', warn: (_fields, event) => warnings.push(event) });
    const first = async (style?: string) => {
      const tile = await image.tile({ level: 0, x: 0, y: 0, encoding: 'PNG', ...(style !== undefined && { style }) });
      return [...(await sharp(tile.bytes).raw().toBuffer()).subarray(0, 3)];
    };
    const corrected = await first();
    [200, 100, 50].forEach((expected, channel) => expect(Math.abs((corrected[channel] ?? 0) - expected)).toBeLessThanOrEqual(2));
    expect(await first('{"icc":false}')).not.toEqual(corrected);
    expect(await image.internalMetadata()).toMatchObject({ tilesource: 'sharp', iccprofiles: [expect.any(String)] });
    expect(warnings).toEqual([]);
  });

  it('shows an image without its profile if that is unusable, and reports this at most once', async () => {
    const source = await open(write('plain.png', await sharp(ramp, raw).png().toBuffer()));
    const warnings: string[] = [];
    const image = openLargeImage(
      {
        ...source,
        metadata: source.metadata,
        populatedLevels: [0],
        readTile: (...call) => source.readTile(...call),
        close: async () => {},
        iccProfile: () => Buffer.alloc(300, 1),
      },
      { warn: (_fields, event) => warnings.push(event) },
    );
    for (let time = 0; time < 2; time += 1) {
      const tile = await image.tile({ level: 0, x: 0, y: 0, encoding: 'PNG' });
      expect((await sharp(tile.bytes).raw().toBuffer()).equals(ramp)).toBe(true);
    }
    expect(warnings.length).toBeLessThanOrEqual(1);
  });

  it.each([
    ['empty.png', '', 'The file is empty.'],
    ['text.jpg', 'just some text', 'The file is not an image that libvips reads'],
    ['page.pdf', '%PDF-1.4 and so on', 'The file is not an image that libvips reads'],
    ['page.html', '<html><body>hello</body></html>', 'The file is not an image that libvips reads'],
    ['header.png', '\x89PNG\r\n\x1a\n', 'The image cannot be read'],
  ])('refuses %s', async (name, content, message) => {
    await expect(open(write(name, Buffer.from(content, 'latin1')))).rejects.toThrow(message);
    expect(readdirSync(temporaryDirectory)).toEqual([]);
  });

  it('refuses a file that ends in the middle', async () => {
    for (const format of ['jpeg', 'png', 'gif', 'webp'] as const) {
      const complete = await sharp(ramp, raw).toFormat(format).toBuffer();
      await expect(open(write(`cut.${format}`, complete.subarray(0, complete.length / 2)))).rejects.toThrow(TileSourceError);
    }
    const sample = sampleFile('truncated.jpg');
    if (sample) await expect(open(sample)).rejects.toThrow(TileSourceError);
  });

  it('refuses more pixels than the limit before decoding any', async () => {
    const path = write(
      'wide.png',
      await sharp({ create: { width: 4000, height: 2000, channels: 3, background: 'red' } })
        .png()
        .toBuffer(),
    );
    await expect(open(path, { maxDecodedPixels: 1_000_000 })).rejects.toThrow(/at most 1000000 are supported/);
    // An AVIF of 17000 x 17000 pixels by its header: dimensions patched into the properties of a small one.
    const small = Buffer.from(
      await sharp({ create: { width: 64, height: 64, channels: 3, background: 'red' } })
        .avif()
        .toBuffer(),
    );
    const ispe = small.indexOf('ispe');
    small.writeUInt32BE(17_000, ispe + 8);
    small.writeUInt32BE(17_000, ispe + 12);
    await expect(open(write('bomb.avif', small))).rejects.toThrow(TileSourceError);
  });

  it('reads drawings, but none that refer to other files', async () => {
    const requests: string[] = [];
    const server = createServer((request, response) => {
      requests.push(request.url ?? '');
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const secret = write(
      'secret.png',
      await sharp({ create: { width: 10, height: 10, channels: 3, background: '#ff0000' } })
        .png()
        .toBuffer(),
    );
    copyFileSync(secret, join(folder, 'beside.png'));
    const drawing = (inside: string, head = '') =>
      `<?xml version="1.0"?>${head}<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="20" height="10">${inside}</svg>`;
    try {
      for (const [name, content] of Object.entries({
        url: drawing(`<image href="${base}/a.png" width="10" height="10"/>`),
        file: drawing(`<image xlink:href="file://${secret}" width="10" height="10"/>`),
        beside: drawing(`<image xlink:href='beside.png' width="10" height="10"/>`),
        style: drawing(`<style>@import url(${base}/a.css);</style>`),
        font: drawing(`<style>@font-face{src:url("${base}/a.woff")}</style>`),
        sheet: drawing('', `<?xml-stylesheet href="${base}/a.css"?>`),
        entity: drawing('<text>&a;</text>', `<!DOCTYPE svg [<!ENTITY a SYSTEM "file://${secret}">]>`),
        include: drawing(`<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="#a" parse="text"/>`),
        use: drawing(`<use href="other.svg#a"/>`),
      })) {
        await expect(open(write(`${name}.svg`, content)), name).rejects.toThrow(/^SVG /);
      }
      const fine = drawing(
        '<defs><rect id="r" width="20" height="10" fill="#0000ff"/></defs><use href="#r"/><a href="https://example.org/"><g/></a>',
      );
      const source = await open(write('fine.svg', fine));
      expect(source.metadata).toMatchObject({ sizeX: 20, sizeY: 10 });
      expect(await openLargeImage(source).pixel({ left: 5, top: 5 })).toMatchObject({ r: 0, g: 0, b: 255 });
      await source.close();
      expect(requests).toEqual([]);
    } finally {
      server.close();
    }
  });

  it('ends the drawing of an SVG that would take hours', async () => {
    const blur = '<feGaussianBlur stdDeviation="500"/>'.repeat(20);
    const bomb =
      `<svg xmlns="http://www.w3.org/2000/svg" width="8000" height="8000"><filter id="f">${blur}</filter>` +
      '<rect width="8000" height="8000" filter="url(#f)"/></svg>';
    const material = { input: Buffer.from(bomb), format: 'svg' as const, release: async () => {} };
    await expect(drawSvg(material, temporaryDirectory, { timeoutMs: 1500 })).rejects.toThrow(
      'The SVG takes longer than 1.5 s to draw.',
    );
    // Without a size, computing it takes as long.
    const dashes = Array.from({ length: 5000 }, (_, i) => `L${(i * 7919) % 997} ${(i * 6271) % 991}`).join('');
    const sizeless = `<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0${dashes}" stroke="#000" stroke-width="30" stroke-dasharray="1 1"/></svg>`;
    await expect(open(write('sizeless.svg', sizeless), { signal: AbortSignal.timeout(500) })).rejects.toThrow(/aborted/);
    const aborting = AbortSignal.timeout(100);
    await expect(open(write('bomb.svg', bomb), { signal: aborting })).rejects.toThrow(/aborted/);
    expect(readdirSync(temporaryDirectory)).toEqual([]);
  });

  it('sees a file that was replaced under the same name', async () => {
    const color = (background: string) =>
      sharp({ create: { width: 9, height: 9, channels: 3, background } })
        .png()
        .toBuffer();
    const path = write('same.png', await color('#ff0000'));
    const before = await open(path);
    expect(await openLargeImage(before).pixel({})).toMatchObject({ r: 255 });
    await before.close();
    writeFileSync(path, await color('#00ff00'));
    expect(await openLargeImage(await open(path)).pixel({})).toMatchObject({ r: 0, g: 255 });
  });

  it('either opens or refuses mutated files', async () => {
    const seed = readFileSync(write('seed.png', await sharp(ramp, raw).png().toBuffer()));
    for (let round = 0; round < 60; round += 1) {
      const bytes = Buffer.from(seed);
      for (let hit = 0; hit < 4; hit += 1) bytes[(round * 7919 + hit * 104_729) % bytes.length] = (round * 31 + hit) % 256;
      const opened = await open(write('mutated.png', bytes)).catch((error: unknown) => error);
      if (opened instanceof Error) expect(opened).toBeInstanceOf(TileSourceError);
    }
  });
});

describe('generated images', () => {
  it('have the requested size and are always the same', async () => {
    expect(openTestImage().metadata).toMatchObject({ sizeX: 131_072, sizeY: 131_072, levels: 10, bandCount: 3 });
    expect(openTestImage({ sizeX: 1000, sizeY: 500 }).metadata).toMatchObject({ sizeX: 1000, sizeY: 500, levels: 3 });
    const address = { level: 3, x: 2, y: 1, frame: 0 };
    for (const parameters of [{}, { fractal: true }, { monochrome: true }]) {
      const first = await openTestImage(parameters).readTile(address);
      expect(first.bands).toBe(parameters.monochrome ? 1 : 3);
      expect(first).toEqual(await openTestImage(parameters).readTile(address));
      expect(new Set(first.data).size).toBeGreaterThan(1);
    }
  });

  it('differ from tile to tile and from frame to frame', async () => {
    const image = openTestImage({ frames: '2,3' });
    expect(image.metadata.frames?.[3]?.axes).toEqual({ C: 1, Z: 1 });
    const tiles = await Promise.all([0, 1, 5].map((frame) => image.readTile({ level: 2, x: 1, y: 1, frame })));
    expect(new Set(tiles.map((tile) => Buffer.from(tile.data.buffer).toString('base64'))).size).toBe(3);
    expect(openTestImage({ frames: 'z=2,q=2' }).metadata.frames?.[2]?.axes).toEqual({ Z: 0, Q: 1 });
  });

  it('have no levels below the minimum', async () => {
    const image = openLargeImage(openTestImage({ minLevel: 2 }), { minLevel: 2 });
    await expect(image.tile({ level: 1, x: 0, y: 0 })).rejects.toThrow('z layer does not exist');
    expect((await image.tile({ level: 2, x: 0, y: 0, encoding: 'PNG' })).type).toBe('image/png');
  });

  it.each([
    [{ tileWidth: 0 }, 'Invalid tileWidth: 0'],
    [{ sizeX: 1e12 }, 'Invalid sizeX'],
    [{ maxLevel: 60 }, 'Invalid maxLevel'],
    [{ frames: '1000,1000' }, 'Invalid number of frames'],
    [{ frames: 'x' }, 'Invalid frames "x"'],
  ])('%j is refused', (parameters, message) => {
    expect(() => openTestImage(parameters)).toThrow(message);
  });
});

describe('the registry', () => {
  const source = (name: string, priority: 1 | 5 | 10 | 12, extension?: string, fails?: Error): TileSourceDefinition => ({
    name,
    extensions: { default: extension === undefined ? priority : 10, ...(extension !== undefined && { [extension]: priority }) },
    mimeTypes: { default: 10 },
    open: async () => {
      if (fails) throw fails;
      return openTestImage();
    },
  });
  const path = write('any.thing.svs', 'x');

  it('tries by priority, those that know the extension first', () => {
    const registry = new TileSourceRegistry().register(
      source('b', 5, 'svs'),
      source('a', 5, 'svs'),
      source('any', 1),
      source('best', 1, 'svs'),
      source('manual', 12),
    );
    expect(registry.candidates({ name: 'A.SVS' }).map(({ name }) => name)).toEqual(['best', 'a', 'b', 'any']);
    expect(registry.candidates({ name: 'a.mrxs' }).map(({ name }) => name)).toEqual([]);
    expect(registry.knows({ name: 'x.svs' })).toBe(true);
    expect(registry.knows({ name: 'x.svs.zip.txt' })).toBe(false);
    expect(registry.knows({ name: 'default' })).toBe(false);
  });

  it.each([
    ['photo.mpo', 'sharp'],
    ['slide.szi', 'deepzoom'],
    ['scan.jxr', 'jpegxr'],
  ])('knows other names of what its sources read: %s', (name, source) => {
    const [first] = ownSources.filter(({ extensions }) => Object.hasOwn(extensions ?? {}, name.split('.')[1]!));
    expect(first?.name).toBe(source);
  });

  it('compares names with expressions of operators in time that depends only on the name', () => {
    // This would take minutes if the expression could backtrack.
    const registry = new TileSourceRegistry({ ignoredNames: '(a+)+$' }).register(testSource);
    expect(registry.candidates({ name: `${'a'.repeat(5000)}!` })).toEqual([]);
  });

  it('registering gives a new registry and leaves the old one alone', () => {
    const before = new TileSourceRegistry();
    const after = before.register(testSource);
    expect(Object.keys(before.list())).toEqual([]);
    expect(after.list()).toEqual({ test: { extensions: { default: 12 }, mimeTypes: { default: 11 } } });
  });

  it('opens with the first source that can, and logs sources that fail in other ways', async () => {
    const events: string[] = [];
    const registry = new TileSourceRegistry({ logger: { warn: (_fields, event) => events.push(event) } }).register(
      source('crash', 1, 'svs', new RangeError('internal detail')),
      source('refuse', 5, 'svs', new TileSourceError('not mine')),
      source('good', 10),
    );
    expect((await registry.open(fileInput(path))).name).toBe('good');
    expect(events).toEqual(['TileSource:Open:Crashed']);
    await expect(registry.open(fileInput(path), { sourceName: 'refuse' })).rejects.toThrow(
      'any.thing.svs cannot be read. not mine',
    );
    await expect(registry.open(fileInput(path), { sourceName: 'nope' })).rejects.toThrow(
      'No tile source "nope" is registered; registered are: crash, refuse, good.',
    );
  });

  it('refuses impossible metadata from a source, and closes the image', async () => {
    const path = write('odd.bin', 'x');
    const image = openTestImage({ sizeX: 1000, sizeY: 500 });
    for (const [facts, fault] of [
      [{ sizeX: Number.NaN }, 'sizeX is NaN, not a whole number of 1 or more.'],
      [{ tileWidth: 0 }, 'tileWidth is 0, not a whole number of 1 or more.'],
      [{ levels: 99 }, 'levels is 99, where sizes and tiles give 3.'],
    ] as const) {
      let closed = false;
      // Nobody waits until it is closed.
      const close = () => new Promise<void>(() => (closed = true));
      const metadata = { ...image.metadata, ...facts };
      const odd = { ...testSource, name: 'odd', open: async () => ({ ...image, metadata, close }) };
      const opening = new TileSourceRegistry().register(odd).open(fileInput(path), { sourceName: 'odd' });
      await expect(opening).rejects.toThrow(`The tile source odd describes an impossible image: ${fault}`);
      expect(closed).toBe(true);
    }
  });

  it.each([
    ['one that knows the format', [new OtherFormatError('No PNG.'), new TileSourceError('Cut off.')], 'Cut off.'],
    ['the first of them', [new TileSourceError('Cut off.'), new TileSourceError('Not supported.')], 'Cut off.'],
    ['what is missing', [new TileSourceError('Cut off.'), new MissingPartsError('No a.jpg.', ['a.jpg'])], 'No a.jpg.'],
    ['a crash without its insides', [new RangeError('internal detail')], 'The reader source0 failed unexpectedly.'],
    ['none', [new OtherFormatError('No PNG.')], 'It is in none of the supported formats.'],
  ])('says in one sentence what is wrong with a file: %s', async (_what, errors, reason) => {
    const sources = errors.map((error, index) => source(`source${index}`, 5, 'svs', error));
    const opening = new TileSourceRegistry().register(...sources).open(fileInput(path));
    await expect(opening).rejects.toMatchObject({ message: `any.thing.svs cannot be read. ${reason}`, reason });
  });
});
