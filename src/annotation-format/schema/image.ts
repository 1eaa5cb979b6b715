import { itemField, overlayProperties, defineElementSchema } from './common.js';
import type { FromSchema } from './from-schema.js';

export function image(brand: string) {
  return defineElementSchema('image', [itemField(brand)], overlayProperties(brand));
}

/** A large image laid over the annotated one. See {@link itemField} for the name of the field that refers to the item. */
export type ImageElement = FromSchema<ReturnType<typeof image>>;
