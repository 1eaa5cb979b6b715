import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { elementId, elementsOf, startAnnotated, type Annotated } from '../../support/hosts/annotated.js';

type Json = Record<string, unknown>;

const run = promisify(execFile);
const python = process.env.PYTHON ?? 'python3';

function hasClients(): boolean {
  if (spawnSync(python, ['-c', 'import pandas, pyarrow, geopandas, duckdb']).status === 0) return true;
  console.warn(`skipped: ${python} has no pandas, pyarrow, geopandas and duckdb`);
  return false;
}

const count = 400;

/** Quadrilaterals along a diagonal, some with a hole, and one element of each other kind. */
const elements = [
  ...Array.from({ length: count }, (_, i) => {
    const [x, y] = [i * 10, i * 7];
    const ring = (inset: number) => [
      [x + inset, y + inset, 0],
      [x + 20 - inset, y + inset, 0],
      [x + 25 - inset * 2, y + 20 - inset, 0],
      [x + inset, y + 15 - inset, 0],
    ];
    return {
      type: 'polyline',
      closed: true,
      points: ring(0),
      ...(i % 4 === 0 && { holes: [ring(4).toReversed()] }),
      ...(i % 3 > 0 && { group: `g, "${i % 3}"` }),
      user: { ...(i % 2 === 0 && { score: i / 4 }), checked: i % 5 === 0 },
    };
  }),
  { type: 'circle', center: [10, 20, 0], radius: 3 },
  { type: 'rectangle', center: [10, 20, 0], width: 8, height: 2, rotation: 0.5 },
  { type: 'point', center: [1, 2, 0] },
  {
    type: 'polyline',
    points: [
      [0, 0, 0],
      [5, 5, 0],
    ],
  },
  {
    type: 'polyline',
    closed: true,
    points: [
      [0, 0, 0],
      [5, 5, 0],
    ],
  },
  { type: 'heatmap', points: [[0, 0, 0, 1]] },
].map((element, i) => ({ id: elementId(i + 1), ...element }));

