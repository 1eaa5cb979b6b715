import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { transferBytes, createCallHandler } from '../../../core/concurrency/thread-functions.js';
import { orderSamples, type SampleOrder } from '../sample-order.js';
import { ownThreadFunctions } from '../../registry/own-thread-functions.js';
import { unpackBits } from '../packbits.js';
import { zstdContentSize } from '../zstd-header.js';
import { loadNewZstd } from '../zstd-library.js';
import { centerSamples } from '../center-samples.js';
import { joinComponents, selectComponents } from '../jpeg2000-components.js';
import { resampleRows, type ResampleTask } from '../../render/resample.js';
import { decodeLerc, type LercTask } from '../lerc.js';
import { limitWasmMemory } from './limited-wasm.js';
import { loadWithoutListeners } from './without-listeners.js';
import { loadHeifDecoder, loadJxlDecoder, maxDecoderBytes, type PictureTask, type WholePicture } from '../whole-pictures.js';
import type { CodecTask, DecodeResult, FrameInfo, ReducedSize } from './tasks.js';

/** The program of the decoding threads. Libraries are loaded when first needed. */

const require = createRequire(import.meta.url);

/** The memory of a module that was made by Emscripten. */
interface EmscriptenModule {
  HEAPU8: Uint8Array;
}

interface Jpeg2000Decoder {
  getEncodedBuffer(length: number): Uint8Array;
  getDecodedBuffer(): Uint8Array;
  getFrameInfo(): FrameInfo;
  decode(): void;
  decodeSubResolution(reduce: number, layers: number): void;
  delete(): void;
}

interface JpegLsDecoder {
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

/** Number of failures after which a library is reloaded, because each failure may leak memory. */
const maxFailures = 20;

/** A library whose memory has grown beyond this many bytes is dropped after use, because memory of WebAssembly never shrinks. */
const maxKeptBytes = 2 ** 27;

/**
 * Loads a library on first use. Drops it after a trap, which may damage its memory, after many failures, or if its memory has grown
 * too large. The next use then loads it again.
 */
class Library<T> {
  #libraryPromise: Promise<T> | null = null;
  #failures = 0;

  /** @param memoryBytes returns the memory of a library in bytes. */
  constructor(
    private readonly load: () => Promise<T>,
    private readonly memoryBytes: (library: T) => number = () => 0,
  ) {}

