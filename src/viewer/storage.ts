/** Texts that the browser stores. If the browser's storage is full or forbidden, the texts are kept in memory while the page is open. */
class BrowserStorage {
  readonly #unstored: Map<string, string> = new Map();

  constructor(private readonly kind: 'localStorage' | 'sessionStorage') {}

  get(key: string): string | null {
    try {
      return this.#unstored.get(key) ?? globalThis[this.kind].getItem(key);
    } catch {
      return null;
    }
  }

  /** Stores a text; `null` removes it. */
  set(key: string, value: string | null) {
    this.#unstored.delete(key);
    try {
      if (value === null) globalThis[this.kind].removeItem(key);
      else globalThis[this.kind].setItem(key, value);
    } catch {
      if (value !== null) this.#unstored.set(key, value);
    }
  }
}

/** Shared by all pages of the site. */
export const siteStorage = new BrowserStorage('localStorage');

/** Kept through reloads of a tab. */
export const tabStorage = new BrowserStorage('sessionStorage');
