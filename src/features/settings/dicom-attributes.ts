/** Attributes that the metadata of items can contain, each under the key of the same name unless the setting names another. */
export const mappedAttributes = [
  'PatientName',
  'PatientID',
  'PatientBirthDate',
  'PatientSex',
  'AccessionNumber',
  'StudyID',
  'StudyDate',
  'StudyTime',
  'StudyDescription',
  'ReferringPhysicianName',
  'InstitutionName',
  'SeriesDescription',
  'AcquisitionDateTime',
  'ContainerIdentifier',
  'SpecimenIdentifier',
  'SpecimenShortDescription',
  'BarcodeValue',
  'LabelText',
  'Manufacturer',
  'ManufacturerModelName',
  'DeviceSerialNumber',
  'SoftwareVersions',
  'ObjectiveLensPower',
  'PixelSpacing',
] as const;

/** One of {@link mappedAttributes}. */
export type MappedAttribute = (typeof mappedAttributes)[number];

/** Keys of metadata by the attributes that they provide. */
export type MetadataMapping = Readonly<Partial<Record<MappedAttribute, string>>>;
