import { randomBytes } from 'node:crypto';

const counterBits = 24;

/**
 * Makes ids of 24 hexadecimal digits in the layout of ObjectIds: seconds, five random bytes, a counter. Ids from one maker sort in
 * the order in which they were made.
 */
export class IdMaker {
  #prefix = '';
  #nextCounter = 2 ** counterBits;

  make(): string {
    if (this.#nextCounter === 2 ** counterBits) {
      const seconds = Math.floor(Date.now() / 1000) % 2 ** 32;
      this.#prefix = seconds.toString(16).padStart(8, '0') + randomBytes(5).toString('hex');
      this.#nextCounter = 0;
    }
    const id = this.#prefix + (this.#nextCounter + 2 ** counterBits).toString(16).slice(1);
    this.#nextCounter += 1;
    return id;
  }
}

/** Number of 32-bit words in an id. */
const wordsPerId = 3;

/** A column of ids, as three columns of 32-bit words. */
export interface IdColumns {
  high: ArrayLike<number>;
  middle: ArrayLike<number>;
  low: ArrayLike<number>;
}

/** Returns one of the three words of an id. Word 0 contains the leading digits. */
export function idWord(id: string, wordIndex: number): number {
  let value = 0;
  for (let i = wordIndex * 8; i < wordIndex * 8 + 8; i += 1) {
    const code = id.charCodeAt(i);
    // 0-9 are 48-57, a-f are 97-102.
    value = (value << 4) | (code < 58 ? code - 48 : code - 87);
  }
  return value >>> 0;
}

const idBytes = Buffer.alloc(4 * wordsPerId);

/** Returns the id at a row of a column. */
export function idAt({ high, middle, low }: IdColumns, row: number): string {
  idBytes.writeUInt32BE(high[row] as number, 0);
  idBytes.writeUInt32BE(middle[row] as number, 4);
  idBytes.writeUInt32BE(low[row] as number, 8);
  return idBytes.toString('hex');
}

/** Computes a hash of 32 bits for looking up ids. It spreads consecutive ids as evenly as random ones. */
export function hashIdWords(high: number, middle: number, low: number): number {
  let hash = Math.imul(high ^ (high >>> 15), 0x85ebca6b) ^ Math.imul(middle ^ (middle >>> 13), 0xc2b2ae35);
  hash ^= Math.imul(low ^ (low >>> 16), 0x27d4eb2f);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39);
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** Like {@link hashIdWords}, for an id as text. */
export function hashId(id: string): number {
  return hashIdWords(idWord(id, 0), idWord(id, 1), idWord(id, 2));
}
