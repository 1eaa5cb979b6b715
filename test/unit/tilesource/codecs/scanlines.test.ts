import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { expectRefused } from '../../../support/images/refusals.js';
import { describeTileSource } from '../../../../src/testing/tile-source.js';
import { fileInput } from '../../../../src/tilesource/byte-reader.js';
import type { SampleType } from '../../../../src/tilesource/raster.js';
import { scanlinesSource } from '../../../../src/tilesource/sources/scanlines/scanlines-source.js';
import { writeFixtures } from '../../../support/images/fixtures.js';
import { fuzz } from '../../../support/images/fuzz.js';
import { memoryInput } from '../../../support/images/memory-input.js';
import { pattern } from '../../../support/images/pattern.js';
import { samplesOf } from '../../../support/images/samples.js';
import { wholeLevel, worstDifference } from '../../../support/images/whole-level.js';

interface Written {
  name: string;
  width: number;
  height: number;
  bands: number;
  dtype: SampleType;
  frames: string[];
}

const fixtures = writeFixtures<Written[]>('scanlines.py', ['PIL', 'astropy', 'numpy']);
const written = fixtures?.folder ?? '';
const folder = mkdtempSync(join(tmpdir(), 'scanlines-'));
afterAll(() => {
  fixtures?.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** A BMP file of 8 or 24 bits. */
function bmp(width: number, height: number, bits: 8 | 24): Buffer {
  const head = Buffer.alloc(54 + (bits === 8 ? 1024 : 0));
  head.write('BM', 0, 'latin1');
  head.writeUInt32LE(head.length, 10);
  head.writeUInt32LE(40, 14);
  head.writeInt32LE(width, 18);
  head.writeInt32LE(height, 22);
  head.writeUInt16LE(bits, 28);
  for (let i = 54; i < head.length; i++) head[i] = (i * 7) & 255;
  const row = Math.ceil((width * bits) / 32) * 4;
  return Buffer.concat([head, pattern(row, height, 1)]);
}

const ppm = Buffer.concat([Buffer.from('P6\n# made by hand\n70 40\n200\n'), pattern(70, 40, 3)]);
const tga = Buffer.concat([Buffer.from([0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 60, 0, 30, 0, 24, 0]), pattern(60, 30, 3)]);
/** Rows of 60 pixels: a run of 40, and 20 others. */
const packedRow = Buffer.from([0x80 | 39, 1, 2, 3, 19, ...pattern(60, 1, 1)]);
const packedTga = Buffer.concat([
  Buffer.from([0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 60, 0, 30, 0, 24, 0]),
  ...Array.from({ length: 30 }, () => packedRow),
]);
const card = (key: string, value: string): string => `${key.padEnd(8)}= ${value.padStart(20)}`.padEnd(80);
const cards = [card('SIMPLE', 'T'), card('BITPIX', '16'), card('NAXIS', '3'), card('NAXIS1', '30'), card('NAXIS2', '20')];
const fitsHead = `${[...cards, card('NAXIS3', '2'), card('BZERO', '10.5'), 'END'.padEnd(80)].join('')}`.padEnd(2880);
const fits = Buffer.concat([Buffer.from(fitsHead), pattern(60, 40, 1), Buffer.alloc(480)]);

const samplePath = join(folder, 'sample.bmp');
writeFileSync(samplePath, bmp(1100, 700, 24));
describeTileSource(() => scanlinesSource, samplePath, { describe, it });

describe.runIf(fixtures !== null)('pictures in rows written by other programs', () => {
  for (const { name, width, height, bands, dtype, frames } of fixtures?.manifest ?? []) {
    it(`${name} has the pixels that its reader sees`, async () => {
      const source = await scanlinesSource.open(fileInput(join(written, name)));
      expect(source.metadata).toMatchObject({ sizeX: width, sizeY: height, bandCount: bands, dtype });
      for (const [frame, raw] of frames.entries()) {
        const expected = samplesOf(readFileSync(join(written, raw)), dtype);
        expect(worstDifference(await wholeLevel(source, source.metadata.levels - 1, frame), expected), `frame ${frame}`).toBe(0);
      }
      await source.close();
    });
  }

  it('refuses compressed FITS by name', async () => {
    await expect(scanlinesSource.open(fileInput(join(written, 'compressed.fits')))).rejects.toThrow('compressed image');
  });
});

describe('pictures in rows', () => {
  it('spreads samples over their type, and scales those of FITS', async () => {
    const source = await scanlinesSource.open(memoryInput(ppm, 'a.ppm'));
    expect((await wholeLevel(source)).slice(0, 9)).toEqual(
      [...pattern(70, 40, 3).subarray(0, 9)].map((v) => Math.round(Math.min(v, 200) * 1.275)),
    );
    await source.close();
    const scaled = await scanlinesSource.open(memoryInput(fits, 'a.fits'));
    expect(scaled.metadata).toMatchObject({ sizeX: 30, sizeY: 20, dtype: 'float32' });
    expect(scaled.metadata.frames).toHaveLength(2);
    const lowest = (await wholeLevel(scaled, 0, 1)).slice(19 * 30)[0];
    expect(lowest).toBe(fits.readInt16BE(2880 + 1200) + 10.5);
    await scaled.close();
  });

  it.each([
    ['a BMP larger than its bytes', 'a.bmp', bmp(4, 4, 24).fill(0xff, 18, 21), 'do not fit'],
    ['a BMP in RLE', 'a.bmp', bmp(4, 4, 8).fill(1, 30, 31), 'RLE8'],
    ['a PPM larger than its bytes', 'a.ppm', Buffer.from('P6 100000000 100000000 255\n'), 'bytes that its header needs'],
    ['a PGM as text', 'a.pgm', Buffer.from('P2 2 2 255 1 2 3 4'), 'written as text'],
    [
      'FITS of many planes',
      'a.fits',
      Buffer.from(
        fits.toString('latin1').replace('2'.padStart(20) + ' '.repeat(50), '9'.repeat(9).padStart(20) + ' '.repeat(50)),
        'latin1',
      ),
      'planes',
    ],
    ['a TGA larger than its bytes', 'a.tga', tga.subarray(0, 100), 'Truncated'],
    ['a packed TGA that ends too early', 'a.tga', packedTga.subarray(0, -1), 'Truncated'],
    [
      'a packed TGA whose pixels begin past its end',
      'a.tga',
      Buffer.from(packedTga).subarray(0, 100).fill(255, 0, 1),
      'Truncated',
    ],
    ['a packed TGA of a gigabyte of pixels', 'a.tga', Buffer.from(packedTga).fill(0x50, 12, 16), 'at most 67108864'],
    ['anything else', 'a.bmp', Buffer.from('GIF89a and so on'), 'not a BMP'],
  ])('refuses %s', async (_name, file, bytes, message) => {
    const input = memoryInput(bytes, file);
    await expectRefused(scanlinesSource, input, message);
    expect(input.strayReads).toEqual([]);
  });

  it('reads mutated files, or refuses them with clear errors only', async () => {
    const near = [{ offset: 0, length: 64 }];
    const kinds = new Map([
      ['bmp', { file: bmp(90, 50, 24), name: 'a.bmp', near }],
      ['palette', { file: bmp(90, 50, 8), name: 'a.bmp', near }],
      ['ppm', { file: ppm, name: 'a.ppm', near: [{ offset: 0, length: 30 }] }],
      ['tga', { file: tga, name: 'a.tga', near: [{ offset: 0, length: 18 }] }],
      ['packed tga', { file: packedTga, name: 'a.tga', near: [{ offset: 0, length: 30 }] }],
      ['fits', { file: fits, name: 'a.fits', near: [{ offset: 0, length: 640 }] }],
    ]);
    const result = await fuzz(scanlinesSource, kinds, { count: 200 });
    expect(result.files).toBeGreaterThan(30);
    expect(result.readable).toBeGreaterThan(result.files / 10);
  });
});

describe('palettes and depths', () => {
  const samplesOf = async (file: Buffer, name: string) => {
    const source = await scanlinesSource.open(memoryInput(file, name));
    const { data } = await source.readTile({ level: 0, x: 0, y: 0, frame: 0 });
    await source.close();
    return { white: source.metadata.white, samples: [...data] };
  };

  it('are read from TGA palettes of 16 bits, from any first index', async () => {
    const head = Buffer.from([0, 1, 1, 2, 0, 2, 0, 16, 0, 0, 0, 0, 4, 0, 1, 0, 8, 0]);
    const palette = Buffer.from([0x00, 0x7c, 0xe0, 0x83]);
    const { samples } = await samplesOf(Buffer.concat([head, palette, Buffer.from([2, 3, 0, 255])]), 'a.tga');
    expect(samples).toEqual([255, 0, 0, 0, 255, 0, 0, 0, 0, 0, 0, 0]);
  });

  it('are black for BMP indexes beyond the palette', async () => {
    const head = Buffer.alloc(54);
    head.write('BM');
    head.writeUInt32LE(62, 10);
    head.writeUInt32LE(40, 14);
    head.writeInt32LE(4, 18);
    head.writeInt32LE(1, 22);
    head.writeUInt16LE(8, 28);
    head.writeUInt32LE(2, 46);
    const file = Buffer.concat([head, Buffer.from([1, 2, 3, 0, 4, 5, 6, 0, 0, 1, 2, 255])]);
    expect((await samplesOf(file, 'a.bmp')).samples).toEqual([3, 2, 1, 6, 5, 4, 0, 0, 0, 0, 0, 0]);
  });

  it('are kept as stored in Netpbm of more than 8 bits, with their white', async () => {
    const words = Buffer.from([0, 0, 3, 255, 1, 244, 255, 255]);
    const file = Buffer.concat([Buffer.from('P5 4 1 1000\n'), words]);
    expect(await samplesOf(file, 'a.pgm')).toEqual({ white: 1000, samples: [0, 1000, 500, 1000] });
  });
});
