import { BulkValue, decimalText, transferSyntaxes, type Attributes } from '../format/dataset.js';
import { uidOf } from '../format/uids.js';
import { spacingOf } from './image-index.js';
import type { LossyCodec } from '../../../tilesource/tile-source.js';
import type { ImageRecord } from './image-record.js';
import type { ImageFacts } from './image-facts.js';
import { bitsOf, isColor, opticalPaths, type InstancePlan, type OpticalPath, type SeriesPlan } from './structure.js';

export const slideClassUid = '1.2.840.10008.5.1.4.1.1.77.1.6';
/** Stands in for values that the standard requires, but that neither the file nor the metadata contain. */
export const unknownText = 'Unknown';
/** Assumed thickness of the specimen in millimeters, which no file contains. */
const thicknessMm = 0.001;
/**
 * Length of the shorter side of a glass slide in millimeters. Files do not state the scale of labels and overviews, so their shorter
 * side is assumed to have this length.
 */
const glassWidthMm = 25;

/** A code as an item of a sequence. */
export function codeItem(value: string, scheme: string, meaning: string): Attributes {
  return { CodeValue: value, CodingSchemeDesignator: scheme, CodeMeaning: meaning };
}

/** A time in the form of DICOM, in UTC. */
export function formatDateTime(ms: number): { date: string; time: string; dateAndTime: string } {
  const text = new Date(ms).toISOString();
  const [date, time] = [text.slice(0, 10).replaceAll('-', ''), text.slice(11, 19).replaceAll(':', '')];
  return { date, time, dateAndTime: `${date}${time}` };
}

/** Attributes of patient and study. */
export function studyAttributes({ study, values }: ImageRecord): Attributes {
  return {
    PatientName: values.PatientName ?? '',
    PatientID: values.PatientID ?? '',
    PatientBirthDate: values.PatientBirthDate ?? '',
    PatientSex: values.PatientSex ?? '',
    StudyInstanceUID: study,
    StudyDate: values.StudyDate ?? '',
    StudyTime: values.StudyTime ?? '',
    AccessionNumber: values.AccessionNumber ?? '',
    ReferringPhysicianName: values.ReferringPhysicianName ?? '',
    StudyID: values.StudyID ?? '',
    StudyDescription: values.StudyDescription,
  };
}

/** Attributes of the equipment. */
export function equipmentAttributes({ values, facts }: ImageRecord): Attributes {
  const fileAttributes = facts?.attributes ?? {};
  return {
    InstitutionName: values.InstitutionName,
    Manufacturer: values.Manufacturer ?? fileAttributes.Manufacturer ?? unknownText,
    ManufacturerModelName: values.ManufacturerModelName ?? fileAttributes.ManufacturerModelName ?? unknownText,
    DeviceSerialNumber: values.DeviceSerialNumber ?? fileAttributes.DeviceSerialNumber ?? unknownText,
    SoftwareVersions: values.SoftwareVersions ?? unknownText,
  };
}

/** Attributes of the specimen and of its glass slide. */
function specimenAttributes({ values, base }: ImageRecord): Attributes {
  return {
    ContainerIdentifier: values.ContainerIdentifier ?? unknownText,
    IssuerOfTheContainerIdentifierSequence: [],
    ContainerTypeCodeSequence: [codeItem('433466003', 'SCT', 'Microscope slide')],
    SpecimenDescriptionSequence: [
      {
        SpecimenIdentifier: values.SpecimenIdentifier ?? values.ContainerIdentifier ?? unknownText,
        IssuerOfTheSpecimenIdentifierSequence: [],
        SpecimenUID: uidOf(base, 'specimen'),
        SpecimenShortDescription: values.SpecimenShortDescription,
        SpecimenPreparationSequence: [],
      },
    ],
  };
}

/** Description of a series: the one in the metadata, or else the name of the item, followed by the label of the position. */
export function seriesDescription({ values, name }: ImageRecord, label: string): string {
  const text = values.SeriesDescription ?? name;
  return [text, label]
    .filter((word) => word !== '')
    .join(' ')
    .replaceAll(/[\\\p{Cc}]/gu, ' ')
    .slice(0, 64)
    .trim();
}

/** Inputs from which the attributes of an instance are made, besides its record and plan. */
export interface SlideDetails {
  /** The color profile. */
  profile: Uint8Array | null;
  /** For each optical path, the sample values that become 0 and 65535; `null` if samples are not scaled. */
  ranges: readonly { low: number; high: number }[] | null;
  /** Transfer syntax of the samples. */
  syntax: string;
}

