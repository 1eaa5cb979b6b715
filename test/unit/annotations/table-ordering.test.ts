import { expect, it } from 'vitest';
import { encodeNumbers, encodeTexts } from '../../../src/features/annotations/elements/packs/segment.js';
import type { BlockInput } from '../../../src/features/annotations/table/block.js';
import type { TableColumn } from '../../../src/features/annotations/table/columns.js';
import { page, select } from '../../../src/features/annotations/table/ordering.js';

const rows = 500;
const groups = ['b', 'a', 'c'];
const score: TableColumn = { name: '/score', type: 'number', source: '/score', isMixed: false };
const group: TableColumn = { name: 'group', type: 'text', source: 'group', isMixed: false };

/** A row of {@link blockOf}: many have the same values, and some none. */
function rowOf(windowIndex: number, row: number) {
  const at = row % 7;
  return {
    score: at === 3 ? null : (row * 37 + windowIndex) % 50,
    group: at === 5 ? null : groups[(row + windowIndex) % groups.length]!,
    order: windowIndex * 65_536 + (rows - 1 - row),
  };
}

async function blockOf(windowIndex: number): Promise<BlockInput> {
  const allRows = Array.from({ length: rows }, (_, row) => rowOf(windowIndex, row));
  const codes = Float64Array.from(allRows, (row) => (row.group === null ? 0 : 1 + groups.indexOf(row.group)));
  return {
    windowIndex,
    rowCount: rows,
    liveRanges: [[10, rows]],
    columns: [
      { name: '/score', kind: 'number', bytes: encodeNumbers(Float64Array.from(allRows, (row) => row.score ?? NaN)) },
      { name: 'order', kind: 'number', bytes: encodeNumbers(Float64Array.from(allRows, (row) => row.order % 65_536)) },
      { name: 'group', kind: 'text', bytes: await encodeTexts(codes, groups) },
    ],
  };
}

it.each([score, group])('a page by $name comes from the first rows of each block', async (by) => {
  const blocks = await Promise.all([0, 1, 2].map(blockOf));
  const name = by === score ? 'score' : 'group';
  for (const descending of [false, true]) {
    const allRows = blocks.flatMap(({ windowIndex }) =>
      Array.from({ length: rows - 10 }, (_, i) => ({ blockIndex: windowIndex, row: i + 10, ...rowOf(windowIndex, i + 10) })),
    );
    allRows.sort((a, b) => {
      const [x, y] = [a[name], b[name]];
      if (x === y) return a.order - b.order;
      if (x === null || y === null) return x === null ? 1 : -1;
      return x < y === descending ? 1 : -1;
    });
    for (const [offset, limit] of [
      [0, 3],
      [40, 25],
      [1200, 100],
      [1465, 10],
    ] as const) {
      const chosen = blocks.map((block) => select({ block, filter: null, by, descending, maxRows: offset + limit }));
      for (const { rows: sent, keys, orders } of chosen) {
        expect(sent.length).toBe(Math.min(offset + limit, rows - 10));
        expect([keys.length, orders.length]).toEqual([sent.length, sent.length]);
      }
      const sorted = page({ blocks: chosen, offset, limit, descending });
      expect(sorted.total).toBe(3 * (rows - 10));
      expect(sorted.rows).toEqual(allRows.slice(offset, offset + limit).map(({ blockIndex, row }) => ({ blockIndex, row })));
    }
  }
});
