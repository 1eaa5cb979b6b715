import { threadFunctions } from '../../../core/concurrency/thread-functions.js';
import { countWindow } from './draw/density/count-window.js';
import { makeVectorTile, paint, paintRgba } from './draw/drawing.js';

const functions = { paint, paintRgba, makeVectorTile, countWindow };

/** The functions that run in the thread. */
export type DrawingFunctions = typeof functions;

export default threadFunctions(functions);
