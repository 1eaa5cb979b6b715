import type { BoundingBox } from '../../../../annotation-format/bounding-box.js';
import { ColumnReader, ColumnWriter } from './columns.js';
import type { ElementAppearance } from '../element-store.js';
import { idAt, type IdColumns } from './ids.js';
import { parseAppearances } from '../read/appearances.js';

/** The elements of a pack as columns. Their JSON texts are stored separately, without separators. */
export interface PackRows {
  count: number;
  /** Position in the window's original order, from 0 to 65,535. */
  positions: Float64Array;
  /** Length of each text in bytes. */
  textLengths: Float64Array;
  details: Float64Array;
  lowx: Float64Array;
  highx: Float64Array;
  lowy: Float64Array;
  highy: Float64Array;
  lowz: Float64Array;
  highz: Float64Array;
  ids: { high: Float64Array; middle: Float64Array; low: Float64Array };
  /** Index of each element's appearance in `appearanceTexts`. */
  appearanceIndices: Float64Array;
  /** The pack's distinct appearances as JSON texts, see AppearanceTable. */
  appearanceTexts: string[];
}

/** Creates rows for `count` elements, which the caller fills. */
export function createRows(count: number): PackRows {
  const column = () => new Float64Array(count);
  return {
    count,
    positions: column(),
    textLengths: column(),
    details: column(),
    lowx: column(),
    highx: column(),
    lowy: column(),
    highy: column(),
    lowz: column(),
    highz: column(),
    ids: { high: column(), middle: column(), low: column() },
    appearanceIndices: column(),
    appearanceTexts: [],
  };
}

/** Encodes everything of a pack except the texts: about 20 bytes per element. */
export function encodeColumns(rows: PackRows): Buffer {
  const writer = new ColumnWriter(rows.count * 32 + 256);
  writer.writeUint32(rows.count);
  writer.writeIntegers(rows.positions);
  writer.writeIntegers(rows.textLengths);
  writer.writeIntegers(rows.details);
  writer.writeRanges(rows.lowx, rows.highx);
  writer.writeRanges(rows.lowy, rows.highy);
  writer.writeRanges(rows.lowz, rows.highz);
  writer.writeIntegers(rows.ids.high);
  writer.writeIntegers(rows.ids.middle);
  writer.writeIntegers(rows.ids.low);
  writer.writeIntegers(rows.appearanceIndices);
  writer.writeText(`[${rows.appearanceTexts.join(',')}]`);
  return writer.writtenBytes();
}

const emptyReader = new ColumnReader(Buffer.alloc(0));

type Boxes = Pick<PackRows, 'lowx' | 'highx' | 'lowy' | 'highy' | 'lowz' | 'highz'>;
type IdsAndAppearances = Pick<PackRows, 'ids' | 'appearanceIndices'> & { appearancesJson: string };

/** The columns of a pack, made from rows or from encoded columns. Most encoded columns are decoded on demand. */
export class PackColumns {
  readonly count: number;
  readonly positions: Float64Array;
  readonly textLengths: Float64Array;
  readonly details: Float64Array;
  readonly #reader: ColumnReader;
  #boxes: Boxes | undefined;
  #idsAndAppearances: IdsAndAppearances | undefined;

  constructor(source: Buffer | PackRows) {
    if (!Buffer.isBuffer(source)) {
      const { count, positions, textLengths, details, ids, appearanceIndices, appearanceTexts } = source;
      this.#reader = emptyReader;
      this.#boxes = source;
      this.#idsAndAppearances = { ids, appearanceIndices, appearancesJson: `[${appearanceTexts.join(',')}]` };
      [this.count, this.positions, this.textLengths, this.details] = [count, positions, textLengths, details];
      return;
    }
    this.#reader = new ColumnReader(source);
    this.count = this.#reader.readUint32();
    this.positions = this.#reader.readIntegers(this.count);
    this.textLengths = this.#reader.readIntegers(this.count);
    this.details = this.#reader.readIntegers(this.count);
  }

  get boxes(): Boxes {
    if (this.#boxes === undefined) {
      const x = this.#reader.readRanges(this.count);
      const y = this.#reader.readRanges(this.count);
      const z = this.#reader.readRanges(this.count);
      this.#boxes = { lowx: x.low, highx: x.high, lowy: y.low, highy: y.high, lowz: z.low, highz: z.high };
    }
    return this.#boxes;
  }

  #readIdsAndAppearances(): IdsAndAppearances {
    if (this.#idsAndAppearances === undefined) {
      // The boxes must be read first, because these columns are stored after them.
      void this.boxes;
      const [reader, count] = [this.#reader, this.count];
      const ids = { high: reader.readIntegers(count), middle: reader.readIntegers(count), low: reader.readIntegers(count) };
      this.#idsAndAppearances = { ids, appearanceIndices: reader.readIntegers(count), appearancesJson: reader.readText() };
    }
    return this.#idsAndAppearances;
  }

  get ids(): IdColumns & PackRows['ids'] {
    return this.#readIdsAndAppearances().ids;
  }

  get appearanceIndices(): Float64Array {
    return this.#readIdsAndAppearances().appearanceIndices;
  }

  appearances(): ElementAppearance[] {
    return parseAppearances(this.#readIdsAndAppearances().appearancesJson);
  }

  /** Returns all appearances as one JSON list, which `parseAppearances` parses. */
  appearancesJson(): string {
    return this.#readIdsAndAppearances().appearancesJson;
  }

  /** Returns the JSON text of each appearance. */
  appearanceTexts(): string[] {
    return (JSON.parse(this.#readIdsAndAppearances().appearancesJson) as unknown[]).map((appearance) =>
      JSON.stringify(appearance),
    );
  }

  idAt(row: number): string {
    return idAt(this.ids, row);
  }

  /** Returns the box of one element. */
  boxAt(row: number): BoundingBox {
    const { boxes } = this;
    return {
      lowx: boxes.lowx[row] as number,
      lowy: boxes.lowy[row] as number,
      lowz: boxes.lowz[row] as number,
      highx: boxes.highx[row] as number,
      highy: boxes.highy[row] as number,
      highz: boxes.highz[row] as number,
      size: this.sizeAt(row),
      details: this.details[row] as number,
    };
  }

  /** Returns the `size` of the box of one element. */
  sizeAt(row: number): number {
    const { lowx, highx, lowy, highy } = this.boxes;
    return diagonalLength((highx[row] as number) - (lowx[row] as number), (highy[row] as number) - (lowy[row] as number));
  }

  /** Returns the offset at which the text of each element begins, and then the offset at which the last text ends. */
  textOffsets(): Float64Array {
    const offsets = new Float64Array(this.count + 1);
    for (let i = 0; i < this.count; i += 1) offsets[i + 1] = (offsets[i] as number) + (this.textLengths[i] as number);
    return offsets;
  }
}

/** Computes the `size` of a box from its width and height, by the same rule as `boundingBox`. */
export function diagonalLength(dx: number, dy: number): number {
  const size = Math.sqrt(dx * dx + dy * dy);
  return Number.isFinite(size) ? size : Math.min(Number.MAX_VALUE, Math.hypot(dx, dy));
}