describe.runIf(hasClients())('clients of tables', () => {
  let at: Annotated;
  let folder: string;
  beforeAll(async () => {
    at = await startAnnotated();
    folder = await mkdtemp(join(tmpdir(), 'table-clients-'));
  });
  afterAll(async () => {
    await at?.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('read the same rows from every kind of file', async () => {
    const annotation = await at.annotate({ name: 'cells', elements });
    const script = fileURLToPath(new URL('table_clients.py', import.meta.url));
    const url = `${at.host.url}/api/v1/annotation/${annotation._id}/table`;
    const { stdout } = await run(python, ['-W', 'ignore', script, url, folder], { maxBuffer: 1 << 26 });
    const results = JSON.parse(stdout) as Record<string, unknown>;
    const elementCount = elements.length;
    expect(results).toMatchObject({
      rows: [elementCount, elementCount, elementCount, elementCount],
      ids: true,
      firstIds: [1, 2, 3].map((n) => elementId(n)),
      arrowTypes: { order: 'int64', area: 'float64', '/score': 'float64' },
      valid: true,
      kinds: ['LineString', 'Point', 'Polygon'],
      noShape: ['heatmap'],
      circle: [[10, 20, 3]],
      rectangle: [[8, 2, 0.5]],
      crs: true,
      version: '1.1.0',
      groupsOfRows: 1,
    });
    const scores = elements.map((element) => ('user' in element ? ((element.user as { score?: number }).score ?? -1) : -1));
    const groups = elements.map((element) => ('group' in element ? element.group : 'none'));
    expect(results.scores).toEqual([scores, scores, scores]);
    expect(results.groups).toEqual([groups, groups, groups]);
    expect((results.checked as unknown[]).slice(0, 6)).toEqual([true, false, false, false, false, true]);
    for (const difference of ['areas', 'lengths', 'centroids']) expect(results[difference], difference).toBeLessThan(1e-6);
    expect(results.near).toBeLessThan(elementCount);
    const selected = Array.from({ length: count - 50 }, (_, i) => i + 50);
    const inGroup = (remainder: number) => selected.filter((i) => i % 3 === remainder).length;
    expect((results.found as unknown[][]).map(([group, size]) => [group, size])).toEqual([
      ['g, "1"', inGroup(1)],
      ['g, "2"', inGroup(2)],
      [null, inGroup(0)],
    ]);
    expect([...(results.filtered as number[])].sort((one, other) => one - other)).toEqual([98, 98.5, 99, 99.5]);
  });

  it('write tables that set values and make elements', async () => {
    const annotation = await at.annotate({ name: 'cells', elements });
    const script = fileURLToPath(new URL('table_writers.py', import.meta.url));
    const api = `${at.host.url}/api/v1`;
    const { stdout } = await run(python, ['-W', 'ignore', script, api, at.admin.token!, annotation._id, at.item, folder], {
      maxBuffer: 1 << 28,
    });
    const results = JSON.parse(stdout) as Record<string, unknown> & { answers: Record<string, Json> };
    const refused = ['lz4 in Parquet', 'arrow lz4'];
    for (const [name, answer] of Object.entries(results.answers)) {
      if (!refused.includes(name)) expect(answer, name).toMatchObject({ changed: elements.length });
      else expect(answer, name).toMatchObject({ status: 400, message: expect.stringContaining('LZ4') });
    }
    const after = elementsOf(await at.admin.ok('GET', `/annotation/${annotation._id}`));
    const valuesOf = (i: number) => ({
      small: i % 100,
      single: i / 4,
      text: `ä${i % 5}`,
      truth: i % 2 === 0,
      day: '1970-01-01T00:00:00.000Z',
    });
    for (const [i, element] of after.entries()) {
      const { user, group, ...rest } = element as Json & { user: Json };
      const { user: before = {}, group: _group, ...shape } = elements[i] as Json;
      expect(rest).toEqual(shape);
      expect(group).toBe(i % 2 === 1 ? 'odd' : 'even');
      const values = { ...(i % 3 > 0 && { pandas: i / 7 }), duckdb: 'duck' };
      const names = ['none', 'snappy', 'gzip', 'brotli', 'zstd', 'arrow None', 'arrow zstd'];
      expect(user).toEqual({ ...(before as Json), ...values, ...Object.fromEntries(names.map((name) => [name, valuesOf(i)])) });
    }
    const withoutIds = (list: unknown) => (list as Json[]).map(({ id: _id, ...element }) => element);
    const box = (x: number) => [
      [x + 1, x, 0],
      [x + 1, x + 1, 0],
      [x, x + 1, 0],
      [x, x, 0],
    ];
    expect(withoutIds(results.created)).toEqual([
      {
        type: 'polyline',
        closed: true,
        user: { cell_id: 7, score: 0.25, kind: 'a' },
        points: [
          [0, 0, 0],
          [10, 0, 0],
          [10, 10, 0],
          [0, 10, 0],
        ],
        holes: [
          [
            [2, 2, 0],
            [2, 4, 0],
            [4, 4, 0],
            [4, 2, 0],
          ],
        ],
      },
      { type: 'polyline', closed: true, points: box(0), user: { cell_id: 8, kind: 'b' } },
      { type: 'polyline', closed: true, points: box(5), user: { cell_id: 8, kind: 'b' } },
      { type: 'point', center: [1.5, 2, 0], user: { cell_id: 9, score: 1, kind: 'a' } },
    ]);
    expect(results.degrees).toMatchObject({ status: 400, message: expect.stringContaining('WGS 84') });
    // The heat map has no shape. The table was read before values were set.
    expect(results.again).toEqual(elements.slice(0, -1));
    expect(withoutIds(results.streamed).map(({ type, user }) => [type, user])).toEqual([
      ['polyline', { score: 0.25 }],
      ['polyline', undefined],
      ['polyline', undefined],
      ['point', { score: 1 }],
    ]);
  });
});
