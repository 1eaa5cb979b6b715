import { boxProperties, defineElementSchema } from './common.js';
import type { FromSchema } from './from-schema.js';

export const rectangle = defineElementSchema('rectangle', ['center', 'width', 'height'], boxProperties);

/** A rectangle. */
export type RectangleElement = FromSchema<typeof rectangle>;
