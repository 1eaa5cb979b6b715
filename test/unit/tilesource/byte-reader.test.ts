import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { TileSourceError } from '../../../src/errors.js';
import { openFileReader } from '../../../src/tilesource/byte-reader.js';

it('a file stays open for the reads that are under way, and is read no more afterwards', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'byte-reader-'));
  try {
    const path = join(folder, 'file');
    await writeFile(
      path,
      Uint8Array.from({ length: 1000 }, (_, at) => at),
    );
    const reader = await openFileReader(path);
    const reading = Array.from({ length: 20 }, (_, at) => reader.read(at, 10));
    const closing = Promise.all([reader.close(), reader.close()]);
    for (const [at, bytes] of (await Promise.all(reading)).entries()) {
      expect([...bytes]).toEqual(Array.from({ length: 10 }, (_, more) => at + more));
    }
    await closing;
    await expect(reader.read(0, 1)).rejects.toThrow(TileSourceError);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
