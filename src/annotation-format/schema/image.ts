import { itemField, overlayProperties, defineElementSchema } from './common.js';
import type { FromSchema } from './from-schema.js';

export function image(brand: string) {
  return defineElementSchema('image', [itemField(brand)], overlayProperties(brand));
}

/** A large image laid over the annotated one. The field naming the item follows the brand (`serviceId`). */
export type ImageElement = FromSchema<ReturnType<typeof image>>;
