import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { elementId, startAnnotated, type Annotated } from '../../support/hosts/annotated.js';

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
    const made = await at.annotate({ name: 'cells', elements });
    const script = fileURLToPath(new URL('table_clients.py', import.meta.url));
    const url = `${at.host.url}/api/v1/annotation/${made._id}/table`;
    const { stdout } = await run(python, ['-W', 'ignore', script, url, folder], { maxBuffer: 1 << 26 });
    const found = JSON.parse(stdout) as Record<string, unknown>;
    const all = elements.length;
    expect(found).toMatchObject({
      rows: [all, all, all, all],
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
    expect(found.scores).toEqual([scores, scores, scores]);
    expect(found.groups).toEqual([groups, groups, groups]);
    expect((found.checked as unknown[]).slice(0, 6)).toEqual([true, false, false, false, false, true]);
    for (const difference of ['areas', 'lengths', 'centroids']) expect(found[difference], difference).toBeLessThan(1e-6);
    expect(found.near).toBeLessThan(all);
    const right = Array.from({ length: count - 50 }, (_, i) => i + 50);
    const inGroup = (rest: number) => right.filter((i) => i % 3 === rest).length;
    expect((found.found as unknown[][]).map(([group, size]) => [group, size])).toEqual([
      ['g, "1"', inGroup(1)],
      ['g, "2"', inGroup(2)],
      [null, inGroup(0)],
    ]);
    expect([...(found.filtered as number[])].sort((one, other) => one - other)).toEqual([98, 98.5, 99, 99.5]);
  });
});
