import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { FileStamps } from '../../../src/features/images/file-stamps.js';
import { until } from '../../support/run/until.js';

let directory: string;
let path: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'file-stamps-'));
  path = join(directory, 'slide.tif');
  await writeFile(path, 'one');
});
afterAll(() => rm(directory, { recursive: true }));

it('answers for a file in use without waiting, and has noticed soon after that it was replaced', async () => {
  const changed: string[] = [];
  const stamps = new FileStamps({ pathOf: async () => path, changed: async (id) => void changed.push(id) });
  const first = await stamps.of('file');
  const soon = performance.now() + 150;
  const clock = vi.spyOn(performance, 'now').mockReturnValue(soon);
  expect(stamps.of('file')).toBe(first);
  clock.mockRestore();
  await writeFile(path, 'another');
  await until('it is another', async () => (await stamps.of('file')) !== first);
  expect(changed).toEqual(['file']);
});

it('checks the file again after a long time without requests', async () => {
  const stamps = new FileStamps({ pathOf: async () => path, changed: async () => {} });
  const first = await stamps.of('file');
  await writeFile(path, 'a third one');
  await pause(600);
  expect(await stamps.of('file')).not.toBe(first);
});
