import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { TileSourceError } from '../../../errors.js';

/** A chunk that takes longer than this is taken for hostile; a thousand times what ordinary tiles need. */
const decodeTimeout = 30_000;
/** Idle time after which a worker, some 20 MB, is let go. */
const idleTimeout = 10_000;
/** Decoders that run side by side. */
const maxWorkers = 2;

/**
 * Runs in a worker thread, since decoding takes up to tens of milliseconds and cannot be interrupted. It is source text so that
 * it needs no file of its own in the package, whichever way this is bundled. Libraries are loaded when first needed.
 */
const workerSource = `
const { parentPort, workerData } = require('node:worker_threads');
let library;
async function jpeg2000(bytes) {
  library ??= require(workerData.openjpeg)({
    wasmBinary: require('node:fs').readFileSync(workerData.openjpegWasm),
    print() {},
    printErr() {},
  });
  const decoder = new (await library).J2KDecoder();
  try {
    decoder.getEncodedBuffer(bytes.length).set(bytes);
    decoder.decode();
    return { info: { ...decoder.getFrameInfo() }, data: new Uint8Array(decoder.getDecodedBuffer()).slice() };
  } finally {
    decoder.delete();
  }
}
function zstd(bytes, size) {
  // Into a buffer of the declared size: a frame that claims more cannot make it grow.
  const data = require(workerData.zstd).decompress(bytes, new Uint8Array(size));
  return { info: null, data: data.slice() };
}
parentPort.on('message', async ({ id, codec, bytes, size }) => {
  try {
    const { info, data } = codec === 'zstd' ? zstd(bytes, size) : await jpeg2000(bytes);
    parentPort.postMessage({ id, info, data }, [data.buffer]);
  } catch (error) {
    parentPort.postMessage({ id, error: String((error && error.message) || error) });
  }
});
`;

/** Shape of a decoded JPEG 2000 picture, as the library gives it. */
export interface FrameInfo {
  width: number;
  height: number;
  bitsPerSample: number;
  componentCount: number;
  isSigned: boolean;
}

interface Decoded {
  info: FrameInfo | null;
  data: Uint8Array<ArrayBuffer>;
}

type Answer = { id: number; error: string } | ({ id: number; error?: undefined } & Decoded);

interface Task {
  codec: 'jpeg2000' | 'zstd';
  bytes: Uint8Array;
  /** Bytes of the decoded data, for zstd. */
  size: number;
  signal?: AbortSignal | undefined;
}

interface QueuedTask extends Task {
  resolve(decoded: Decoded): void;
  reject(error: unknown): void;
}

/** Decodes what libvips cannot, in worker threads that are started when needed and let go when idle. */
export class CodecWorkers {
  /** Waiting workers, each with the timer that ends it. */
  readonly #idle = new Map<Worker, NodeJS.Timeout>();
  readonly #waiting: QueuedTask[] = [];
  #workers = 0;
  #lastId = 0;

  /** Decodes JPEG 2000. @throws TileSourceError where it is corrupt or takes longer than 30 s. */
  async jpeg2000(bytes: Uint8Array, signal?: AbortSignal): Promise<{ info: FrameInfo; data: Uint8Array<ArrayBuffer> }> {
    const { info, data } = await this.#run({ codec: 'jpeg2000', bytes, size: 0, signal });
    if (info === null) throw new TileSourceError('The JPEG 2000 decoder gave no picture.');
    return { info, data };
  }

  /** Decompresses zstd to at most `size` bytes. @throws TileSourceError where it is corrupt or takes longer than 30 s. */
  async zstd(bytes: Uint8Array, size: number, signal?: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
    return (await this.#run({ codec: 'zstd', bytes, size, signal })).data;
  }

  #run(task: Task): Promise<Decoded> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...task, resolve, reject });
      this.#next();
    });
  }

  #next(): void {
    while (this.#waiting.length > 0) {
      const worker = this.#take() ?? (this.#workers < maxWorkers ? this.#start() : undefined);
      if (worker === undefined) return;
      const task = this.#waiting.shift();
      if (task === undefined || task.signal?.aborted === true) {
        this.#rest(worker);
        task?.reject(task.signal?.reason);
        continue;
      }
      this.#assign(worker, task);
    }
  }

  #start(): Worker {
    const require = createRequire(import.meta.url);
    const worker = new Worker(workerSource, {
      eval: true,
      stdout: true,
      stderr: true,
      workerData: {
        openjpeg: require.resolve('@cornerstonejs/codec-openjpeg/decodewasmjs'),
        openjpegWasm: require.resolve('@cornerstonejs/codec-openjpeg/decodewasm'),
        zstd: require.resolve('fzstd'),
      },
    });
    this.#workers += 1;
    worker.once('exit', () => {
      this.#workers -= 1;
      clearTimeout(this.#idle.get(worker));
      this.#idle.delete(worker);
      this.#next();
    });
    return worker;
  }

  #take(): Worker | undefined {
    for (const [worker, timer] of this.#idle) {
      clearTimeout(timer);
      this.#idle.delete(worker);
      return worker;
    }
    return undefined;
  }

  #rest(worker: Worker): void {
    worker.unref();
    const timer = setTimeout(() => {
      // First out of the list: a worker that is being ended must get no more work.
      this.#idle.delete(worker);
      void worker.terminate();
    }, idleTimeout);
    timer.unref();
    this.#idle.set(worker, timer);
  }

  #assign(worker: Worker, task: QueuedTask): void {
    const id = ++this.#lastId;
    worker.ref();
    const finish = (): void => {
      clearTimeout(timer);
      worker.off('message', onMessage);
      worker.off('error', onError);
      worker.off('exit', onExit);
    };
    const fail = (message: string, cause?: unknown): void => {
      finish();
      task.reject(new TileSourceError(message, { cause }));
    };
    const onMessage = (answer: Answer): void => {
      if (answer.id !== id) return;
      finish();
      if (answer.error === undefined) {
        task.resolve(answer);
        this.#rest(worker);
      } else {
        task.reject(new TileSourceError(`Corrupt TIFF: ${task.codec} data cannot be decoded (${answer.error}).`));
        // A failed call may leave the decoder's memory in disorder: the next tile gets a fresh one.
        void worker.terminate();
      }
      this.#next();
    };
    const onError = (error: unknown): void => fail(`Corrupt TIFF: ${task.codec} data broke the decoder.`, error);
    const onExit = (): void => fail(`Corrupt TIFF: ${task.codec} data ended the decoder.`);
    const timer = setTimeout(() => {
      fail(`${task.codec} data could not be decoded within ${decodeTimeout / 1000} s.`);
      void worker.terminate();
    }, decodeTimeout);
    worker.on('message', onMessage);
    worker.on('error', onError);
    worker.on('exit', onExit);
    worker.postMessage({ id, codec: task.codec, bytes: Uint8Array.from(task.bytes), size: task.size });
  }
}
