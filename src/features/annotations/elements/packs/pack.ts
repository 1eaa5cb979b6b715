import type { BoundingBox } from '../../../../annotation-format/bounding-box.js';
import { ColumnReader, ColumnWriter } from './columns.js';
import type { ElementLook } from '../contract.js';
import { idAt, type IdColumns } from './ids.js';
import { parseLooks } from '../read/looks.js';

/** The elements of a pack, column by column; `text` holds their JSON texts joined without anything between. */
export interface PackRows {
  count: number;
  /** Original order in the window, 0 to 65 535. */
  places: Float64Array;
  /** Bytes of each text. */
  lengths: Float64Array;
  details: Float64Array;
  lowx: Float64Array;
  highx: Float64Array;
  lowy: Float64Array;
  highy: Float64Array;
  lowz: Float64Array;
  highz: Float64Array;
  ids: { high: Float64Array; middle: Float64Array; low: Float64Array };
  lookIndices: Float64Array;
  /** JSON texts, see LookTable. */
  looks: string[];
}

/** Rows of `count` elements, to be filled. */
export function emptyRows(count: number): PackRows {
  const column = () => new Float64Array(count);
  return {
    count,
    places: column(),
    lengths: column(),
    details: column(),
    lowx: column(),
    highx: column(),
    lowy: column(),
    highy: column(),
    lowz: column(),
    highz: column(),
    ids: { high: column(), middle: column(), low: column() },
    lookIndices: column(),
    looks: [],
  };
}

/** Everything of a pack but the texts, as stored: about 20 bytes an element. */
export function encodeColumns(rows: PackRows): Buffer {
  const writer = new ColumnWriter(rows.count * 32 + 256);
  writer.count(rows.count);
  writer.integers(rows.places);
  writer.integers(rows.lengths);
  writer.integers(rows.details);
  writer.ranges(rows.lowx, rows.highx);
  writer.ranges(rows.lowy, rows.highy);
  writer.ranges(rows.lowz, rows.highz);
  writer.integers(rows.ids.high);
  writer.integers(rows.ids.middle);
  writer.integers(rows.ids.low);
  writer.integers(rows.lookIndices);
  writer.text(`[${rows.looks.join(',')}]`);
  return writer.finish();
}

/** Stored columns, read as far as they are asked for. */
export class PackColumns {
  readonly count: number;
  readonly places: Float64Array;
  readonly lengths: Float64Array;
  readonly details: Float64Array;
  readonly #reader: ColumnReader;
  #boxes: Pick<PackRows, 'lowx' | 'highx' | 'lowy' | 'highy' | 'lowz' | 'highz'> | undefined;
  #rest: { ids: PackRows['ids']; lookIndices: Float64Array; looks: string } | undefined;

  constructor(stored: Buffer) {
    this.#reader = new ColumnReader(stored);
    this.count = this.#reader.count();
    this.places = this.#reader.integers(this.count);
    this.lengths = this.#reader.integers(this.count);
    this.details = this.#reader.integers(this.count);
  }

  get boxes(): Pick<PackRows, 'lowx' | 'highx' | 'lowy' | 'highy' | 'lowz' | 'highz'> {
    if (this.#boxes === undefined) {
      const x = this.#reader.ranges(this.count);
      const y = this.#reader.ranges(this.count);
      const z = this.#reader.ranges(this.count);
      this.#boxes = { lowx: x.low, highx: x.high, lowy: y.low, highy: y.high, lowz: z.low, highz: z.high };
    }
    return this.#boxes;
  }

  #readRest(): { ids: PackRows['ids']; lookIndices: Float64Array; looks: string } {
    if (this.#rest === undefined) {
      // Stored after the boxes.
      void this.boxes;
      const [reader, count] = [this.#reader, this.count];
      const ids = { high: reader.integers(count), middle: reader.integers(count), low: reader.integers(count) };
      this.#rest = { ids, lookIndices: reader.integers(count), looks: reader.text() };
    }
    return this.#rest;
  }

  get ids(): IdColumns & PackRows['ids'] {
    return this.#readRest().ids;
  }

  get lookIndices(): Float64Array {
    return this.#readRest().lookIndices;
  }

  looks(): ElementLook[] {
    return parseLooks(this.#readRest().looks);
  }

  /** The looks as they are stored. */
  lookTexts(): string[] {
    return (JSON.parse(this.#readRest().looks) as unknown[]).map((row) => JSON.stringify(row));
  }

  idAt(at: number): string {
    return idAt(this.ids, at);
  }

  /** Box of one element. */
  boxAt(at: number): BoundingBox {
    const { boxes } = this;
    const box = {
      lowx: boxes.lowx[at] as number,
      lowy: boxes.lowy[at] as number,
      lowz: boxes.lowz[at] as number,
      highx: boxes.highx[at] as number,
      highy: boxes.highy[at] as number,
      highz: boxes.highz[at] as number,
      size: 0,
      details: this.details[at] as number,
    };
    box.size = diagonal(box.highx - box.lowx, box.highy - box.lowy);
    return box;
  }

  /** Where the text of each element begins, and at the end where the last one ends. */
  offsets(): Float64Array {
    const offsets = new Float64Array(this.count + 1);
    for (let i = 0; i < this.count; i += 1) offsets[i + 1] = (offsets[i] as number) + (this.lengths[i] as number);
    return offsets;
  }
}

/** The `size` of a box, by the same rule as `boundingBox`. */
export function diagonal(dx: number, dy: number): number {
  const size = Math.sqrt(dx * dx + dy * dy);
  return Number.isFinite(size) ? size : Math.min(Number.MAX_VALUE, Math.hypot(dx, dy));
}
