import type { DicomFacts, ImageFacts } from './image-facts.js';
import type { MappedAttribute } from './mapping.js';

/** The attributes by which searches find images by index. */
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

/** The tags of the keys that records hold. */
export const indexedTags: Readonly<Record<IndexedKey, string>> = {
  PatientID: '00100020',
  PatientName: '00100010',
  AccessionNumber: '00080050',
  StudyID: '00200010',
  StudyDate: '00080020',
  ReferringPhysicianName: '00080090',
  PatientBirthDate: '00100030',
};

/** What is stored of each image, so that searches need neither items nor files. */
export interface ImageRecord {
  /** Id of the item. */
  id: string;
  /** The image, the item and the mapping of metadata that the record was made of. */
  state: string;
  /** Version of the item. */
  changed: number;
  mapping: string;
  /** Why the image is not offered; `null` for one that is. */
  reason: string | null;
  /** UID of the study. */
  study: string;
  /** Base of the UIDs that are made here; empty for DICOM. */
  base: string;
  name: string;
  /** When the item was created, in milliseconds. */
  created: number;
  /** Attributes that metadata give. */
  values: Partial<Record<MappedAttribute, string>>;
  /** What searches compare, by index. */
  keys: Partial<Record<IndexedKey, string>>;
  facts: ImageFacts | null;
  dicom: DicomFacts | null;
  /** UIDs of series and instances of DICOM. */
  uids: string[];
  /** Samples that become 0 and 65535, for each optical path; measured when they are needed first. */
  ranges: { low: number; high: number }[] | null;
}
