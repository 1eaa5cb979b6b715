/** DICOM attributes that the metadata of items can contain. The key has the name of the attribute unless the setting names another key. */
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

/** The metadata key of each attribute. */
export type MetadataMapping = Readonly<Partial<Record<MappedAttribute, string>>>;
