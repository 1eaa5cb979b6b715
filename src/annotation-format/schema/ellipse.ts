import { boxProperties, shape } from './common.js';
import type { FromSchema } from './from-schema.js';

export const ellipse = shape('ellipse', ['center', 'width', 'height'], boxProperties);

/** An ellipse; `width` and `height` are its full axes. */
export type EllipseElement = FromSchema<typeof ellipse>;
