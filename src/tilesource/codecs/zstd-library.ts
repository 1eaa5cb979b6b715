import { createRequire } from 'node:module';
import type * as Zstd from '@bokuweb/zstd-wasm';

const require = createRequire(import.meta.url);

/**
 * Loads a new copy of the library for Zstandard. The library keeps its state in its module, and returns wrong bytes if it is
 * initialized a second time, so its modules are loaded again. A copy that has read a damaged frame should not be used again.
 */
export async function loadNewZstd(): Promise<Pick<typeof Zstd, 'compress' | 'decompress'>> {
  for (const path of Object.keys(require.cache)) if (/[\\/]@bokuweb[\\/]zstd-wasm[\\/]/.test(path)) delete require.cache[path];
  const { init, compress, decompress } = require('@bokuweb/zstd-wasm') as typeof Zstd;
  await init();
  return { compress, decompress };
}

let sharedZstd: ReturnType<typeof loadNewZstd> | null = null;

/** Loads the compressor of zstd once. It comes from a library, because neither Node 20 nor the libvips of sharp writes zstd. */
export async function loadZstdCompressor(): Promise<(bytes: Uint8Array, level: number) => Uint8Array> {
  sharedZstd ??= loadNewZstd();
  return (await sharedZstd).compress;
}
