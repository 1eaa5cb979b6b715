import { expect, it } from 'vitest';
import { createZipStream, type ZipEntry } from '../../../src/reference-host/files/zip.js';
import { slicesOf } from '../../support/run/slices.js';

const refuseRead = () => Promise.reject(new Error('There is no file.'));

async function* entries(count: number): AsyncGenerator<ZipEntry> {
  for (let i = 0; i < count; i += 1) yield { path: `folder/${i}.txt`, date: new Date(2026, 1, 3), content: `text ${i}` };
}

it('an archive of many entries is made without blocking the event loop', async () => {
  const pieces: Buffer[] = [];
  const slices = await slicesOf(async () => {
    for await (const piece of createZipStream(entries(20_000), { open: refuseRead })) pieces.push(piece as Buffer);
  });
  const archive = Buffer.concat(pieces);
  // At least one slice for each hundred entries.
  expect(slices).toBeGreaterThanOrEqual(200);
  // The record at the end counts the entries.
  expect(archive.readUInt16LE(archive.length - 22 + 10)).toBe(20_000);
});

it('dates that an archive cannot express become the earliest or latest that it can', async () => {
  async function* extremes(): AsyncGenerator<ZipEntry> {
    yield { path: 'first.txt', date: new Date(0), content: 'a' };
    yield { path: 'last.txt', date: new Date(4e14), content: 'b' };
  }
  const pieces: Buffer[] = [];
  for await (const piece of createZipStream(extremes(), { open: refuseRead })) pieces.push(piece as Buffer);
  const archive = Buffer.concat(pieces);
  const dateOf = (name: string) => {
    const header = archive.indexOf(name) - 30;
    const days = archive.readUInt16LE(header + 12);
    return [1980 + (days >> 9), (days >> 5) & 15, days & 31];
  };
  expect(dateOf('first.txt')).toEqual([1980, 1, 1]);
  expect(dateOf('last.txt')).toEqual([2107, 12, 31]);
});
