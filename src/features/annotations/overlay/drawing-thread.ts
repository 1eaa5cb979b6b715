import { createCallHandler } from '../../../core/concurrency/thread-functions.js';
import { countWindow } from './draw/density/count-window.js';
import { addSums, completeSums, countSums, type CellSums, type SumsInput, type SumsPyramid } from './draw/density/value-sums.js';
import { makeVectorTile, paint, paintRgba } from './draw/drawing.js';

/** Adds elements to grids, which are in shared memory. */
function addToGrids({ input, grids }: { input: SumsInput; grids: readonly CellSums[] }): void {
  addSums(input, grids);
}

const functions = {
  paint,
  paintRgba,
  makeVectorTile,
  countWindow,
  addToGrids,
  countSums,
  completeSums: (pyramid: SumsPyramid) => completeSums(pyramid),
};

/** The functions that run in the thread. */
export type DrawingFunctions = typeof functions;

export default createCallHandler(functions);
