import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AnnotationElement } from '../../../annotation-format/schema/document.js';
import { LargeImageError } from '../../../errors.js';
import { graphicTypeOf, coordinateCount, writeShape, type GraphicType } from './shapes.js';

/** Maximum number of groups of an annotation, and of measurements of a group. */
const maxGroups = 256;
const maxMeasurements = 16;
/** Maximum number of columns of an annotation, because each takes memory while it is filled. */
const maxColumns = 1024;
/** Size of the buffer of a column in memory: at first, and at most. */
const [initialBufferBytes, maxBufferBytes] = [512, 65_536];

/** Writes numbers to a file as they arrive. */
class SpooledColumnWriter {
  #buffer: ArrayBuffer;
  #view: Float32Array | Float64Array | Uint32Array;
  #bufferedCount = 0;
  #isFileCreated = false;
  /** Count of all numbers so far, including those in the file. */
  count = 0;

  constructor(
    readonly path: string,
    private readonly type: Float32ArrayConstructor | Float64ArrayConstructor | Uint32ArrayConstructor,
  ) {
    this.#buffer = new ArrayBuffer(initialBufferBytes);
    this.#view = new type(this.#buffer);
  }

  get bytes(): number {
    return this.count * this.type.BYTES_PER_ELEMENT;
  }

