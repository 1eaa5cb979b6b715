import { boolean, positive, rangeProperties, shape, vector, type ElementBase } from './common.js';

/** Points with values, drawn as a sum of gaussians. */
export interface HeatmapElement extends ElementBase {
  type: 'heatmap';
  points: [x: number, y: number, z: number, value: number][];
  radius?: number;
  colorRange?: string[];
  rangeValues?: number[];
  normalizeRange?: boolean;
  scaleWithZoom?: boolean;
}

/** Schema of {@link HeatmapElement}. */
export const heatmap = shape('heatmap', ['points'], {
  points: { type: 'array', items: vector(4, 'Position in base-layer pixels and value: x, y, z, value.') },
  radius: { ...positive, description: 'Spread of a point.' },
  ...rangeProperties,
  normalizeRange: { ...boolean, description: 'Whether rangeValues are fractions of the range of the values.' },
  scaleWithZoom: { ...boolean, default: false, description: 'true: radius in image pixels; false: in screen pixels.' },
});
