import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { writeFixtures } from '../../support/images/fixtures.js';
import { newFolder, uploadItem } from '../../support/images/images.js';
import { askPython } from '../../support/python/python.js';

const fixtures = writeFixtures<string[]>('raw_samples.py', ['tifffile', 'numpy']);

/** Files are stored by z and then channel, so that a frame is `z * 2 + c`. */
describe.skipIf(fixtures === null)('samples of regions, as numpy and tifffile see them', { timeout: 300_000 }, () => {
  let started: TestHost;
  let admin: Client;
  let folder: string;

  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('admin');
    folder = await newFolder(admin, 'Samples');
  });
  afterAll(async () => {
    fixtures?.remove();
    await started?.close();
  });

  it.each(fixtures?.manifest ?? [])(
    'are those of the file %s, for all and for some frames, and for projections',
    async (name) => {
      const file = `${name}.ome.tif`;
      const item = await uploadItem(admin, folder, file, readFileSync(join(fixtures!.folder, file)));
      const axes = { colors: 'ZYXS', times: 'TZYX' }[name] ?? 'ZCYX';
      const channels = axes === 'ZCYX' ? [0, 1] : [0];
      const frameOf = (z: number, c: number) => (axes === 'TZYX' ? 3 + z : z * channels.length + c);
      const box = [37, 11, 260, 190];
      const place = { left: 37, top: 11, regionWidth: 260, regionHeight: 190, encoding: 'OMETIFF' };
      const shared = { array: join(fixtures!.folder, `${name}.npy`), axes, time: 1, box };
      const size = name === 'colors' || name === 'times' ? {} : { PhysicalSizeX: '0.25', PhysicalSizeY: '0.5' };
      const names = axes === 'ZCYX' ? ['DAPI', 'A & B'] : undefined;
      const requests = [
        {
          query: { frame: frameOf(1, 0) },
          planes: [1],
          channels,
          pixels: { ...size, SizeX: '260', SizeY: '190' },
          ...(names && { names }),
        },
        { query: { frameList: [frameOf(2, 0), frameOf(0, 0)].join() }, planes: [0, 2], channels: [0], pixels: { SizeZ: '2' } },
        ...(['none', 'lzw', 'packbits', 'zstd'] as const).map((tiffCompression) => {
          const frame = frameOf(2, channels.length - 1);
          return { query: { frameList: `${frame}`, tiffCompression }, planes: [2], channels: channels.slice(-1) };
        }),
        ...(['max', 'mean', 'min'] as const).map((project) => {
          const range = { from: 1, to: 2 };
          return { query: { frame: frameOf(0, 0), zProject: project, zFrom: 1, zTo: 2 }, project, ...range, channels };
        }),
      ];
      const cases = [];
      for (const [index, { query, ...expected }] of requests.entries()) {
        const answer = await admin.send('GET', `/item/${item}/tiles/region`, { query: { ...place, ...(query as object) } });
        expect([index, answer.status]).toEqual([index, 200]);
        const bytes = Buffer.from(answer.bytes).toString('base64');
        cases.push({ ...shared, ...expected, name: `${name} ${JSON.stringify(query)}`, bytes });
      }
      expect(askPython('raw_samples_check.py', cases)).toEqual([]);
    },
  );
});
