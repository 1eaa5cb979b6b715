import { coordinates, shape, vectorProperties, type Coordinate, type VectorElement } from './common.js';

/** Head and tail of an arrow. */
export interface ArrowElement extends VectorElement {
  type: 'arrow';
  points: [head: Coordinate, tail: Coordinate];
}

/** Schema of {@link ArrowElement}. */
export const arrow = shape(
  'arrow',
  ['points'],
  { points: { ...coordinates({ minItems: 2, maxItems: 2 }), description: 'Head, then tail.' }, ...vectorProperties },
  'Not rendered.',
);
