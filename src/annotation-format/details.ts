import type { AnnotationElement } from './schema/document.js';

/**
 * How much an element counts towards `_detailsCount` and `maxDetails`: its number of points, the number of values of a grid, 4 for
 * shapes with a center and a size, 1 for points and overlays.
 */
export function countDetails(element: AnnotationElement): number {
  switch (element.type) {
    case 'arrow':
    case 'polyline':
    case 'heatmap':
      return element.points.length;
    case 'griddata':
      return element.values.length;
    case 'circle':
    case 'ellipse':
    case 'rectangle':
    case 'rectanglegrid':
      return 4;
    case 'point':
    case 'image':
    case 'pixelmap':
      return 1;
  }
}
