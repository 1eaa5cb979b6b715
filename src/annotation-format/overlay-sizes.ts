import type { OverlaySize } from './bounding-box.js';
import { itemField } from './schema/common.js';
import type { AnnotationElement } from './schema/document.js';

/** Looks up the size of an item's large image, which image and pixelmap elements show; `null` if the item has none. */
export type OverlaySizes = (itemId: string) => Promise<OverlaySize | null>;

/** Sizes of the large images of overlays, each looked up once. */
export class KnownOverlaySizes {
  readonly #field: string;
  readonly #sizes: Map<string, OverlaySize | null>;

  /** @param known sizes that need no lookup. */
  constructor(
    brand: string,
    private readonly overlaySizes: OverlaySizes,
    known: Iterable<[itemId: string, size: OverlaySize | null]> = [],
  ) {
    this.#field = itemField(brand);
    this.#sizes = new Map(known);
  }

  /** Whether the size of an element's image must be looked up first. */
  isMissing(element: AnnotationElement): boolean {
    return isOverlay(element) && !this.#sizes.has(this.#item(element));
  }

  async load(element: AnnotationElement): Promise<void> {
    const item = this.#item(element);
    if (!this.#sizes.has(item)) this.#sizes.set(item, await this.overlaySizes(item));
  }

  /** The items that were looked up. */
  items(): Iterable<string> {
    return this.#sizes.keys();
  }

  of(element: AnnotationElement): OverlaySize | null {
    return isOverlay(element) ? (this.#sizes.get(this.#item(element)) ?? null) : null;
  }

  #item(element: AnnotationElement): string {
    // The schema requires the field of the brand on overlays.
    return String((element as unknown as Record<string, unknown>)[this.#field]);
  }
}

function isOverlay({ type }: AnnotationElement): boolean {
  return type === 'image' || type === 'pixelmap';
}