  async use<R>(work: (library: T) => R | Promise<R>): Promise<R> {
    this.#libraryPromise ??= loadWithoutListeners(this.load);
    const library = await this.#libraryPromise;
    try {
      return await work(library);
    } catch (error) {
      this.#failures += 1;
      if ((error instanceof Error && error.name === 'RuntimeError') || this.#failures >= maxFailures) {
        this.#libraryPromise = null;
        this.#failures = 0;
      }
      throw error;
    } finally {
      if (this.memoryBytes(library) > maxKeptBytes) this.#libraryPromise = null;
    }
  }
}

const memoryBytesOf = ({ HEAPU8 }: EmscriptenModule): number => HEAPU8.byteLength;

const openJpeg = new Library(async () => {
  const factory = require('@cornerstonejs/codec-openjpeg/decodewasmjs') as (
    options: object,
  ) => Promise<EmscriptenModule & { J2KDecoder: new () => Jpeg2000Decoder }>;
  const wasmBinary = readFileSync(require.resolve('@cornerstonejs/codec-openjpeg/decodewasm'));
  return factory({ wasmBinary, print() {}, printErr() {} });
}, memoryBytesOf);

const charls = new Library(async () => {
  const factory = require('@cornerstonejs/codec-charls/decodewasmjs') as (
    options: object,
  ) => Promise<EmscriptenModule & { JpegLSDecoder: new () => JpegLsDecoder }>;
  const wasmBinary = readFileSync(require.resolve('@cornerstonejs/codec-charls/decodewasm'));
  return factory({ wasmBinary, print() {}, printErr() {} });
}, memoryBytesOf);

const jpegXrLibrary = new Library(
  async () => {
    const factory = require('jpegxr') as (options: object) => Promise<{ decode: (bytes: Uint8Array) => JpegXrPicture }>;
    // The library is one file, which contains its WebAssembly module as base64.
    const [, base64 = ''] = /;base64,([\w+/=]{1000,})/.exec(readFileSync(require.resolve('jpegxr'), 'latin1')) ?? [];
    const options = { wasmBinary: limitWasmMemory(Buffer.from(base64, 'base64'), maxDecoderBytes), print() {}, printErr() {} };
    const { decode } = await factory(options);
    // The library turns the options object into its module.
    return { decode, module: options as typeof options & EmscriptenModule };
  },
  ({ module }) => memoryBytesOf(module),
);

const zstdLibrary = new Library(loadNewZstd);

function decodeCodeStream(bytes: Uint8Array, reduced: ReducedSize | undefined): Promise<DecodeResult> {
  return openJpeg.use((library) => {
    const decoder = new library.J2KDecoder();
    try {
      decoder.getEncodedBuffer(bytes.length).set(bytes);
      if (reduced !== undefined && reduced.halvings > 0) decoder.decodeSubResolution(reduced.halvings, 0);
      else decoder.decode();
      const { width, height, bitsPerSample, componentCount, isSigned } = decoder.getFrameInfo();
      const data = new Uint8Array(decoder.getDecodedBuffer()).slice();
      return { info: { width, height, bitsPerSample, componentCount, isSigned }, data };
    } finally {
      decoder.delete();
    }
  });
}

async function decodeJpeg2000(bytes: Uint8Array, reduced: ReducedSize | undefined): Promise<DecodeResult> {
  const groups = selectComponents(bytes);
  let result: DecodeResult;
  if (groups === null) result = await decodeCodeStream(bytes, reduced);
  else {
    const decodedGroups: (DecodeResult & { components: readonly number[] })[] = [];
    for (const { components, file } of groups) decodedGroups.push({ components, ...(await decodeCodeStream(file, reduced)) });
    const info = decodedGroups[0]!.info!;
    const isUniform = decodedGroups.every(
      (group) =>
        group.info?.bitsPerSample === info.bitsPerSample &&
        group.data.length * decodedGroups[0]!.components.length === decodedGroups[0]!.data.length * group.components.length,
    );
    if (!isUniform) throw new Error('components of different sizes or depths are not supported');
    const componentCount = decodedGroups.reduce((sum, { components }) => sum + components.length, 0);
    result = { info: { ...info, componentCount }, data: joinComponents(decodedGroups, info.bitsPerSample > 8 ? 2 : 1) };
  }
  return reduced === undefined ? result : centerReduced(result, reduced);
}

/** Corrects a picture of reduced resolution: the library reports the size of full resolution, and does not center the samples. */
function centerReduced({ info, data }: DecodeResult, { halvings, width, height }: ReducedSize): DecodeResult {
  const { bitsPerSample: bits, componentCount: bands, isSigned } = info!;
  if (data.length !== width * height * bands * (bits > 8 ? 2 : 1))
    throw new Error(`it does not have the expected ${width} by ${height} pixels`);
  if (halvings > 0) {
    const limits: [min: number, max: number] = isSigned ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : [0, 2 ** bits - 1];
    const viewAs16Bits = (): Int16Array<ArrayBuffer> | Uint16Array<ArrayBuffer> =>
      isSigned ? new Int16Array(data.buffer) : new Uint16Array(data.buffer);
    const samplesOf8Bits = isSigned ? new Int8Array(data.buffer) : data;
    centerSamples(bits > 8 ? viewAs16Bits() : samplesOf8Bits, { width, height, bands, halvings, limits });
  }
  return { info: { ...info!, width, height }, data };
}

function decodeJpegLs(bytes: Uint8Array): Promise<DecodeResult> {
  return charls.use((library) => {
    const decoder = new library.JpegLSDecoder();
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

/** Supported depths of JPEG XR, by the library's names. Microscopes write no other depths. */
const jpegXrDepths: Readonly<Record<string, { bits: number; isFloat: boolean }>> = {
  8: { bits: 8, isFloat: false },
  16: { bits: 16, isFloat: false },
  '32Float': { bits: 32, isFloat: true },
};

function decodeJpegXr(bytes: Uint8Array): Promise<DecodeResult> {
  return jpegXrLibrary.use((library) => {
    const { width, height, pixelInfo, bytes: data } = library.decode(bytes);
    const depth = jpegXrDepths[pixelInfo.bitDepth];
    if (depth === undefined) throw new Error(`samples of type ${pixelInfo.bitDepth} are not supported`);
    const { channels, bgr } = pixelInfo;
    const sampleBytes = (depth.bits / 8) as 1 | 2 | 4;
    const order: SampleOrder =
      bgr && (channels === 3 || channels === 4) ? { blueFirst: { samplesPerPixel: channels, sampleBytes } } : {};
    const componentCount = order.blueFirst === undefined ? channels : 3;
    const info = { width, height, bitsPerSample: depth.bits, componentCount, isSigned: false, isFloat: depth.isFloat };
    return { info, data: orderSamples(data, order) };
  });
}

function decompressZstd(bytes: Uint8Array, size: number, order: SampleOrder): Promise<DecodeResult> {
  const declaredSize = zstdContentSize(bytes);
  if (declaredSize !== null && declaredSize > size) {
    throw new Error(`${declaredSize} bytes are declared where ${size} are expected`);
  }
  // The library allocates the size that the frame declares. If the frame declares none, it allocates `size`.
  return zstdLibrary.use(({ decompress }) => ({
    info: null,
    // The library copies the bytes out of its memory.
    data: orderSamples(decompress(bytes, { defaultHeapSize: size }) as Uint8Array<ArrayBuffer>, order),
  }));
}

async function decodeTask(task: CodecTask): Promise<DecodeResult> {
  switch (task.codec) {
    case 'zstd':
      return decompressZstd(task.bytes, task.size, task.order ?? {});
    case 'packbits':
      return { info: null, data: unpackBits(task.bytes, task.size) };
    case 'jpeg2000':
      return decodeJpeg2000(task.bytes, task.reduced);
    case 'jpegxr':
      return decodeJpegXr(task.bytes);
    case 'jpegls':
      return decodeJpegLs(task.bytes);
  }
}

const pictureLibraries = {
  jpegxl: new Library(loadJxlDecoder, (decoder) => decoder.memoryBytes()),
  heif: new Library(loadHeifDecoder, (decoder) => decoder.memoryBytes()),
};

function decodeWholePicture(task: PictureTask): Promise<WholePicture> {
  return pictureLibraries[task.format].use((decoder) => decoder.decode(task));
}

const bloscLibrary = new Library(async () => (await import('numcodecs/blosc')).default.fromConfig({ id: 'blosc' }));

const functions = {
  async decode(task: CodecTask): Promise<DecodeResult> {
    const result = await decodeTask(task);
    return transferBytes(result, result.data);
  },

  /** Decodes a picture that can only be decoded as a whole. */
  async picture(task: PictureTask): Promise<WholePicture> {
    const result = await decodeWholePicture(task);
    return transferBytes(result, result.data);
  },

  async lerc(task: LercTask): Promise<Uint8Array<ArrayBuffer>> {
    const data = await decodeLerc(task);
    return transferBytes(data, data);
  },

  async compressZstd({ bytes, level }: { bytes: Uint8Array; level: number }): Promise<Uint8Array<ArrayBuffer>> {
    const data = await zstdLibrary.use(({ compress }) => compress(bytes, level) as Uint8Array<ArrayBuffer>);
    return transferBytes(data, data);
  },

  /** Computes rows of a scaled picture. */
  resample(task: ResampleTask): Uint8Array<ArrayBuffer> {
    const data = resampleRows(task);
    return transferBytes(data, data);
  },

  ...ownThreadFunctions({
    blosc: async (bytes) => bloscLibrary.use((codec) => codec.decode(bytes)),
    zstd: async (bytes, size) => (await decompressZstd(bytes, size, {})).data,
  }),
};

/** The functions that run in the threads. */
export type CodecFunctions = typeof functions;

export default createCallHandler(functions);
