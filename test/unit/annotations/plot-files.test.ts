import { Readable } from 'node:stream';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { ThreadPool } from '../../../src/core/concurrency/thread-pool.js';
import type { FileRecord } from '../../../src/core/host/records.js';
import { DataFiles } from '../../../src/features/annotations/plot/files.js';
import { ElementBoxes } from '../../../src/features/annotations/plot/boxes.js';
import { folderRow } from '../../../src/features/annotations/plot/table.js';

const file: FileRecord = { id: 'f', name: 'cells.csv', itemId: null, mimeType: 'text/csv', size: 1, doc: { _id: 'f' } };
const request = { keys: null, signal: new AbortController().signal };

/** Data files of a host that sends each file in these parts. */
function dataFilesOf(parts: Iterable<string>) {
  return new DataFiles({ read: async () => Readable.from(Array.from(parts, (part) => Buffer.from(part))) });
}

describe('files of data', () => {
  const open: DataFiles[] = [];
  const filesOf = (parts: Iterable<string>) => {
    const files = dataFilesOf(parts);
    open.push(files);
    return files;
  };
  afterAll(() => Promise.all(open.map((files) => files.close())));

  it('are read as columns of numbers, or of texts if a cell is not a number', async () => {
    const table = await filesOf(['x,y,name\n1,2,a\n', '3,,b\n4', '.5,1e3,7\n']).read(file, request);
    expect(table).toMatchObject({ rowCount: 3, isTooLarge: false });
    expect(table.columns).toEqual([
      { name: 'x', values: [1, 3, 4.5] },
      { name: 'y', values: [2, null, 1000] },
      { name: 'name', values: ['a', 'b', '7'] },
    ]);
  });

  it('give the requested columns, and those that identify the subject of a row', async () => {
    const table = await filesOf(['a,b,item_name\n1,2,s\n']).read(file, { ...request, keys: ['data.b.0'] });
    expect(table.columns.map(({ name }) => name)).toEqual(['b', 'item_name']);
  });

  it('are read in a thread, and not on the event loop', async () => {
    const line = `${Array.from({ length: 300 }, (_, at) => at * 7).join(',')}\n`;
    const files = filesOf([
      `${Array.from({ length: 300 }, (_, at) => `c${at}`).join(',')}\n`,
      line.repeat(20),
      ...Array.from({ length: 60 }, () => line.repeat(100)),
    ]);
    const inThread = vi.spyOn(ThreadPool.prototype, 'run');
    const { rowCount: rows } = await files.read(file, { ...request, keys: ['data.c3.0'] });
    const [[task]] = inThread.mock.calls as unknown as [[string]];
    inThread.mockRestore();
    expect([rows, task]).toEqual([6020, 'read']);
  });

  it('are refused, with the limit in the message, when the requested columns have too many values', async () => {
    const names = Array.from({ length: 1000 }, (_, at) => `c${at}`).join(',');
    const files = filesOf([`${names}\n`, ...Array.from({ length: 21 }, () => `${','.repeat(999)}\n`.repeat(100))]);
    await expect(files.read(file, request)).rejects.toThrow(
      'cells.csv contains more than 2000000 values in the requested columns. Request fewer columns.',
    );
  });

  it('say why the host cannot read them', async () => {
    const files = new DataFiles({ read: () => Promise.reject(new Error('The disk is gone.')) });
    open.push(files);
    await expect(files.read(file, request)).rejects.toThrow('The disk is gone.');
  });

  it('are not read further when nobody is waiting', async () => {
    const controller = new AbortController();
    const files = filesOf(['a\n', ...Array.from({ length: 5 }, () => '1\n')]);
    controller.abort(new Error('gone'));
    await expect(files.read(file, { ...request, signal: controller.signal })).rejects.toThrow('gone');
  });
});

describe('boxes of elements', () => {
  it('that are all equal are found one after the other, with few comparisons each', () => {
    const boxes = new ElementBoxes();
    const count = 2000;
    const box = { lowx: 1, lowy: 1, lowz: 0, highx: 5, highy: 5, highz: 0, details: 1, size: 6 };
    for (let i = 0; i < count; i++) boxes.add({ ...folderRow, elementId: `${i}` }, box);
    const expected = new Map([
      ['bbox.x0', 1.5],
      ['bbox.y0', 1],
      ['bbox.x1', 5],
      ['bbox.y1', 5],
    ] as const);
    const compared = vi.spyOn(Math, 'max');
    const elementIds = new Set(Array.from({ length: count }, () => boxes.takeNearest(expected)?.elementId));
    expect(elementIds.size).toBe(count);
    expect(boxes.takeNearest(expected)).toBeNull();
    // Each is compared with at most 64 others.
    expect(compared.mock.calls.length).toBeLessThanOrEqual(64 * count);
    compared.mockRestore();
  });
});
