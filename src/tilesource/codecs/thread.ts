import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { zstdContentSize } from './zstd-header.js';
import type { CodecTask, Decoded, FrameInfo } from './tasks.js';

/** The program of a decoding thread. Libraries are loaded when first needed. */

const require = createRequire(import.meta.url);

interface Jpeg2000Decoder {
  getEncodedBuffer(length: number): Uint8Array;
  getDecodedBuffer(): Uint8Array;
  getFrameInfo(): FrameInfo;
  decode(): void;
  decodeSubResolution(reduce: number, layers: number): void;
  delete(): void;
}

interface JpegXrPicture {
  width: number;
  height: number;
  pixelInfo: { channels: number; bitDepth: string; bgr: boolean };
  bytes: Uint8Array<ArrayBuffer>;
}

/** Loads a library once. After a failure it is loaded anew, as its memory may be in disorder. */
class Library<T> {
  #loaded: Promise<T> | null = null;

  constructor(private readonly load: () => Promise<T>) {}

  async use<R>(work: (library: T) => R): Promise<R> {
    this.#loaded ??= this.load();
    try {
      return work(await this.#loaded);
    } catch (error) {
      this.#loaded = null;
      throw error;
    }
  }
}

const openJpeg = new Library(async () => {
  const factory = require('@cornerstonejs/codec-openjpeg/decodewasmjs') as (
    options: object,
  ) => Promise<{ J2KDecoder: new () => Jpeg2000Decoder }>;
  const wasmBinary = readFileSync(require.resolve('@cornerstonejs/codec-openjpeg/decodewasm'));
  return factory({ wasmBinary, print() {}, printErr() {} });
});

const jpegXrLibrary = new Library(async () => {
  const factory = require('jpegxr') as (options: object) => Promise<{ decode(bytes: Uint8Array): JpegXrPicture }>;
  return factory({ print() {}, printErr() {} });
});

const zstdLibrary = new Library(async () => {
  const { init, decompress } = await import('@bokuweb/zstd-wasm');
  await init();
  return decompress;
});

function jpeg2000(bytes: Uint8Array, reduce: number): Promise<Decoded> {
  return openJpeg.use((library) => {
    const decoder = new library.J2KDecoder();
    try {
      decoder.getEncodedBuffer(bytes.length).set(bytes);
      if (reduce > 0) decoder.decodeSubResolution(reduce, 0);
      else decoder.decode();
      const { width, height, bitsPerSample, componentCount, isSigned } = decoder.getFrameInfo();
      const data = new Uint8Array(decoder.getDecodedBuffer()).slice();
      return { info: { width, height, bitsPerSample, componentCount, isSigned }, data };
    } finally {
      decoder.delete();
    }
  });
}

/** Depths of JPEG XR by the library's names; others are not what microscopes write. */
const jpegXrDepths: Readonly<Record<string, { bits: number; isFloat: boolean }>> = {
  8: { bits: 8, isFloat: false },
  16: { bits: 16, isFloat: false },
  '32Float': { bits: 32, isFloat: true },
};

function jpegXr(bytes: Uint8Array): Promise<Decoded> {
  return jpegXrLibrary.use((library) => {
    const { width, height, pixelInfo, bytes: data } = library.decode(bytes);
    const depth = jpegXrDepths[pixelInfo.bitDepth];
    if (depth === undefined) throw new Error(`samples of type ${pixelInfo.bitDepth} are not supported`);
    if (pixelInfo.bgr) swapRedAndBlue(depth.bits === 8 ? data : new Uint16Array(data.buffer), pixelInfo.channels);
    const info = { width, height, bitsPerSample: depth.bits, componentCount: pixelInfo.channels, isSigned: false };
    return { info: { ...info, isFloat: depth.isFloat }, data };
  });
}

function swapRedAndBlue(samples: Uint8Array | Uint16Array, channels: number): void {
  for (let at = 0; at + 2 < samples.length; at += channels) {
    const blue = samples[at] ?? 0;
    samples[at] = samples[at + 2] ?? 0;
    samples[at + 2] = blue;
  }
}

function zstd(bytes: Uint8Array, size: number): Promise<Decoded> {
  const declared = zstdContentSize(bytes);
  if (declared !== null && declared > size) {
    throw new Error(`${declared} bytes are declared where ${size} are expected`);
  }
  // The library allocates what the frame declares, or else the size given here.
  return zstdLibrary.use((decompress) => ({ info: null, data: decompress(bytes, { defaultHeapSize: size }).slice() }));
}

async function run(task: CodecTask): Promise<Decoded> {
  switch (task.codec) {
    case 'zstd':
      return zstd(task.bytes, task.size);
    case 'jpeg2000':
      return jpeg2000(task.bytes, task.reduce ?? 0);
    case 'jpegxr':
      return jpegXr(task.bytes);
  }
}

/** Decodes what a task holds, and hands the result over without a copy; an error's message says why it cannot be. */
export default async function decode(task: CodecTask): Promise<unknown> {
  const decoded = await run(task);
  return move({ [transferableSymbol]: decoded.data.buffer, [valueSymbol]: decoded });
}