/** All attributes of an instance of an image, except the samples. */
export function slideAttributes(
  record: ImageRecord & { facts: ImageFacts },
  series: SeriesPlan,
  plan: InstancePlan,
  details: SlideDetails,
): Attributes {
  const { base, facts, values } = record;
  const { content } = plan;
  const created = formatDateTime(record.created);
  const isVolume = content.kind === 'level' && !content.isThumbnail;
  return {
    SpecificCharacterSet: 'ISO_IR 192',
    ImageType: imageType(facts, plan),
    SOPClassUID: slideClassUid,
    SOPInstanceUID: plan.uid,
    ...studyAttributes(record),
    ContentDate: created.date,
    ContentTime: created.time,
    AcquisitionDateTime: values.AcquisitionDateTime ?? facts.attributes.AcquisitionDateTime ?? created.dateAndTime,
    AcquisitionUID: uidOf(base, 'acquisition'),
    ...(isVolume && { PyramidUID: uidOf(base, 'pyramid', series.number - 1) }),
    Modality: 'SM',
    ...equipmentAttributes(record),
    SeriesInstanceUID: series.uid,
    SeriesNumber: series.number,
    SeriesDescription: seriesDescription(record, series.label),
    InstanceNumber: plan.number,
    FrameOfReferenceUID: uidOf(base, 'frameOfReference'),
    PositionReferenceIndicator: 'SLIDE_CORNER',
    DimensionOrganizationType: 'TILED_FULL',
    DimensionOrganizationSequence: [{ DimensionOrganizationUID: uidOf(base, 'dimensions') }],
    ...pixelAttributes(facts, plan, details.syntax),
    ...specimenAttributes(record),
    AcquisitionContextSequence: [],
    ...geometryAttributes(record, plan),
    OpticalPathSequence: opticalPathItems(facts, plan, details.profile),
    NumberOfOpticalPaths: plan.paths.length,
    SharedFunctionalGroupsSequence: [sharedFunctionalGroups(record, plan, details)],
    ...(content.kind === 'associated' &&
      content.flavor === 'LABEL' && { BarcodeValue: values.BarcodeValue ?? '', LabelText: values.LabelText ?? '' }),
  };
}

/** Values of Image Type (PS3.3 C.8.12.4.1.1). */
export function imageType(facts: ImageFacts, { content }: Pick<InstancePlan, 'content'>): string[] {
  if (content.kind === 'associated') return ['ORIGINAL', 'PRIMARY', content.flavor, 'NONE'];
  if (content.isThumbnail) return ['DERIVED', 'PRIMARY', 'THUMBNAIL', 'RESAMPLED'];
  const isFinest = content.level === facts.levels - 1;
  return isFinest ? ['ORIGINAL', 'PRIMARY', 'VOLUME', 'NONE'] : ['DERIVED', 'PRIMARY', 'VOLUME', 'RESAMPLED'];
}

/** The photometric interpretation of frames in a transfer syntax. */
function photometricInterpretation({ samples, stored, syntaxes }: InstancePlan, syntax: string): string {
  if (samples === 1) return 'MONOCHROME2';
  if (stored !== null && syntax === syntaxes[0]) return stored.colors;
  return syntax === transferSyntaxes.jpeg ? 'YBR_FULL_422' : 'RGB';
}

/** Attributes of an instance that describe its frames. */
export function pixelAttributes(facts: ImageFacts, plan: InstancePlan, syntax: string): Attributes {
  const bits = plan.content.kind === 'associated' ? 8 : bitsOf(facts);
  const { samples, content, paths, lossy, stored } = plan;
  const compressions = lossy === null ? [] : [{ method: lossyMethodByCodec[lossy.codec], ratio: lossy.ratio ?? assumedRatio }];
  if (syntax === transferSyntaxes.jpeg && stored === null)
    compressions.push({ method: lossyMethodByCodec.jpeg, ratio: assumedRatio });
  return {
    SamplesPerPixel: samples,
    PhotometricInterpretation: photometricInterpretation(plan, syntax),
    ...(samples === 3 && { PlanarConfiguration: 0 }),
    NumberOfFrames: plan.tilesPerPath * paths.length,
    Rows: plan.rows,
    Columns: plan.columns,
    BitsAllocated: bits,
    BitsStored: bits,
    HighBit: bits - 1,
    PixelRepresentation: 0,
    BurnedInAnnotation: content.kind === 'associated' && content.flavor !== 'THUMBNAIL' ? 'YES' : 'NO',
    ...(samples === 1 && { PresentationLUTShape: 'IDENTITY', RescaleIntercept: 0, RescaleSlope: 1 }),
    LossyImageCompression: compressions.length > 0 ? '01' : '00',
    // Each of several successive compressions has its own value.
    ...(compressions.length > 0 && {
      LossyImageCompressionRatio: compressions.map(({ ratio }) => decimalText(ratio)),
      LossyImageCompressionMethod: compressions.map(({ method }) => method),
    }),
    VolumetricProperties: 'VOLUME',
    SpecimenLabelInImage: content.kind === 'associated' ? 'YES' : 'NO',
    FocusMethod: 'AUTO',
    ExtendedDepthOfField: 'NO',
  };
}

/** Stands in for an unknown compression ratio, such as that of frames that this server encodes. */
const assumedRatio = 10;

/** Terms of DICOM for lossy codecs (PS3.3 C.7.6.1.1.5.1), and similar terms for codecs that DICOM does not name. */
const lossyMethodByCodec: Readonly<Record<LossyCodec, string>> = {
  jpeg: 'ISO_10918_1',
  jpeg2000: 'ISO_15444_1',
  jpegxl: 'ISO_18181_1',
  heif: 'ISO_23008_2',
  jpegxr: 'ISO_29199_2',
  webp: 'WEBP',
  avif: 'AV1',
};

