import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Types } from 'mongoose';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { markMovedFiles } from '../../../src/reference-host/start/content/displaced-files.js';
import type { KnownFile } from '../../../src/reference-host/start/content/gone-files.js';
import { listLocalFiles, type LocalFile } from '../../../src/reference-host/start/content/local-files.js';
import { Rescans } from '../../../src/reference-host/start/content/rescans.js';

/** The number of turns of the event loop during some work. */
async function turnsOf(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isDone = true;
  return turns;
}

describe('many served files', () => {
  let work: string;
  beforeEach(async () => {
    work = await realpath(await mkdtemp(join(tmpdir(), 'many-')));
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await rm(work, { recursive: true, force: true });
  });

  it('are listed a thousand at a time when a folder has more', async () => {
    const names = Array.from({ length: 1200 }, (_, index) => `${index}.tiff`);
    for (const name of names) await writeFile(join(work, name), '');
    const lengths: number[] = [];
    const { sort } = Array.prototype;
    vi.spyOn(Array.prototype, 'sort').mockImplementation(function measured(this: unknown[], compare) {
      lengths.push(this.length);
      return sort.call(this, compare);
    });
    const listedNames: string[] = [];
    for await (const { name } of listLocalFiles([work])) listedNames.push(name);
    vi.restoreAllMocks();
    expect(lengths).toEqual([1000, 200]);
    expect(listedNames.sort()).toEqual(names.sort());
  });

  it('are compared in many turns of the event loop when all have been replaced', async () => {
    const modified = new Date();
    const localFile = (ino: number): LocalFile => {
      const stats = { dev: 1, ino, size: 1, mtime: modified } as Stats;
      return { path: `/${ino}`, folderNames: [], name: String(ino), isZarr: false, stats };
    };
    const knownFile = (ino: number): KnownFile => {
      const storage = { kind: 'in-place' as const, path: `/${ino}`, modified, inode: `1:${ino}` };
      return { _id: new Types.ObjectId(), name: String(ino), size: 1, itemId: new Types.ObjectId(), storage };
    };
    const indexes = Array.from({ length: 1000 }, (_, index) => index);
    const displaced = indexes.map((index) => ({ localFile: localFile(index + 5000), formerFiles: [knownFile(index)] }));
    // Every second former file is at another path now.
    const fresh = indexes.filter((index) => index % 2 === 0).map(localFile);
    const turns = await turnsOf(async () => markMovedFiles(displaced, fresh));
    expect(displaced.map((each) => 'isMoved' in each && each.isMoved)).toEqual(indexes.map((index) => index % 2 === 0));
    expect(turns).toBeGreaterThanOrEqual(25);
  });

  it('have their folders watched in several turns of the event loop', async () => {
    const names = Array.from({ length: 250 }, (_, index) => join(work, String(index)));
    for (const name of names) await mkdir(name);
    let takenCount = 0;
    class Folders extends Set<string> {
      override *[Symbol.iterator](): Generator<string, undefined> {
        for (const name of super.values()) {
          takenCount += 1;
          yield name;
        }
        return undefined;
      }
    }
    const stop = new AbortController();
    const rescans = new Rescans({
      scan: () => Promise.resolve({ files: 0, added: 0, moved: 0, changed: 0, missing: 0 }),
      listFolders: () => new Folders(names),
      paths: [],
      onScan: () => undefined,
      onFailure: (error) => expect.fail(String(error)),
      signal: stop.signal,
    });
    try {
      rescans.startWatching();
      expect(takenCount).toBeLessThanOrEqual(100);
      while (takenCount < names.length) await new Promise(setImmediate);
    } finally {
      stop.abort();
    }
  });
});
