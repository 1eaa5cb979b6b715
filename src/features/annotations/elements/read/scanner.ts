import { LargeImageError } from '../../../../errors.js';
import { elementTooLong, maxElementBytes, maxOtherBytes } from '../limits.js';
import { invalidJson } from '../packs/json-text.js';
import { ListKeys } from '../packs/list-keys.js';

/** Complete elements of a list, one after another in a buffer that is used again: take what you need before going on. */
export interface ElementSlice {
  kind: 'slice';
  /** Which list of the body, from 0. */
  list: number;
  /** Index in the list of the first element. */
  first: number;
  count: number;
  /** Holds the elements, with the commas between them. */
  bytes: Buffer;
  /** Where each element begins and ends. */
  starts: Uint32Array;
  ends: Uint32Array;
  /** Keys in the text of each element, at all depths. */
  keys: Uint32Array;
  /** 1: the text is compact JSON in canonical form, so that it can be stored as it is. */
  canonical: Uint8Array;
}

/** What a scanner finds. */
export type ScannerEvent =
  | ElementSlice
  /** `entry`: which entry of the body has the list; `null` where the body is no list. */
  | { kind: 'list-start'; list: number; key: string; entry: number | null }
  | { kind: 'list-end'; list: number };

/** A slice is handed over when it has this many elements or bytes. */
const sliceElements = 1024;
const sliceBytes = 512 * 1024;

const [quote, comma, colon, backslash] = [0x22, 0x2c, 0x3a, 0x5c];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];
const [dot, zero, nine] = [0x2e, 0x30, 0x39];

/** Bytes that mean something in an element: all others are passed over. */
const special = new Uint8Array(256);
for (const byte of [quote, comma, colon, openList, closeList, openObject, closeObject, dot, 0x65, 0x45, 0x20, 0x09, 0x0a, 0x0d])
  special[byte] = 1;

/**
 * Cuts a JSON body, given in chunks of any length, into its lists of elements and the rest. The brackets of each list stay in the
 * rest and hold the number of the list: `{"name":"a","elements":[0]}`. Nothing is parsed: broken JSON shows when the slices and the
 * rest are.
 */
export class BodyScanner {
  #block = Buffer.allocUnsafe(sliceBytes * 2);
  #filled = 0;
  #at = 0;
  readonly #keys = new ListKeys();
  #rest: Buffer[] = [];
  #restBytes = 0;
  #inList = false;
  #lists = 0;

  // Of the list that is being read.
  #first = 0;
  #count = 0;
  #start = -1;
  #afterComma = false;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #keyCount = 0;
  #isCanonical = 1;
  readonly #starts = new Uint32Array(sliceElements);
  readonly #ends = new Uint32Array(sliceElements);
  readonly #keyCounts = new Uint32Array(sliceElements);
  readonly #canonical = new Uint8Array(sliceElements);

  /** Reads a chunk. @throws BadParameterError for text that cannot be JSON; LargeImageError `too-large`. */
  *push(chunk: Uint8Array): Generator<ScannerEvent, void, undefined> {
    // In pieces, so that the block stays small.
    for (let from = 0; from < chunk.length; from += sliceBytes) {
      this.#append(chunk.subarray(from, from + sliceBytes));
      yield* this.#scan();
    }
  }

