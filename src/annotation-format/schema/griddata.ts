import {
  boolean,
  color,
  coordinate,
  number,
  numbers,
  positive,
  positiveInteger,
  rangeProperties,
  defineElementSchema,
} from './common.js';
import type { FromSchema } from './from-schema.js';

export const griddata = defineElementSchema('griddata', ['gridWidth', 'values'], {
  gridWidth: { ...positiveInteger, description: 'Number of values across the grid.' },
  values: { ...numbers, description: 'Values row by row; their number is a multiple of gridWidth.' },
  interpretation: { type: 'string', enum: ['heatmap', 'contour', 'choropleth'] },
  origin: { ...coordinate, default: [0, 0, 0] },
  dx: { ...number, default: 1, description: 'Spacing in x.' },
  dy: { ...number, default: 1, description: 'Spacing in y.' },
  radius: { ...positive, description: 'Spread of a value of a heatmap.' },
  scaleWithZoom: { ...boolean, default: false, description: 'Heatmap: whether radius is in image pixels.' },
  ...rangeProperties,
  normalizeRange: { ...boolean, default: false },
  stepped: { ...boolean, default: false, description: 'Contour: discrete rather than continuous colors.' },
  minColor: { ...color, description: 'Color of values below the range.' },
  maxColor: { ...color, description: 'Color of values above the range.' },
});

/** Values on a regular grid, row by row. */
export type GridDataElement = FromSchema<typeof griddata>;
