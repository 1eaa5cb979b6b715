import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { setImmediate } from 'node:timers/promises';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { describeTileSource } from '../../../../src/testing/tile-source.js';
import { fileInput } from '../../../../src/tilesource/byte-reader.js';
import { wireFrames } from '../../../../src/tilesource/metadata.js';
import type { SampleType } from '../../../../src/tilesource/raster.js';
import { awaitOrAbort } from '../../../../src/tilesource/process/shared-work.js';
import { zarrSource } from '../../../../src/tilesource/sources/zarr/zarr-source.js';
import type { ByteReader } from '../../../../src/tilesource/tile-source.js';
import { writeFixtures } from '../../../support/images/fixtures.js';
import { fuzz } from '../../../support/images/fuzz.js';
import { memoryInput } from '../../../support/images/memory-input.js';
import { expectRefused } from '../../../support/images/refusals.js';
import { pattern } from '../../../support/images/pattern.js';
import { samplesOf } from '../../../support/images/samples.js';
import { wholeLevel, worstDifference } from '../../../support/images/whole-level.js';
import { writeZip, type ZipFileBytes } from '../../../support/writers/zip-writer.js';

interface Written {
  name: string;
  width: number;
  height: number;
  dtype: SampleType;
  bands?: number;
  frames: string[];
}

const fixtures = writeFixtures<Written[]>('zarr_images.py', ['zarr', 'ome_zarr', 'numcodecs', 'numpy']);
const folder = fixtures?.folder ?? '';
afterAll(() => fixtures?.remove());

const ome = (axes: string[]) => ({ multiscales: [{ axes: axes.map((name) => ({ name })), datasets: [{ path: '0' }] }] });

/** An image of two channels of 100 by 60 bytes in chunks of one channel and 64 by 64 pixels. */
function twoChannels(change: Record<string, unknown> = {}): Record<string, Uint8Array | string> {
  const array = {
    zarr_format: 2,
    shape: [2, 60, 100],
    chunks: [1, 64, 64],
    dtype: '|u1',
    fill_value: 0,
    order: 'C',
    filters: null,
  };
  const chunk = gzipSync(pattern(64, 64, 1));
  return {
    '.zattrs': JSON.stringify({
      ...ome(['c', 'y', 'x']),
      omero: { channels: [{ label: 'A', color: '00ff00' }, { label: 'B' }] },
    }),
    '0/.zarray': JSON.stringify({ ...array, compressor: { id: 'gzip' }, ...change }),
    '0/0.0.0': chunk,
    '0/1.0.1': chunk,
  };
}

/** An image in one shard: two chunks, and their index at the end, with a checksum if one is given. */
function sharded({ index, chunkWidth = 64, checksum }: { index?: Buffer; chunkWidth?: number; checksum?: Buffer } = {}): Record<
  string,
  Uint8Array | string
> {
  const chunk = gzipSync(pattern(chunkWidth, 64, 1));
  const shardIndex = Buffer.alloc(32);
  for (const [at, value] of [0, chunk.length, 0, chunk.length].entries()) shardIndex.writeBigUInt64LE(BigInt(value), at * 8);
  const codecs = [{ name: 'bytes' }, { name: 'gzip', configuration: { level: 5 } }];
  const indexCodecs = [{ name: 'bytes' }, ...(checksum === undefined ? [] : [{ name: 'crc32c' }])];
  const configuration = { chunk_shape: [64, chunkWidth], codecs, index_codecs: indexCodecs, index_location: 'end' };
  const array = {
    zarr_format: 3,
    node_type: 'array',
    shape: [64, 2 * chunkWidth],
    data_type: 'uint8',
    chunk_grid: { name: 'regular', configuration: { chunk_shape: [64, 2 * chunkWidth] } },
    chunk_key_encoding: { name: 'default' },
    fill_value: 0,
    codecs: [{ name: 'sharding_indexed', configuration }],
  };
  return {
    'a.zarr/zarr.json': JSON.stringify({ zarr_format: 3, node_type: 'group', attributes: { ome: ome(['y', 'x']) } }),
    'a.zarr/0/zarr.json': JSON.stringify(array),
    'a.zarr/0/c/0/0': Buffer.concat([chunk, index ?? shardIndex, checksum ?? Buffer.alloc(0)]),
  };
}

