import { TileSourceError } from '../../../errors.js';
import { codecThreads } from '../../codecs/threads/codec-threads.js';
import type { ByteReader, ReadOptions, SourceInput } from '../../contract.js';
import { readDicomFacts, type DicomFacts } from './facts.js';

/** How many bytes of a header are read first, and how many at most. Large headers describe each of many frames. */
const firstHeaderBytes = 2 ** 16;
const maxHeaderBytes = 2 ** 26;
/** Most fragments of a file without a table of offsets. The header of each fragment has to be read. */
const maxFragments = 1_000_000;
/** How many bytes are read at a time when fragments are searched. */
const windowBytes = 2 ** 12;
/** Most bytes of one frame. */
const maxFrameBytes = 2 ** 28;

const itemTag = 0xff_fe_e0_00;
const endTag = 0xff_fe_e0_dd;

interface Range {
  offset: number;
  length: number;
  /** Whether the range includes the tags and lengths of fragments. */
  hasTags?: boolean;
}

/** One DICOM file: its header, and the positions of its frames. */
export class DicomInstance {
  #ranges: Promise<readonly (readonly Range[])[]> | null = null;

  private constructor(
    readonly name: string,
    readonly facts: DicomFacts,
    readonly reader: ByteReader,
  ) {}

  /** Opens a file and reads its header. @throws TileSourceError when it is no DICOM file with pixels; it is then closed again. */
  static async open(input: SourceInput, signal?: AbortSignal): Promise<DicomInstance> {
    const reader = await input.open();
    try {
      for (let length = firstHeaderBytes; ; length *= 8) {
        const bytes = await reader.read(0, Math.min(length, reader.size), signal === undefined ? {} : { signal });
        const inline = bytes.length <= firstHeaderBytes;
        const facts = inline ? readDicomFacts(bytes) : await codecThreads.call('dicomFacts', bytes, 'a DICOM header', signal);
        if (facts !== null) return new DicomInstance(input.name, facts, reader);
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

  /** Whether the frames are encapsulated, that is, stored in fragments with lengths of their own. */
  get isEncapsulated(): boolean {
    return this.facts.pixelLength === null;
  }

  /** Length of an uncompressed frame in bytes. */
  get plainFrameBytes(): number {
    const { rows, columns, samples, bitsAllocated } = this.facts;
    return Math.ceil((rows * columns * samples * bitsAllocated) / 8);
  }

  /** Reads the stored bytes of a frame, possibly into `into`. Frames are counted from 0. @throws TileSourceError when they exceed the file. */
  async frame(number: number, { signal, into }: ReadOptions = {}): Promise<Uint8Array> {
    const ranges = this.isEncapsulated ? ((await this.#encapsulated())[number] ?? []) : [this.#plain(number)];
    const length = ranges.reduce((sum, range) => sum + range.length, 0);
    if (ranges.length === 0 || length > maxFrameBytes) {
      throw new TileSourceError(`Corrupt DICOM: frame ${number} of ${this.name} has ${length} bytes.`);
    }
    const options = { signal, ...(ranges.length === 1 && { into }) };
    const parts = await Promise.all(ranges.map((range) => this.#exactly(range, `frame ${number}`, options)));
    const bytes = parts.length === 1 ? parts[0]! : new Uint8Array(Buffer.concat(parts));
    return ranges[0]?.hasTags === true ? withoutTags(bytes, `frame ${number} of ${this.name}`) : bytes;
  }

  #plain(number: number): Range {
    const length = this.plainFrameBytes;
    const offset = number * length;
    if (offset + length > (this.facts.pixelLength ?? 0)) {
      throw new TileSourceError(`Corrupt DICOM: frame ${number} of ${this.name} lies behind the end of its pixels.`);
    }
    return { offset: this.facts.pixelOffset + offset, length };
  }

  async #exactly({ offset, length }: Range, what: string, options: ReadOptions = {}): Promise<Uint8Array> {
    if (!(length >= 0) || offset + length > this.reader.size) {
      throw new TileSourceError(
        `Truncated or corrupt DICOM: ${what} of ${this.name} should lie at byte ${offset}, ${length} bytes long; the file has ${this.reader.size}.`,
      );
    }
    const bytes = await this.reader.read(offset, length, options);
    if (bytes.length < length) throw new TileSourceError(`The file has become shorter while ${what} was read.`);
    return bytes;
  }

  #encapsulated(): Promise<readonly (readonly Range[])[]> {
    if (this.#ranges === null) {
      const finding = this.#findFrames();
      finding.catch(() => {
        this.#ranges = null;
      });
      this.#ranges = finding;
    }
    return this.#ranges;
  }

  /** The ranges of the fragments of each frame, from a table of offsets, or, without one, from the headers of all fragments. */
  async #findFrames(): Promise<readonly (readonly Range[])[]> {
    const { frames, pixelOffset, extendedOffsets, extendedLengths } = this.facts;
    const head = await this.#exactly({ offset: pixelOffset, length: 8 }, 'the table of offsets');
    const table = viewOf(head);
    if (tagAt(table, 0) !== itemTag) throw new TileSourceError(`Corrupt DICOM: ${this.name} has no table of offsets.`);
    const tableLength = table.getUint32(4, true);
    const first = pixelOffset + 8 + tableLength;
    if (extendedOffsets?.length === frames && extendedLengths?.length === frames) {
      return Array.from(extendedOffsets, (offset, i) => [{ offset: first + offset + 8, length: extendedLengths[i] ?? 0 }]);
    }
    if (tableLength === frames * 4 && frames > 1) {
      const bytes = viewOf(await this.#exactly({ offset: pixelOffset + 8, length: tableLength }, 'the table of offsets'));
      const starts = Array.from({ length: frames }, (_, i) => first + bytes.getUint32(i * 4, true));
      return this.#byTable(starts);
    }
    return this.#byScanning(first, frames);
  }

  /** Ranges from a table of offsets: all bytes between two offsets are a range, which is read at once and split into fragments afterwards. */
  #byTable(starts: readonly number[]): Range[][] {
    const { size } = this.reader;
    const sorted = starts.toSorted((a, b) => a - b);
    const next = new Map(sorted.map((start, i) => [start, sorted[i + 1] ?? size]));
    return starts.map((start) => [
      { offset: start, length: Math.max(0, Math.min(next.get(start) ?? size, size) - start), hasTags: true },
    ]);
  }

  async #byScanning(first: number, frames: number): Promise<Range[][]> {
    const found: Range[] = [];
    let window = { start: 0, view: new DataView(new ArrayBuffer(0)) as DataView };
    for (let offset = first; ;) {
      if (offset < window.start || offset + 8 > window.start + window.view.byteLength) {
        const length = Math.min(windowBytes, this.reader.size - offset);
        if (length < 8) break;
        window = { start: offset, view: viewOf(await this.reader.read(offset, length)) };
      }
      const at = offset - window.start;
      const tag = tagAt(window.view, at);
      if (tag === endTag) break;
      if (tag !== itemTag)
        throw new TileSourceError(`Corrupt DICOM: the fragments of ${this.name} end at byte ${offset} without a mark.`);
      const length = window.view.getUint32(at + 4, true);
      found.push({ offset: offset + 8, length });
      if (found.length > maxFragments)
        throw new TileSourceError(`${this.name} has more than ${maxFragments} fragments and no table.`);
      offset += 8 + length;
    }
    if (frames === 1) return [found];
    if (found.length !== frames) {
      throw new TileSourceError(`Corrupt DICOM: ${this.name} has ${frames} frames in ${found.length} fragments and no table.`);
    }
    return found.map((range) => [range]);
  }
}

/** The concatenated contents of consecutive fragments. */
function withoutTags(bytes: Uint8Array, what: string): Uint8Array {
  const view = viewOf(bytes);
  const parts: Uint8Array[] = [];
  for (let at = 0; at + 8 <= bytes.length && tagAt(view, at) === itemTag;) {
    const length = view.getUint32(at + 4, true);
    if (at + 8 + length > bytes.length)
      throw new TileSourceError(`Truncated or corrupt DICOM: ${what} has a fragment of ${length} bytes.`);
    parts.push(bytes.subarray(at + 8, at + 8 + length));
    at += 8 + length;
  }
  if (parts.length === 0) throw new TileSourceError(`Corrupt DICOM: ${what} is no fragment.`);
  return parts.length === 1 ? parts[0]! : new Uint8Array(Buffer.concat(parts));
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function tagAt(view: DataView, at: number): number {
  return view.getUint16(at, true) * 0x1_00_00 + view.getUint16(at + 2, true);
}
