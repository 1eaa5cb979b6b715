import { TileSourceError } from '../../../../errors.js';
import type { TiffBytes } from './tiff-bytes.js';
import { tags, fieldTypes, fieldTypeSizes } from './tags.js';

/** Numbers of a tag. Float64Array represents 64-bit offsets exactly, because offsets beyond 2^53 are refused. */
export type TagNumbers = Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** Longest text or opaque value that is read, in bytes. OME-XML with tens of thousands of planes has some tens of megabytes. */
const maxTextBytes = 32 * 1024 * 1024;

interface Entry {
  type: number;
  count: number;
  /** Length of all values together, in bytes. */
  byteLength: number;
  /** Position of the values in the file. */
  position: number;
  /** Offset of the values in the raw entries if the entry itself holds them, otherwise -1. */
  inlineOffset: number;
}

/**
 * An image file directory. It keeps only the raw entries, some 250 bytes, and reads values when they are requested, because a file may have a hundred
 * thousand directories, and arrays of millions of tile offsets that are never needed.
 */
export class Directory {
  readonly offset: number;
  readonly #file: TiffBytes;
  readonly #entries: DataView;
  readonly #entriesOffset: number;

  constructor(file: TiffBytes, offset: number, entriesOffset: number, entries: Uint8Array) {
    this.offset = offset;
    this.#file = file;
    this.#entriesOffset = entriesOffset;
    this.#entries = new DataView(entries.buffer, entries.byteOffset, entries.byteLength);
  }

  #findEntry(tag: number): Entry | null {
    const { littleEndian: little, isBigTiff } = this.#file;
    const size = isBigTiff ? 20 : 12;
    const view = this.#entries;
    for (let at = 0; at + size <= view.byteLength; at += size) {
      if (view.getUint16(at, little) !== tag) continue;
      const type = view.getUint16(at + 2, little);
      const valueSize = fieldTypeSizes[type];
      if (valueSize === undefined) throw new TileSourceError(`TIFF tag ${tag} has the unknown field type ${type}.`);
      const count = isBigTiff ? this.#file.uint64(view, at + 4, `the count of tag ${tag}`) : view.getUint32(at + 4, little);
      const byteLength = count * valueSize;
      const inlineOffset = at + (isBigTiff ? 12 : 8);
      if (byteLength <= (isBigTiff ? 8 : 4))
        return { type, count, byteLength, position: this.#entriesOffset + inlineOffset, inlineOffset };
      const position = isBigTiff
        ? this.#file.uint64(view, inlineOffset, `the offset of tag ${tag}`)
        : view.getUint32(inlineOffset, little);
      if (position + byteLength > this.#file.size) {
        throw new TileSourceError(
          `TIFF tag ${tag} claims ${count} values at byte ${position}, past the end of the file (${this.#file.size} bytes).`,
        );
      }
      return { type, count, byteLength, position, inlineOffset: -1 };
    }
    return null;
  }

  has(tag: number): boolean {
    return this.#findEntry(tag) !== null;
  }

  /** Number of values of a tag; 0 if it is absent. */
  count(tag: number): number {
    return this.#findEntry(tag)?.count ?? 0;
  }

  async #readView(entry: Entry): Promise<DataView> {
    if (entry.inlineOffset >= 0)
      return new DataView(this.#entries.buffer, this.#entries.byteOffset + entry.inlineOffset, entry.byteLength);
    const bytes = await this.#file.readExactly(entry.position, entry.byteLength, 'the values of a tag');
    return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /**
   * The values of an integer tag, in a typed array that fits its field type; `null` if the tag is absent.
   *
   * @throws TileSourceError for other types, more than `limit` values, or values beyond 2^53.
   */
  async numbers(tag: number, limit = 65_536): Promise<TagNumbers | null> {
    const entry = this.#findEntry(tag);
    if (entry === null) return null;
    if (entry.count > limit) {
      throw new TileSourceError(`TIFF tag ${tag} has ${entry.count} values; at most ${limit} are valid.`);
    }
    return this.#decodeNumbers(tag, entry, await this.#readView(entry));
  }

  /**
   * At most `maxCount` values of an integer tag, from the value with the index `first` on. The result is shorter, or empty, if the
   * tag has no more values.
   *
   * @throws TileSourceError like {@link numbers}.
   */
  async numberRange(tag: number, first: number, maxCount: number): Promise<TagNumbers> {
    const entry = this.#findEntry(tag);
    const count = Math.max(0, Math.min(maxCount, (entry?.count ?? 0) - first));
    if (entry === null || count === 0) return new Uint8Array(0);
    const valueBytes = entry.byteLength / entry.count;
    const skippedBytes = first * valueBytes;
    const rangeEntry = { ...entry, count, byteLength: count * valueBytes, position: entry.position + skippedBytes };
    return this.#decodeNumbers(
      tag,
      rangeEntry,
      await this.#readView({ ...rangeEntry, inlineOffset: entry.inlineOffset < 0 ? -1 : entry.inlineOffset + skippedBytes }),
    );
  }

