import { coordinate, shape, vectorProperties, type Coordinate, type VectorElement } from './common.js';

/** A single position. */
export interface PointElement extends VectorElement {
  type: 'point';
  center: Coordinate;
}

/** Schema of {@link PointElement}. */
export const point = shape('point', ['center'], { center: coordinate, ...vectorProperties });
