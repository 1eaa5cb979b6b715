import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi, type Mock } from 'vitest';
import { FileStamps } from '../../../src/features/images/file-stamps.js';
import { until } from '../../support/run/until.js';

let directory: string;
let path: string;
let clock: Mock<() => number>;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'file-stamps-'));
  path = join(directory, 'slide.tif');
  await writeFile(path, 'one');
});
afterAll(() => rm(directory, { recursive: true }));
// A clock that advances only when the tests say so, however long the disk takes.
beforeEach(() => void (clock = vi.spyOn(performance, 'now').mockReturnValue(1000)));
afterEach(() => clock.mockRestore());

it('answers for a file in use without waiting, and soon notices that it was replaced', async () => {
  const changed: string[] = [];
  const stamps = new FileStamps({ pathOf: async () => path, onChange: async (id) => void changed.push(id) });
  const first = await stamps.stampOf('file');
  await writeFile(path, 'another');
  clock.mockReturnValue(1150);
  expect(stamps.stampOf('file')).toBe(first);
  await until('it is another', async () => (await stamps.stampOf('file')) !== first);
  expect(changed).toEqual(['file']);
});

it('checks the file again after a long time without requests', async () => {
  const stamps = new FileStamps({ pathOf: async () => path, onChange: async () => {} });
  const first = await stamps.stampOf('file');
  await writeFile(path, 'a third one');
  clock.mockReturnValue(1600);
  expect(await stamps.stampOf('file')).not.toBe(first);
});
