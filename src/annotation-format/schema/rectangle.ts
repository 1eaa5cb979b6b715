import { boxProperties, shape } from './common.js';
import type { FromSchema } from './from-schema.js';

export const rectangle = shape('rectangle', ['center', 'width', 'height'], boxProperties);

/** A rectangle. */
export type RectangleElement = FromSchema<typeof rectangle>;
