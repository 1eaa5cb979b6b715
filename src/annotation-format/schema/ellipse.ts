import { boxProperties, shape } from './common.js';
import type { BoxElement } from './rectangle.js';

/** An ellipse; `width` and `height` are its full axes. */
export interface EllipseElement extends BoxElement {
  type: 'ellipse';
}

/** Schema of {@link EllipseElement}. */
export const ellipse = shape('ellipse', ['center', 'width', 'height'], boxProperties);
