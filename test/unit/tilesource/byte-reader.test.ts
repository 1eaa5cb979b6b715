import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { TileSourceError } from '../../../src/errors.js';
import { openFileReader } from '../../../src/tilesource/byte-reader.js';

it('a file stays open for the reads that are under way, and is no longer read afterwards', async () => {
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

it('reads into the given memory if it is long enough', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'byte-reader-'));
  try {
    const path = join(folder, 'file');
    await writeFile(path, 'abcdefghij');
    const reader = await openFileReader(path);
    const into = new Uint8Array(5);
    const read = await reader.read(2, 4, { into });
    expect([read.buffer, Buffer.from(read).toString(), into[4]]).toEqual([into.buffer, 'cdef', 0]);
    const longer = await reader.read(0, 6, { into });
    expect([longer.buffer === into.buffer, Buffer.from(longer).toString()]).toEqual([false, 'abcdef']);
    await reader.close();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
