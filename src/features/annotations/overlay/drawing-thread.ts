import { threadFunctions } from '../../../core/concurrency/thread-functions.js';
import { countWindow } from './draw/density/count-window.js';
import { makeVectorTile, paint, paintRgba } from './draw/drawing.js';

const functions = { paint, paintRgba, makeVectorTile, countWindow };

/** What threads that draw annotations do. */
export type DrawingFunctions = typeof functions;

export default threadFunctions(functions);
