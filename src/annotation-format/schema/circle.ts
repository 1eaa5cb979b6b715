import { coordinate, notNegative, patternProperty, defineElementSchema, vectorProperties } from './common.js';
import type { FromSchema } from './from-schema.js';

export const circle = defineElementSchema('circle', ['center', 'radius'], {
  center: coordinate,
  radius: notNegative,
  ...vectorProperties,
  ...patternProperty,
});

/** A circle; `radius` in base-layer pixels. */
export type CircleElement = FromSchema<typeof circle>;
