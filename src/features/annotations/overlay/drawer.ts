import { availableParallelism } from 'node:os';
import { ThreadPool } from '../../../core/concurrency/thread-pool.js';
import { findProgram } from '../../../core/concurrency/program.js';
import type { PackMarks } from '../elements/element-store.js';
import { countWindow, type CountedWindow } from './draw/density/count-window.js';
import type { LevelCrowding } from './draw/density/density-gain.js';
import type { CellWindow } from './draw/density/density-layer.js';
import { countSums, type CellSums, type SumsInput, type SumsPyramid } from './draw/density/value-sums.js';
import { makeVectorTile, paintInSlices, toRgba, type PictureDrawing, type VectorDrawing } from './draw/drawing.js';
import type { DrawingFunctions } from './drawing-thread.js';

const timeoutMs = 30_000;
const memoryMiB = 512;
/** Name of the input in messages when a thread exceeds its limits. */
const inputName = 'The annotation';
/** Maximum number of drawings that wait for a thread. Usually few wait, because queues let only a few requests draw at the same time. */
const maxWaitingDrawings = 64;

/** Drawings that take at most about this many milliseconds are drawn on the event loop. */
const maxLoopMs = 8;
// These rates serve to estimate the time.
const textBytesPerMs = 24_000;
const pixelsPerMs = 40_000;
const densityBytesPerMs = 40_000;
/**
 * Densities that take at most about this many milliseconds are added up on the event loop, in slices, because starting a thread takes
 * longer.
 */
const maxDensityLoopMs = 64;
/** Maximum number of elements that are counted on the event loop. */
const maxLoopElements = 1000;

/** The amounts of work from which the time for a drawing is estimated. */
export interface DrawingCost {
  /** Number of bytes of the texts of elements. */
  textBytes: number;
  /** Sum of the pixels in the boxes of all elements. Infinity if the work for some element cannot be estimated by its box. */
  pixels: number;
}

/** Draws and counts elements. What takes only milliseconds, such as most tiles, is done on the event loop; the rest is done in threads. */
export class Drawer {
  readonly #threads = new ThreadPool<DrawingFunctions>({
    program: findProgram(import.meta.url, { source: './drawing-thread.ts', built: 'drawing-thread' }),
    name: 'drawings',
    maxThreads: Math.min(2, availableParallelism()),
    timeoutMs,
    memoryMiB,
    maxWaiting: maxWaitingDrawings,
  });

  /** Paints a drawing, see {@link paintInSlices}. @throws BadValueError if drawing takes too long, BusyError if too many drawings wait. */
  async paint(drawing: PictureDrawing, cost: DrawingCost, signal?: AbortSignal): Promise<Float32Array> {
    if (isQuick(drawing, cost, maxDensityLoopMs)) return paintInSlices(drawing, signal);
    return this.#threads.run('paint', drawing, { inputName, signal });
  }

  /** Like {@link Drawer.paint}, but returns bytes, see {@link toRgba}. */
  async paintRgba(drawing: PictureDrawing, cost: DrawingCost, signal?: AbortSignal): Promise<Uint8Array> {
    if (isQuick(drawing, cost, maxDensityLoopMs)) return toRgba(drawing.view, await paintInSlices(drawing, signal));
    return this.#threads.run('paintRgba', drawing, { inputName, signal });
  }

  /** Makes a vector tile of a drawing. @throws the same errors as {@link Drawer.paint}. */
  async makeVectorTile(drawing: VectorDrawing, cost: DrawingCost, signal?: AbortSignal): Promise<Uint8Array> {
    if (isQuick(drawing, cost, maxLoopMs)) return makeVectorTile(drawing);
    return this.#threads.run('makeVectorTile', drawing, { inputName, signal });
  }

  /** Counts the elements of a window. @throws the same errors as {@link Drawer.paint}. */
  async countWindow(packs: readonly PackMarks[]): Promise<CountedWindow> {
    const count = packs.reduce((sum, { summary }) => sum + summary.count, 0);
    return count <= maxLoopElements ? countWindow(packs) : this.#threads.run('countWindow', packs, { inputName });
  }

  /** Adds up elements in a rectangle of cells, see {@link countSums}. @throws the same errors as {@link Drawer.paint}. */
  async countSums(input: SumsInput, windows: { fine: CellWindow; cells: CellWindow }, signal: AbortSignal): Promise<CellSums> {
    const count = input.packs.reduce((sum, { values }) => sum + values.length, 0);
    const task = { input, ...windows };
    return count <= maxLoopElements ? countSums(task) : this.#threads.run('countSums', task, { inputName, signal });
  }

  /** Adds elements to grids, whose memory is shared with the thread. @throws the same errors as {@link Drawer.paint}. */
  async addSums(input: SumsInput, grids: readonly CellSums[], signal: AbortSignal): Promise<void> {
    await this.#threads.run('addToGrids', { input, grids }, { inputName, signal });
  }

  /** Computes the coarser grids of a pyramid. @throws the same errors as {@link Drawer.paint}. */
  completeSums(pyramid: SumsPyramid, signal: AbortSignal): Promise<LevelCrowding[]> {
    return this.#threads.run('completeSums', pyramid, { inputName, signal });
  }

  /** Stops the threads. */
  close(): Promise<void> {
    return this.#threads.close();
  }
}

/** Whether a drawing is quick enough for the event loop. @param maxDensityMs maximum time for densities in milliseconds. */
function isQuick({ view, densities }: VectorDrawing, { textBytes, pixels }: DrawingCost, maxDensityMs: number): boolean {
  const densityBytes = (densities?.tiles ?? []).reduce(
    (sum, { content }) => sum + (content instanceof Uint8Array ? content.length : 0),
    0,
  );
  const densityMs = densityBytes / densityBytesPerMs;
  const canvasPixels = view.width * view.height;
  const ms = textBytes / textBytesPerMs + (pixels + canvasPixels) / pixelsPerMs;
  return densityMs <= maxDensityMs && ms <= maxLoopMs;
}
