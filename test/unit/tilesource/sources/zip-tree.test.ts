import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openInZip } from '../../../../src/tilesource/archive/zip-tree.js';
import { memoryInput } from '../../../support/images/memory-input.js';

/** An archive whose directory has this number of entries with one name. */
function archiveOf(count: number, name: string): Buffer {
  const entry = Buffer.concat([Buffer.alloc(46), Buffer.from(name)]);
  entry.write('PK\x01\x02', 0, 'latin1');
  entry.writeUInt16LE(20, 6);
  entry.writeUInt16LE(name.length, 28);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 0, 'latin1');
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(count * entry.length, 12);
  return Buffer.concat([...Array.from({ length: count }, () => entry), end]);
}

it.each(['folder/', 'file'])('yields to the event loop while many entries called %s are read', async (name) => {
  let isOpen = false;
  const opening = openInZip(memoryInput(archiveOf(20_000, name), 'a.zip'), (tree) => tree.close()).then(() => (isOpen = true));
  let turns = 0;
  for (; !isOpen; turns += 1) await turn();
  await opening;
  expect(turns).toBeGreaterThanOrEqual(20);
});
