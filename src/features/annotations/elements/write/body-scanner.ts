import { LargeImageError } from '../../../../errors.js';
import { maxJsonDepth, nestedTooDeepError } from '../../../../core/json.js';
import { elementTooLong, maxElementBytes, maxOtherBytes } from './element-limits.js';
import { invalidJson } from './json-text.js';
import { ListKeys } from './list-keys.js';

/** Complete elements of a list, in a buffer that is reused: a consumer must copy what it needs before it continues. */
export interface ElementSlice {
  kind: 'slice';
  /** Index of the list among the lists of the body. */
  list: number;
  /** Index in the list of the first element. */
  first: number;
  count: number;
  /** Contains the elements, with the commas between them. */
  bytes: Buffer;
  /** Positions in `bytes` at which each element begins and ends. */
  starts: Uint32Array;
  ends: Uint32Array;
  /** Number of keys in each element, at all depths. */
  keyCounts: Uint32Array;
  /** 1 if the text of an element is compact JSON in canonical form, which can be stored unchanged. */
  isCanonical: Uint8Array;
}

/** An event of the scanner. */
export type ScannerEvent =
  | ElementSlice
  /** `entry` is the index of the entry of the body that contains the list; `null` if the body is not a list. */
  | { kind: 'list-start'; list: number; key: string; entry: number | null }
  | { kind: 'list-end'; list: number };

/** A slice is yielded when it has this many elements or bytes. */
const sliceElements = 1024;
const sliceBytes = 512 * 1024;

const [quote, comma, colon, backslash] = [0x22, 0x2c, 0x3a, 0x5c];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];
const [dot, zero, nine] = [0x2e, 0x30, 0x39];

/** 1 for bytes that matter outside strings in an element. All other bytes are skipped. */
const isStructural = new Uint8Array(256);
for (const byte of [quote, comma, colon, openList, closeList, openObject, closeObject, dot, 0x65, 0x45, 0x20, 0x09, 0x0a, 0x0d])
  isStructural[byte] = 1;

/**
 * Splits a JSON body, given in chunks of any length, into its lists of elements and the rest. In the rest each list is replaced by one with the
 * number of the list: `{"name":"a","elements":[0]}`. Nothing is parsed here; invalid JSON is found when the slices and the rest are parsed.
 */
export class BodyScanner {
  #block = Buffer.allocUnsafe(sliceBytes * 2);
  #filled = 0;
  #at = 0;
  readonly #keys = new ListKeys();
  #rest: Buffer[] = [];
  #restBytes = 0;
  #isInList = false;
  #listCount = 0;

