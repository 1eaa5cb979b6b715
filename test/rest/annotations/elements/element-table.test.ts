import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { boundingBox } from '../../../../src/annotation-format/bounding-box.js';
import { measure } from '../../../../src/annotation-format/measures.js';
import type { AnnotationElement } from '../../../../src/annotation-format/schema/document.js';
import { createRows, PackColumns } from '../../../../src/features/annotations/elements/packs/pack.js';
import { cellsOf, TableDraft } from '../../../../src/features/annotations/elements/write/table-draft.js';
import { loadPackColumns } from '../../../../src/features/annotations/elements/read/segment-columns.js';
import type { SegmentHeader } from '../../../../src/features/annotations/elements/packs/segment.js';
import type { StoredElements } from '../../../../src/features/annotations/elements/element-store.js';
import type { PackedElementStore } from '../../../../src/features/annotations/elements/store.js';
import { TableBlocks, createTableThreads } from '../../../../src/features/annotations/table/blocks.js';
import { Block, type Cell } from '../../../../src/features/annotations/table/block.js';
import { commitWrite, startElementStore } from '../../../support/annotations/element-store.js';
import { elementId } from '../../../support/hosts/annotated.js';

vi.setConfig({ testTimeout: 120_000 });

const { signal } = new AbortController();
const threads = createTableThreads();
let started: Awaited<ReturnType<typeof startElementStore>>;
let store: PackedElementStore;
let tables: TableBlocks;

beforeAll(async () => {
  started = await startElementStore();
  ({ store } = started);
  tables = new TableBlocks(store, threads);
});
afterAll(async () => {
  await threads.close();
  await started?.close();
});

const names = ['id', 'type', 'group', 'area', 'x', 'ymax', '/n', '/t', '/mixed', '/b'];

/** The rows of a stored table in the order of the elements, and its number of blocks. */
async function rowsOf(stored: StoredElements) {
  const table = await tables.open(stored, signal);
  const columnNames = new Set(table.columnsByName.columns.map(({ name }) => name));
  const columns = names.map((name) => (columnNames.has(name) ? table.columnsByName.find(name) : null));
  const result: { order: number; cells: Cell[] }[] = [];
  for (const source of table.blocks) {
    const { block: input } = await source.load(table.columnsByName.columns, signal);
    const block = new Block(input);
    const rows = block.selectRows(null);
    const cells = columns.map((column) => (column === null ? null : block.cells(column, rows)));
    const order = block.numbers('order');
    for (const [i, row] of rows.entries()) {
      result.push({ order: order[row]!, cells: cells.map((values) => (values === null ? null : values[i]!)) });
    }
  }
  result.sort((a, b) => a.order - b.order);
  return { rows: result.map(({ cells }) => cells), blocks: table.blocks.length };
}

/** The same rows, computed from the elements. */
async function expectedRows(stored: StoredElements): Promise<Cell[][]> {
  const rows: Cell[][] = [];
  let hasTexts = false;
  const mixed: [number, Cell][] = [];
  for await (const { element, box } of store.scan(stored)) {
    const { n = null, t = null, mixed: both = null, b = null } = (element.user ?? {}) as Record<string, Cell>;
    if (typeof both === 'string') hasTexts = true;
    mixed.push([rows.length, both]);
    const { area, x } = measure(element, box);
    rows.push([element.id!, element.type, element.group ?? null, area, x, boundingBox(element).highy, n, t, both, b]);
  }
  // If a column has a text anywhere, all its numbers are texts.
  if (hasTexts) for (const [row, value] of mixed) rows[row]![8] = value === null ? null : String(value);
  return rows;
}

function element(n: number) {
  const user = { n: n * 1.5, ...(n % 2 === 0 && { t: `t${n % 7}` }), mixed: n % 3 === 0 ? `m${n}` : n, b: n % 4 === 0 };
  const common = { id: elementId(n), group: `g${n % 3}`, user };
  return n % 5 === 0
    ? { type: 'circle' as const, center: [n, n, 0], radius: n / 3, ...common }
    : { type: 'rectangle' as const, center: [n * 3, n, 0], width: n, height: 2, ...common };
}

