import { coordinates, defineElementSchema, vectorProperties } from './common.js';
import type { FromSchema } from './from-schema.js';

export const arrow = defineElementSchema(
  'arrow',
  ['points'],
  { points: { ...coordinates({ minItems: 2, maxItems: 2 }), description: 'Head, then tail.' }, ...vectorProperties },
  'Not rendered.',
);

/** Head and tail of an arrow. */
export type ArrowElement = FromSchema<typeof arrow>;
