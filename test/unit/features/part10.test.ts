import { describe, expect, it } from 'vitest';
import { createDicomFile } from '../../../src/features/dicomweb/answers/part10.js';
import { streamBytes, sizeOf } from '../../../src/features/dicomweb/answers/streamed-file.js';
import { transferSyntaxes } from '../../../src/features/dicomweb/format/dataset.js';

const parts = {
  classUid: '1.2.3',
  instanceUid: '1.2.3.4',
  attributes: { Rows: 256 },
  bitsAllocated: 8,
  signal: new AbortController().signal,
};

async function read(...args: Parameters<typeof streamBytes>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of streamBytes(...args)) pieces.push(piece);
  return Buffer.concat(pieces);
}

describe('a DICOM file that is generated while it is sent', () => {
  const length = 2 ** 24 + 1;
  /** More than 4 GiB of frames, each filled with its frame number. */
  const large = {
    ...parts,
    syntax: transferSyntaxes.jpeg,
    frameCount: 300,
    frameBytes: 0,
    frameLengthOf: () => length,
    makeFrame: (number: number) => Promise.resolve(new Uint8Array(length).fill(number % 256)),
  };

  it('has tables of 64-bit offsets and lengths when encoded frames exceed 4 GiB, and answers ranges beyond that', async () => {
    const file = await createDicomFile(large);
    const head = file.head.toString('latin1');
    const [offsets, lengths] = ['\xe0\x7f\x01\x00OV', '\xe0\x7f\x02\x00OV'].map((tag) => head.indexOf(tag) + 12);
    expect(file.head.readBigUInt64LE(offsets! + 8 * 299)).toBe(299n * BigInt(length + 1 + 8));
    expect(file.head.readBigUInt64LE(lengths! + 8 * 299)).toBe(BigInt(length + 1));
    const start = file.head.length + 299 * (length + 1 + 8);
    expect(sizeOf(file)).toBe(start + 8 + length + 1 + 8);
    const range = await read(file, start + 4, start + 10);
    expect(range).toEqual(Buffer.from([...Buffer.from(Uint32Array.of(length + 1).buffer), 299 % 256, 299 % 256]));
  });

  it('has one table of 32-bit offsets otherwise', async () => {
    const file = await createDicomFile({ ...large, frameCount: 3 });
    expect(file.head.includes(Buffer.from('\xe0\x7f\x01\x00OV', 'latin1'))).toBe(false);
    const table = file.head.subarray(file.head.length - 12);
    expect([...new Uint32Array(Uint8Array.from(table).buffer)]).toEqual([0, length + 9, 2 * (length + 9)]);
  });

  it('refuses native samples that exceed the 32-bit length of an element, and names the limit', async () => {
    const native = { ...large, syntax: transferSyntaxes.explicitLittle, frameLengthOf: null, frameBytes: 2 ** 24 };
    await expect(createDicomFile({ ...native, frameCount: 256 })).rejects.toMatchObject({
      code: 'not-acceptable',
      message: expect.stringContaining('4294967294'),
    });
    const most = await createDicomFile({ ...native, frameCount: 255 });
    expect(sizeOf(most)).toBe(most.head.length + 255 * 2 ** 24);
  });
});
