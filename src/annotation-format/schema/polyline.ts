import { coordinates, patternProperty, defineElementSchema, vectorProperties } from './common.js';
import type { FromSchema } from './from-schema.js';

export const polyline = defineElementSchema('polyline', ['points'], {
  points: coordinates({ minItems: 2 }),
  closed: { type: 'boolean', default: false, description: 'false: an open line; true: a polygon.' },
  holes: {
    type: 'array',
    items: coordinates({ minItems: 3 }),
    description: 'When closed: polygons inside this one that do not cross it or each other. The geometry is not checked.',
  },
  ...vectorProperties,
  ...patternProperty,
});

/** An open line, or with `closed` a polygon that may have holes. */
export type PolylineElement = FromSchema<typeof polyline>;
