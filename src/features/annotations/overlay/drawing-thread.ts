import { threadFunctions } from '../../../core/thread-functions.js';
import { makeVectorTile, paint, paintRgba } from './draw/drawing.js';

const functions = { paint, paintRgba, makeVectorTile };

/** What threads that draw annotations do. */
export type DrawingFunctions = typeof functions;

export default threadFunctions(functions);
