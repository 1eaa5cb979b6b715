import { boxProperties, positiveInteger, defineElementSchema } from './common.js';
import type { FromSchema } from './from-schema.js';

export const rectanglegrid = defineElementSchema(
  'rectanglegrid',
  ['center', 'width', 'height', 'widthSubdivisions', 'heightSubdivisions'],
  { ...boxProperties, widthSubdivisions: positiveInteger, heightSubdivisions: positiveInteger },
  'Not rendered.',
);

/** A rectangle divided into cells. */
export type RectangleGridElement = FromSchema<typeof rectanglegrid>;