  #decodeNumbers(tag: number, { type, count }: Entry, view: DataView): TagNumbers {
    const little = this.#file.littleEndian;
    switch (type) {
      case fieldTypes.byte:
      case fieldTypes.undefined: {
        return new Uint8Array(view.buffer, view.byteOffset, count).slice();
      }
      case fieldTypes.short: {
        const values = new Uint16Array(count);
        for (let i = 0; i < count; i++) values[i] = view.getUint16(i * 2, little);
        return values;
      }
      case fieldTypes.long:
      case fieldTypes.ifd: {
        const values = new Uint32Array(count);
        for (let i = 0; i < count; i++) values[i] = view.getUint32(i * 4, little);
        return values;
      }
      case fieldTypes.long8:
      case fieldTypes.ifd8: {
        const values = new Float64Array(count);
        for (let i = 0; i < count; i++) values[i] = this.#file.uint64(view, i * 8, `a value of tag ${tag}`);
        return values;
      }
      default: {
        throw new TileSourceError(`TIFF tag ${tag} has field type ${type}, where an unsigned integer is needed.`);
      }
    }
  }

  /** The first value of an integer tag, or `fallback` if the tag is absent or empty. */
  async number(tag: number, fallback: number): Promise<number> {
    return (await this.numbers(tag))?.[0] ?? fallback;
  }

  /**
   * The values of a RATIONAL tag as quotients; `null` if it is absent, of a different type, or has more than 64 values. A zero denominator
   * gives NaN or Infinity.
   */
  async rationals(tag: number): Promise<number[] | null> {
    const entry = this.#findEntry(tag);
    if (entry === null || entry.type !== fieldTypes.rational || entry.count > 64) return null;
    const view = await this.#readView(entry);
    const little = this.#file.littleEndian;
    return Array.from({ length: entry.count }, (_, i) => view.getUint32(i * 8, little) / view.getUint32(i * 8 + 4, little));
  }

  /** The values of a DOUBLE tag; `null` if it is absent, of a different type, or has more than `limit` values. */
  async doubles(tag: number, limit: number): Promise<number[] | null> {
    const entry = this.#findEntry(tag);
    if (entry === null || entry.type !== fieldTypes.double || entry.count > limit) return null;
    const view = await this.#readView(entry);
    return Array.from({ length: entry.count }, (_, i) => view.getFloat64(i * 8, this.#file.littleEndian));
  }

  /** The bytes of a tag of any type, or `null` if it is absent. @throws TileSourceError beyond 32 MiB. */
  async bytes(tag: number): Promise<Uint8Array | null> {
    const entry = this.#findEntry(tag);
    if (entry === null) return null;
    if (entry.byteLength > maxTextBytes) {
      throw new TileSourceError(`TIFF tag ${tag} has ${entry.byteLength} bytes; at most ${maxTextBytes} are supported.`);
    }
    const view = await this.#readView(entry);
    return new Uint8Array(view.buffer, view.byteOffset, view.byteLength).slice();
  }

  /** A text tag (UTF-8, or Latin-1 if it is not valid UTF-8) up to its first NUL; `null` if it is absent. */
  async text(tag: number): Promise<string | null> {
    const bytes = await this.bytes(tag);
    if (bytes === null) return null;
    const end = bytes.indexOf(0);
    const textBytes = end < 0 ? bytes : bytes.subarray(0, end);
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(textBytes);
    } catch {
      return new TextDecoder('latin1').decode(textBytes);
    }
  }

  /** Width and height in stored pixels, before rotation. */
  async size(): Promise<{ width: number; height: number }> {
    return { width: await this.number(tags.imageWidth, 0), height: await this.number(tags.imageLength, 0) };
  }

  /**
   * Whether the image is stored in tiles instead of strips. As in libtiff, the tags for strips may list tiles if there is a tile
   * size.
   */
  get isTiled(): boolean {
    return this.has(tags.tileWidth) && (this.has(tags.tileOffsets) || (this.has(tags.tileLength) && this.has(tags.stripOffsets)));
  }

  /** The tags that list the tiles or strips. */
  get chunkTags(): { offsets: number; lengths: number } {
    const presentTag = (tile: number, strip: number): number => {
      if (this.isTiled) return this.has(tile) ? tile : strip;
      return this.has(strip) ? strip : tile;
    };
    return {
      offsets: presentTag(tags.tileOffsets, tags.stripOffsets),
      lengths: presentTag(tags.tileByteCounts, tags.stripByteCounts),
    };
  }
}
