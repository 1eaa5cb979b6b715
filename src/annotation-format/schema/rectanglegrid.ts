import { boxProperties, positiveInteger, shape } from './common.js';
import type { BoxElement } from './rectangle.js';

/** A rectangle divided into cells. */
export interface RectangleGridElement extends BoxElement {
  type: 'rectanglegrid';
  widthSubdivisions: number;
  heightSubdivisions: number;
}

/** Schema of {@link RectangleGridElement}. */
export const rectanglegrid = shape(
  'rectanglegrid',
  ['center', 'width', 'height', 'widthSubdivisions', 'heightSubdivisions'],
  { ...boxProperties, widthSubdivisions: positiveInteger, heightSubdivisions: positiveInteger },
  'Not rendered.',
);
