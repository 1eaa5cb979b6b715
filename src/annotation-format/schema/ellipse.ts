import { boxProperties, defineElementSchema } from './common.js';
import type { FromSchema } from './from-schema.js';

export const ellipse = defineElementSchema('ellipse', ['center', 'width', 'height'], boxProperties);

/** An ellipse; `width` and `height` are its full axes. */
export type EllipseElement = FromSchema<typeof ellipse>;