  /**
   * Reserves space for numbers, which the caller must write immediately.
   *
   * @returns the view, and the index in it at which the numbers start; a promise if the buffer must grow or be written to the file first.
   */
  reserve(
    addedCount: number,
  ):
    | { view: Float32Array | Float64Array | Uint32Array; startIndex: number }
    | Promise<{ view: Float32Array | Float64Array | Uint32Array; startIndex: number }> {
    if (this.#bufferedCount + addedCount <= this.#view.length) return this.#advance(addedCount);
    return this.#grow(addedCount);
  }

  #advance(addedCount: number) {
    const startIndex = this.#bufferedCount;
    this.#bufferedCount += addedCount;
    this.count += addedCount;
    return { view: this.#view, startIndex };
  }

  async #grow(addedCount: number) {
    const bytesPerNumber = this.type.BYTES_PER_ELEMENT;
    const neededBytes = (this.#bufferedCount + addedCount) * bytesPerNumber;
    if (neededBytes > maxBufferBytes) await this.flush();
    const newBytes = Math.max(
      Math.min(maxBufferBytes, this.#buffer.byteLength * 2),
      (this.#bufferedCount + addedCount) * bytesPerNumber,
    );
    if (newBytes > this.#buffer.byteLength) {
      const bufferedNumbers = this.#view.subarray(0, this.#bufferedCount);
      this.#buffer = new ArrayBuffer(newBytes);
      this.#view = new this.type(this.#buffer);
      this.#view.set(bufferedNumbers as never);
    }
    return this.#advance(addedCount);
  }

  async flush(): Promise<void> {
    if (this.#bufferedCount === 0 && this.#isFileCreated) return;
    // A column keeps no file open, because there may be many columns.
    await appendFile(this.path, new Uint8Array(this.#buffer, 0, this.#bufferedCount * this.type.BYTES_PER_ELEMENT), {
      mode: 0o600,
    });
    this.#isFileCreated = true;
    this.#bufferedCount = 0;
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
  /** The numbers, counted from 1, of the shapes that have this measurement; `null` if all shapes have it. */
  shapeNumbers: SpooledColumn | null;
}

/** A file of numbers. */
export interface SpooledColumn {
  path: string;
  /** Length of the file. */
  bytes: number;
  /** How many numbers the file contains. */
  count: number;
}

/** The shapes of one kind in one group. */
export interface SpooledGroup {
  name: string | null;
  type: GraphicType;
  /** Number of shapes. */
  count: number;
  /** Color of the first shape, as in elements. */
  color: string | null;
  points: SpooledColumn;
  /** For each shape, the position of its first coordinate, counted from 1; `null` if all shapes have equally many points. */
  indices: SpooledColumn | null;
  measurements: SpooledMeasurement[];
}

/** The shapes of an annotation in files, ready to send. */
export interface SpooledAnnotation {
  groups: SpooledGroup[];
  /** Whether coordinates are 64-bit floats. Otherwise, they are 32-bit floats. */
  isDouble: boolean;
  /** Numbers of elements, holes and measurements that are left out, by kind. */
  omittedCountByKind: Record<string, number>;
  /** Total length of the files. */
  bytes: number;
}

interface GroupWriter extends Omit<SpooledGroup, 'points' | 'indices' | 'measurements'> {
  points: SpooledColumnWriter;
  indices: SpooledColumnWriter | null;
  measurements: Map<string, { values: SpooledColumnWriter; shapeNumbers: SpooledColumnWriter }>;
}

/** Sorts the elements of an annotation into groups by name and kind of shape, and writes their numbers to files. */
export class AnnotationSpooler {
  readonly #groups = new Map<string, GroupWriter>();
  readonly #omittedCountByKind: Record<string, number> = {};
  #columnCount = 0;

  constructor(
    private readonly directory: string,
    private readonly isDouble: boolean,
  ) {}

  /** Adds an element to its group. @throws LargeImageError `too-large` if there are too many groups. */
  async add(element: AnnotationElement): Promise<void> {
    const type = graphicTypeOf(element);
    if (type === null) return this.#countOmitted(element.type);
    if (element.type === 'polyline' && element.holes !== undefined && element.holes.length > 0)
      this.#countOmitted('hole', element.holes.length);
    const group = this.#findOrAddGroup(element, type);
    if (group.indices !== null) {
      const slot = group.indices.reserve(1);
      const { view, startIndex } = slot instanceof Promise ? await slot : slot;
      view[startIndex] = group.points.count + 1;
    }
    const slot = group.points.reserve(coordinateCount(element));
    const { view, startIndex } = slot instanceof Promise ? await slot : slot;
    writeShape(element, view as Float32Array, startIndex);
    group.count += 1;
    const { user } = element;
    if (user !== undefined) await this.#addMeasurements(group, user);
  }

  #countOmitted(kind: string, count = 1): void {
    this.#omittedCountByKind[kind] = (this.#omittedCountByKind[kind] ?? 0) + count;
  }

  #addColumn(type: ConstructorParameters<typeof SpooledColumnWriter>[1]): SpooledColumnWriter {
    return new SpooledColumnWriter(join(this.directory, `${this.#columnCount++}`), type);
  }

  #findOrAddGroup(element: AnnotationElement, type: GraphicType): GroupWriter {
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
    const newGroup: GroupWriter = {
      name,
      type,
      count: 0,
      color,
      points: this.#addColumn(this.isDouble ? Float64Array : Float32Array),
      indices: hasIndices ? this.#addColumn(Uint32Array) : null,
      measurements: new Map(),
    };
    this.#groups.set(key, newGroup);
    return newGroup;
  }

  async #addMeasurements(group: GroupWriter, user: Readonly<Record<string, unknown>>): Promise<void> {
    for (const name in user) {
      const value = user[name];
      if (typeof value !== 'number' || !Number.isFinite(value)) continue;
      let columns = group.measurements.get(name);
      if (columns === undefined) {
        if (group.measurements.size >= maxMeasurements || this.#columnCount + 2 > maxColumns) {
          this.#countOmitted('measurement');
          continue;
        }
        columns = { values: this.#addColumn(Float32Array), shapeNumbers: this.#addColumn(Uint32Array) };
        group.measurements.set(name, columns);
      }
      const valueReservation = columns.values.reserve(1);
      const valueSlot = valueReservation instanceof Promise ? await valueReservation : valueReservation;
      valueSlot.view[valueSlot.startIndex] = value;
      const numberReservation = columns.shapeNumbers.reserve(1);
      const numberSlot = numberReservation instanceof Promise ? await numberReservation : numberReservation;
      numberSlot.view[numberSlot.startIndex] = group.count;
    }
  }

  /** Writes all remaining numbers to the files. No element can be added afterwards. */
  async complete(): Promise<SpooledAnnotation> {
    const groups: SpooledGroup[] = [];
    let bytes = 0;
    const closeColumn = async (column: SpooledColumnWriter): Promise<SpooledColumn> => {
      await column.close();
      bytes += column.bytes;
      return { path: column.path, bytes: column.bytes, count: column.count };
    };
    for (const { points, indices, measurements, ...group } of this.#groups.values()) {
      const spooledMeasurements: SpooledMeasurement[] = [];
      for (const [name, { values, shapeNumbers }] of measurements) {
        const spooledNumbers = await closeColumn(shapeNumbers);
        const isMeasuredForAllShapes = spooledNumbers.count === group.count;
        spooledMeasurements.push({
          name,
          values: await closeColumn(values),
          shapeNumbers: isMeasuredForAllShapes ? null : spooledNumbers,
        });
      }
      groups.push({
        ...group,
        points: await closeColumn(points),
        indices: indices && (await closeColumn(indices)),
        measurements: spooledMeasurements,
      });
    }
    return { groups, isDouble: this.isDouble, omittedCountByKind: this.#omittedCountByKind, bytes };
  }
}
