import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { ordered, type SampleOrder } from './sample-order.js';
import { readDicomFacts, type DicomFacts } from '../sources/dicom/facts.js';
import { readCziFacts, type CziFacts } from '../sources/czi/facts.js';
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

/** Decoders of charls and OpenJPH, which are alike. */
interface PlainDecoder {
  getEncodedBuffer(length: number): Uint8Array;
  getDecodedBuffer(): Uint8Array;
  getFrameInfo(): FrameInfo;
  decode(): void;
  delete(): void;
}

interface JpegXrPicture {
  width: number;
  height: number;
  pixelInfo: { channels: number; bitDepth: string; bgr: boolean };
  bytes: Uint8Array<ArrayBuffer>;
}

/** Failures after which a library is loaded anew: each may leave some memory behind. */
const maxFailures = 20;

/** Loads a library once, and anew after a trap, which leaves its memory in disorder. */
class Library<T> {
  #loaded: Promise<T> | null = null;
  #failures = 0;

  constructor(private readonly load: () => Promise<T>) {}

  async use<R>(work: (library: T) => R): Promise<R> {
    this.#loaded ??= this.load();
    try {
      return work(await this.#loaded);
    } catch (error) {
      this.#failures += 1;
      if ((error instanceof Error && error.name === 'RuntimeError') || this.#failures >= maxFailures) {
        this.#loaded = null;
        this.#failures = 0;
      }
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

const charls = new Library(async () => {
  const factory = require('@cornerstonejs/codec-charls/decodewasmjs') as (
    options: object,
  ) => Promise<{ JpegLSDecoder: new () => PlainDecoder }>;
  const wasmBinary = readFileSync(require.resolve('@cornerstonejs/codec-charls/decodewasm'));
  const library = await factory({ wasmBinary, print() {}, printErr() {} });
  return () => new library.JpegLSDecoder();
});

const openJph = new Library(async () => {
  const factory = require('@cornerstonejs/codec-openjph/wasmjs') as (
    options: object,
  ) => Promise<{ HTJ2KDecoder: new () => PlainDecoder }>;
  const wasmBinary = readFileSync(require.resolve('@cornerstonejs/codec-openjph/wasm'));
  const library = await factory({ wasmBinary, print() {}, printErr() {} });
  return () => new library.HTJ2KDecoder();
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

function decodePlainly(library: Library<() => PlainDecoder>, bytes: Uint8Array): Promise<Decoded> {
  return library.use((makeDecoder) => {
    const decoder = makeDecoder();
    try {
      decoder.getEncodedBuffer(bytes.length).set(bytes);
      decoder.decode();
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
    const { channels, bgr } = pixelInfo;
    const sampleBytes = (depth.bits / 8) as 1 | 2 | 4;
    const order: SampleOrder = bgr && (channels === 3 || channels === 4) ? { blueFirst: { samples: channels, sampleBytes } } : {};
    const componentCount = order.blueFirst === undefined ? channels : 3;
    const info = { width, height, bitsPerSample: depth.bits, componentCount, isSigned: false, isFloat: depth.isFloat };
    return { info, data: ordered(data, order) };
  });
}

function zstd(bytes: Uint8Array, size: number, order: SampleOrder): Promise<Decoded> {
  const declared = zstdContentSize(bytes);
  if (declared !== null && declared > size) {
    throw new Error(`${declared} bytes are declared where ${size} are expected`);
  }
  // The library allocates what the frame declares, or else the size given here.
  return zstdLibrary.use((decompress) => ({
    info: null,
    // The library copies the bytes out of its memory.
    data: ordered(decompress(bytes, { defaultHeapSize: size }) as Uint8Array<ArrayBuffer>, order),
  }));
}

async function run(task: CodecTask): Promise<Decoded> {
  switch (task.codec) {
    case 'zstd':
      return zstd(task.bytes, task.size, task.order ?? {});
    case 'jpeg2000':
      return jpeg2000(task.bytes, task.reduce ?? 0);
    case 'jpegxr':
      return jpegXr(task.bytes);
    case 'jpegls':
      return decodePlainly(charls, task.bytes);
    case 'htj2k':
      return decodePlainly(openJph, task.bytes);
  }
}

/** Decodes what a task holds, and hands the result over without a copy; an error's message says why it cannot be. */
export async function decode(task: CodecTask): Promise<unknown> {
  const decoded = await run(task);
  return move({ [transferableSymbol]: decoded.data.buffer, [valueSymbol]: decoded });
}

/** Reads the XML of a CZI file, which may be of many megabytes. */
export function cziFacts(xml: Uint8Array): CziFacts {
  return readCziFacts(Buffer.from(xml.buffer, xml.byteOffset, xml.byteLength).toString('utf8'));
}

/** Reads the header of a DICOM file, which may describe 100 000 frames; `null` where it goes on behind these bytes. */
export function dicomFacts(bytes: Uint8Array): DicomFacts | null {
  return readDicomFacts(bytes);
}
