import { boxProperties, positiveInteger, shape } from './common.js';
import type { FromSchema } from './from-schema.js';

export const rectanglegrid = shape(
  'rectanglegrid',
  ['center', 'width', 'height', 'widthSubdivisions', 'heightSubdivisions'],
  { ...boxProperties, widthSubdivisions: positiveInteger, heightSubdivisions: positiveInteger },
  'Not rendered.',
);

/** A rectangle divided into cells. */
export type RectangleGridElement = FromSchema<typeof rectanglegrid>;
