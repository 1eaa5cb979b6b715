import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SampleType, Samples } from '../../../src/tilesource/raster.js';
import { writeFixtures } from '../../support/images/fixtures.js';
import { newFolder, uploadItem } from '../../support/images/images.js';
import { samplesOf } from '../../support/images/samples.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { knownFiles } from '../../support/zarr/known-images.js';
import { expectServed, uploadKnown } from '../../support/zarr/served-samples.js';

/** A file that another program has written, with its samples. */
interface Written {
  name: string;
  width: number;
  height: number;
  bands?: number;
  dtype: SampleType;
  raw?: string;
  frames?: (string | { raw: string })[];
  companions?: string[];
}

const scripts = [
  { script: 'czi.py', modules: ['pylibCZIrw', 'numpy'] },
  { script: 'dicom.py', modules: ['pydicom', 'imagecodecs', 'numpy'] },
  { script: 'jpeg2000.py', modules: ['glymur', 'numpy'] },
  { script: 'zarr_images.py', modules: ['zarr', 'ome_zarr', 'numcodecs', 'numpy'] },
].map(({ script, modules }) => ({ script, fixtures: writeFixtures<Written[]>(script, modules) }));

const slide = writeFixtures<{
  levels: { width: number; height: number; downsample: number; raw: string }[];
  files: string[];
}>('openslide_files.py', ['openslide', 'PIL', 'numpy']);

let started: TestHost;
let admin: Client;
beforeAll(async () => {
  started = await startHost();
  admin = await started.register('admin');
});
afterAll(async () => {
  for (const { fixtures } of scripts) fixtures?.remove();
  slide?.remove();
  await started?.close();
});

/** Uploads a file, and other files to the same item. */
async function uploadWith(
  folder: string,
  name: string,
  others: readonly string[],
  read: (name: string) => Buffer,
): Promise<string> {
  const item = await uploadItem(admin, folder, name, read(name));
  for (const other of others) {
    const body = read(other);
    await admin.ok('POST', '/file', { query: { parentType: 'item', parentId: item, name: other, size: body.length }, body });
  }
  return item;
}

describe('samples that are served as OME-Zarr', () => {
  it.each(knownFiles)('are those of $name, in both versions', async (file) => {
    const { item, known } = await uploadKnown(admin, await newFolder(admin, file.name), file);
    await expectServed(admin, item, known);
    await expectServed(admin, item, known, { at: 'zarr2' });
  });

  it.runIf(slide !== null)('are those of OpenSlide', async () => {
    const { folder, manifest } = slide!;
    const read = (name: string) => readFileSync(join(folder, name));
    const item = await uploadWith(await newFolder(admin, 'OpenSlide'), 'slide.vms', manifest.files, read);
    const { width, height, raw } = manifest.levels.find(({ downsample }) => downsample === 1)!;
    const planes = { '0/0/0': new Uint8Array(read(raw)) };
    // JPEG tiles are decoded by two builds of one library.
    const known = { dtype: 'uint8', width, height, bands: 3, planes, tolerance: 3, hasStoredLevels: true } as const;
    await expectServed(admin, item, known);
  });

  for (const { script, fixtures } of scripts) {
    describe.runIf(fixtures !== null)(`of the files of ${script}`, () => {
      it.each(fixtures?.manifest ?? [])('are those of $name', async (written) => {
        const { name, width, height, bands = 1, dtype, raw, frames = [raw!], companions = [] } = written;
        const read = (file: string) => readFileSync(join(fixtures!.folder, file));
        const folder = await newFolder(admin, `${script} ${name}`);
        const item = await uploadWith(folder, name, companions, read);
        const { frames: places = [{}] } = (await admin.ok('GET', `/item/${item}/tiles`)) as unknown as {
          frames?: Record<string, number>[];
        };
        expect(places).toHaveLength(frames.length);
        // Frames that differ in other axes are separate images.
        const images = new Map<string, Record<string, Samples>>();
        for (const [index, place] of places.entries()) {
          const others = Object.entries(place).filter(([axis]) => /^Index(?![TCZ]$)./.test(axis) && axis !== 'IndexRange');
          const image = JSON.stringify(others);
          const plane = [place.IndexT, place.IndexC, place.IndexZ].map((each) => each ?? 0).join('/');
          const frame = frames[index]!;
          const samples = samplesOf(read(typeof frame === 'string' ? frame : frame.raw), dtype);
          images.set(image, { ...images.get(image), [plane]: samples });
        }
        // Lossy files are decoded by two programs, and coarser levels may be stored.
        const comparison = { tolerance: /jpe?g|lossy|jxr|ratio/i.test(name) ? 4 : 0, hasStoredLevels: true };
        for (const [index, planes] of [...images.values()].entries()) {
          const below = images.size > 1 ? `/${index}` : '';
          await expectServed(admin, item, { dtype, width, height, bands, planes, ...comparison }, { below });
        }
      });
    });
  }
});
