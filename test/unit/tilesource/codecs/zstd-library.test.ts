import { setImmediate } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { loadNewZstd } from '../../../../src/tilesource/codecs/zstd-library.js';

const samples = Uint8Array.from({ length: 65_536 }, (_, i) => (i * 7919) >> 3);

it('compresses correctly after its modules were loaded again', async () => {
  const { decompress } = await loadNewZstd();
  for (let copy = 0; copy < 3; copy += 1) {
    vi.resetModules();
    const { loadZstdCompressor } = await import('../../../../src/tilesource/codecs/zstd-library.js');
    const compress = await loadZstdCompressor();
    // The library continues its initialization after it has reported that it is ready.
    for (let turn = 0; turn < 20; turn += 1) {
      expect(Buffer.compare(decompress(compress(samples, 1)), samples)).toBe(0);
      await setImmediate();
    }
  }
});
