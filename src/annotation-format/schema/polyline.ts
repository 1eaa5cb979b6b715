import { coordinates, patternProperty, shape, vectorProperties, type Coordinate, type VectorElement } from './common.js';

/** An open line, or with `closed` a polygon that may have holes. */
export interface PolylineElement extends VectorElement {
  type: 'polyline';
  points: Coordinate[];
  closed?: boolean;
  holes?: Coordinate[][];
  pattern?: string;
}

/** Schema of {@link PolylineElement}. */
export const polyline = shape('polyline', ['points'], {
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
