import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Rescans } from '../../../src/reference-host/start/content/rescans.js';
import { until } from '../../support/run/until.js';

describe('scans of served files', () => {
  let work: string;
  let stop: AbortController;
  beforeEach(async () => {
    work = await realpath(await mkdtemp(join(tmpdir(), 'rescans-')));
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await rm(work, { recursive: true, force: true });
  });

  it('start at once when a served folder goes or comes back, and when something changes in it', async () => {
    const folder = join(work, 'slides');
    await mkdir(folder);
    let scans = 0;
    const rescans = new Rescans({
      scan: () => {
        scans += 1;
        return Promise.resolve({ files: 0, added: 0, moved: 0, changed: 0, missing: 0 });
      },
      listFolders: () => new Set(existsSync(folder) ? [folder] : []),
      paths: [folder],
      onScan: () => undefined,
      onFailure: (error) => expect.fail(String(error)),
      signal: stop.signal,
    });
    await rescans.rescan();
    rescans.startWatching();
    for (const change of [
      () => writeFile(join(folder, 'a.tiff'), 'a'),
      () => rename(folder, join(work, 'away')),
      () => rename(join(work, 'away'), folder),
    ]) {
      const before = scans;
      await change();
      await until('it scans', () => scans > before);
    }
  });
});
