import { open } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { callerName } from '../../../core/concurrency/queues.js';
import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import { createTemporaryDirectory } from '../../../core/temporary-files.js';
import { NotFoundError } from '../../../errors.js';
import type { DicomJson } from '../../../tilesource/tile-source.js';
import { SharedWork } from '../../../tilesource/process/shared-work.js';
import type { AnnotationServices } from '../../annotations/annotation-services.js';
import type { AnnotationRecord } from '../../annotations/documents/annotation-record.js';
import { elementHeader, itemHeader } from '../answers/part10.js';
import type { CallerContext } from '../answers/slides.js';
import type { StreamedFile } from '../answers/streamed-file.js';
import {
  attributeOf,
  BulkValue,
  fileMeta,
  toBytes,
  toJson,
  transferSyntaxes,
  type Attributes,
  valueText,
} from '../format/dataset.js';
import { uidBase, uidOf } from '../format/uids.js';
import type { AnnotationInstance } from '../images/locator.js';
import type { ImageRecord } from '../images/image-record.js';
import { codeItem, formatDateTime, slideClassUid, studyAttributes, unknownText } from '../images/slide-dataset.js';
import { seriesOf } from '../images/structure.js';
import { annotationClassUid, annotationSeriesAttributes, toOneLine } from './annotation-plan.js';
import { labOf } from './lab.js';
import { AnnotationSpooler, type SpooledAnnotation, type SpooledColumn, type SpooledGroup } from './spool.js';

/** Largest coordinate that is written as a 32-bit float. Up to this value, 32-bit floats are exact to 1/64 of a pixel. */
const maxFloatCoordinate = 2 ** 18;
/** Maximum number of annotations whose temporary files are kept. */
const maxSpools = 16;
/** Maximum total size of the temporary files, in bytes. */
const maxSpoolBytes = 8 * 2 ** 30;
/** How long temporary files are kept after their last use. */
const spoolLifetimeMs = 10 * 60_000;
/** Number of elements that are written to files before other work in the queue gets its turn. */
const elementsAtOnce = 2000;
/** Number of bytes of a temporary file that are read at a time. */
const pieceBytes = 2 ** 18;
/** The coding scheme of codes that this server makes from names. */
const privateScheme = '99ELI';
const groupsTag = '006A0002';

interface SpooledFiles extends SpooledAnnotation {
  remove(): Promise<void>;
}

/** A part of a response: bytes, or a file of numbers. */
type Segment = Buffer | SpooledColumn;

