import type { StoredDocument } from '../../host.js';

/** An item whose image has changed. After the item is removed, only its last document is known. */
export interface ChangedItem {
  id: string;
  doc: StoredDocument;
}

/**
 * Tells other features that an item shows another image than before, or none, so that they remove the files that they made from the
 * former one.
 */
export class ImageChanges {
  readonly #listeners: ((item: ChangedItem) => Promise<unknown>)[] = [];

  on(listener: (item: ChangedItem) => Promise<unknown>): void {
    this.#listeners.push(listener);
  }

  /** Resolves when all listeners are done, because callers may only show the new image then. */
  async announce(item: ChangedItem): Promise<void> {
    for (const listener of this.#listeners) await listener(item);
  }
}
