import { LargeImageError } from '../../../../errors.js';
import { maxJsonDepth, nestedTooDeepError } from '../../../../core/json.js';
import { elementTooLongError, maxElementBytes, maxBytesOutsideLists } from './element-limits.js';
import { invalidJsonError } from './json-text.js';
import { ListFinder } from './list-finder.js';

/** Consecutive elements of a list. The buffers are reused, so a consumer must copy what it needs before it requests the next event. */
export interface ElementSlice {
  kind: 'slice';
  /** Index of the list among the lists of the body. */
  listIndex: number;
  /** Index of the slice's first element in the list. */
  firstIndex: number;
  count: number;
  /** A buffer that contains the elements, with commas between them. */
  bytes: Buffer;
  /** Offsets in `bytes` at which each element begins and ends. */
  starts: Uint32Array;
  ends: Uint32Array;
  /** Number of keys in each element, at all depths. */
  keyCounts: Uint32Array;
  /** 1 for each element whose text is compact JSON in canonical form, so that it can be stored unchanged. */
  isCanonical: Uint8Array;
}

/** An event of the scanner. */
export type ScannerEvent =
  | ElementSlice
  /** `entryIndex`: index of the body's entry that contains this list. `null` if the body is not a list. */
  | { kind: 'list-start'; listIndex: number; key: string; entryIndex: number | null }
  | { kind: 'list-end'; listIndex: number };

/** A slice is yielded when it has this many elements. */
const sliceElements = 1024;
/** A slice is yielded when it has this many bytes. */
const sliceBytes = 512 * 1024;

const [quote, comma, colon, backslash] = [0x22, 0x2c, 0x3a, 0x5c];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];
const [dot, zero, nine] = [0x2e, 0x30, 0x39];

/** 1 for each byte that matters in an element outside its strings. All other bytes are skipped. */
const isStructural = new Uint8Array(256);
for (const byte of [quote, comma, colon, openList, closeList, openObject, closeObject, dot, 0x65, 0x45, 0x20, 0x09, 0x0a, 0x0d])
  isStructural[byte] = 1;

/**
 * Splits a JSON body, which arrives in chunks of any length, into its lists of elements and the rest of the body. In the rest, each list
 * contains only its index: `{"name":"a","elements":[0]}`. The scanner does not parse: most invalid JSON is found when slices and rest are
 * parsed.
 */
export class BodyScanner {
  #block = Buffer.allocUnsafe(sliceBytes * 2);
  #filledBytes = 0;
  #offset = 0;
  readonly #listFinder = new ListFinder();
  #restPieces: Buffer[] = [];
  #restBytes = 0;
  #isInList = false;
  #listCount = 0;

  // State of the list that is being read.
  #sliceFirstIndex = 0;
  #sliceCount = 0;
  #elementOffset = -1;
  #isAfterComma = false;
  #depth = 0;
  #isInString = false;
  #isAfterBackslash = false;
  #keyCount = 0;
  #isCanonical = 1;
  readonly #starts = new Uint32Array(sliceElements);
  readonly #ends = new Uint32Array(sliceElements);
  readonly #keyCounts = new Uint32Array(sliceElements);
  readonly #canonical = new Uint8Array(sliceElements);

  /** Scans a chunk. @throws BadParameterError for text that cannot be JSON, LargeImageError `too-large`. */
  *push(chunk: Uint8Array): Generator<ScannerEvent, void, undefined> {
    // Long chunks are read in pieces, so that the block stays small.
    for (let from = 0; from < chunk.length; from += sliceBytes) {
      this.#append(chunk.subarray(from, from + sliceBytes));
      yield* this.#scan();
    }
  }

