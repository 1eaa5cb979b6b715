import { boxProperties, shape, type Coordinate, type VectorElement } from './common.js';

/** Fields shared by rectangle, ellipse and rectanglegrid: lengths in base-layer pixels, rotation in radians counterclockwise. */
export interface BoxElement extends VectorElement {
  center: Coordinate;
  width: number;
  height: number;
  rotation?: number;
  normal?: Coordinate;
  pattern?: string;
}

/** A rectangle. */
export interface RectangleElement extends BoxElement {
  type: 'rectangle';
}

/** Schema of {@link RectangleElement}. */
export const rectangle = shape('rectangle', ['center', 'width', 'height'], boxProperties);
