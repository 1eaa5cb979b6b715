import { availableParallelism } from 'node:os';
import { ThreadPool } from '../../../core/concurrency/thread-pool.js';
import { programOf } from '../../../core/concurrency/program.js';
import type { PackMarks } from '../elements/contract.js';
import { countWindow, type CountedWindow } from './draw/density/count-window.js';
import { makeVectorTile, paint, paintRgba, type PictureDrawing, type VectorDrawing } from './draw/drawing.js';
import type { DrawingFunctions } from './drawing-thread.js';

const timeoutMs = 30_000;
const memoryMiB = 512;
/** Drawings that wait: of each request there is one at a time, and requests have a queue of their own. */
const waiting = 64;

/** What drawing costs, in about milliseconds: as much as is done at once on the event loop. */
const onLoop = 8;
const textPerMs = 24_000;
const pixelsPerMs = 40_000;
const densityBytesPerMs = 40_000;
/** Elements that are counted at once. */
const countedOnLoop = 1000;

/** What there is to draw. */
export interface DrawingCost {
  /** Bytes of the texts of elements. */
  textBytes: number;
  /** Pixels in the boxes of elements, each with those of all others; Infinity where it is not to be seen from the box what they cost. */
  pixels: number;
}

/** Draws, and counts, at once what is drawn within milliseconds, as most tiles are, and all else in threads. */
export class Drawer {
  readonly #threads = new ThreadPool<DrawingFunctions>({
    program: programOf(import.meta.url, { source: './drawing-thread.ts', built: 'drawing-thread' }),
    name: 'drawings',
    maxThreads: Math.min(2, availableParallelism()),
    timeoutMs,
    memoryMiB,
    waiting,
  });

  /** See {@link paint}. @throws BadValueError where it takes too long; BusyError; the reason of the signal. */
  async paint(drawing: PictureDrawing, cost: DrawingCost, signal?: AbortSignal): Promise<Float32Array> {
    return isQuick(drawing, cost) ? paint(drawing) : this.#threads.run('paint', drawing, { what: drawn, signal });
  }

  /** See {@link paintRgba}. @throws as {@link Drawer.paint}. */
  async paintRgba(drawing: PictureDrawing, cost: DrawingCost, signal?: AbortSignal): Promise<Uint8Array> {
    return isQuick(drawing, cost) ? paintRgba(drawing) : this.#threads.run('paintRgba', drawing, { what: drawn, signal });
  }

  /** See {@link makeVectorTile}. @throws as {@link Drawer.paint}. */
  async vectorTile(drawing: VectorDrawing, cost: DrawingCost, signal?: AbortSignal): Promise<Uint8Array> {
    if (isQuick(drawing, cost)) return makeVectorTile(drawing);
    return this.#threads.run('makeVectorTile', drawing, { what: drawn, signal });
  }

  /** See {@link countWindow}. @throws as {@link Drawer.paint}. */
  async countWindow(packs: readonly PackMarks[]): Promise<CountedWindow> {
    const count = packs.reduce((sum, { summary }) => sum + summary.count, 0);
    return count <= countedOnLoop ? countWindow(packs) : this.#threads.run('countWindow', packs, { what: drawn });
  }

  /** Ends the threads. */
  close(): Promise<void> {
    return this.#threads.close();
  }
}

const drawn = 'The annotation';

function isQuick({ view, densities }: VectorDrawing, { textBytes, pixels }: DrawingCost): boolean {
  const densityBytes = (densities?.tiles ?? []).reduce(
    (sum, { content }) => sum + (content instanceof Uint8Array ? content.length : 0),
    0,
  );
  const canvas = view.width * view.height;
  return textBytes / textPerMs + (pixels + canvas) / pixelsPerMs + densityBytes / densityBytesPerMs <= onLoop;
}
