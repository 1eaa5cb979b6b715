import { promisify } from 'node:util';
import { inflate } from 'node:zlib';
import { TileSourceError } from '../../../../errors.js';
import type { DecodeContext, ImageLayout } from '../tiff-layout.js';
import { joinStrips } from './samples.js';

const inflateBytes = promisify(inflate);

/** Decodes consecutive strips, or a tile, of LERC to interleaved little-endian samples. */
export async function decompressLerc(
  layout: ImageLayout,
  strips: readonly Uint8Array[],
  rows: number,
  { threads, signal }: DecodeContext,
): Promise<Uint8Array> {
  const samplesPerPixel = layout.planes > 1 ? 1 : layout.samplesPerPixel;
  const parts: Uint8Array[] = [];
  for (const [index, strip] of strips.entries()) {
    const height = Math.min(layout.chunkHeight, rows - index * layout.chunkHeight);
    const sampleBytes = layout.bits / 8;
    const isFloat = layout.sampleFormat === 3;
    const shape = { width: layout.chunkWidth, height, samplesPerPixel, sampleBytes, isFloat };
    const bytes = await undoLercPacking(layout, strip, { threads, signal });
    parts.push(await threads.call('lerc', { bytes, ...shape }, 'a tile or strip (LERC)', signal));
  }
  return joinStrips(parts);
}

/** Undoes the additional compression. LERC data is hardly longer than its samples, so the size of the result can be limited. */
async function undoLercPacking(
  { lercPacking, chunkWidth, chunkHeight, samplesPerPixel, bits }: ImageLayout,
  bytes: Uint8Array,
  { threads, signal }: Pick<DecodeContext, 'threads'> & { signal: AbortSignal | undefined },
): Promise<Uint8Array> {
  const maxBytes = chunkWidth * chunkHeight * samplesPerPixel * (bits / 8) * 2 + 2 ** 16;
  switch (lercPacking) {
    case 'none':
      return Uint8Array.from(bytes);
    case 'zstd':
      return (await threads.decode({ codec: 'zstd', bytes, size: maxBytes }, 'a tile or strip', signal)).data;
    case 'deflate':
      try {
        return Uint8Array.from(await inflateBytes(bytes, { maxOutputLength: maxBytes }));
      } catch (cause) {
        throw new TileSourceError('Corrupt TIFF: a tile or strip of LERC cannot be inflated.', { cause });
      }
  }
}
