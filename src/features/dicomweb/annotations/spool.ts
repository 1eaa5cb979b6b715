import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AnnotationElement } from '../../../annotation-format/schema/document.js';
import { LargeImageError } from '../../../errors.js';
import { graphicType, shapeLength, writeShape, type GraphicType } from './shapes.js';

/** Maximum number of groups of shapes of an annotation, and of measurements of a group. */
const maxGroups = 256;
const maxMeasurements = 16;
/** Maximum number of columns of an annotation, because each takes memory while it is filled. */
const maxColumns = 1024;
/** Bytes of a column that are buffered in memory, at first and at most. */
const [firstBytes, maxBytes] = [512, 65_536];

/** Numbers that are written to a file as they arrive. */
class Column {
  #buffer: ArrayBuffer;
  #view: Float32Array | Float64Array | Uint32Array;
  #used = 0;
  #isWritten = false;
  count = 0;

  constructor(
    readonly path: string,
    private readonly type: Float32ArrayConstructor | Float64ArrayConstructor | Uint32ArrayConstructor,
  ) {
    this.#buffer = new ArrayBuffer(firstBytes);
    this.#view = new type(this.#buffer);
  }

  get bytes(): number {
    return this.count * this.type.BYTES_PER_ELEMENT;
  }

  /**
   * Reserves space for numbers, which the caller writes. @returns a promise if earlier numbers have to be written to the file
   * first.
   */
  reserve(
    numbers: number,
  ):
    | { view: Float32Array | Float64Array | Uint32Array; at: number }
    | Promise<{ view: Float32Array | Float64Array | Uint32Array; at: number }> {
    if (this.#used + numbers <= this.#view.length) return this.#advance(numbers);
    return this.#grow(numbers);
  }

  #advance(numbers: number) {
    const at = this.#used;
    this.#used += numbers;
    this.count += numbers;
    return { view: this.#view, at };
  }

  async #grow(numbers: number) {
    const size = this.type.BYTES_PER_ELEMENT;
    const neededBytes = (this.#used + numbers) * size;
    if (neededBytes > maxBytes) await this.flush();
    const length = Math.max(Math.min(maxBytes, this.#buffer.byteLength * 2), (this.#used + numbers) * size);
    if (length > this.#buffer.byteLength) {
      const former = this.#view.subarray(0, this.#used);
      this.#buffer = new ArrayBuffer(length);
      this.#view = new this.type(this.#buffer);
      this.#view.set(former as never);
    }
    return this.#advance(numbers);
  }

  async flush(): Promise<void> {
    if (this.#used === 0 && this.#isWritten) return;
    // A column keeps no file open, because there may be many of them.
    await appendFile(this.path, new Uint8Array(this.#buffer, 0, this.#used * this.type.BYTES_PER_ELEMENT), { mode: 0o600 });
    this.#isWritten = true;
    this.#used = 0;
  }

  async close(): Promise<void> {
    await this.flush();
    this.#buffer = new ArrayBuffer(0);
    this.#view = new this.type(this.#buffer);
  }
}

/** Values of one measurement of the shapes of a group. */
interface SpooledMeasurement {
  name: string;
  values: SpooledColumn;
  /** Numbers, from 1, of the shapes that have this measurement; `null` if all have it. */
  elements: SpooledColumn | null;
}

/** Numbers in a file. */
export interface SpooledColumn {
  path: string;
  bytes: number;
  count: number;
}

/** The shapes of one group and kind. */
export interface SpooledGroup {
  group: string | null;
  type: GraphicType;
  count: number;
  /** Color of its first shape, in the form of elements. */
  color: string | null;
  points: SpooledColumn;
  /** For each shape the position of its first coordinate, from 1; `null` if all shapes have equally many points. */
  indices: SpooledColumn | null;
  measurements: SpooledMeasurement[];
}

/** The shapes of an annotation in files, ready to send. */
export interface Spooled {
  groups: SpooledGroup[];
  isDouble: boolean;
  /** Number of elements and holes that are left out, by kind. */
  leftOut: Record<string, number>;
  bytes: number;
}

interface OpenGroup extends Omit<SpooledGroup, 'points' | 'indices' | 'measurements'> {
  points: Column;
  indices: Column | null;
  measurements: Map<string, { values: Column; elements: Column }>;
}

/** Sorts elements into files by group and kind, one after the other. */
export class Spool {
  readonly #groups = new Map<string, OpenGroup>();
  readonly #leftOut: Record<string, number> = {};
  #files = 0;

  constructor(
    private readonly directory: string,
    private readonly isDouble: boolean,
  ) {}

  /** @throws LargeImageError `too-large` if there are too many groups. */
  async add(element: AnnotationElement): Promise<void> {
    const type = graphicType(element);
    if (type === null) return this.#countLeftOut(element.type);
    if (element.type === 'polyline' && element.holes !== undefined && element.holes.length > 0)
      this.#countLeftOut('hole', element.holes.length);
    const group = this.#groupOf(element, type);
    if (group.indices !== null) {
      const slot = group.indices.reserve(1);
      const { view, at } = slot instanceof Promise ? await slot : slot;
      view[at] = group.points.count + 1;
    }
    const slot = group.points.reserve(shapeLength(element));
    const { view, at } = slot instanceof Promise ? await slot : slot;
    writeShape(element, view as Float32Array, at);
    group.count += 1;
    const { user } = element;
    if (user !== undefined) await this.#measure(group, user);
  }

  #countLeftOut(what: string, count = 1): void {
    this.#leftOut[what] = (this.#leftOut[what] ?? 0) + count;
  }

  #column(type: ConstructorParameters<typeof Column>[1]): Column {
    return new Column(join(this.directory, `${this.#files++}`), type);
  }

  #groupOf(element: AnnotationElement, type: GraphicType): OpenGroup {
    const name = element.group ?? null;
    const key = `${type} ${name ?? ''}`;
    const group = this.#groups.get(key);
    if (group !== undefined) return group;
    if (this.#groups.size >= maxGroups) {
      throw new LargeImageError(
        'too-large',
        `The annotation has more than ${maxGroups} groups of shapes, each of which needs an entry in DICOM.`,
      );
    }
    const color = ('lineColor' in element ? element.lineColor : undefined) ?? null;
    const hasIndices = type === 'POLYGON' || type === 'POLYLINE';
    const opened: OpenGroup = {
      group: name,
      type,
      count: 0,
      color,
      points: this.#column(this.isDouble ? Float64Array : Float32Array),
      indices: hasIndices ? this.#column(Uint32Array) : null,
      measurements: new Map(),
    };
    this.#groups.set(key, opened);
    return opened;
  }

  async #measure(group: OpenGroup, user: Readonly<Record<string, unknown>>): Promise<void> {
    for (const name in user) {
      const value = user[name];
      if (typeof value !== 'number' || !Number.isFinite(value)) continue;
      let column = group.measurements.get(name);
      if (column === undefined) {
        if (group.measurements.size >= maxMeasurements || this.#files + 2 > maxColumns) {
          this.#countLeftOut('measurement');
          continue;
        }
        column = { values: this.#column(Float32Array), elements: this.#column(Uint32Array) };
        group.measurements.set(name, column);
      }
      const values = column.values.reserve(1);
      const to = values instanceof Promise ? await values : values;
      to.view[to.at] = value;
      const elements = column.elements.reserve(1);
      const number = elements instanceof Promise ? await elements : elements;
      number.view[number.at] = group.count;
    }
  }

  /** Completes the files. */
  async end(): Promise<Spooled> {
    const groups: SpooledGroup[] = [];
    let bytes = 0;
    const closeColumn = async (column: Column): Promise<SpooledColumn> => {
      await column.close();
      bytes += column.bytes;
      return { path: column.path, bytes: column.bytes, count: column.count };
    };
    for (const { points, indices, measurements, ...group } of this.#groups.values()) {
      const spooled: SpooledMeasurement[] = [];
      for (const [name, { values, elements }] of measurements) {
        const numbers = await closeColumn(elements);
        spooled.push({ name, values: await closeColumn(values), elements: numbers.count === group.count ? null : numbers });
      }
      groups.push({
        ...group,
        points: await closeColumn(points),
        indices: indices && (await closeColumn(indices)),
        measurements: spooled,
      });
    }
    return { groups, isDouble: this.isDouble, leftOut: this.#leftOut, bytes };
  }
}