/** Serves annotations as DICOM instances. Their coordinates and measurements are first written to temporary files. */
export class AnnotationInstances {
  readonly #spools = new LRUCache<string, SpooledFiles>({
    max: maxSpools,
    maxSize: maxSpoolBytes,
    maxEntrySize: Number.MAX_SAFE_INTEGER,
    sizeCalculation: ({ bytes }) => Math.min(maxSpoolBytes, bytes + 1),
    ttl: spoolLifetimeMs,
    ttlAutopurge: true,
    updateAgeOnGet: true,
    dispose: (spool) => void spool.remove(),
  });
  readonly #spoolCreations = new SharedWork<SpooledFiles>();

  constructor(private readonly parts: { annotations: AnnotationServices; temporaryDirectory: string }) {}

  async close(): Promise<void> {
    const removals = [...this.#spools.values()].map((spool) => spool.remove());
    this.#spools.clear();
    await Promise.all(removals);
  }

  async loadMetadata(instance: AnnotationInstance, instanceAddress: string, request: CallerContext): Promise<DicomJson> {
    const spool = await this.#loadSpool(instance.annotation, request);
    const groups = spool.groups.map((group, index) =>
      toJson(groupAttributes(instance.annotation, group, index, spool.isDouble), `${instanceAddress}/bulkdata`),
    );
    const attributes = toJson(instanceAttributes(instance, spool), instanceAddress);
    const sequence = { vr: 'SQ', Value: groups };
    return Object.fromEntries(Object.entries({ ...attributes, [groupsTag]: sequence }).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** A bulk value by its name, the last part of its address in the metadata, such as `values-0-2`. @throws NotFoundError */
  async loadBulkValue({ annotation }: AnnotationInstance, name: string, request: CallerContext): Promise<StreamedFile> {
    const spool = await this.#loadSpool(annotation, request);
    const [kind, groupIndex = '', measurementIndex] = name.split('-');
    const group = spool.groups[Number(groupIndex)];
    const measurement = measurementIndex === undefined ? undefined : group?.measurements[Number(measurementIndex)];
    const column = {
      points: group?.points,
      indices: group?.indices,
      values: measurement?.values,
      elements: measurement?.shapeNumbers,
    }[kind ?? ''];
    if (column == null) throw new NotFoundError('The instance has no such value.');
    return this.#streamSegments(annotation, [column], request);
  }

  /** An annotation as a DICOM file. */
  async streamFile(instance: AnnotationInstance, request: CallerContext): Promise<StreamedFile> {
    const { annotation, uid } = instance;
    const spool = await this.#loadSpool(annotation, request);
    const meta = fileMeta({ classUid: annotationClassUid, instanceUid: uid, syntax: transferSyntaxes.explicitLittle });
    const attributes = instanceAttributes(instance, spool);
    // Attributes are in the order of tags, so some come before the groups and some after them.
    const [attributesBefore, attributesAfter] = splitAtTag(attributes, groupsTag);
    const segments: Segment[] = [meta, toBytes(attributesBefore), elementHeader(groupsTag, 'SQ', -1)];
    for (const [index, group] of spool.groups.entries())
      segments.push(...groupSegments(annotation, group, index, spool.isDouble));
    segments.push(itemHeader(0, 'end of sequence'), toBytes(attributesAfter));
    return this.#streamSegments(annotation, segments, request);
  }

  #streamSegments(annotation: AnnotationRecord, segments: readonly Segment[], request: CallerContext): StreamedFile {
    const pieces: { segment: Segment; offset: number; length: number }[] = [];
    const pieceStarts = [0];
    for (const segment of segments) {
      const length = Buffer.isBuffer(segment) ? segment.length : segment.bytes;
      for (let offset = 0; offset < length; offset += pieceBytes) {
        const size = Math.min(pieceBytes, length - offset);
        pieces.push({ segment, offset, length: size });
        pieceStarts.push(pieceStarts.at(-1)! + size);
      }
    }
    return {
      head: Buffer.alloc(0),
      pieceCount: pieces.length,
      startOf: (piece) => pieceStarts[piece]!,
      makePiece: async (index) => {
        const { segment, offset, length } = pieces[index]!;
        if (Buffer.isBuffer(segment)) return segment.subarray(offset, offset + length);
        // If the client is slow, the temporary files may have been removed. Then they are made again.
        const { groups } = await this.#loadSpool(annotation, request);
        const path = columnsOf(groups).find((column) => fileNameOf(column.path) === fileNameOf(segment.path))!.path;
        const bytes = Buffer.allocUnsafe(length);
        const handle = await open(path);
        try {
          await handle.read(bytes, 0, length, offset);
        } finally {
          await handle.close();
        }
        return bytes;
      },
      tail: Buffer.alloc(0),
    };
  }

  async #loadSpool(annotation: AnnotationRecord, request: CallerContext): Promise<SpooledFiles> {
    const key = `${annotation.id} ${annotation.elements.content}`;
    const spool = this.#spools.get(key);
    if (spool !== undefined) return spool;
    return this.#spoolCreations.join(
      key,
      async (signal) => {
        const newSpool = await this.#createSpool(annotation, signal, callerName(request.caller));
        this.#spools.set(key, newSpool);
        return newSpool;
      },
      request.signal,
    );
  }

  async #createSpool({ elements }: AnnotationRecord, signal: AbortSignal, caller: string): Promise<SpooledFiles> {
    const { annotations } = this.parts;
    const directory = await createTemporaryDirectory(this.parts.temporaryDirectory);
    const remove = () => directory.remove();
    const { box } = elements;
    const maxCoordinate = box === null ? 0 : Math.max(...[box.lowx, box.lowy, box.highx, box.highy].map(Math.abs));
    const spooler = new AnnotationSpooler(directory.path, maxCoordinate > maxFloatCoordinate);
    const iterator = annotations.store.scan(elements, { signal })[Symbol.asyncIterator]();
    try {
      /** Writes the next elements to files. @returns whether no elements are left. */
      const spoolNextElements = async (): Promise<boolean> => {
        for (let count = 0; count < elementsAtOnce; count++) {
          const nextResult = await iterator.next();
          if (nextResult.done === true) return true;
          await spooler.add(nextResult.value.element);
          if (isSliceOver()) await nextSlice(signal);
        }
        return false;
      };
      while (!(await annotations.readQueue.run(spoolNextElements, { signal, caller, isNeverRefused: true })));
      return { ...(await spooler.complete()), remove };
    } catch (error) {
      await remove();
      throw error;
    } finally {
      await iterator.return?.();
    }
  }
}

function fileNameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function columnsOf(groups: readonly SpooledGroup[]): SpooledColumn[] {
  return groups.flatMap(({ points, indices, measurements }) => [
    points,
    ...(indices === null ? [] : [indices]),
    ...measurements.flatMap(({ values, shapeNumbers }) => [values, ...(shapeNumbers === null ? [] : [shapeNumbers])]),
  ]);
}

/** UIDs of the instance that annotations refer to: the finest level of the first series, or the DICOM file with the most pixels. */
function referencedUids(record: ImageRecord): { series: string; instance: string } {
  const { facts, dicom, base } = record;
  if (facts !== null) {
    const [series] = seriesOf(base, facts);
    return { series: series!.uid, instance: series!.instances[0]!.uid };
  }
  const pixelCountOf = (file: DicomJson) => Number(file['00480006']?.Value?.[0] ?? 0) * Number(file['00480007']?.Value?.[0] ?? 0);
  const [largest] = (dicom?.files ?? []).toSorted((a, b) => pixelCountOf(b) - pixelCountOf(a));
  return { series: valueText(largest, '0020000E'), instance: valueText(largest, '00080018') };
}

/** Splits attributes at a tag: lower tags first, then all others. */
function splitAtTag(attributes: Attributes, tag: string): [Attributes, Attributes] {
  const entries = Object.entries(attributes);
  const isBefore = ([keyword]: [string, unknown]) => attributeOf(keyword)!.tag < tag;
  return [Object.fromEntries(entries.filter(isBefore)), Object.fromEntries(entries.filter((entry) => !isBefore(entry)))];
}

/** A text that says how many elements, holes and measurements are left out; empty if none are. */
function describeOmissions(omittedCountByKind: Readonly<Record<string, number>>): string {
  const parts = Object.entries(omittedCountByKind).map(([kind, count]) => `${count} ${kind}`);
  return parts.length === 0 ? '' : `Left out: ${parts.join(', ')}`;
}

/** All attributes except the groups. */
function instanceAttributes(
  { record, annotation, uid, annotationIndex }: AnnotationInstance,
  { omittedCountByKind }: SpooledAnnotation,
): Attributes {
  const imageUids = referencedUids(record);
  const updated = formatDateTime(annotation.updated.getTime());
  const reference = { ReferencedSOPClassUID: slideClassUid, ReferencedSOPInstanceUID: imageUids.instance };
  const [file] = record.dicom?.files ?? [];
  const fileValue = (tag: string) => valueText(file, tag);
  const study = studyAttributes(record);
  const fileAttributes: Attributes =
    file === undefined
      ? {}
      : {
          PatientName: fileValue('00100010'),
          PatientID: fileValue('00100020'),
          PatientBirthDate: fileValue('00100030'),
          PatientSex: fileValue('00100040'),
          StudyDate: fileValue('00080020'),
          StudyTime: fileValue('00080030'),
          AccessionNumber: fileValue('00080050'),
          ReferringPhysicianName: fileValue('00080090'),
          StudyID: fileValue('00200010'),
        };
  return {
    SpecificCharacterSet: 'ISO_IR 192',
    SOPClassUID: annotationClassUid,
    SOPInstanceUID: uid,
    ...study,
    ...fileAttributes,
    ...annotationSeriesAttributes(record, annotation, annotationIndex),
    Laterality: '',
    InstanceNumber: 1,
    ContentDate: updated.date,
    ContentTime: updated.time,
    ContentLabel: 'ANNOTATION',
    ContentDescription: describeOmissions(omittedCountByKind).slice(0, 64),
    ContentCreatorName: '',
    ReferencedSeriesSequence: [{ SeriesInstanceUID: imageUids.series, ReferencedInstanceSequence: [reference] }],
    ReferencedImageSequence: [reference],
    AnnotationCoordinateType: '2D',
    PixelOriginInterpretation: 'VOLUME',
  };
}

