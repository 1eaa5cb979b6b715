import { Types } from 'mongoose';
import { describe, expect, it } from 'vitest';
import { GoneFiles } from '../../../src/reference-host/start/content/gone-files.js';

const modified = new Date('2026-01-02T03:04:05.678Z');

/** A file of the same size and time as all others. */
function file(index: number) {
  const storage = { kind: 'in-place' as const, path: `/a/${index}`, inode: `1:${index}`, digest: `digest ${index}`, modified };
  return { _id: new Types.ObjectId(), itemId: new Types.ObjectId(), name: `${index}`, size: 100, storage };
}

describe('missing served files', () => {
  it('are found by inode without reading them, and otherwise by their digest', async () => {
    const goneFiles = new GoneFiles();
    const files = Array.from({ length: 100_000 }, (_, index) => file(index));
    for (const each of files) goneFiles.add(each);
    let read = 0;
    let wrong = 0;
    for (const [index, each] of files.entries()) {
      const digest = () => {
        read += 1;
        return Promise.resolve(each.storage.digest);
      };
      const inode = index % 1000 === 0 ? 'of another disk' : each.storage.inode;
      if ((await goneFiles.takeMoved({ inode, size: 100, modified, digest })) !== each) wrong += 1;
    }
    expect({ wrong, read, left: goneFiles.size }).toEqual({ wrong: 0, read: 100, left: 0 });
  });

  it('are not found by an inode or a digest when size or time differ', async () => {
    const goneFiles = new GoneFiles();
    goneFiles.add(file(1));
    const facts = { inode: '1:1', size: 100, modified, digest: () => Promise.resolve('digest 1') };
    expect(await goneFiles.takeMoved({ ...facts, size: 101 })).toBeNull();
    expect(await goneFiles.takeMoved({ ...facts, modified: new Date() })).toBeNull();
    expect(await goneFiles.takeMoved({ ...facts, inode: '1:2', digest: () => Promise.resolve('digest 2') })).toBeNull();
    expect(await goneFiles.takeMoved(facts)).not.toBeNull();
    expect(await goneFiles.takeMoved(facts)).toBeNull();
  });

  it('are found together with the other records of the same file', async () => {
    const goneFiles = new GoneFiles();
    const [original, copy, other] = [file(1), file(1), file(2)];
    for (const each of [original, copy, other]) goneFiles.add(each);
    const facts = { inode: '1:1', size: 100, modified, digest: () => Promise.resolve('') };
    expect(await goneFiles.takeMoved(facts)).toBe(original);
    expect(goneFiles.takeAt('/a/1')).toEqual([copy]);
    expect(goneFiles.listItemIds()).toEqual([other.itemId]);
  });
});
