/** Number of 32-bit words in an id. */
const idWords = 3;
/** Number of ids for which the first table has slots. */
const initialSlots = 1024;
/** The table grows when more than this share of its slots is in use. */
const maxLoad = 0.6;

function hexDigit(code: number): number {
  // 0-9 are 48-57, a-f are 97-102.
  return code < 58 ? code - 48 : code - 87;
}

function hexWord(id: string, start: number): number {
  let word = 0;
  for (let i = start; i < start + 8; i += 1) word = (word << 4) | hexDigit(id.charCodeAt(i));
  return word >>> 0;
}

/**
 * A set of element ids (24 lowercase hexadecimal digits) in a flat table without an object for each id. With free slots, a million
 * ids take 25 to 50 MB.
 */
export class ElementIds {
  #table = new Uint32Array(initialSlots * idWords);
  #capacity = initialSlots;
  #size = 0;
  // All zeros marks a free slot, so the id of 24 zeros is stored separately.
  #hasZero = false;

  /** Number of ids in the set. */
  get size(): number {
    return this.#size + (this.#hasZero ? 1 : 0);
  }

  /** Adds an id. @returns false if it was already there. */
  add(id: string): boolean {
    const a = hexWord(id, 0);
    const b = hexWord(id, 8);
    const c = hexWord(id, 16);
    if (a === 0 && b === 0 && c === 0) {
      const isNew = !this.#hasZero;
      this.#hasZero = true;
      return isNew;
    }
    if (!this.#insert(a, b, c)) return false;
    this.#size += 1;
    if (this.#size > this.#capacity * maxLoad) this.#grow();
    return true;
  }

  #insert(a: number, b: number, c: number): boolean {
    const table = this.#table;
    const mask = this.#capacity - 1;
    let slot = (Math.imul(a ^ (a >>> 15), 0x85ebca6b) ^ Math.imul(b ^ (b >>> 13), 0xc2b2ae35) ^ Math.imul(c, 0x27d4eb2f)) >>> 0;
    slot = (slot ^ (slot >>> 16)) & mask;
    for (;;) {
      const at = slot * idWords;
      if (table[at] === 0 && table[at + 1] === 0 && table[at + 2] === 0) {
        table[at] = a;
        table[at + 1] = b;
        table[at + 2] = c;
        return true;
      }
      if (table[at] === a && table[at + 1] === b && table[at + 2] === c) return false;
      slot = (slot + 1) & mask;
    }
  }

  #grow(): void {
    const old = this.#table;
    this.#capacity *= 2;
    this.#table = new Uint32Array(this.#capacity * idWords);
    for (let at = 0; at < old.length; at += idWords) {
      const a = old[at] as number;
      const b = old[at + 1] as number;
      const c = old[at + 2] as number;
      if (a !== 0 || b !== 0 || c !== 0) this.#insert(a, b, c);
    }
  }
}