/** A name as a code of {@link privateScheme}. */
function privateCode(name: string): Attributes {
  const value = createHash('sha256').update(name).digest('hex').slice(0, 16).toUpperCase();
  return codeItem(value, privateScheme, toOneLine(name).slice(0, 64).trim() || unknownText);
}

/** Stands in for the bytes of bulk values in metadata, because metadata contain only the addresses of these values. */
const noBytes = new Uint8Array();

/** Attributes of a group that come before its points in the order of tags. */
function attributesBeforePoints({ color }: SpooledGroup, groupIndex: number): Attributes {
  const lab = color === null ? null : labOf(color);
  return { AnnotationGroupNumber: groupIndex + 1, ...(lab !== null && { RecommendedDisplayCIELabValue: lab }) };
}

/** Attributes of a group that come after its measurements in the order of tags. */
function attributesAfterMeasurements({ id }: AnnotationRecord, { name, type, count }: SpooledGroup): Attributes {
  const label = name ?? type.toLowerCase();
  return {
    AnnotationGroupUID: uidOf(uidBase('annotation group', id, name ?? '', type), 'annotation', 0, 0),
    AnnotationGroupLabel: toOneLine(label).slice(0, 64).trim() || unknownText,
    AnnotationGroupGenerationType: 'MANUAL',
    AnnotationPropertyCategoryCodeSequence: [codeItem('91723000', 'SCT', 'Anatomical Structure')],
    AnnotationPropertyTypeCodeSequence: [privateCode(label)],
    NumberOfAnnotations: count,
    AnnotationAppliesToAllOpticalPaths: 'YES',
    GraphicType: type,
  };
}

function measurementAttributes(name: string): Attributes {
  return { MeasurementUnitsCodeSequence: [codeItem('1', 'UCUM', 'no units')], ConceptNameCodeSequence: [privateCode(name)] };
}

function groupAttributes(annotation: AnnotationRecord, group: SpooledGroup, groupIndex: number, isDouble: boolean): Attributes {
  return {
    ...attributesBeforePoints(group, groupIndex),
    [isDouble ? 'DoublePointCoordinatesData' : 'PointCoordinatesData']: new BulkValue(`points-${groupIndex}`, noBytes),
    ...(group.indices !== null && { LongPrimitivePointIndexList: new BulkValue(`indices-${groupIndex}`, noBytes) }),
    ...(group.measurements.length > 0 && {
      MeasurementsSequence: group.measurements.map(({ name, shapeNumbers }, measurementIndex) => ({
        ...measurementAttributes(name),
        MeasurementValuesSequence: [
          {
            FloatingPointValues: new BulkValue(`values-${groupIndex}-${measurementIndex}`, noBytes),
            ...(shapeNumbers !== null && {
              AnnotationIndexList: new BulkValue(`elements-${groupIndex}-${measurementIndex}`, noBytes),
            }),
          },
        ],
      })),
    }),
    ...attributesAfterMeasurements(annotation, group),
  };
}

/** A group as an item of the sequence of groups, including its coordinates and measurements. */
function groupSegments(annotation: AnnotationRecord, group: SpooledGroup, groupIndex: number, isDouble: boolean): Segment[] {
  const { points, indices, measurements } = group;
  const segments: Segment[] = [itemHeader(-1), toBytes(attributesBeforePoints(group, groupIndex))];
  segments.push(elementHeader(isDouble ? '00660022' : '00660016', isDouble ? 'OD' : 'OF', points.bytes), points);
  if (indices !== null) segments.push(elementHeader('00660040', 'OL', indices.bytes), indices);
  if (measurements.length > 0) segments.push(elementHeader('00660121', 'SQ', -1));
  for (const { name, values, shapeNumbers } of measurements) {
    segments.push(itemHeader(-1), toBytes(measurementAttributes(name)), elementHeader('00660132', 'SQ', -1), itemHeader(-1));
    segments.push(elementHeader('00660125', 'OF', values.bytes), values);
    if (shapeNumbers !== null) segments.push(elementHeader('006A0011', 'OL', shapeNumbers.bytes), shapeNumbers);
    segments.push(itemHeader(0, 'end of item'), itemHeader(0, 'end of sequence'), itemHeader(0, 'end of item'));
  }
  if (measurements.length > 0) segments.push(itemHeader(0, 'end of sequence'));
  segments.push(toBytes(attributesAfterMeasurements(annotation, group)), itemHeader(0, 'end of item'));
  return segments;
}
