import type { DicomJson } from '../../../tilesource/tile-source.js';
import type { AnnotationRecord } from '../../annotations/documents/annotation-record.js';
import { toJson, transferSyntaxes } from '../format/dataset.js';
import { maxMajor, maxMinor, uidBase, uidOf } from '../format/uids.js';
import type { ImageRecord } from '../images/image-record.js';
import { equipmentAttributes } from '../images/slide-dataset.js';
import type { SeriesRow } from '../search/rows.js';

export const annotationClassUid = '1.2.840.10008.5.1.4.1.1.91.1';
/** Number of the first series of annotations. The series of the image have lower numbers. */
const firstSeriesNumber = 10_000;

/** UIDs of an annotation. All versions of an annotation have the same series, and each version has its own instance. */
export function annotationUids({ id, version }: Pick<AnnotationRecord, 'id' | 'version'>): { series: string; instance: string } {
  const base = uidBase('annotation', id);
  return {
    series: uidOf(base, 'annotationSeries'),
    instance: uidOf(base, 'annotation', Math.floor(version / (maxMinor + 1)) % (maxMajor + 1), version % (maxMinor + 1)),
  };
}

/** Attributes of the series of an annotation. @param annotationIndex position among the annotations of the image, from 0. */
export function annotationSeriesAttributes(record: ImageRecord, annotation: AnnotationRecord, annotationIndex: number) {
  return {
    Modality: 'ANN',
    SeriesInstanceUID: annotationUids(annotation).series,
    SeriesNumber: firstSeriesNumber + annotationIndex,
    SeriesDescription: toOneLine(annotation.head.name ?? '')
      .slice(0, 64)
      .trim(),
    ...equipmentAttributes(record),
  };
}

/** Replaces backslashes and control characters, which DICOM does not allow in text of one line, with spaces. */
export function toOneLine(text: string): string {
  return text.replaceAll(/[\\\p{Cc}]/gu, ' ');
}

/** The series of an annotation as a row of search results. */
export function annotationRow(record: ImageRecord, annotation: AnnotationRecord, annotationIndex: number): SeriesRow {
  const { series, instance } = annotationUids(annotation);
  const attributes: DicomJson = toJson(
    {
      SOPClassUID: annotationClassUid,
      SOPInstanceUID: instance,
      InstanceNumber: 1,
      AvailableTransferSyntaxUID: [transferSyntaxes.explicitLittle],
    },
    '',
  );
  return {
    uid: series,
    modality: 'ANN',
    makeAttributes: () => toJson(annotationSeriesAttributes(record, annotation, annotationIndex), ''),
    instanceCount: 1,
    makeInstances: () => [{ uid: instance, makeAttributes: () => attributes, makeAllAttributes: () => attributes }],
  };
}