  /** The rest, after the last chunk. @throws BadParameterError when the body ended within a list. */
  finish(): Buffer {
    if (this.#inList) throw invalidJson('the body ends within a list of elements');
    return Buffer.concat(this.#rest);
  }

  #append(piece: Uint8Array): void {
    // What was handed over is not needed any more.
    const keep = this.#count > 0 ? (this.#starts[0] as number) : this.#start >= 0 ? this.#start : this.#at;
    if (keep > 0) {
      this.#block.copyWithin(0, keep, this.#filled);
      this.#filled -= keep;
      this.#at -= keep;
      if (this.#start >= 0) this.#start -= keep;
      for (let i = 0; i < this.#count; i += 1) {
        this.#starts[i] = (this.#starts[i] as number) - keep;
        this.#ends[i] = (this.#ends[i] as number) - keep;
      }
    }
    const needed = this.#filled + piece.length;
    if (needed > this.#block.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.#block.length * 2));
      this.#block.copy(larger, 0, 0, this.#filled);
      this.#block = larger;
    }
    this.#block.set(piece, this.#filled);
    this.#filled = needed;
  }

  *#scan(): Generator<ScannerEvent, void, undefined> {
    while (this.#at < this.#filled) {
      if (this.#inList) {
        const ended = this.#scanList();
        if (this.#count > 0 && (ended || this.#isSliceFull())) yield this.#takeSlice();
        if (ended) {
          this.#inList = false;
          yield { kind: 'list-end', list: this.#lists - 1 };
        } else if (this.#start >= 0 && this.#at - this.#start > maxElementBytes) {
          throw elementTooLong(this.#first + this.#count);
        }
      } else {
        const begins = this.#scanRest();
        if (begins !== null) {
          this.#beginList();
          yield { kind: 'list-start', list: this.#lists - 1, key: begins, entry: this.#keys.entry };
        }
      }
    }
  }

  #isSliceFull(): boolean {
    return this.#count === sliceElements || (this.#ends[this.#count - 1] as number) - (this.#starts[0] as number) >= sliceBytes;
  }

  #takeSlice(): ElementSlice {
    const { length } = { length: this.#count };
    const slice: ElementSlice = {
      kind: 'slice',
      list: this.#lists - 1,
      first: this.#first,
      count: length,
      bytes: this.#block,
      starts: this.#starts,
      ends: this.#ends,
      keys: this.#keyCounts,
      canonical: this.#canonical,
    };
    this.#first += length;
    this.#count = 0;
    return slice;
  }

  /** Reads the rest up to a list or to the end of what there is. @returns the key of the list that begins at `#at`. */
  #scanRest(): string | null {
    const begin = this.#at;
    const { end, key } = this.#keys.read(this.#block, begin, this.#filled);
    this.#at = end;
    this.#restBytes += end - begin;
    if (this.#restBytes > maxOtherBytes) {
      throw new LargeImageError('too-large', `The body is longer than ${maxOtherBytes} bytes beside its lists of elements.`);
    }
    this.#rest.push(Buffer.from(this.#block.subarray(begin, end)));
    return key;
  }

  #beginList(): void {
    this.#rest.push(Buffer.from(`${this.#lists}]`));
    this.#lists += 1;
    this.#inList = true;
    this.#first = 0;
    this.#count = 0;
    this.#start = -1;
    this.#afterComma = false;
  }

  #endElement(end: number): void {
    const block = this.#block;
    let last = end;
    while (isSpace(block[last - 1] as number)) last -= 1;
    this.#starts[this.#count] = this.#start;
    this.#ends[this.#count] = last;
    this.#keyCounts[this.#count] = this.#keyCount;
    this.#canonical[this.#count] = this.#isCanonical;
    this.#count += 1;
    this.#start = -1;
  }

  /** Reads elements until the slice is full, the list ends or there is no more. @returns whether the list ended. */
  #scanList(): boolean {
    const block = this.#block;
    const filled = this.#filled;
    let at = this.#at;
    while (at < filled) {
      if (this.#start < 0) {
        const byte = block[at] as number;
        at += 1;
        if (isSpace(byte)) continue;
        if (byte === closeList && !this.#afterComma) {
          this.#at = at;
          return true;
        }
        if (byte === comma || byte === closeList || byte === closeObject || byte === colon) {
          throw invalidJson(`unexpected ${String.fromCharCode(byte)} where element ${this.#first + this.#count} should be`);
        }
        at -= 1;
        this.#start = at;
        this.#depth = 0;
        this.#inString = false;
        this.#escaped = false;
        this.#keyCount = 0;
        this.#isCanonical = 1;
      }
      const end = this.#scanElement(at, filled);
      at = end < 0 ? filled : end;
      if (end < 0) break;
      this.#endElement(end);
      at += 1;
      if (block[end] === closeList) {
        this.#at = at;
        return true;
      }
      this.#afterComma = true;
      if (this.#isSliceFull()) break;
    }
    this.#at = at;
    return false;
  }

  /** Goes through an element. @returns where its comma or closing bracket is, or -1 when it goes on past `filled`. */
  #scanElement(from: number, filled: number): number {
    const block = this.#block;
    let depth = this.#depth;
    let inString = this.#inString;
    let at = from;
    if (this.#escaped) {
      at += 1;
      this.#escaped = false;
    }
    for (; at < filled; at += 1) {
      const byte = block[at] as number;
      if (inString) {
        if (byte === quote) inString = false;
        else if (byte === backslash) {
          at += 1;
          if (at === filled) this.#escaped = true;
        }
        continue;
      }
      if (special[byte] === 0) continue;
      if (byte === quote) inString = true;
      else if (byte === comma) {
        if (depth === 0) return at;
      } else if (byte === openList || byte === openObject) depth += 1;
      else if (byte === closeList || byte === closeObject) {
        if (depth === 0) {
          if (byte === closeObject) throw invalidJson(`unexpected } after element ${this.#first + this.#count}`);
          return at;
        }
        depth -= 1;
      } else if (byte === colon) this.#keyCount += 1;
      else if (byte === dot) {
        if (isDecimalComplete(block, at + 1, filled)) this.#isCanonical = 0;
      } else if (byte === 0x65 || byte === 0x45) {
        // The e of true and false follows a letter, that of a number a digit.
        const before = at === 0 ? 0 : (block[at - 1] as number);
        if (before >= zero && before <= nine) this.#isCanonical = 0;
      } else if (depth > 0) this.#isCanonical = 0;
    }
    this.#depth = depth;
    this.#inString = inString;
    return -1;
  }
}

/** White space of JSON; other control characters are left in the element, whose parsing refuses them. */
function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Whether the decimals from `at` are all 0, as in `12.0`; also when they go on past what there is. */
function isDecimalComplete(block: Buffer, at: number, filled: number): boolean {
  let end = at;
  while (end < filled && block[end] === zero) end += 1;
  if (end === filled) return true;
  const byte = block[end] as number;
  return end > at && !(byte > zero && byte <= nine);
}
