/** Paths to the lists of elements in a body. `*` stands for any entry of a list. */
const listPaths: ReadonlySet<string> = new Set([
  'elements',
  'annotation.elements',
  '*.elements',
  '*.annotation.elements',
  'features',
  '*.features',
]);

/** Maximum number of containers on a path. */
const maxPathDepth = 4;
/** Maximum number of bytes of a key to keep. Longer keys are not on any path. */
const maxKeyLength = 64;

const [quote, comma, colon, backslash] = [0x22, 0x2c, 0x3a, 0x5c];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

interface Container {
  isObject: boolean;
  /** Key of the member that is being read. `*` in a list. */
  key: string;
}

/** Reads JSON text in chunks of any length, and finds where its lists of elements begin. */
export class ListFinder {
  readonly #containers: Container[] = [];
  /** Number of open containers that are nested deeper than {@link maxPathDepth}. */
  #extraDepth = 0;
  #isInString = false;
  #isAfterBackslash = false;
  /** Whether the next string is a key. */
  #expectsKey = false;
  #keyBytes: number[] | null = null;
  #entryIndex = 0;

  /** Index of the body's entry that is being read. `null` if the body is not a list. */
  get entryIndex(): number | null {
    return this.#containers[0]?.isObject === false ? this.#entryIndex : null;
  }

  /**
   * Reads from `from` to `limit`, or to the bracket that opens the next list of elements.
   *
   * @returns the offset after the bytes that were read, and the key of the list; `null` if there is none.
   */
  findNextList(text: Buffer, from: number, limit: number): { end: number; key: string | null } {
    for (let offset = from; offset < limit; offset += 1) {
      const byte = text[offset] as number;
      if (this.#isInString) this.#readString(byte);
      else if (byte === quote) {
        this.#isInString = true;
        if (this.#expectsKey && this.#extraDepth === 0) this.#keyBytes = [];
      } else if (byte === openList && this.#extraDepth === 0 && listPaths.has(this.#currentPath())) {
        return { end: offset + 1, key: this.#containers.at(-1)?.key ?? '' };
      } else if (byte === openList || byte === openObject) this.#open(byte === openObject);
      else if (byte === closeList || byte === closeObject) this.#close();
      else if (byte === comma && this.#extraDepth === 0) this.#startNextEntry();
      else if (byte === colon) this.#expectsKey = false;
    }
    return { end: limit, key: null };
  }

  #startNextEntry(): void {
    this.#expectsKey = this.#containers.at(-1)?.isObject ?? false;
    if (this.#containers.length === 1) this.#entryIndex += 1;
  }

  #readString(byte: number): void {
    if (this.#isAfterBackslash) this.#isAfterBackslash = false;
    else if (byte === backslash) this.#isAfterBackslash = true;
    else if (byte === quote) {
      this.#isInString = false;
      this.#endKey();
      return;
    }
    if (this.#keyBytes !== null && this.#keyBytes.length <= maxKeyLength) this.#keyBytes.push(byte);
  }

  #endKey(): void {
    if (this.#keyBytes === null) return;
    const container = this.#containers.at(-1);
    if (container !== undefined) container.key = decodeKey(Buffer.from(this.#keyBytes).toString('utf8'));
    this.#keyBytes = null;
  }

  #currentPath(): string {
    return this.#containers.map(({ key }) => key).join('.');
  }

  #open(isObject: boolean): void {
    if (this.#containers.length === maxPathDepth || this.#extraDepth > 0) {
      this.#extraDepth += 1;
      return;
    }
    this.#containers.push({ isObject, key: isObject ? '' : '*' });
    this.#expectsKey = isObject;
  }

  #close(): void {
    if (this.#extraDepth > 0) this.#extraDepth -= 1;
    else this.#containers.pop();
    this.#expectsKey = false;
  }
}

/** Decodes a key. Keys that are on no path become `?`, so that a dot or star in a key cannot be taken for part of a path. */
function decodeKey(raw: string): string {
  let key = raw;
  try {
    key = JSON.parse(`"${raw}"`) as string;
  } catch {
    // An invalid key is reported when the rest of the body is parsed.
  }
  return /^[a-z]+$/.test(key) ? key : '?';
}