/** Size and position of an instance on the glass. */
function geometryAttributes(record: ImageRecord & { facts: ImageFacts }, plan: InstancePlan): Attributes {
  const { mmX, mmY } = spacingOf(record)!;
  const { facts } = record;
  return {
    // A label or overview shows another part of the slide, of an unknown size.
    ...(plan.content.kind === 'level' && {
      ImagedVolumeWidth: facts.sizeX * mmX,
      ImagedVolumeHeight: facts.sizeY * mmY,
      ImagedVolumeDepth: thicknessMm * 1000,
    }),
    TotalPixelMatrixColumns: plan.matrixColumns,
    TotalPixelMatrixRows: plan.matrixRows,
    TotalPixelMatrixFocalPlanes: 1,
    TotalPixelMatrixOriginSequence: [{ XOffsetInSlideCoordinateSystem: 0, YOffsetInSlideCoordinateSystem: 0 }],
    ImageOrientationSlide: [0, -1, 0, -1, 0, 0],
  };
}

function sharedFunctionalGroups(
  record: ImageRecord & { facts: ImageFacts },
  plan: InstancePlan,
  { ranges }: SlideDetails,
): Attributes {
  const { facts } = record;
  const { mmX, mmY } = spacingOf(record)!;
  // Levels are rounded up to whole pixels, so their spacing follows from the scale, not from their sizes.
  const scale = plan.content.kind === 'level' ? 2 ** (facts.levels - 1 - plan.content.level) : 1;
  const glassSpacing = glassWidthMm / Math.min(plan.matrixColumns, plan.matrixRows);
  const spacing = plan.content.kind === 'level' ? [mmY * scale, mmX * scale] : [glassSpacing, glassSpacing];
  const type = imageType(facts, plan);
  return {
    PixelMeasuresSequence: [{ SliceThickness: decimalText(thicknessMm), PixelSpacing: spacing.map(decimalText) }],
    WholeSlideMicroscopyImageFrameTypeSequence: [{ FrameType: type }],
    ...(plan.paths.length === 1 && {
      OpticalPathIdentificationSequence: [{ OpticalPathIdentifier: `${plan.paths[0]! + 1}` }],
    }),
    ...(plan.content.kind === 'level' && ranges !== null && { RealWorldValueMappingSequence: valueMappings(plan, ranges) }),
  };
}

/** Maps samples of frames to samples of the file. */
function valueMappings({ paths }: InstancePlan, ranges: readonly { low: number; high: number }[]): Attributes[] {
  return paths.map((path) => {
    const { low, high } = ranges[path] ?? ranges[0]!;
    return {
      RealWorldValueFirstValueMapped: 0,
      RealWorldValueLastValueMapped: 65_535,
      RealWorldValueIntercept: low,
      RealWorldValueSlope: (high - low) / 65_535,
      LUTExplanation: 'Sample of the file',
      LUTLabel: paths.length === 1 ? 'SAMPLE' : `SAMPLE ${path + 1}`,
      MeasurementUnitsCodeSequence: [codeItem('1', 'UCUM', 'no units')],
    };
  });
}

function opticalPathItems(facts: ImageFacts, plan: InstancePlan, profile: Uint8Array | null): Attributes[] {
  const allPaths = opticalPaths(facts);
  const isBrightfield =
    isColor(facts) || (allPaths.length === 1 && allPaths[0]?.color === null && allPaths[0].description === '');
  const magnification = facts.magnification;
  return plan.paths.map((pathIndex) => ({
    OpticalPathIdentifier: `${pathIndex + 1}`,
    ...(allPaths[pathIndex]!.description !== '' && {
      OpticalPathDescription: allPaths[pathIndex]!.description.replaceAll(/[\\\p{Cc}]/gu, ' ').slice(0, 64),
    }),
    IlluminationTypeCodeSequence: [
      isBrightfield
        ? codeItem('111744', 'DCM', 'Brightfield illumination')
        : codeItem('111743', 'DCM', 'Epifluorescence illumination'),
    ],
    IlluminationColorCodeSequence: [illuminationColor(allPaths[pathIndex]!, isBrightfield)],
    ...(magnification !== null && { ObjectiveLensPower: decimalText(magnification) }),
    ...(plan.samples === 3 && profile !== null && { ICCProfile: new BulkValue('bulkdata/icc', profile), ColorSpace: undefined }),
  }));
}

function illuminationColor({ color }: OpticalPath, isBrightfield: boolean): Attributes {
  if (isBrightfield || color === null) return codeItem('414298005', 'SCT', 'Full Spectrum');
  const [red, green, blue] = [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16)) as [
    number,
    number,
    number,
  ];
  const brightest = Math.max(red, green, blue);
  if (brightest === blue && blue > red && blue > green) return codeItem('405738005', 'SCT', 'Blue');
  if (brightest === green && green > red) return codeItem('371246006', 'SCT', 'Green');
  if (brightest === red && red > green) return codeItem('371240000', 'SCT', 'Red');
  return codeItem('414298005', 'SCT', 'Full Spectrum');
}
