import { TileSourceError } from '../../../errors.js';
import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import { uint64At, type CziBytes } from './segments.js';

/** Maximum number of sub-blocks of a file; each takes some 130 bytes of memory while the file is open. */
const maxSubBlocks = 2 ** 20;
/** Maximum number of planes of a file. */
const maxPlanes = 100_000;
/** Bytes of the directory that are read at a time. */
const windowBytes = 2 ** 20;
/** Bytes of the directory before its entries. */
const directoryHeaderBytes = 128;
/** Bytes of the fixed part of an entry. */
const entryBytes = 32;
/** Bytes of each dimension of an entry. */
const dimensionBytes = 20;
/** Maximum number of dimensions of an entry. The format has fewer than 20. */
const maxDimensions = 40;
/** Number of entries that are read before other work on the event loop can run. */
const entriesPerSlice = 256;

/** A plane: its position on every axis except X, Y, M (tile) and S (scene). */
type PlanePosition = ReadonlyMap<string, number>;

/** A sub-block: the pixels of a rectangle of a plane, of full resolution or reduced. */
export interface SubBlock {
  /** Position of the sub-block's segment in the file. */
  position: number;
  /** Index of the sub-block's plane in {@link SubBlocks.planes}. */
  plane: number;
  scene: number;
  /** Order of overlapping sub-blocks: sub-blocks with a higher number are on top. */
  order: number;
  /** Left edge in pixels of full resolution, in coordinates of the file. */
  left: number;
  /** Upper edge in pixels of full resolution, in coordinates of the file. */
  top: number;
  /** Width in pixels of full resolution. */
  width: number;
  /** Height in pixels of full resolution. */
  height: number;
  /** Width in stored pixels. */
  storedWidth: number;
  /** Height in stored pixels. */
  storedHeight: number;
  pixelType: number;
  compression: number;
}

/** The directory of sub-blocks. */
export interface SubBlocks {
  blocks: readonly SubBlock[];
  planes: readonly PlanePosition[];
}

/** A dimension of an entry: the sub-block's range on one axis. */
interface Dimension {
  /** Name of the axis. */
  name: string;
  start: number;
  /** Number of positions on the axis. */
  size: number;
  /** Number of stored positions, which is less than `size` in a reduced sub-block. */
  storedSize: number;
}

/** Collects the entries, and numbers the planes in the order of their first entry. */
class SubBlockCollector {
  readonly blocks: SubBlock[] = [];
  readonly planes: PlanePosition[] = [];
  readonly #planeIndexes = new Map<string, number>();

  add(view: DataView, at: number, dimensions: readonly Dimension[]): void {
    const dimensionOf = (name: string): Dimension | undefined => dimensions.find((dimension) => dimension.name === name);
    const [x, y] = [dimensionOf('X'), dimensionOf('Y')];
    if (x === undefined || y === undefined || x.size < 1 || y.size < 1 || x.storedSize < 0 || y.storedSize < 0) {
      throw new TileSourceError(`Corrupt CZI: sub-block ${this.blocks.length} has no width or height.`);
    }
    const filePart = view.getInt32(at + 14, true);
    if (filePart !== 0) throw new TileSourceError(`The CZI has parts in other files (part ${filePart}), which is not supported.`);
    this.blocks.push({
      position: uint64At(view, at + 6, 'the position of a sub-block'),
      plane: this.#planeIndexOf(dimensions),
      scene: dimensionOf('S')?.start ?? 0,
      order: dimensionOf('M')?.start ?? 0,
      left: x.start,
      top: y.start,
      width: x.size,
      height: y.size,
      storedWidth: x.storedSize === 0 ? x.size : x.storedSize,
      storedHeight: y.storedSize === 0 ? y.size : y.storedSize,
      pixelType: view.getInt32(at + 2, true),
      compression: view.getInt32(at + 18, true),
    });
  }

