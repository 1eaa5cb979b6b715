import { coordinate, defineElementSchema, vectorProperties } from './common.js';
import type { FromSchema } from './from-schema.js';

export const point = defineElementSchema('point', ['center'], { center: coordinate, ...vectorProperties });

/** A single position. */
export type PointElement = FromSchema<typeof point>;
