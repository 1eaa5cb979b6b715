import { boolean, positive, rangeProperties, defineElementSchema, vector } from './common.js';
import type { FromSchema } from './from-schema.js';

export const heatmap = defineElementSchema('heatmap', ['points'], {
  points: { type: 'array', items: vector(4, 'Position in base-layer pixels and value: x, y, z, value.') },
  radius: { ...positive, description: 'Spread of a point.' },
  ...rangeProperties,
  normalizeRange: { ...boolean, description: 'Whether rangeValues are fractions of the range of the values.' },
  scaleWithZoom: { ...boolean, default: false, description: 'true: radius in image pixels; false: in screen pixels.' },
});

/** Points with values, drawn as a sum of gaussians. */
export type HeatmapElement = FromSchema<typeof heatmap>;
