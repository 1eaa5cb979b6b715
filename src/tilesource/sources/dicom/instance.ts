import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import { sortInSlices } from '../../../core/concurrency/sort-in-slices.js';
import { TileSourceError } from '../../../errors.js';
import { codecThreads } from '../../codecs/threads/codec-threads.js';
import type { ByteReader, ReadOptions, SourceInput } from '../../tile-source.js';
import { readDicomHeader, type DicomHeader } from './dicom-header.js';

/** Number of bytes that are read first to find the header. */
const firstHeaderBytes = 2 ** 16;
/** Maximum number of bytes of a header. A header that describes each frame can be long. */
const maxHeaderBytes = 2 ** 26;
/** Maximum number of fragments of a file without a table of offsets, because each fragment's header has to be read. */
const maxFragments = 1_000_000;
/** Number of bytes that are read at a time when searching fragments. */
const windowBytes = 2 ** 12;
/** Number of bytes of the first fragment that are searched for the header of a JPEG, which may follow a profile or a preview. */
const fragmentHeadBytes = 2 ** 16;
/** Number of fragments that are joined between checks of the time. */
const fragmentsPerTimeCheck = 1024;
/** Maximum number of bytes of one frame. */
const maxFrameBytes = 2 ** 28;

const itemTag = 0xff_fe_e0_00;
const endTag = 0xff_fe_e0_dd;

interface ByteRange {
  offset: number;
  length: number;
  /** Whether the range includes the tags and lengths of fragments. */
  hasTags?: boolean;
}

/** Finds the range of a frame. It is a function, because a file may have millions of frames. */
type FrameRangeFinder = (frame: number) => ByteRange | undefined;

/** One DICOM file: its header, and the positions of its frames. */
export class DicomInstance {
  #frameRangeFinder: Promise<FrameRangeFinder> | null = null;

  private constructor(
    readonly name: string,
    readonly header: DicomHeader,
    readonly reader: ByteReader,
  ) {}

  /**
   * Opens a file and reads its header.
   *
   * @throws TileSourceError if the file is not DICOM or has no pixels. The file is then closed.
   */
  static async open(input: SourceInput, signal?: AbortSignal): Promise<DicomInstance> {
    const reader = await input.open();
    try {
      for (let length = firstHeaderBytes; ; length *= 8) {
        const bytes = await reader.read(0, Math.min(length, reader.size), signal === undefined ? {} : { signal });
        const isShort = bytes.length <= firstHeaderBytes;
        const isWhole = bytes.length === reader.size;
        const header = isShort
          ? readDicomHeader(bytes, isWhole)
          : await codecThreads.call('dicomFacts', { bytes, isWhole }, 'a DICOM header', signal);
        if (header !== null) return new DicomInstance(input.name, header, reader);
        if (length >= Math.min(reader.size, maxHeaderBytes)) {
          throw new TileSourceError(
            `Corrupt DICOM: ${input.name} has no pixels, or more than ${maxHeaderBytes} bytes before them.`,
          );
        }
      }
    } catch (error) {
      await reader.close();
      throw error;
    }
  }

