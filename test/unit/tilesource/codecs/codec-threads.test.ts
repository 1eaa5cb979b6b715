/** In decoding threads, what one file does to a library must not affect the next one. */
import { expect, it } from 'vitest';
import { CodecThreads } from '../../../../src/tilesource/codecs/threads/codec-threads.js';

const samples = Uint8Array.from({ length: 100 }, (_, at) => at);

/** A frame of one block (RFC 8878): a raw block, or one of the reserved type, which no decoder accepts. */
function frame(type: 'raw' | 'reserved'): Uint8Array {
  const header = (samples.length << 3) | (type === 'raw' ? 0 : 3 << 1) | 1;
  return Uint8Array.from([
    0x28,
    0xb5,
    0x2f,
    0xfd,
    0x20,
    samples.length,
    header & 255,
    (header >> 8) & 255,
    header >> 16,
    ...samples,
  ]);
}

const threads = new CodecThreads();
const decode = (bytes: Uint8Array) => threads.decode({ codec: 'zstd', bytes, size: samples.length }, 'a tile');

it('threads still decode after many corrupt files made them reload their library', async () => {
  // Each thread has more failures than it allows before it reloads its library.
  const refused = await Promise.allSettled(Array.from({ length: 200 }, () => decode(frame('reserved'))));
  expect(refused.filter(({ status }) => status !== 'rejected')).toEqual([]);
  for (const { data } of await Promise.all(Array.from({ length: 20 }, () => decode(frame('raw'))))) {
    expect(Buffer.from(data).equals(samples)).toBe(true);
  }
});
