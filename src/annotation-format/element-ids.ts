/** Number of 32-bit words in an id. */
const wordsPerId = 3;
const initialSlotCount = 1024;
/** The table grows when more than this share of its slots is in use. */
const maxLoad = 0.6;

function hexDigitValue(code: number): number {
  // 0-9 are 48-57, a-f are 97-102.
  return code < 58 ? code - 48 : code - 87;
}

function parseHexWord(id: string, start: number): number {
  let word = 0;
  for (let i = start; i < start + 8; i += 1) word = (word << 4) | hexDigitValue(id.charCodeAt(i));
  return word >>> 0;
}

/**
 * A set of element ids (24 lowercase hexadecimal digits) in a flat table without an object for each id. Including free slots, a million
 * ids take 25 to 50 MB.
 */
export class ElementIds {
  #table = new Uint32Array(initialSlotCount * wordsPerId);
  #slotCount = initialSlotCount;
  #size = 0;
  // A slot with only zeros is free, so the id of 24 zeros is stored separately.
  #hasZeroId = false;

  /** Number of ids in the set. */
  get size(): number {
    return this.#size + (this.#hasZeroId ? 1 : 0);
  }

  /** Adds an id. @returns false if the set already contained it. */
  add(id: string): boolean {
    const word0 = parseHexWord(id, 0);
    const word1 = parseHexWord(id, 8);
    const word2 = parseHexWord(id, 16);
    if (word0 === 0 && word1 === 0 && word2 === 0) {
      const isNew = !this.#hasZeroId;
      this.#hasZeroId = true;
      return isNew;
    }
    if (!this.#insert(word0, word1, word2)) return false;
    this.#size += 1;
    if (this.#size > this.#slotCount * maxLoad) this.#grow();
    return true;
  }

  /** Stores an id in a free slot. @returns false if the table already contained it. */
  #insert(word0: number, word1: number, word2: number): boolean {
    const table = this.#table;
    const mask = this.#slotCount - 1;
    let slot =
      (Math.imul(word0 ^ (word0 >>> 15), 0x85ebca6b) ^
        Math.imul(word1 ^ (word1 >>> 13), 0xc2b2ae35) ^
        Math.imul(word2, 0x27d4eb2f)) >>>
      0;
    slot = (slot ^ (slot >>> 16)) & mask;
    for (;;) {
      const at = slot * wordsPerId;
      if (table[at] === 0 && table[at + 1] === 0 && table[at + 2] === 0) {
        table[at] = word0;
        table[at + 1] = word1;
        table[at + 2] = word2;
        return true;
      }
      if (table[at] === word0 && table[at + 1] === word1 && table[at + 2] === word2) return false;
      slot = (slot + 1) & mask;
    }
  }

  #grow(): void {
    const oldTable = this.#table;
    this.#slotCount *= 2;
    this.#table = new Uint32Array(this.#slotCount * wordsPerId);
    for (let at = 0; at < oldTable.length; at += wordsPerId) {
      const word0 = oldTable[at] as number;
      const word1 = oldTable[at + 1] as number;
      const word2 = oldTable[at + 2] as number;
      if (word0 !== 0 || word1 !== 0 || word2 !== 0) this.#insert(word0, word1, word2);
    }
  }
}
