import { itemField, overlayProperties, shape, type ElementBase, type OverlayTransform, type Schema } from './common.js';

/** Fields shared by image and pixelmap, without the field that names the item. */
export interface OverlayElement extends ElementBase {
  opacity?: number;
  hasAlpha?: boolean;
  transform?: OverlayTransform;
}

/** A large image laid over the annotated one. The field naming the item follows the brand (`serviceId`). */
export interface ImageElement extends OverlayElement {
  type: 'image';
  [itemField: `${string}Id`]: string;
}

/** Schema of {@link ImageElement}. */
export function image(brand: string): Schema {
  return shape('image', [itemField(brand)], overlayProperties(brand));
}
