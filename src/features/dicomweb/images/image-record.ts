import { rendering } from '../../../tilesource/requests.js';
import type { DicomFacts, ImageFacts } from './image-facts.js';
import type { MappedAttribute } from '../../settings/dicom-attributes.js';

/** The attributes by which a search finds records through an index of the database. */
export const indexedKeys = [
  'PatientID',
  'PatientName',
  'AccessionNumber',
  'StudyID',
  'StudyDate',
  'ReferringPhysicianName',
  'PatientBirthDate',
] as const;

/** One of {@link indexedKeys}. */
export type IndexedKey = (typeof indexedKeys)[number];

/** The DICOM tag of each indexed attribute. */
export const indexedTags: Readonly<Record<IndexedKey, string>> = {
  PatientID: '00100020',
  PatientName: '00100010',
  AccessionNumber: '00080050',
  StudyID: '00200010',
  StudyDate: '00080020',
  ReferringPhysicianName: '00080090',
  PatientBirthDate: '00100030',
};

/**
 * Names frames in caches. Like the names of other pictures, the name changes with the image, and begins with the id of its file.
 *
 * @param frames identifies the frames of the image, and the form in which they are sent.
 */
export function frameCacheName({ state }: Pick<ImageRecord, 'state'>, frames: string): string {
  return `${state}/dicom/${rendering.version}?${frames}`;
}

/** The stored data of each image, so that searches need neither items nor files. */
export interface ImageRecord {
  /** Id of the item. */
  id: string;
  /** Identifies the state from which the record was made: the image file and its version, and the version of the code. */
  state: string;
  /** When the item was last changed, in milliseconds. */
  changed: number;
  /** Hash of the settings by which `values` and `study` were read from the metadata. */
  mapping: string;
  /** The reason why the image is not offered; `null` if it is. */
  reason: string | null;
  /** UID of the study. */
  study: string;
  /** Base of the UIDs that this server makes for the image. */
  base: string;
  name: string;
  /** When the item was created, in milliseconds. */
  created: number;
  /** Attributes from metadata. */
  values: Partial<Record<MappedAttribute, string>>;
  /** Values of the indexed attributes, in the form in which searches compare them. */
  keys: Partial<Record<IndexedKey, string>>;
  facts: ImageFacts | null;
  dicom: DicomFacts | null;
  /** UIDs of the series and instances of a DICOM image. */
  uids: string[];
  /** For each optical path, the sample values that become 0 and 65535. They are measured when they are first needed. */
  ranges: { low: number; high: number }[] | null;
}