const open = ({ file }: Pick<ZipFileBytes, 'file'>) => zarrSource.open(memoryInput(file, 'memory.zarr.zip'));

describe.runIf(fixtures !== null)('OME-Zarr written by its own libraries', () => {
  for (const { name, width, height, dtype, bands = 1, frames } of fixtures?.manifest ?? []) {
    it(`${name} has the samples that were written, on every frame`, async () => {
      const source = await zarrSource.open(fileInput(join(folder, name)));
      expect(source.metadata).toMatchObject({ sizeX: width, sizeY: height, bandCount: bands, dtype });
      expect(source.metadata.frames?.length ?? 1).toBe(frames.length);
      for (const [frame, raw] of frames.entries()) {
        const actual = await wholeLevel(source, source.metadata.levels - 1, frame);
        expect(worstDifference(actual, samplesOf(readFileSync(join(folder, raw)), dtype)), `frame ${frame}`).toBe(0);
      }
      await source.close();
    });
  }

  it.each(['v04.zarr.zip', 'v05.ome.zarr.zip'])('%s has levels, channels with their colors, and the scale', async (name) => {
    const source = await zarrSource.open(fileInput(join(folder, name)));
    const { metadata } = source;
    expect(metadata).toMatchObject({ mmX: 0.00025, mmY: 0.00025, channels: ['DAPI', 'FITC'] });
    const wire = wireFrames(metadata.frames ?? [], metadata.channels);
    expect(wire.IndexStride).toMatchObject({ IndexC: 1, IndexZ: 2 });
    expect(wire.frames?.[1]).toMatchObject({ Frame: 1, IndexC: 1, Channel: 'FITC', ChannelColor: '#00ff00' });
    expect(source.populatedLevels).toContain(metadata.levels - 2);
    // The writer takes every second pixel.
    const full = await wholeLevel(source, metadata.levels - 1, 1);
    const half = full.filter((_, i) => (i % 520) % 2 === 0 && Math.floor(i / 520) % 2 === 0);
    expect(worstDifference(await wholeLevel(source, metadata.levels - 2, 1), half)).toBe(0);
    expect(await source.internalMetadata?.()).toMatchObject({ omero: { channels: [{ label: 'DAPI' }, {}] } });
    await source.close();
  });

  if (fixtures !== null) {
    for (const name of ['v04.zarr.zip', 'sharded.zarr.zip']) {
      describeTileSource(() => zarrSource, join(folder, name), { describe, it });
    }
  }
});