  /** The bytes of the file up to the element with the samples. @throws TileSourceError if the file has become shorter. */
  readHeaderBytes(signal?: AbortSignal): Promise<Uint8Array> {
    // The header of the element with the samples, 8 or 12 bytes, is left out, because a part of it would be parsed as another
    // attribute.
    return this.#readExactly(
      { offset: 0, length: this.header.pixelElementOffset },
      'the header',
      signal === undefined ? {} : { signal },
    );
  }

  /** Whether the frames are encapsulated, that is, stored in fragments with separate lengths. */
  get isEncapsulated(): boolean {
    return this.header.pixelLength === null;
  }

  /** Length of an uncompressed frame in bytes. */
  get plainFrameBytes(): number {
    const { rows, columns, samples, bitsAllocated } = this.header;
    return this.isSubsampled ? rows * Math.ceil(columns / 2) * 4 : Math.ceil((rows * columns * samples * bitsAllocated) / 8);
  }

  /**
   * Whether each pair of pixels in uncompressed frames shares Cb and Cr. Some writers declare this, but store Cb and Cr for each
   * pixel.
   */
  get isSubsampled(): boolean {
    const { photometric, rows, columns, frames, samples, pixelLength, bitsAllocated } = this.header;
    const isDeclared = photometric === 'YBR_FULL_422' && samples === 3 && bitsAllocated === 8;
    return isDeclared && pixelLength !== null && pixelLength < rows * columns * 3 * frames;
  }

  /**
   * Reads the stored bytes of a frame, possibly into `into`. Frames are counted from 0. @throws TileSourceError if the frame
   * exceeds the file.
   */
  async readFrameBytes(number: number, { signal, into }: ReadOptions = {}): Promise<Uint8Array> {
    const range = this.isEncapsulated ? (await this.#loadFrameRangeFinder())(number) : this.#plainRange(number);
    if (range === undefined || range.length > maxFrameBytes) {
      throw new TileSourceError(`Corrupt DICOM: frame ${number} of ${this.name} has ${range?.length ?? 0} bytes.`);
    }
    if (this.header.isSwapped && !this.isEncapsulated) return this.#readSwapped(range, `frame ${number}`, signal);
    const bytes = await this.#readExactly(range, `frame ${number}`, { signal, into });
    return range.hasTags === true ? joinFragments(bytes, `frame ${number} of ${this.name}`, signal) : bytes;
  }

  /** Reads a range, and swaps the two bytes of each word. A frame of odd length begins or ends in the middle of a word. */
  async #readSwapped({ offset, length }: ByteRange, what: string, signal: AbortSignal | undefined): Promise<Uint8Array> {
    const skippedBytes = (offset - this.header.pixelOffset) % 2;
    const words = Math.ceil((skippedBytes + length) / 2);
    const bytes = Buffer.from(await this.#readExactly({ offset: offset - skippedBytes, length: words * 2 }, what, { signal }));
    return bytes.swap16().subarray(skippedBytes, skippedBytes + length);
  }

  /** The beginning of the first fragment of the frames, at most some kilobytes. It is empty for uncompressed frames. */
  async readFirstFragment(signal?: AbortSignal): Promise<Uint8Array> {
    if (!this.isEncapsulated) return new Uint8Array(0);
    const head = viewOf(
      await this.#readExactly({ offset: this.header.pixelOffset, length: 8 }, 'the table of offsets', { signal }),
    );
    const offset = this.header.pixelOffset + 16 + head.getUint32(4, true);
    const length = Math.min(fragmentHeadBytes, this.reader.size - offset);
    return length > 0 ? this.reader.read(offset, length, { signal }) : new Uint8Array(0);
  }

  #plainRange(number: number): ByteRange {
    const length = this.plainFrameBytes;
    const offset = number * length;
    if (offset + length > (this.header.pixelLength ?? 0)) {
      throw new TileSourceError(`Corrupt DICOM: frame ${number} of ${this.name} is beyond the end of its pixels.`);
    }
    return { offset: this.header.pixelOffset + offset, length };
  }

  async #readExactly({ offset, length }: ByteRange, what: string, options: ReadOptions = {}): Promise<Uint8Array> {
    if (!(length >= 0) || offset + length > this.reader.size) {
      throw new TileSourceError(
        `Truncated or corrupt DICOM: ${what} of ${this.name} should be at byte ${offset}, ${length} bytes long; the file has ${this.reader.size}.`,
      );
    }
    const bytes = await this.reader.read(offset, length, options);
    if (bytes.length < length) throw new TileSourceError(`The file has become shorter while ${what} was read.`);
    return bytes;
  }

  #loadFrameRangeFinder(): Promise<FrameRangeFinder> {
    if (this.#frameRangeFinder === null) {
      const finderPromise = this.#createFrameRangeFinder();
      finderPromise.catch(() => {
        this.#frameRangeFinder = null;
      });
      this.#frameRangeFinder = finderPromise;
    }
    return this.#frameRangeFinder;
  }

  /** Creates the function that finds a frame's range: from a table of offsets, or by reading the headers of all fragments. */
  async #createFrameRangeFinder(): Promise<FrameRangeFinder> {
    const { frames, pixelOffset, extendedOffsets, extendedLengths } = this.header;
    const head = await this.#readExactly({ offset: pixelOffset, length: 8 }, 'the table of offsets');
    const table = viewOf(head);
    if (tagAt(table, 0) !== itemTag) throw new TileSourceError(`Corrupt DICOM: ${this.name} has no offset table.`);
    const tableLength = table.getUint32(4, true);
    const firstFragment = pixelOffset + 8 + tableLength;
    if (extendedOffsets?.length === frames && extendedLengths?.length === frames) {
      return (frame) => {
        const offset = extendedOffsets[frame];
        return offset === undefined ? undefined : { offset: firstFragment + offset + 8, length: extendedLengths[frame] ?? 0 };
      };
    }
    if (tableLength === frames * 4 && frames > 1) {
      const bytes = viewOf(await this.#readExactly({ offset: pixelOffset + 8, length: tableLength }, 'the table of offsets'));
      return this.#createFinderByTable(firstFragment, bytes);
    }
    return this.#createFinderByFragments(firstFragment, frames);
  }

  /**
   * Creates a finder from the table of offsets. A frame's range ends where the next frame begins, and includes the tags of its
   * fragments.
   */
  async #createFinderByTable(firstFragment: number, table: DataView): Promise<FrameRangeFinder> {
    const { size } = this.reader;
    const frames = table.byteLength / 4;
    const starts = new Uint32Array(frames);
    for (let frame = 0; frame < frames; frame++) starts[frame] = table.getUint32(frame * 4, true);
    const sortedStarts = await sortInSlices(starts.slice());
    return (frame) => {
      const start = starts[frame];
      if (start === undefined) return undefined;
      let [low, high] = [0, frames];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (sortedStarts[middle]! > start) high = middle;
        else low = middle + 1;
      }
      const end = low < frames ? firstFragment + sortedStarts[low]! : size;
      return { offset: firstFragment + start, length: Math.max(0, Math.min(end, size) - firstFragment - start), hasTags: true };
    };
  }

  /** Creates a finder from the headers of all fragments. Works only if each frame has one fragment, or there is only one frame. */
  async #createFinderByFragments(firstFragment: number, frames: number): Promise<FrameRangeFinder> {
    const ranges: ByteRange[] = [];
    let window = { start: 0, view: new DataView(new ArrayBuffer(0)) as DataView };
    let offset = firstFragment;
    for (;;) {
      if (offset < window.start || offset + 8 > window.start + window.view.byteLength) {
        const length = Math.min(windowBytes, this.reader.size - offset);
        if (length < 8) break;
        window = { start: offset, view: viewOf(await this.reader.read(offset, length)) };
        if (isSliceOver()) await nextSlice();
      }
      const at = offset - window.start;
      const tag = tagAt(window.view, at);
      if (tag === endTag) break;
      if (tag !== itemTag)
        throw new TileSourceError(`Corrupt DICOM: the fragments of ${this.name} end at byte ${offset} without an end marker.`);
      const length = window.view.getUint32(at + 4, true);
      ranges.push({ offset: offset + 8, length });
      if (ranges.length > maxFragments)
        throw new TileSourceError(`${this.name} has more than ${maxFragments} fragments and no offset table.`);
      offset += 8 + length;
    }
    if (frames === 1)
      return (frame) => (frame === 0 ? { offset: firstFragment, length: offset - firstFragment, hasTags: true } : undefined);
    if (ranges.length !== frames) {
      throw new TileSourceError(
        `Corrupt DICOM: ${this.name} has ${frames} frames in ${ranges.length} fragments and no offset table.`,
      );
    }
    return (frame) => ranges[frame];
  }
}