  /** Ends the body after its last chunk. @returns the rest of the body. @throws BadParameterError if the body ended within a list. */
  endBody(): Buffer {
    if (this.#isInList) throw invalidJsonError('the body ends within a list of elements');
    return Buffer.concat(this.#restPieces);
  }

  #append(piece: Uint8Array): void {
    // Only the elements that have not been yielded yet stay in the block.
    const droppedBytes =
      this.#sliceCount > 0 ? (this.#starts[0] as number) : this.#elementOffset >= 0 ? this.#elementOffset : this.#offset;
    if (droppedBytes > 0) {
      this.#block.copyWithin(0, droppedBytes, this.#filledBytes);
      this.#filledBytes -= droppedBytes;
      this.#offset -= droppedBytes;
      if (this.#elementOffset >= 0) this.#elementOffset -= droppedBytes;
      for (let i = 0; i < this.#sliceCount; i += 1) {
        this.#starts[i] = (this.#starts[i] as number) - droppedBytes;
        this.#ends[i] = (this.#ends[i] as number) - droppedBytes;
      }
    }
    const neededBytes = this.#filledBytes + piece.length;
    if (neededBytes > this.#block.length) {
      const largerBlock = Buffer.allocUnsafe(Math.max(neededBytes, this.#block.length * 2));
      this.#block.copy(largerBlock, 0, 0, this.#filledBytes);
      this.#block = largerBlock;
    }
    this.#block.set(piece, this.#filledBytes);
    this.#filledBytes = neededBytes;
  }

  *#scan(): Generator<ScannerEvent, void, undefined> {
    while (this.#offset < this.#filledBytes) {
      if (this.#isInList) {
        const hasListEnded = this.#scanList();
        if (this.#sliceCount > 0 && (hasListEnded || this.#isSliceFull())) yield this.#finishSlice();
        if (hasListEnded) {
          this.#isInList = false;
          yield { kind: 'list-end', listIndex: this.#listCount - 1 };
        } else if (this.#elementOffset >= 0 && this.#offset - this.#elementOffset > maxElementBytes) {
          throw elementTooLongError(this.#sliceFirstIndex + this.#sliceCount);
        }
      } else {
        const key = this.#scanRest();
        if (key !== null) {
          this.#beginList();
          yield { kind: 'list-start', listIndex: this.#listCount - 1, key, entryIndex: this.#listFinder.entryIndex };
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

  #finishSlice(): ElementSlice {
    const count = this.#sliceCount;
    const slice: ElementSlice = {
      kind: 'slice',
      listIndex: this.#listCount - 1,
      firstIndex: this.#sliceFirstIndex,
      count,
      bytes: this.#block,
      starts: this.#starts,
      ends: this.#ends,
      keyCounts: this.#keyCounts,
      isCanonical: this.#canonical,
    };
    this.#sliceFirstIndex += count;
    this.#sliceCount = 0;
    return slice;
  }

  /**
   * Scans the rest of the body up to the next list or the end of the block.
   *
   * @returns the key of the list, which begins at `#offset`; `null` if the block ends before the next list.
   */
  #scanRest(): string | null {
    const start = this.#offset;
    const { end, key } = this.#listFinder.findNextList(this.#block, start, this.#filledBytes);
    this.#offset = end;
    this.#restBytes += end - start;
    if (this.#restBytes > maxBytesOutsideLists) {
      throw new LargeImageError(
        'too-large',
        `The body is longer than ${maxBytesOutsideLists} bytes outside its lists of elements.`,
      );
    }
    this.#restPieces.push(Buffer.from(this.#block.subarray(start, end)));
    return key;
  }

  #beginList(): void {
    this.#restPieces.push(Buffer.from(`${this.#listCount}]`));
    this.#listCount += 1;
    this.#isInList = true;
    this.#sliceFirstIndex = 0;
    this.#sliceCount = 0;
    this.#elementOffset = -1;
    this.#isAfterComma = false;
  }

  #endElement(end: number): void {
    const block = this.#block;
    let trimmedEnd = end;
    while (isSpace(block[trimmedEnd - 1] as number)) trimmedEnd -= 1;
    this.#starts[this.#sliceCount] = this.#elementOffset;
    this.#ends[this.#sliceCount] = trimmedEnd;
    this.#keyCounts[this.#sliceCount] = this.#keyCount;
    this.#canonical[this.#sliceCount] = this.#isCanonical;
    this.#sliceCount += 1;
    this.#elementOffset = -1;
  }

  /** Scans elements until the slice is full, the list ends or the block ends. @returns whether the list ended. */
  #scanList(): boolean {
    const block = this.#block;
    const filledBytes = this.#filledBytes;
    let offset = this.#offset;
    while (offset < filledBytes) {
      if (this.#elementOffset < 0) {
        const byte = block[offset] as number;
        offset += 1;
        if (isSpace(byte)) continue;
        if (byte === closeList && !this.#isAfterComma) {
          this.#offset = offset;
          return true;
        }
        if (byte === comma || byte === closeList || byte === closeObject || byte === colon) {
          throw invalidJsonError(
            `unexpected ${String.fromCharCode(byte)} where element ${this.#sliceFirstIndex + this.#sliceCount} should be`,
          );
        }
        offset -= 1;
        this.#elementOffset = offset;
        this.#depth = 0;
        this.#isInString = false;
        this.#isAfterBackslash = false;
        this.#keyCount = 0;
        this.#isCanonical = 1;
      }
      const end = this.#scanElement(offset, filledBytes);
      offset = end < 0 ? filledBytes : end;
      if (end < 0) break;
      this.#endElement(end);
      offset += 1;
      if (block[end] === closeList) {
        this.#offset = offset;
        return true;
      }
      this.#isAfterComma = true;
      if (this.#isSliceFull()) break;
    }
    this.#offset = offset;
    return false;
  }

  /**
   * Scans an element.
   *
   * @returns the offset of the comma or closing bracket after the element, or -1 if the element continues in the next chunk.
   */
  #scanElement(from: number, filledBytes: number): number {
    const block = this.#block;
    let depth = this.#depth;
    let isInString = this.#isInString;
    let offset = from;
    if (this.#isAfterBackslash) {
      offset += 1;
      this.#isAfterBackslash = false;
    }
    for (; offset < filledBytes; offset += 1) {
      const byte = block[offset] as number;
      if (isInString) {
        if (byte === quote) isInString = false;
        else if (byte === backslash) {
          offset += 1;
          if (offset === filledBytes) this.#isAfterBackslash = true;
        }
        continue;
      }
      if (isStructural[byte] === 0) continue;
      if (byte === quote) isInString = true;
      else if (byte === comma) {
        if (depth === 0) return offset;
      } else if (byte === openList || byte === openObject) {
        depth += 1;
        // The list that contains the element counts as a level, too.
        if (depth >= maxJsonDepth) throw nestedTooDeepError();
      } else if (byte === closeList || byte === closeObject) {
        if (depth === 0) {
          if (byte === closeObject)
            throw invalidJsonError(`unexpected } after element ${this.#sliceFirstIndex + this.#sliceCount}`);
          return offset;
        }
        depth -= 1;
      } else if (byte === colon) this.#keyCount += 1;
      else if (byte === dot) {
        if (hasOnlyZeroDecimals(block, offset + 1, filledBytes)) this.#isCanonical = 0;
      } else if (byte === 0x65 || byte === 0x45) {
        // The `e` of an exponent follows a digit, unlike the `e` of `true` and `false`.
        const previousByte = offset === 0 ? 0 : (block[offset - 1] as number);
        if (previousByte >= zero && previousByte <= nine) this.#isCanonical = 0;
      } else if (depth > 0) this.#isCanonical = 0;
    }
    this.#depth = depth;
    this.#isInString = isInString;
    return -1;
  }
}

/** Whether a byte is white space in JSON. Other control characters stay in the element, and are refused when the element is parsed. */
function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Whether all decimals of a number, which begin at `offset`, are 0, as in `12.0`. Also true if the chunk ends before another decimal. */
function hasOnlyZeroDecimals(block: Buffer, offset: number, filledBytes: number): boolean {
  let end = offset;
  while (end < filledBytes && block[end] === zero) end += 1;
  if (end === filledBytes) return true;
  const byte = block[end] as number;
  return end > offset && !(byte > zero && byte <= nine);
}
