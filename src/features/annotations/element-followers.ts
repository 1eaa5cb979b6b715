import type { StoredElements } from './elements/element-store.js';

/** Gives the stored elements of all annotations and former versions of a family. */
export type ElementsOfFamily = (family: string) => AsyncIterable<StoredElements>;

/** Derives records from stored elements, such as the counts that overlays draw. */
export interface ElementFollower {
  /** Called after an annotation was stored with these elements. */
  onElementsStored(elements: StoredElements): void;
  /**
   * Removes records that were derived from elements that no annotation has anymore. Called after the sweep of the element store.
   *
   * @param families the families to sweep; by default all.
   * @returns how many records of each kind were removed.
   */
  sweep(elementsOf: ElementsOfFamily, families?: Iterable<string>): Promise<Record<string, number>>;
}

/** The features that derive records from elements. These features depend on annotations, not the other way round. */
export class ElementFollowers implements ElementFollower {
  readonly #followers: ElementFollower[] = [];

  add(follower: ElementFollower): void {
    this.#followers.push(follower);
  }

  onElementsStored(elements: StoredElements): void {
    for (const follower of this.#followers) follower.onElementsStored(elements);
  }

  async sweep(elementsOf: ElementsOfFamily, families?: Iterable<string>): Promise<Record<string, number>> {
    const removed: Record<string, number> = {};
    for (const follower of this.#followers) Object.assign(removed, await follower.sweep(elementsOf, families));
    return removed;
  }
}
