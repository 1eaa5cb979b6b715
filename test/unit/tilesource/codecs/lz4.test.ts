import LZ4 from 'numcodecs/lz4';
import { describe, expect, it } from 'vitest';
import { decodeLz4 } from '../../../../src/tilesource/codecs/lz4.js';

const writer = LZ4.fromConfig({ id: 'lz4', acceleration: 1 });
let state = 1;
const random = (below: number) => ((state = (state * 1664525 + 1013904223) >>> 0) >>> 8) % below;

const samples: [what: string, bytes: Uint8Array][] = [
  ['nothing but one value', new Uint8Array(100_000).fill(7)],
  ['a pattern', Uint8Array.from({ length: 70_000 }, (_, i) => i % 251)],
  ['short repetitions', Uint8Array.from({ length: 50_000 }, (_, i) => (i % 3) * (i % 7))],
  ['noise', Uint8Array.from({ length: 70_000 }, () => random(256))],
  ['some noise', Uint8Array.from({ length: 70_000 }, (_, i) => (i % 900 < 600 ? 3 : random(256)))],
  ['a few bytes', Uint8Array.of(1, 2, 3)],
];

describe('LZ4', () => {
  it.each(samples)('of %s is decoded', async (_what, bytes) => {
    expect(Buffer.from(decodeLz4(await writer.encode(bytes))).equals(bytes)).toBe(true);
  });

  it('that is corrupt is refused or decoded to the size that it declares', async () => {
    const good = await writer.encode(samples[4]![1]);
    let refused = 0;
    for (let i = 0; i < 500; i += 1) {
      const bytes = Uint8Array.from(good.subarray(0, i % 5 === 0 ? 4 + random(good.length - 4) : good.length));
      for (let hits = 0; hits < 4; hits += 1) if (bytes.length > 4) bytes[4 + random(bytes.length - 4)] = random(256);
      try {
        expect(decodeLz4(bytes).length).toBe(70_000);
      } catch (error) {
        expect(String(error)).toMatch(/^Error: (a length|there are|a match)/);
        refused += 1;
      }
    }
    expect(refused).toBeGreaterThan(0);
    expect(() => decodeLz4(Uint8Array.of(1, 0))).toThrow('the size is missing');
  });
});
