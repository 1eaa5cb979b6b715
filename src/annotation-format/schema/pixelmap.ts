import { boolean, color, itemField, overlayProperties, defineElementSchema } from './common.js';
import type { FromSchema } from './from-schema.js';

export function pixelmap(brand: string) {
  return defineElementSchema('pixelmap', [itemField(brand), 'values', 'categories', 'boundaries'], {
    ...overlayProperties(brand),
    values: {
      type: 'array',
      items: { type: 'integer' },
      description: 'Entry i is the index of the category of pixel value i (with boundaries: of 2i and 2i+1).',
    },
    categories: {
      type: 'array',
      items: {
        type: 'object',
        properties: { fillColor: color, strokeColor: color, label: { type: 'string' }, description: { type: 'string' } },
        required: ['fillColor'],
        additionalProperties: false,
      },
    },
    boundaries: {
      ...boolean,
      description: 'When true, pixel value 2i takes the fill color and 2i+1 the stroke color of category values[i].',
    },
  });
}

/** A large image whose pixel values are indices of categories. See {@link itemField} for the name of the field that refers to the item. */
export type PixelmapElement = FromSchema<ReturnType<typeof pixelmap>>;
