import type { DicomJson } from '../../../tilesource/tile-source.js';
import { toJson, type Attributes, valueText } from '../format/dataset.js';
import type { ImageFacts } from '../images/image-facts.js';
import type { ImageRecord } from '../images/image-record.js';
import {
  equipmentAttributes,
  imageType,
  pixelAttributes,
  seriesDescription,
  slideAttributes,
  slideClassUid,
  studyAttributes,
} from '../images/slide-dataset.js';
import { isAssociatedFile } from '../images/locator.js';
import { frameSyntaxes, seriesOf, type InstancePlan, type SeriesPlan } from '../images/structure.js';

/** A series in search results, with its instances. */
export interface SeriesRow {
  uid: string;
  modality: string;
  /** A function, because a search for studies does not need the attributes. */
  makeAttributes: () => DicomJson;
  /** Number of instances, known without calling `makeInstances`. */
  instanceCount: number;
  makeInstances: () => readonly InstanceRow[];
}

/** An instance in search results. */
interface InstanceRow {
  uid: string;
  makeAttributes: () => DicomJson;
  /** Makes all attributes, for requests that need more than the usual ones. */
  makeAllAttributes: () => DicomJson;
}

/** Tags of the study attributes that records contain. */
export const studyTags: readonly string[] = [
  '00080005',
  '00080020',
  '00080030',
  '00080050',
  '00080090',
  '00081030',
  '00100010',
  '00100020',
  '00100030',
  '00100040',
  '0020000D',
  '00200010',
];
const seriesTags = ['00080060', '0008103E', '0020000E', '00200011', '00080070', '00081010', '00081090'];

function pickTags(dataset: DicomJson, tags: readonly string[]): DicomJson {
  return Object.fromEntries(tags.flatMap((tag) => (dataset[tag] === undefined ? [] : [[tag, dataset[tag]]])));
}

/** Attributes of a study that come from its images. */
export function studyJson(record: ImageRecord): DicomJson {
  const [file] = record.dicom?.files ?? [];
  if (file !== undefined) return pickTags(file, studyTags);
  return toJson({ SpecificCharacterSet: 'ISO_IR 192', ...studyAttributes(record) }, '');
}

/** The series of an image, without its annotations. @param includesAssociated whether to include label and overview. */
export function seriesRowsOfImage(record: ImageRecord, includesAssociated: boolean): SeriesRow[] {
  const { facts, dicom } = record;
  if (dicom !== null)
    return seriesRowsOfFiles(includesAssociated ? dicom.files : dicom.files.filter((file) => !isAssociatedFile(file)));
  if (facts === null) return [];
  const recordWithFacts = { ...record, facts };
  return seriesOf(record.base, facts).map((series) => {
    const isVisible = ({ kind }: InstancePlan['content']) => includesAssociated || kind === 'level';
    const makeInstances = () =>
      series.instances.filter(({ content }) => isVisible(content)).map((plan) => slideRow(recordWithFacts, series, plan));
    const seriesAttributes = (): Attributes => ({
      Modality: 'SM',
      SeriesInstanceUID: series.uid,
      SeriesNumber: series.number,
      SeriesDescription: seriesDescription(record, series.label),
      ...equipmentAttributes(record),
    });
    const instanceCount = series.contents.filter(isVisible).length;
    return {
      uid: series.uid,
      modality: 'SM',
      makeAttributes: () => toJson(seriesAttributes(), ''),
      instanceCount,
      makeInstances,
    };
  });
}

function slideRow(record: ImageRecord & { facts: ImageFacts }, series: SeriesPlan, plan: InstancePlan): InstanceRow {
  const syntax = frameSyntaxes(record.facts, plan)[0]!;
  return {
    uid: plan.uid,
    makeAttributes: () =>
      toJson(
        {
          SOPClassUID: slideClassUid,
          SOPInstanceUID: plan.uid,
          InstanceNumber: plan.number,
          ImageType: imageType(record.facts, plan),
          TotalPixelMatrixColumns: plan.matrixColumns,
          TotalPixelMatrixRows: plan.matrixRows,
          ...pixelAttributes(record.facts, plan, syntax),
          AvailableTransferSyntaxUID: [...plan.syntaxes],
        },
        '',
      ),
    makeAllAttributes: () => toJson(slideAttributes(record, series, plan, { profile: null, ranges: null, syntax }), ''),
  };
}

function seriesRowsOfFiles(files: readonly DicomJson[]): SeriesRow[] {
  const filesBySeries = new Map<string, DicomJson[]>();
  for (const file of files) {
    const uid = valueText(file, '0020000E');
    const seriesFiles = filesBySeries.get(uid) ?? [];
    filesBySeries.set(uid, seriesFiles);
    seriesFiles.push(file);
  }
  return [...filesBySeries].map(([uid, seriesFiles]) => ({
    uid,
    modality: valueText(seriesFiles[0], '00080060'),
    makeAttributes: () => pickTags(seriesFiles[0]!, seriesTags),
    instanceCount: seriesFiles.length,
    makeInstances: () =>
      seriesFiles.map((file) => ({
        uid: valueText(file, '00080018'),
        makeAttributes: () => pickInstanceAttributes(file),
        makeAllAttributes: () => file,
      })),
  }));
}

/** The attributes that belong neither to the study nor to the series of a file. */
function pickInstanceAttributes(file: DicomJson): DicomJson {
  const tagsAboveInstance = new Set([...studyTags, ...seriesTags]);
  return Object.fromEntries(Object.entries(file).filter(([tag]) => !tagsAboveInstance.has(tag)));
}