/** Joins the contents of consecutive fragments. A single fragment is not copied. */
async function joinFragments(bytes: Uint8Array, what: string, signal?: AbortSignal): Promise<Uint8Array> {
  const view = viewOf(bytes);
  const isFragment = (at: number) => at + 8 <= bytes.length && tagAt(view, at) === itemTag;
  if (!isFragment(0)) throw new TileSourceError(`Corrupt DICOM: ${what} is not a fragment.`);
  let [joinedBytes, writtenBytes, fragmentCount] = [bytes, 0, 0];
  for (let at = 0; isFragment(at); fragmentCount += 1) {
    const length = view.getUint32(at + 4, true);
    const end = at + 8 + length;
    if (end > bytes.length) throw new TileSourceError(`Truncated or corrupt DICOM: ${what} has a fragment of ${length} bytes.`);
    if (at === 0 && !isFragment(end)) return bytes.subarray(8, end);
    if (at === 0) joinedBytes = new Uint8Array(bytes.length);
    joinedBytes.set(bytes.subarray(at + 8, end), writtenBytes);
    writtenBytes += length;
    at = end;
    if (fragmentCount % fragmentsPerTimeCheck === 0 && isSliceOver()) await nextSlice(signal);
  }
  return joinedBytes.subarray(0, writtenBytes);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function tagAt(view: DataView, at: number): number {
  return view.getUint16(at, true) * 0x1_00_00 + view.getUint16(at + 2, true);
}
