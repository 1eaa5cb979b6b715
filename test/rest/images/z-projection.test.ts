import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client, TestHost } from '../../support/hosts/reference-host.js';
import { startStackHost } from '../../support/images/stacks.js';
import type { KnownImage } from '../../support/zarr/served-samples.js';

describe('projections over z', () => {
  let started: TestHost;
  let admin: Client;
  let item: string;
  let plain: string;
  let stack: KnownImage;

  beforeAll(async () => {
    ({ started, admin, item, plain, known: stack } = await startStackHost());
  });
  afterAll(() => started?.close());

  /** Frames are ordered by channel, depth and time. */
  const frame = 6 + 1;
  const planes = () => [0, 1, 2].map((z) => stack.planes[`1/1/${z}`]!);

  it.each([
    ['max', (values: number[]) => Math.max(...values)],
    ['mean', (values: number[]) => Math.round(values.reduce((sum, value) => sum + value, 0) / 3)],
    ['min', (values: number[]) => Math.min(...values)],
  ])('answers with the %s of the planes of a channel and time', async (zProject, combine) => {
    for (const [left, top] of [
      [0, 0],
      [17, 30],
      [299, 279],
    ] as const) {
      const values = planes().map((samples) => samples[top * stack.width + left]!);
      const pixel = await admin.ok('GET', `/item/${item}/tiles/pixel`, { query: { left, top, frame, zProject } });
      expect(pixel.value).toEqual([combine(values)]);
      const part = { left, top, frame, zProject, zFrom: 1, zTo: 1 };
      const planePixel = await admin.ok('GET', `/item/${item}/tiles/pixel`, { query: part });
      expect(planePixel.value).toEqual([values[1]]);
    }
  });

  it.each(['zxy/1/0/0', 'fzxy/7/0/0/0', 'region', 'thumbnail', 'dzi_files/8/0_0.jpeg', 'tile_frames', 'histogram'])(
    'distinguishes projections of %s by their tags and pictures',
    async (path) => {
      const name = `/item/${item}/tiles/${path}`;
      const queries: Record<string, string | number>[] = [
        {},
        { zProject: 'max' },
        { zProject: 'min' },
        { zProject: 'min', zFrom: 1 },
      ];
      const answers = [];
      for (const each of queries) {
        const query = { frame, ...(path === 'tile_frames' && { frameList: '1,7' }), ...each };
        const answer = await admin.send('GET', name, { query });
        expect(answer.status).toBe(200);
        answers.push(answer);
        const tag = answer.headers.get('etag')!;
        const confirmed = await admin.send('GET', name, { query, headers: { 'If-None-Match': tag } });
        expect(confirmed.status).toBe(304);
      }
      expect(new Set(answers.map(({ headers }) => headers.get('etag'))).size).toBe(queries.length);
      expect(new Set(answers.map(({ bytes }) => Buffer.from(bytes).toString('base64'))).size).toBe(queries.length);
    },
  );

  it('mixes the projections of channels by a style', async () => {
    const band = { min: 0, max: 65_535 };
    const bands = [
      { ...band, framedelta: 0, palette: '#ff0000' },
      { ...band, framedelta: 1, palette: '#00ff00' },
    ];
    const query = { style: JSON.stringify({ bands }), encoding: 'PNG', zProject: 'max', frame: 6 };
    const { bytes } = await admin.send('GET', `/item/${item}/tiles/region`, { query });
    const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
    const at = 100 * stack.width + 40;
    const expected = [0, 1].map((c) => Math.max(...[0, 1, 2].map((z) => stack.planes[`1/${c}/${z}`]![at]!)));
    for (const [channel, value] of expected.entries()) {
      expect(Math.abs(data[at * info.channels + channel]! - (value * 255) / 65_535)).toBeLessThanOrEqual(1);
    }
  });

  it.each([
    [{ zProject: 'sum' }, 'use max, mean or min'],
    [{ zProject: 'max', zTo: 3 }, 'the planes of this image are 0 to 2'],
    [{ zFrom: 1 }, 'Give zProject as well'],
    [{ zProject: 'max', zFrom: 'one' }, 'incorrect type'],
  ])('answers %j with 400', async (query, message) => {
    for (const path of ['zxy/0/0/0', 'region', 'thumbnail', 'pixel', 'histogram']) {
      const answer = await admin.send('GET', `/item/${item}/tiles/${path}`, { query });
      expect([path, answer.status, answer.body.message]).toEqual([path, 400, expect.stringContaining(message)]);
    }
  });

  it('answers with 400 for an image without z', async () => {
    for (const path of ['zxy/0/0/0', 'zxy/0/0/0?redirect=any', 'region', 'thumbnail', 'pixel', 'histogram']) {
      const separator = path.includes('?') ? '&' : '?';
      const answer = await admin.send('GET', `/item/${plain}/tiles/${path}${separator}zProject=max`);
      expect([path, answer.status]).toEqual([path, 400]);
      expect(answer.body.message).toContain('zProject combines the z planes of an image, and this image has only one.');
    }
  });
});
