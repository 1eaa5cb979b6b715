import type { OverlaySize } from '../../../annotation-format/bounding-box.js';
import { writeCollectionEnd, collectionStart, type WrittenFeatures } from '../../../annotation-format/formats/geojson.js';
import { mapAhead } from '../../../core/concurrency/map-ahead.js';
import { findProgram } from '../../../core/concurrency/program.js';
import { ThreadPool } from '../../../core/concurrency/thread-pool.js';
import { jsonBytes } from '../../../core/json-pieces.js';
import type { ElementStore } from '../elements/element-store.js';
import { allElements } from '../streams.js';
import type { AnnotationRecord } from './annotation-record.js';
import { makeFeatures, type FeatureFunctions, type FeaturesInput } from './geojson-thread.js';

const timeoutMs = 60_000;
const memoryMiB = 2048;
/** Chunks up to this length in bytes are converted on the main thread, which takes about a millisecond. */
const maxMainThreadBytes = 32 * 1024;
/** Number of chunks to convert at the same time. For QuPath only one chunk is, because a feature can have elements of several chunks. */
const chunksAtOnce = 4;

/** Writes annotations as GeoJSON, in threads. */
export class GeoJsonExport {
  readonly #threads = new ThreadPool<FeatureFunctions>({
    program: findProgram(import.meta.url, { source: './geojson-thread.ts', built: 'geojson-thread' }),
    name: 'exports',
    maxThreads: 2,
    timeoutMs,
    memoryMiB,
    maxWaiting: 256,
  });

  constructor(
    private readonly store: ElementStore,
    private readonly brand: string,
  ) {}

  /** Writes the text of a FeatureCollection. @param sizes sizes of the images that image and pixelmap elements show. */
  async *write(
    annotation: AnnotationRecord,
    format: FeaturesInput['format'],
    sizes: [itemId: string, size: OverlaySize | null][],
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const { chunks } = await this.store.read(annotation.elements, allElements, { signal });
    let head: Uint8Array | null = await jsonBytes(annotation.head);
    let written: WrittenFeatures = { isEmpty: true, openFeature: null };
    yield Buffer.from(collectionStart);
    const writeChunk = async (chunk: Uint8Array) => {
      const input = { elements: chunk, format, head, written, brand: this.brand, sizes };
      const isShort = chunk.length + (head?.length ?? 0) <= maxMainThreadBytes;
      head = null;
      written = { ...written, isEmpty: false };
      const result = isShort ? makeFeatures(input) : await this.#makeInThread(input, signal);
      ({ written } = result);
      return result.text;
    };
    yield* mapAhead(chunks, format === 'qupath' ? 1 : chunksAtOnce, writeChunk);
    yield Buffer.from(writeCollectionEnd(written));
  }

  #makeInThread(input: FeaturesInput, signal: AbortSignal): Promise<{ text: Uint8Array; written: WrittenFeatures }> {
    // Each chunk has its own buffer, so it can be transferred.
    const transfer = [input.elements.buffer as ArrayBuffer];
    return this.#threads.run('features', input, { inputName: 'The annotation', signal, transfer });
  }

  /** Stops the threads. */
  close(): Promise<void> {
    return this.#threads.close();
  }
}