describe('OME-Zarr in a ZIP file', () => {
  it('fills missing chunks, and finds the group anywhere in the archive', async () => {
    const source = await open(writeZip(twoChannels({ fill_value: 9 }), { deflated: ['.zattrs', '0/0.0.0'] }));
    expect(source.metadata).toMatchObject({ sizeX: 100, sizeY: 60, channels: ['A', 'B'] });
    const expected = (frame: number): number[] =>
      Array.from({ length: 6000 }, (_, i) => {
        const [x, y] = [i % 100, Math.floor(i / 100)];
        const isThere = frame === 0 ? x < 64 : x >= 64;
        return isThere ? pattern(64, 64, 1)[y * 64 + (x % 64)]! : 9;
      });
    for (const frame of [0, 1]) expect(worstDifference(await wholeLevel(source, 0, frame), expected(frame))).toBe(0);
    await source.close();
    const nested = await open(writeZip(sharded()));
    expect(nested.metadata).toMatchObject({ sizeX: 128, sizeY: 64 });
    await nested.close();
  });

  it('reads the index of a shard to the end when the request that began to read it is aborted', async () => {
    const input = memoryInput(writeZip(sharded({ chunkWidth: 256 })).file, 'memory.zarr.zip');
    let isHeld = false;
    let heldReads = 0;
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const openHeld = async () => {
      const reader = await input.open();
      const read: ByteReader['read'] = async (offset, length, options) => {
        if (isHeld) {
          heldReads += 1;
          await awaitOrAbort(released, options?.signal);
        }
        return reader.read(offset, length, options);
      };
      return { ...reader, read };
    };
    const source = await zarrSource.open({ ...input, open: openHeld });
    isHeld = true;
    const first = new AbortController();
    const level = source.metadata.levels - 1;
    const tiles = Promise.allSettled([
      source.readTile({ level, x: 0, y: 0, frame: 0 }, { signal: first.signal }),
      source.readTile({ level, x: 1, y: 0, frame: 0 }, { signal: new AbortController().signal }),
    ]);
    await vi.waitFor(() => expect(heldReads).toBeGreaterThan(0));
    // Both requests wait for the index now.
    await setImmediate();
    expect(heldReads).toBe(1);
    first.abort(new Error('gone'));
    release();
    expect(await tiles).toMatchObject([{ status: 'rejected', reason: { message: 'gone' } }, { status: 'fulfilled' }]);
    await source.close();
  });

  it('reads little of a large file for a tile', async () => {
    const big = Buffer.alloc(1000 * 1000, 3);
    const files: Record<string, Uint8Array | string> = {
      '.zattrs': JSON.stringify(ome(['y', 'x'])),
      '0/.zarray': JSON.stringify({ zarr_format: 2, shape: [8000, 8000], chunks: [1000, 1000], dtype: '|u1', compressor: null }),
    };
    for (let i = 0; i < 64; i++) files[`0/${Math.floor(i / 8)}.${i % 8}`] = big;
    const input = memoryInput(writeZip(files).file, 'large.zip');
    const source = await zarrSource.open(input);
    const tile = await source.readTile({ level: source.metadata.levels - 1, x: 7, y: 7, frame: 0 });
    expect(tile.data.every((value) => value === 3)).toBe(true);
    expect(input.bytesRead()).toBeLessThan(64e6 * 0.04);
    await source.close();
  });

  it.each([
    ['an unknown codec', twoChannels({ compressor: { id: 'lzma' } }), 'the codec lzma'],
    ['an unknown type', twoChannels({ dtype: '<c16' }), 'the type "<c16"'],
    ['huge chunks', twoChannels({ chunks: [2, 60_000, 60_000] }), '7200000000 bytes'],
    ['a chunk that is a bomb', { ...twoChannels(), '0/0.0.0': gzipSync(Buffer.alloc(2 ** 24)) }, 'failed'],
    ['a shape of many planes', twoChannels({ shape: [1e9, 60, 100] }), '1000000000 planes'],
    ['no image', { '.zgroup': '{}' }, 'no image'],
    ['a plate', { '.zattrs': JSON.stringify({ plate: {} }) }, 'wells of a plate'],
    ['an index of shards that leaves the file', sharded({ index: Buffer.alloc(32, 0x7f) }), 'extends past its end'],
    [
      'an index of shards that does not match its checksum',
      sharded({ checksum: Buffer.alloc(4) }),
      'does not match its checksum',
    ],
    ['no Zarr at all', { 'readme.txt': 'Hello' }, 'no Zarr group'],
  ])('refuses %s by name', async (_name, files, message) => {
    await expectRefused(zarrSource, memoryInput(writeZip(files).file, 'memory.zarr.zip'), message);
  });

  it('refuses files of an archive that inflate to more than they say', async () => {
    const bomb = writeZip(
      { '.zattrs': JSON.stringify(ome(['y', 'x'])) + ' '.repeat(1e6) },
      { deflated: ['.zattrs'], claimedSize: 100 },
    );
    await expect(open(bomb)).rejects.toThrow('cannot be inflated to 100 bytes');
  });

  it('reads mutated files, or refuses them with clear errors only', async () => {
    const kinds = new Map(
      Object.entries({
        chunks: writeZip(twoChannels(), { deflated: ['.zattrs'] }),
        shards: writeZip(sharded()),
      }).map(([kind, written]) => [kind, { ...written, name: 'fuzz.zip' }]),
    );
    const result = await fuzz(zarrSource, kinds, { count: 200 });
    expect(result.files).toBeGreaterThan(30);
    expect(result.readable).toBeGreaterThan(result.files / 10);
  });
});
