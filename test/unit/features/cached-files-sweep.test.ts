import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cachedFilesSweep } from '../../../src/features/cached-files/cached-files-sweep.js';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cached-files-sweep-'));
});
afterAll(() => rm(directory, { recursive: true }));

/** Sweeps these cached files of one item, newest first. Their content on the disk has `sizeOnDisk` bytes. @returns ids of the removed ones. */
async function sweepFiles(docs: readonly { _id: string; thumbnailKey: string; size: number; sizeOnDisk: number }[]) {
  for (const { _id, sizeOnDisk } of docs) await writeFile(join(directory, _id), Buffer.alloc(sizeOnDisk));
  const removedIds: string[] = [];
  const sweep = cachedFilesSweep({
    model: {
      async *iterateBatchesByItem(kind: string) {
        if (kind === 'thumbnail') yield docs.map((doc) => ({ ...doc, attachedToId: 'item' }));
      },
    },
    records: { findItem: async () => ({}), readImageState: async () => 'state', fileOf: (doc: object) => doc },
    hidden: { isHidden: async () => false },
    files: {
      localPath: async ({ _id }: { _id: string }) => join(directory, _id),
      remove: async ({ _id }: { _id: string }) => void removedIds.push(_id),
    },
  } as never);
  await sweep({ full: true, signal: new AbortController().signal });
  return removedIds.sort();
}

it('keeps the newest of several files with the same key', async () => {
  const files = ['c', 'b', 'a'].map((_id) => ({ _id, thumbnailKey: 'key', size: 10, sizeOnDisk: 10 }));
  expect(await sweepFiles(files)).toEqual(['a', 'b']);
});

it('keeps an intact older file if the newest with its key is truncated', async () => {
  const removedIds = await sweepFiles([
    { _id: 'truncated', thumbnailKey: 'key', size: 10, sizeOnDisk: 4 },
    { _id: 'intact', thumbnailKey: 'key', size: 10, sizeOnDisk: 10 },
    { _id: 'other', thumbnailKey: 'other key', size: 10, sizeOnDisk: 10 },
  ]);
  expect(removedIds).toEqual(['truncated']);
});