  // State of the list that is being read.
  #sliceStart = 0;
  #sliceCount = 0;
  #elementStart = -1;
  #isAfterComma = false;
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
    // Long chunks are read in pieces, so that the block stays small.
    for (let from = 0; from < chunk.length; from += sliceBytes) {
      this.#append(chunk.subarray(from, from + sliceBytes));
      yield* this.#scan();
    }
  }

  /** Returns the body outside its lists. Must be called after the last chunk. @throws BadParameterError if the body ended within a list. */
  endBody(): Buffer {
    if (this.#isInList) throw invalidJson('the body ends within a list of elements');
    return Buffer.concat(this.#rest);
  }

  #append(piece: Uint8Array): void {
    // Bytes before the first element that has not been yielded are dropped.
    const dropped = this.#sliceCount > 0 ? (this.#starts[0] as number) : this.#elementStart >= 0 ? this.#elementStart : this.#at;
    if (dropped > 0) {
      this.#block.copyWithin(0, dropped, this.#filled);
      this.#filled -= dropped;
      this.#at -= dropped;
      if (this.#elementStart >= 0) this.#elementStart -= dropped;
      for (let i = 0; i < this.#sliceCount; i += 1) {
        this.#starts[i] = (this.#starts[i] as number) - dropped;
        this.#ends[i] = (this.#ends[i] as number) - dropped;
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
      if (this.#isInList) {
        const ended = this.#scanList();
        if (this.#sliceCount > 0 && (ended || this.#isSliceFull())) yield this.#takeSlice();
        if (ended) {
          this.#isInList = false;
          yield { kind: 'list-end', list: this.#listCount - 1 };
        } else if (this.#elementStart >= 0 && this.#at - this.#elementStart > maxElementBytes) {
          throw elementTooLong(this.#sliceStart + this.#sliceCount);
        }
      } else {
        const key = this.#scanRest();
        if (key !== null) {
          this.#beginList();
          yield { kind: 'list-start', list: this.#listCount - 1, key, entry: this.#keys.entry };
        }
      }
    }
  }

  #isSliceFull(): boolean {
    return (
      this.#sliceCount === sliceElements ||
      (this.#ends[this.#sliceCount - 1] as number) - (this.#starts[0] as number) >= sliceBytes
    );
  }

  #takeSlice(): ElementSlice {
    const count = this.#sliceCount;
    const slice: ElementSlice = {
      kind: 'slice',
      list: this.#listCount - 1,
      first: this.#sliceStart,
      count,
      bytes: this.#block,
      starts: this.#starts,
      ends: this.#ends,
      keyCounts: this.#keyCounts,
      isCanonical: this.#canonical,
    };
    this.#sliceStart += count;
    this.#sliceCount = 0;
    return slice;
  }

  /** Reads the rest up to the next list or the end of the block. @returns the key of the list that begins at `#at`; `null` at the end of the block. */
  #scanRest(): string | null {
    const begin = this.#at;
    const { end, key } = this.#keys.read(this.#block, begin, this.#filled);
    this.#at = end;
    this.#restBytes += end - begin;
    if (this.#restBytes > maxOtherBytes) {
      throw new LargeImageError('too-large', `The body is longer than ${maxOtherBytes} bytes outside its lists of elements.`);
    }
    this.#rest.push(Buffer.from(this.#block.subarray(begin, end)));
    return key;
  }

  #beginList(): void {
    this.#rest.push(Buffer.from(`${this.#listCount}]`));
    this.#listCount += 1;
    this.#isInList = true;
    this.#sliceStart = 0;
    this.#sliceCount = 0;
    this.#elementStart = -1;
    this.#isAfterComma = false;
  }

  #endElement(end: number): void {
    const block = this.#block;
    let last = end;
    while (isSpace(block[last - 1] as number)) last -= 1;
    this.#starts[this.#sliceCount] = this.#elementStart;
    this.#ends[this.#sliceCount] = last;
    this.#keyCounts[this.#sliceCount] = this.#keyCount;
    this.#canonical[this.#sliceCount] = this.#isCanonical;
    this.#sliceCount += 1;
    this.#elementStart = -1;
  }

  /** Reads elements until the slice is full, the list ends or the block ends. @returns whether the list ended. */
  #scanList(): boolean {
    const block = this.#block;
    const filled = this.#filled;
    let at = this.#at;
    while (at < filled) {
      if (this.#elementStart < 0) {
        const byte = block[at] as number;
        at += 1;
        if (isSpace(byte)) continue;
        if (byte === closeList && !this.#isAfterComma) {
          this.#at = at;
          return true;
        }
        if (byte === comma || byte === closeList || byte === closeObject || byte === colon) {
          throw invalidJson(
            `unexpected ${String.fromCharCode(byte)} where element ${this.#sliceStart + this.#sliceCount} should be`,
          );
        }
        at -= 1;
        this.#elementStart = at;
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
      this.#isAfterComma = true;
      if (this.#isSliceFull()) break;
    }
    this.#at = at;
    return false;
  }

  /** Reads an element. @returns the position of the comma or closing bracket after it; -1 if the element continues after `filled`. */
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
      if (isStructural[byte] === 0) continue;
      if (byte === quote) inString = true;
      else if (byte === comma) {
        if (depth === 0) return at;
      } else if (byte === openList || byte === openObject) {
        depth += 1;
        // The list that contains the element is a level, too.
        if (depth >= maxJsonDepth) throw nestedTooDeepError();
      } else if (byte === closeList || byte === closeObject) {
        if (depth === 0) {
          if (byte === closeObject) throw invalidJson(`unexpected } after element ${this.#sliceStart + this.#sliceCount}`);
          return at;
        }
        depth -= 1;
      } else if (byte === colon) this.#keyCount += 1;
      else if (byte === dot) {
        if (hasOnlyZeroDecimals(block, at + 1, filled)) this.#isCanonical = 0;
      } else if (byte === 0x65 || byte === 0x45) {
        // The `e` of an exponent follows a digit, unlike that of `true` and `false`.
        const before = at === 0 ? 0 : (block[at - 1] as number);
        if (before >= zero && before <= nine) this.#isCanonical = 0;
      } else if (depth > 0) this.#isCanonical = 0;
    }
    this.#depth = depth;
    this.#inString = inString;
    return -1;
  }
}

/** Whether a byte is white space in JSON. Other control characters stay in the element, and are refused when it is parsed. */
function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Whether the decimals of a number, which begin at `at`, are all 0, as in `12.0`. Also true if only zeros are before `filled`. */
function hasOnlyZeroDecimals(block: Buffer, at: number, filled: number): boolean {
  let end = at;
  while (end < filled && block[end] === zero) end += 1;
  if (end === filled) return true;
  const byte = block[end] as number;
  return end > at && !(byte > zero && byte <= nine);
}
