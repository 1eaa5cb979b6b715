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

/** Checks and converts, in a thread, single elements that would block the event loop. */
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
   * @param element its JSON text, whose buffer is transferred, or the element itself.
   * @throws BadParameterError if the text is not JSON, the error from `makeError` if the element is not valid, or the signal's reason
   * if it is aborted.
   */
  async check(element: unknown, { name, newId, sizes, makeError = schemaError, signal }: CheckOptions): Promise<LongElement> {
    const text = element instanceof Uint8Array ? element : await jsonBytes(element);
    const checked = await this.#threads.run(
      'check',
      { text, brand: this.brand, name, newId },
      { inputName: name, signal, ...transferOptionsOf(text) },
    );
    if ('problem' in checked) throw malformedError(checked) ?? makeError(checked.problem);
    const { overlay } = checked;
    if (overlay === null) return checked;
    if (sizes.isSizeMissing(overlay)) await sizes.loadSize(overlay);
    const box = boundingBox(overlay, sizes.sizeOf(overlay));
    return { ...checked, box, cells: { ...checked.cells, ...measure(overlay, box) } };
  }

  /**
   * Makes elements from the JSON text of a GeoJSON feature, whose buffer is transferred. @throws BadParameterError that names the
   * feature, or the signal's reason if it is aborted.
   */
  async readFeature(text: Uint8Array, index: number, signal?: AbortSignal): Promise<FeatureElements> {
    const options = { inputName: `GeoJSON feature ${index}`, signal, ...transferOptionsOf(text) };
    const read = await this.#threads.run('readFeature', { text, brand: this.brand, index }, options);
    if ('problem' in read) throw malformedError(read) ?? new BadParameterError(read.problem);
    return read;
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
  /** The id for an element without one. */
  newId: string;
  sizes: KnownOverlaySizes;
  makeError?: MakeError;
  signal?: AbortSignal | undefined;
}

function malformedError({ problem, isMalformed }: Refusal): BadParameterError | null {
  return isMalformed ? invalidJsonError(problem) : null;
}

/** Transfers a text to the thread if its buffer contains nothing else, because copying it would block the event loop. */
function transferOptionsOf({ buffer, byteLength }: Uint8Array): { transfer: ArrayBuffer[] } {
  return { transfer: buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [] };
}
