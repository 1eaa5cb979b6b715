import { arrow, type ArrowElement } from './arrow.js';
import { circle, type CircleElement } from './circle.js';
import type { Schema } from './common.js';
import type { FromSchema } from './from-schema.js';
import { ellipse, type EllipseElement } from './ellipse.js';
import { griddata, type GridDataElement } from './griddata.js';
import { heatmap, type HeatmapElement } from './heatmap.js';
import { image, type ImageElement } from './image.js';
import { pixelmap, type PixelmapElement } from './pixelmap.js';
import { point, type PointElement } from './point.js';
import { polyline, type PolylineElement } from './polyline.js';
import { rectangle, type RectangleElement } from './rectangle.js';
import { rectanglegrid, type RectangleGridElement } from './rectanglegrid.js';

/** One element of an annotation; `type` selects the shape. */
export type AnnotationElement =
  | ArrowElement
  | CircleElement
  | EllipseElement
  | GridDataElement
  | HeatmapElement
  | PointElement
  | PolylineElement
  | RectangleElement
  | RectangleGridElement
  | ImageElement
  | PixelmapElement;

/** Name of an element's shape. */
export type ElementType = AnnotationElement['type'];

/** The schema of each element type, in the order in which the document lists them. */
export function elementSchemas(brand: string): ReadonlyMap<ElementType, Schema> {
  return new Map<ElementType, Schema>([
    ['arrow', arrow],
    ['circle', circle],
    ['ellipse', ellipse],
    ['griddata', griddata],
    ['heatmap', heatmap],
    ['point', point],
    ['polyline', polyline],
    ['rectangle', rectangle],
    ['rectanglegrid', rectanglegrid],
    ['image', image(brand)],
    ['pixelmap', pixelmap(brand)],
  ]);
}

/** Properties of the document, without its elements. */
export const headProperties = {
  name: { type: 'string', minLength: 1 },
  description: { type: 'string' },
  display: {
    type: 'object',
    properties: {
      visible: {
        enum: ['new', true, false],
        default: 'new',
        description: 'new: shown when first added; false: not shown by default; true: shown when the item is displayed.',
      },
    },
    additionalProperties: false,
  },
  attributes: { type: 'object', additionalProperties: true, description: 'Free-form; any keys and values.' },
} as const satisfies Record<string, Schema>;

/** An annotation without its elements. */
export type AnnotationHead = FromSchema<{ type: 'object'; properties: typeof headProperties }>;

/** An annotation with its elements. */
export type AnnotationDocument = AnnotationHead & { elements?: AnnotationElement[] };

/**
 * The JSON schema of annotation documents on a host of this brand. It is both served and used for validation. It only uses the
 * vocabulary that draft 6 and all later drafts share, so that any validator accepts it.
 */
export function schemaFor(brand: string): Schema {
  return {
    $schema: 'http://json-schema.org/schema#',
    title: 'Annotation',
    type: 'object',
    properties: {
      ...headProperties,
      elements: {
        type: 'array',
        description: 'The ids of elements are unique.',
        items: {
          type: 'object',
          required: ['type'],
          oneOf: [...elementSchemas(brand).values()],
        },
      },
    },
    additionalProperties: false,
  };
}
