import {
  coordinate,
  notNegative,
  patternProperty,
  shape,
  vectorProperties,
  type Coordinate,
  type VectorElement,
} from './common.js';

/** A circle; `radius` in base-layer pixels. */
export interface CircleElement extends VectorElement {
  type: 'circle';
  center: Coordinate;
  radius: number;
  pattern?: string;
}

/** Schema of {@link CircleElement}. */
export const circle = shape('circle', ['center', 'radius'], {
  center: coordinate,
  radius: notNegative,
  ...vectorProperties,
  ...patternProperty,
});
