import { createHash } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  makeSyntheticSlide,
  nucleiOf,
  syntheticSlide,
  type OutlinedNucleus,
} from '../../../src/reference-host/synthetic-slide/slide.js';
import { Tissue } from '../../../src/reference-host/synthetic-slide/tissue.js';

const size = 3072;
const seed = 7;

let work: string;
beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), 'large-image-slide-'));
});
afterEach(async () => {
  await rm(work, { recursive: true, force: true });
});

describe('the synthetic slide', () => {
  const fractions: number[] = [];
  let folder: string;
  let path: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'large-image-slide-'));
    path = join(folder, 'slide.tiff');
    await makeSyntheticSlide(path, { seed, size, onProgress: ({ fraction }) => fractions.push(fraction ?? Number.NaN) });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('is a pyramid of tiles that libvips reads, with resolution and magnification, the same each time', async () => {
    const base = await sharp(path).metadata();
    expect(base).toMatchObject({ format: 'tiff', width: size, height: size, channels: 3, pages: 5, resolutionUnit: 'cm' });
    // 0.5 µm a pixel are 50 800 pixels an inch.
    expect(base.density).toBeCloseTo(50_800, -2);
    const widths = await Promise.all([0, 1, 2, 3, 4].map(async (page) => (await sharp(path, { page }).metadata()).width));
    expect(widths).toEqual([3072, 1536, 768, 384, 192]);
    const bytes = await readFile(path);
    expect(bytes.includes('AppMag = 20|MPP = 0.5')).toBe(true);
    expect(fractions).toHaveLength(9);
    expect(fractions.at(-1)).toBe(1);
    const secondPath = join(work, 'again.tiff');
    await makeSyntheticSlide(secondPath, { seed, size });
    // Tiles are stored in the order in which they were encoded, so only the pixels must be equal.
    expect(await digest(secondPath)).toBe(await digest(path));
    expect(await readdir(work)).toEqual(['again.tiff']);
    expect(await readdir(folder)).toEqual(['slide.tiff']);
  });

  it('has lower levels that are the base scaled down', async () => {
    for (const page of [1, 2, 3, 4]) {
      const side = size / 2 ** page;
      const level = await sharp(path, { page }).raw().toBuffer();
      const scaled = await sharp(path).resize(side, side, { kernel: 'linear' }).raw().toBuffer();
      let sum = 0;
      for (let index = 0; index < level.length; index++) sum += Math.abs((level[index] ?? 0) - (scaled[index] ?? 0));
      // The kernel and a second JPEG compression cause differences. A level with other pixels differs by 15 and more.
      expect(sum / level.length).toBeLessThan(6);
    }
  });

  it('shows glass, pink stroma, and purple where the nuclei are', async () => {
    const pixels = await sharp(path).raw().toBuffer();
    const at = (x: number, y: number): number[] => [...pixels.subarray((y * size + x) * 3, (y * size + x) * 3 + 3)];
    for (const channel of at(2, 2)) expect(channel).toBeGreaterThan(230);
    let purple = 0;
    let count = 0;
    for (const { x, y } of nucleiOf(seed, size)) {
      const [red = 0, green = 0, blue = 0] = at(Math.floor(x), Math.floor(y));
      count++;
      if (blue > green + 15 && green < 150 && red < 190) purple++;
    }
    expect(count).toBeGreaterThan(1000);
    expect(purple / count).toBeGreaterThan(0.97);
  });

  it('is not created again when its file exists', async () => {
    const there = join(work, 'slide.tiff');
    await writeFile(there, 'here already');
    await makeSyntheticSlide(there, { seed, size });
    expect((await stat(there)).size).toBe(12);
  });

  it('is created by two processes without overwriting each other', async () => {
    const path = join(work, 'slide.tiff');
    const small = { seed, size: 1024 };
    await Promise.all([makeSyntheticSlide(path, small), makeSyntheticSlide(path, small)]);
    expect(await readdir(work)).toEqual(['slide.tiff']);
  });

  it('is not left incomplete when canceled, and leftovers of killed processes are removed', async () => {
    const left = join(work, '.slide.tiff.partial-1');
    await writeFile(left, 'x');
    const hourAgo = Date.now() / 1000 - 3600;
    await utimes(left, hourAgo, hourAgo);
    const controller = new AbortController();
    const making = makeSyntheticSlide(join(work, 'slide.tiff'), {
      seed,
      size,
      signal: controller.signal,
      onProgress: () => controller.abort(new Error('enough')),
    });
    await expect(making).rejects.toThrow('enough');
    expect(await readdir(work)).toEqual([]);
  });

  it('is refused with a size that its blocks do not fill', async () => {
    await expect(makeSyntheticSlide(join(work, 'slide.tiff'), { size: 1000 })).rejects.toThrow('multiple of 1024');
    expect(await readdir(work)).toEqual([]);
  });
});

describe('the nuclei of the synthetic slide', () => {
  it('are the same each time for a seed, and have three kinds and outlines around their centers', () => {
    const nuclei = [...nucleiOf(seed, size)];
    expect([...nucleiOf(seed, size)]).toEqual(nuclei);
    expect([...nucleiOf(seed + 1, size)].length).not.toBe(nuclei.length);
    for (const nucleus of nuclei) {
      expect(nucleus.outline).toHaveLength(12);
      expect(reach(nucleus)).toBeLessThan(22);
      expect(Math.abs(area(nucleus.outline))).toBeGreaterThan(50);
    }
    const kinds = new Set(nuclei.map(({ kind }) => kind));
    expect(kinds).toEqual(new Set(['epithelial', 'stromal', 'lymphocyte']));
  });

  it('do not depend on how the slide is cut into blocks', () => {
    const tissue = new Tissue(seed, size);
    const nuclei = [...tissue.nucleiIn(0, 0, size, size)];
    const parts = [0, 1024, 2048].flatMap((top) => [...tissue.nucleiIn(0, top, size, top + 1024)]);
    const key = ({ x, y }: { x: number; y: number }): string => `${x} ${y}`;
    expect(parts.map(key).toSorted()).toEqual(nuclei.map(key).toSorted());
  });

  it('number at least 200,000 on the slide of npm start', () => {
    let count = 0;
    for (const { x, y } of nucleiOf()) {
      count++;
      if (x < 0 || y < 0 || x >= syntheticSlide.size || y >= syntheticSlide.size) throw new Error(`outside: ${x} ${y}`);
    }
    expect(count).toBeGreaterThanOrEqual(200_000);
  });
});

async function digest(path: string): Promise<string> {
  return createHash('sha256')
    .update(await sharp(path).raw().toBuffer())
    .digest('hex');
}

function reach({ x, y, outline }: OutlinedNucleus): number {
  return Math.max(...outline.map(([px, py]) => Math.hypot(px - x, py - y)));
}

function area(outline: [number, number][]): number {
  let sum = 0;
  for (const [index, [x, y]] of outline.entries()) {
    const [nx, ny] = outline[(index + 1) % outline.length] ?? [0, 0];
    sum += x * ny - nx * y;
  }
  return sum / 2;
}
