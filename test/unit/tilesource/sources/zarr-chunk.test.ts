import { deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { decodeZarrChunk, createZarrInflater, type ZarrChunk } from '../../../../src/tilesource/sources/zarr/zarr-chunk.js';

const samples = Uint16Array.from({ length: 35 }, (_, at) => at * 1000);
const bytes = new Uint8Array(samples.buffer);
const plain: ZarrChunk = { bytes, type: 'uint16', isBigEndian: false, shape: [5, 7], codecs: [], order: null };
const noLibraries = { blosc: () => Promise.reject(new Error('none')), zstd: () => Promise.reject(new Error('none')) };
const packed = { gzip: gzipSync(bytes), zlib: deflateSync(bytes) };

describe.each(['gzip', 'zlib'] as const)('chunks that are packed by %s alone', (name) => {
  const chunk: ZarrChunk = { ...plain, bytes: packed[name], codecs: [{ name }] };

  it('are inflated to the same bytes as in a thread', async () => {
    const inflated = await createZarrInflater(chunk)!(chunk.bytes);
    expect(inflated).toEqual(bytes);
    expect(inflated!.byteOffset % 2).toBe(0);
    expect(await decodeZarrChunk(chunk, noLibraries)).toEqual(inflated);
  });

  it('are refused when they are damaged, too short or too long', async () => {
    await expect(createZarrInflater(chunk)!(packed[name].subarray(0, 20))).rejects.toThrow('unexpected end');
    await expect(createZarrInflater({ ...chunk, shape: [5, 8] })!(chunk.bytes)).rejects.toThrow('70 bytes where 80 are expected');
    await expect(createZarrInflater({ ...chunk, shape: [1, 1] })!(chunk.bytes)).rejects.toThrow();
  });

  it.each([
    ['other byte order', { isBigEndian: true }],
    ['axes in a different order', { order: [1, 0] }],
    ['a type that is widened', { type: 'float16' }],
    ['a further codec', { codecs: [{ name }, { name: 'crc32c' }] }],
  ] satisfies [string, Partial<ZarrChunk>][])('are left to threads with %s', async (_what, change) => {
    expect(createZarrInflater({ ...chunk, ...change })).toBeNull();
  });
});

describe('chunks with a checksum', () => {
  // CRC-32C of the ASCII digits 1 to 9, the check value that catalogs of checksums give.
  const digits = Buffer.from('123456789');
  const withChecksum = (checksum: number) => {
    const bytes = Buffer.concat([digits, Buffer.alloc(4)]);
    bytes.writeUInt32LE(checksum, digits.length);
    return { ...plain, bytes, type: 'uint8', shape: [9], codecs: [{ name: 'crc32c' }] } satisfies ZarrChunk;
  };

  it('are decoded when it matches', async () => {
    expect(Buffer.from(await decodeZarrChunk(withChecksum(0xe3069283), noLibraries))).toEqual(digits);
  });

  it('are refused when it does not match, or is missing', async () => {
    await expect(decodeZarrChunk(withChecksum(0xe3069282), noLibraries)).rejects.toThrow(
      'the checksum of the chunk does not match',
    );
    const empty = { ...withChecksum(0), bytes: Buffer.alloc(3) };
    await expect(decodeZarrChunk(empty, noLibraries)).rejects.toThrow('the checksum of the chunk does not match');
  });
});