describe('the table of a store', () => {
  it('has the values of the elements after any edits', async () => {
    let stored = await commitWrite(store.write(Array.from({ length: 130 }, (_, n) => element(n))));
    expect(await rowsOf(stored)).toEqual({ rows: await expectedRows(stored), blocks: 4 });
    const apply = async (put: unknown[], remove: string[] = []) => {
      stored = (await commitWrite(store.change(stored, { put, remove }))).stored;
      const { rows, blocks } = await rowsOf(stored);
      expect(rows).toEqual(await expectedRows(stored));
      return blocks;
    };
    // A few changed packs are not in a segment.
    expect(await apply([{ ...element(5), user: { n: -1, mixed: 'now a text' } }])).toBe(5);
    // Further changes make segments, and later one segment of all of them.
    for (let round = 0; round < 12; round += 1) {
      const put = Array.from({ length: 8 }, (_, i) => ({ ...element((round * 9 + i * 5) % 130), user: { n: round } }));
      expect(await apply(put, [elementId(round * 10 + 1)])).toBeLessThanOrEqual(4 * 3);
    }
    await apply(Array.from({ length: 60 }, (_, i) => element(1000 + i)));
    // Most of the first windows is removed.
    await apply(
      [],
      Array.from({ length: 120 }, (_, n) => elementId(n)),
    );
    await apply(
      [],
      Array.from({ length: 60 }, (_, i) => elementId(1000 + i)),
    );
  });

  it('keeps the values of elements that are too long for the event loop', async () => {
    const points = Array.from({ length: 30_000 }, (_, i) => [Math.cos(i) * 100, Math.sin(i) * 100, 0]);
    const long = { type: 'polyline' as const, id: elementId(1), closed: true, points, group: 'g', user: { n: 4, t: 'x' } };
    const stored = await commitWrite(store.write([long, ...Array.from({ length: 20 }, (_, n) => element(n + 2))]));
    expect((await rowsOf(stored)).rows).toEqual(await expectedRows(stored));
  });

  it('refuses elements that were stored before there were tables', async () => {
    const stored = await commitWrite(store.write([element(1)]));
    const windows = started.connection.collection('large_image_annotation_element_window');
    await windows.updateMany({}, { $unset: { table: 1 } });
    await expect(started.records.findWindows(stored.windows.map(({ id }) => id))).rejects.toThrow(
      'The elements of this annotation were stored by an earlier version, in a form that is no longer supported.',
    );
  });
});

describe('appearances of a segment', () => {
  /** A segment of elements with that many different appearances. */
  const segmentOf = async (appearances: number) => {
    const table = new TableDraft();
    const rows = createRows(appearances);
    const element = { type: 'point', center: [1, 2, 3] } as AnnotationElement;
    const box = boundingBox(element);
    for (let order = 0; order < appearances; order += 1) {
      table.add(cellsOf(element, box));
      rows.appearanceTexts.push(JSON.stringify(['point', null, null, null, order, null]));
      rows.appearanceIndices[order] = order;
      for (const side of ['lowx', 'lowy', 'lowz', 'highx', 'highy', 'highz'] as const) rows[side][order] = box[side];
      rows.details[order] = box.details;
    }
    const parts: Buffer[] = [];
    for await (const part of table.encodeSegment([new PackColumns(rows)], ['a'])) parts.push(part);
    const header = JSON.parse(parts[0]!.toString()) as SegmentHeader;
    const partIds = parts.map((_, i) => String(i));
    return loadPackColumns({ header, partIds }, (expected) => Promise.resolve(expected.map((id) => parts[Number(id)]!)));
  };

  it('are those of the packs', async () => {
    const columns = (await segmentOf(4096))?.get('a');
    expect(columns?.appearances()[4000]).toMatchObject({ type: 'point', lineWidth: 4000 });
    expect(columns?.boxAt(9)).toEqual(boundingBox({ type: 'point', center: [1, 2, 3] }));
  });

  it('are left to the packs when there are many', async () => {
    expect(await segmentOf(4097)).toBeNull();
  });
});