  #planeIndexOf(dimensions: readonly Dimension[]): number {
    const planeDimensions = dimensions.filter(({ name }) => !['X', 'Y', 'M', 'S'].includes(name));
    for (const { name, size } of planeDimensions) {
      if (size > 1) throw new TileSourceError(`The CZI has sub-blocks of ${size} planes along ${name}, which is not supported.`);
    }
    const key = planeDimensions
      .map(({ name, start }) => `${name}${start}`)
      .sort()
      .join();
    const existingIndex = this.#planeIndexes.get(key);
    if (existingIndex !== undefined) return existingIndex;
    if (this.planes.length >= maxPlanes) throw new TileSourceError(`The CZI has more than ${maxPlanes} planes.`);
    const index = this.planes.length;
    this.#planeIndexes.set(key, index);
    this.planes.push(new Map(planeDimensions.map(({ name, start }) => [name, start])));
    return index;
  }
}

/** Reads the directory of sub-blocks. @throws TileSourceError if it is corrupt, empty, or too large. */
export async function readSubBlocks(file: CziBytes, position: number, signal?: AbortSignal): Promise<SubBlocks> {
  if (position === 0)
    throw new TileSourceError('The CZI has no directory of sub-blocks. It may not have been written completely.');
  const segment = await file.readSegment(position, 'ZISRAWDIRECTORY', signal);
  const head = await file.readExactly(segment.start, directoryHeaderBytes, 'the directory of sub-blocks', signal);
  const count = head.getInt32(0, true);
  const end = segment.start + segment.length;
  if (count < 1 || count * (entryBytes + 2 * dimensionBytes) > segment.length) {
    throw new TileSourceError(`Corrupt CZI: a directory of ${segment.length} bytes claims ${count} sub-blocks.`);
  }
  if (count > maxSubBlocks) throw new TileSourceError(`The CZI has ${count} sub-blocks; at most ${maxSubBlocks} are supported.`);
  const collector = new SubBlockCollector();
  let window: { start: number; view: DataView } = { start: 0, view: new DataView(new ArrayBuffer(0)) };
  /** Reads a part of the directory unless `window` contains the bytes already. Returns their position in `window`. */
  const moveWindowTo = async (offset: number, length: number): Promise<number> => {
    if (offset + length > end) throw new TileSourceError('Corrupt CZI: the directory of sub-blocks is shorter than its entries.');
    if (offset < window.start || offset + length > window.start + window.view.byteLength) {
      const byteCount = Math.min(windowBytes, end - offset);
      window = { start: offset, view: await file.readExactly(offset, byteCount, 'the directory of sub-blocks', signal) };
    }
    return offset - window.start;
  };
  let offset = segment.start + directoryHeaderBytes;
  for (let index = 0; index < count; index++) {
    if (index % entriesPerSlice === 0 && isSliceOver()) await nextSlice();
    let at = await moveWindowTo(offset, entryBytes);
    const schema = window.view.getUint16(at);
    if (schema !== 0x44_56) throw new TileSourceError(`Corrupt CZI: entry ${index} of the directory has an unknown schema.`);
    const dimensionCount = window.view.getInt32(at + 28, true);
    if (dimensionCount < 2 || dimensionCount > maxDimensions) {
      throw new TileSourceError(`Corrupt CZI: sub-block ${index} claims ${dimensionCount} dimensions.`);
    }
    at = await moveWindowTo(offset, entryBytes + dimensionCount * dimensionBytes);
    collector.add(window.view, at, readDimensions(window.view, at + entryBytes, dimensionCount));
    offset += entryBytes + dimensionCount * dimensionBytes;
  }
  return collector;
}

function readDimensions(view: DataView, start: number, count: number): Dimension[] {
  return Array.from({ length: count }, (_, index) => {
    const at = start + index * dimensionBytes;
    let name = '';
    for (let i = 0; i < 4; i++) {
      const code = view.getUint8(at + i);
      if (code > 32 && code < 127) name += String.fromCharCode(code);
    }
    return {
      name,
      start: view.getInt32(at + 4, true),
      size: view.getInt32(at + 8, true),
      storedSize: view.getInt32(at + 16, true),
    };
  });
}
