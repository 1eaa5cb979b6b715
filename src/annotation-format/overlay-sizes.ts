import type { OverlaySize } from './bounding-box.js';
import { itemField } from './schema/common.js';
import type { AnnotationElement } from './schema/document.js';

/** Looks up the size of an item's large image, which image and pixelmap elements show; `null` if the item has none. */
export type FindOverlaySize = (itemId: string) => Promise<OverlaySize | null>;

/** Looks up the sizes of the large images of overlays, each once. */
export class KnownOverlaySizes {
  readonly #field: string;
  readonly #sizes: Map<string, OverlaySize | null>;

  /**
   * @param brand the host's brand. The overlays' field for the id of an item is named after the brand.
   * @param knownSizes sizes that need not be looked up.
   */
  constructor(
    brand: string,
    private readonly findOverlaySize: FindOverlaySize,
    knownSizes: Iterable<[itemId: string, size: OverlaySize | null]> = [],
  ) {
    this.#field = itemField(brand);
    this.#sizes = new Map(knownSizes);
  }

  /** Whether {@link loadSize} must be called before {@link sizeOf}. */
  isSizeMissing(element: AnnotationElement): boolean {
    return isOverlay(element) && !this.#sizes.has(this.#itemIdOf(element));
  }

  async loadSize(element: AnnotationElement): Promise<void> {
    const itemId = this.#itemIdOf(element);
    if (!this.#sizes.has(itemId)) this.#sizes.set(itemId, await this.findOverlaySize(itemId));
  }

  /** Ids of the items whose sizes were passed to the constructor or looked up. */
  itemIds(): Iterable<string> {
    return this.#sizes.keys();
  }

  /** Size of the image that an element shows; `null` if the size is unknown or the element shows no image. */
  sizeOf(element: AnnotationElement): OverlaySize | null {
    return isOverlay(element) ? (this.#sizes.get(this.#itemIdOf(element)) ?? null) : null;
  }

  #itemIdOf(element: AnnotationElement): string {
    // The schema requires this field in every overlay.
    return String((element as unknown as Record<string, unknown>)[this.#field]);
  }
}

function isOverlay({ type }: AnnotationElement): boolean {
  return type === 'image' || type === 'pixelmap';
}
