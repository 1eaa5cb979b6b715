import type { StoredElements } from './elements/element-store.js';

/** Yields the stored elements of every annotation and former version whose elements belong to the family (see {@link StoredElements}). */
export type ElementsOfFamily = (family: string) => AsyncIterable<StoredElements>;

/** A service that derives records from stored elements, such as the counts that overlays draw. */
export interface ElementFollower {
  /** Called after an annotation with these elements was stored. */
  onElementsStored(elements: StoredElements): void;
  /**
   * Removes records that were derived from elements that no annotation has anymore. Called after the sweep of the element store.
   *
   * @param families the families to sweep. Default: all.
   * @returns the number of removed records of each kind.
   */
  sweep(elementsOf: ElementsOfFamily, families?: Iterable<string>): Promise<Record<string, number>>;
}

/**
 * Passes each call on to the followers that other features add. In this way, other features depend on the annotations feature, and not the
 * other way round.
 */
export class ElementFollowers implements ElementFollower {
  readonly #followers: ElementFollower[] = [];

  add(follower: ElementFollower): void {
    this.#followers.push(follower);
  }

  onElementsStored(elements: StoredElements): void {
    for (const follower of this.#followers) follower.onElementsStored(elements);
  }

  async sweep(elementsOf: ElementsOfFamily, families?: Iterable<string>): Promise<Record<string, number>> {
    const removedCounts: Record<string, number> = {};
    for (const follower of this.#followers) Object.assign(removedCounts, await follower.sweep(elementsOf, families));
    return removedCounts;
  }
}
