import { readdirSync, readFileSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { TileSourceError } from '../../../../src/errors.js';
import { describeTileSource } from '../../../../src/testing/tile-source.js';
import { fileInput } from '../../../../src/tilesource/byte-reader.js';
import { openSlideSource } from '../../../../src/tilesource/sources/openslide/openslide-source.js';
import { SlideProcesses } from '../../../../src/tilesource/sources/openslide/slide-processes.js';
import { sampleFile } from '../../../support/images/data.js';
import { writeFixtures } from '../../../support/images/fixtures.js';
import { mutate, random } from '../../../support/images/fuzz.js';
import { memoryInput } from '../../../support/images/memory-input.js';
import { wholeLevel, worstDifference } from '../../../support/images/whole-level.js';

interface Written {
  levels: { width: number; height: number; downsample: number; raw: string }[];
  files: string[];
}

/** Why OpenSlide cannot be used here; `null` if it can. */
const missing = await new SlideProcesses().ask({ kind: 'open', path: join(tmpdir(), 'no such slide') }).then(
  () => null,
  ({ message }: Error) => (message.includes('does not recognize the file') ? null : message),
);
if (missing !== null) console.warn(`skipped: ${missing}`);
const fixtures = missing === null ? writeFixtures<Written>('openslide_files.py', ['openslide', 'PIL', 'numpy']) : null;
const folder = fixtures?.folder ?? '';
afterAll(() => fixtures?.remove());

const companions = (fixtures?.manifest.files ?? []).map((name) => fileInput(join(folder, name)));
const withAll = (files = companions) => ({ ...fileInput(join(folder, 'slide.vms')), companions: () => Promise.resolve(files) });

describe.runIf(fixtures !== null)('slides that OpenSlide reads', () => {
  it('has the pixels of OpenSlide at every level, from the files of an item', async () => {
    const source = await openSlideSource.open(withAll());
    const { metadata, populatedLevels } = source;
    expect(metadata).toMatchObject({ sizeX: 1280, sizeY: 480, bandCount: 3, magnification: 40 });
    expect([metadata.mmX, metadata.mmY]).toEqual([0.00025, 0.00025]);
    const levels = fixtures?.manifest.levels ?? [];
    expect(populatedLevels.length).toBeGreaterThan(1);
    for (const level of populatedLevels) {
      const step = 2 ** (metadata.levels - 1 - level);
      const expected = readFileSync(join(folder, levels.find(({ downsample }) => Math.round(downsample) === step)!.raw));
      // JPEG tiles are decoded by two builds of one library.
      expect(worstDifference(await wholeLevel(source, level), expected), `reduced by ${step}`).toBeLessThanOrEqual(3);
    }
    expect(source.associatedImages).toEqual(['macro']);
    const macro = await source.readAssociatedImage?.('macro');
    expect(worstDifference(macro?.raster.data ?? [], readFileSync(join(folder, 'macro.raw')))).toBeLessThanOrEqual(3);
    expect(await source.internalMetadata?.()).toMatchObject({
      openslide: { 'openslide.vendor': 'hamamatsu', 'hamamatsu.SourceLens': '40' },
    });
    await source.close();
  });

  it('says so when files are missing, and leaves nothing behind', async () => {
    const before = await readdir(tmpdir());
    await expect(openSlideSource.open(withAll(companions.slice(1)))).rejects.toThrow('are missing: slide_0.jpg');
    await expect(openSlideSource.open(withAll(companions.slice(1)))).rejects.toThrow('slide_0.jpg');
    expect((await readdir(tmpdir())).filter((name) => !before.includes(name))).toEqual([]);
    await expect(openSlideSource.open(memoryInput(Buffer.from('x'), 'slide.vms'))).rejects.toThrow(
      'OpenSlide does not recognize',
    );
  });

  it('reads mutated files, or refuses them with clear errors only', async () => {
    const next = random(9);
    const slide = readFileSync(join(folder, 'slide.vms'));
    for (let index = 0; index < 60; index++) {
      const path = join(folder, 'mutated.vms');
      await writeFile(path, mutate(slide, next));
      try {
        const source = await openSlideSource.open({ ...fileInput(path), companions: () => Promise.resolve(companions) });
        await source.readTile({ level: source.metadata.levels - 1, x: 0, y: 0, frame: 0 }).catch((error: unknown) => {
          expect(error).toBeInstanceOf(TileSourceError);
        });
        await source.close();
      } catch (error) {
        expect(error).toBeInstanceOf(TileSourceError);
      }
    }
  });
});

const real = missing === null ? sampleFile('CMU-1-Small-Region.svs') : null;
if (real !== null) describeTileSource(() => openSlideSource, real, { describe, it });

describe('processes of OpenSlide', () => {
  it.runIf(missing === null && real !== null)('fails one request when it crashes, and is replaced', async () => {
    const processes = new SlideProcesses();
    const open = { kind: 'open', path: real ?? '' } as const;
    expect((await processes.ask(open)).levels.length).toBeGreaterThan(0);
    // A region that is too large for memory fails, or ends the process. The next request is still answered.
    const region = { kind: 'region', path: real ?? '', left: 0, top: 0, level: 0, width: 2 ** 20, height: 2 ** 20 } as const;
    await expect(processes.ask(region)).rejects.toThrow(TileSourceError);
    expect((await processes.ask(open)).levels.length).toBeGreaterThan(0);
  });

  it('says where it searched when there is no library', async () => {
    process.env.OPENSLIDE_LIBRARY = 'no-such-library.so';
    try {
      await expect(new SlideProcesses().ask({ kind: 'open', path: 'x' })).rejects.toThrow(/no-such-library\.so|koffi/);
    } finally {
      delete process.env.OPENSLIDE_LIBRARY;
    }
  });
});

describe.runIf(process.platform === 'linux')('idle processes of OpenSlide', () => {
  const childIds = () =>
    readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);

  it('cause no error when they have just been killed and a slide is closed', async () => {
    const errors: unknown[] = [];
    const note = (error: unknown): number => errors.push(error);
    const others = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException').on('uncaughtException', note);
    try {
      const before = new Set(childIds());
      const processes = new SlideProcesses();
      await expect(processes.ask({ kind: 'open', path: 'x' })).rejects.toThrow();
      const [id] = childIds().filter((each) => !before.has(each));
      process.kill(id!, 'SIGKILL');
      // It has closed the pipe when all of its threads have ended. Without a turn of the event loop, this process does not know that yet.
      const wait = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
      while (!readFileSync(`/proc/${id}/stat`, 'utf8').includes(') Z') || readdirSync(`/proc/${id}/task`).length > 1) wait();
      processes.closeSlide('x');
      await vi.waitFor(() => expect(childIds()).not.toContain(id));
    } finally {
      process.removeAllListeners('uncaughtException');
      for (const other of others) process.on('uncaughtException', other);
    }
    expect(errors).toEqual([]);
  });
});
