import {
  boolean,
  color,
  coordinate,
  number,
  numbers,
  positive,
  positiveInteger,
  rangeProperties,
  shape,
  type Coordinate,
  type ElementBase,
} from './common.js';

/** Values on a regular grid, row by row. */
export interface GridDataElement extends ElementBase {
  type: 'griddata';
  /** Number of values in a row. */
  gridWidth: number;
  /** A whole number of rows. */
  values: number[];
  interpretation?: 'heatmap' | 'contour' | 'choropleth';
  origin?: Coordinate;
  dx?: number;
  dy?: number;
  radius?: number;
  scaleWithZoom?: boolean;
  colorRange?: string[];
  rangeValues?: number[];
  normalizeRange?: boolean;
  stepped?: boolean;
  minColor?: string;
  maxColor?: string;
}

/** Schema of {@link GridDataElement}. */
export const griddata = shape('griddata', ['gridWidth', 'values'], {
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
