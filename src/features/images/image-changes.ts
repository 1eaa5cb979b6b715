import type { StoredDocument } from '../../host.js';

/** An item whose image has changed. After the item is removed, only its last document is known. */
export interface ChangedItem {
  id: string;
  doc: StoredDocument;
}

/** Tells other features that images of items have changed or were removed, so that they remove the files made from the previous images. */
export class ImageChanges {
  readonly #listeners: ((items: readonly ChangedItem[]) => Promise<unknown>)[] = [];

  onChange(listener: (items: readonly ChangedItem[]) => Promise<unknown>): void {
    this.#listeners.push(listener);
  }

  /** Resolves when all listeners are done, because only then may callers show the new images. */
  async announce(items: readonly ChangedItem[]): Promise<void> {
    for (const listener of this.#listeners) await listener(items);
  }
}
