import { boundingBox } from '../../../../annotation-format/bounding-box.js';
import { measure } from '../../../../annotation-format/measures.js';
import { schemaError, type MakeError } from '../../../../annotation-format/messages.js';
import type { KnownOverlaySizes } from '../../../../annotation-format/overlay-sizes.js';
import { ThreadPool } from '../../../../core/concurrency/thread-pool.js';
import { findProgram } from '../../../../core/concurrency/program.js';
import { BadParameterError } from '../../../../errors.js';
import { jsonBytes } from '../../../../core/json-pieces.js';
import { invalidJsonError } from './json-text.js';
import type { FeatureElements, LongElement, LongFunctions, Refusal } from './long-thread.js';

const timeoutMs = 60_000;
const memoryMiB = 2048;

/** Checks and converts single elements that are so long that they would block the event loop. This happens in a thread. */
export class LongElements {
  readonly #threads = new ThreadPool<LongFunctions>({
    program: findProgram(import.meta.url, { source: './long-thread.ts', built: 'long-thread' }),
    name: 'long elements',
    timeoutMs,
    memoryMiB,
    maxWaiting: 64,
  });

  constructor(private readonly brand: string) {}

  /**
   * Checks an element.
   *
   * @param element the element, or its JSON text. The buffer of a text is transferred to the thread.
   * @throws BadParameterError if the text is not JSON. Throws the error from `makeError` if the element is not valid, and the signal's
   * reason when it aborts.
   */
  async check(element: unknown, { name, newId, sizes, makeError = schemaError, signal }: CheckOptions): Promise<LongElement> {
    const text = element instanceof Uint8Array ? element : await jsonBytes(element);
    const result = await this.#threads.run(
      'check',
      { text, brand: this.brand, name, newId },
      { inputName: name, signal, ...transferOptionsOf(text) },
    );
    if ('problem' in result) throw malformedError(result) ?? makeError(result.problem);
    const { overlay } = result;
    if (overlay === null) return result;
    if (sizes.isSizeMissing(overlay)) await sizes.loadSize(overlay);
    const box = boundingBox(overlay, sizes.sizeOf(overlay));
    return { ...result, box, cells: { ...result.cells, ...measure(overlay, box) } };
  }

  /**
   * Makes elements from the JSON text of a GeoJSON feature. The buffer of the text is transferred to the thread.
   *
   * @throws BadParameterError that names the feature. Also throws the signal's reason when it aborts.
   */
  async readFeature(text: Uint8Array, index: number, signal?: AbortSignal): Promise<FeatureElements> {
    const options = { inputName: `GeoJSON feature ${index}`, signal, ...transferOptionsOf(text) };
    const result = await this.#threads.run('readFeature', { text, brand: this.brand, index }, options);
    if ('problem' in result) throw malformedError(result) ?? new BadParameterError(result.problem);
    return result;
  }

  /** Stops the thread. */
  close(): Promise<void> {
    return this.#threads.close();
  }
}

/** Options of {@link LongElements.check}. */
export interface CheckOptions {
  /** Name of the element in messages. */
  name: string;
  /** The id that the element gets if it has none. */
  newId: string;
  sizes: KnownOverlaySizes;
  makeError?: MakeError;
  signal?: AbortSignal | undefined;
}

function malformedError({ problem, isMalformed }: Refusal): BadParameterError | null {
  return isMalformed ? invalidJsonError(problem) : null;
}

/** Makes the options to transfer a text to the thread. A text that shares its buffer is copied instead, which blocks the event loop longer. */
function transferOptionsOf({ buffer, byteLength }: Uint8Array): { transfer: ArrayBuffer[] } {
  return { transfer: buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [] };
}
