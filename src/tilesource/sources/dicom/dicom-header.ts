import { bufferOf } from '../../../core/buffer-of.js';
import dicomParser, { type DataSet } from 'dicom-parser';
import { OtherFormatError, TileSourceError } from '../../../errors.js';
import { uint32Tags, uint16Tags, shownKeywordByTag } from './shown-tags.js';

/** The parts of the header of a DICOM file (one instance) that are needed to read the image. */
export interface DicomHeader {
  transferSyntax: string;
  seriesUid: string;
  instanceUid: string;
  instanceNumber: number;
  /** The third value of Image Type: VOLUME, LABEL, OVERVIEW, THUMBNAIL …. It is empty for images that are not slides. */
  flavor: string;
  isSlide: boolean;
  rows: number;
  columns: number;
  frames: number;
  /** Number of samples per pixel. */
  samples: number;
  bitsAllocated: number;
  bitsStored: number;
  isSigned: boolean;
  /** Whether the samples are floating point numbers. */
  isFloat: boolean;
  /** Whether a frame stores its samples band after band instead of pixel after pixel. */
  isPlanar: boolean;
  photometric: string;
  /** Width of the whole image if the frames are its tiles; otherwise the width of a frame. */
  matrixColumns: number;
  /** Height of the whole image if the frames are its tiles; otherwise the height of a frame. */
  matrixRows: number;
  focalPlanes: number;
  /** Number of frames that the previous files of the image contain. */
  frameOffset: number;
  /**
   * Four numbers for each frame: x and y of its upper left pixel, optical path, focal plane. `null` if the positions follow from
   * the order of frames.
   */
  positions: Int32Array | null;
  opticalPaths: string[];
  /** Distance between focal planes in millimeters. */
  mmZ: number | null;
  /** Millimeters per pixel along x. */
  mmX: number | null;
  /** Millimeters per pixel along y. */
  mmY: number | null;
  magnification: number | null;
  icc: Uint8Array | null;
  /**
   * The palette of PALETTE COLOR; `null` for other images. `firstSample` is the sample that has the color of the first entry.
   * `colors` is red, green and blue of each entry.
   */
  palette: { firstSample: number; colors: Uint8Array } | null;
  /** Position of the element that contains the samples. */
  pixelElementOffset: number;
  /** Position of the samples. */
  pixelOffset: number;
  /** Number of bytes of the samples; `null` for encapsulated frames. */
  pixelLength: number | null;
  isBigEndian: boolean;
  /** Whether samples of 8 bits are stored in big-endian words (OW), so that the second byte of each pair comes first. */
  isSwapped: boolean;
  /** Offsets of the frames in the extended offset table; `null` if the file has no such table. */
  extendedOffsets: Float64Array | null;
  /** Lengths of the frames in bytes, from the same table. */
  extendedLengths: Float64Array | null;
  /** The attributes that the internal metadata show, by their keywords. */
  attributes: Record<string, string | number | (string | number)[]>;
}

/**
 * The tags of elements that contain samples: of integers or encoded frames, of floats, and of doubles. A file ends with one such
 * element.
 */
const pixelTags = ['x7fe00010', 'x7fe00008', 'x7fe00009'] as const;
/** The class of whole-slide images. */
const slideClass = '1.2.840.10008.5.1.4.1.1.77.1.6';
const maxFrames = 10_000_000;
const explicitBigEndian = '1.2.840.10008.1.2.2';
/** The transfer syntax of files that are deflated as a whole, as it is encoded in the file. */
const deflatedSyntax = Buffer.from('\x02\0\x10\0UI\x16\x001.2.840.10008.1.2.1.99', 'latin1');
/** Number of bytes at the start of a file that are searched for the transfer syntax. */
const maxMetaBytes = 4096;

function readText(dataSet: DataSet | undefined, tag: string): string {
  return dataSet?.string(tag)?.trim() ?? '';
}

/** One of the values of an attribute, as text. */
function readTextAt(dataSet: DataSet | undefined, tag: string, index: number): string {
  return readText(dataSet, tag).split('\\')[index]?.trim() ?? '';
}

function readNumber(dataSet: DataSet | undefined, tag: string, index = 0): number | null {
  const value = Number(readTextAt(dataSet, tag, index) || Number.NaN);
  return Number.isFinite(value) ? value : null;
}

function positiveOrNull(value: number | null | undefined): number | null {
  return value != null && Number.isFinite(value) && value > 0 ? value : null;
}

function readItems(dataSet: DataSet | undefined, tag: string): DataSet[] {
  return (dataSet?.elements[tag]?.items ?? []).flatMap(({ dataSet: item }) => (item === undefined ? [] : [item]));
}

function readBytes(dataSet: DataSet | undefined, tag: string): Uint8Array | null {
  const element = dataSet?.elements[tag];
  if (dataSet === undefined || element === undefined || element.length < 1) return null;
  return Uint8Array.from(dataSet.byteArray.subarray(element.dataOffset, element.dataOffset + element.length));
}

function readUint64s(dataSet: DataSet, tag: string): Float64Array | null {
  const bytes = readBytes(dataSet, tag);
  if (bytes === null) return null;
  const view = new DataView(bytes.buffer);
  return Float64Array.from({ length: bytes.length >> 3 }, (_, i) => Number(view.getBigUint64(i * 8, true)));
}

/** Reads {@link DicomHeader.positions} of a sparse image; `null` for other images. */
function readPositions(dataSet: DataSet, opticalPaths: readonly string[], frames: number): Int32Array | null {
  const frameItems = readItems(dataSet, 'x52009230');
  const isSparse =
    readText(dataSet, 'x00209311') !== 'TILED_FULL' && frameItems.some((item) => item.elements.x0048021a !== undefined);
  if (!isSparse) return null;
  const distinctHeights = new Set<number>();
  const result = new Int32Array(Math.min(frames, frameItems.length) * 4).fill(-1);
  const heightByFrame: number[] = [];
  for (const [index, item] of frameItems.slice(0, frames).entries()) {
    const [plane] = readItems(item, 'x0048021a');
    const [path] = readItems(item, 'x00480207');
    const z = readNumber(plane, 'x0040074a') ?? 0;
    distinctHeights.add(z);
    heightByFrame.push(z);
    result[index * 4] = (plane?.int32('x0048021e') ?? 1) - 1;
    result[index * 4 + 1] = (plane?.int32('x0048021f') ?? 1) - 1;
    result[index * 4 + 2] = Math.max(0, opticalPaths.indexOf(readText(path, 'x00480106')));
  }
  const planes = new Map([...distinctHeights].toSorted((a, b) => a - b).map((z, i) => [z, i]));
  for (const [index, z] of heightByFrame.entries()) result[index * 4 + 3] = planes.get(z) ?? 0;
  return result;
}

function readPalette(dataSet: DataSet, encoding: { isBigEndian: boolean; isSigned: boolean }): DicomHeader['palette'] {
  const statedCount = dataSet.uint16('x00281101', 0) ?? 0;
  const firstSample = (encoding.isSigned ? dataSet.int16('x00281101', 1) : dataSet.uint16('x00281101', 1)) ?? 0;
  const bits = dataSet.uint16('x00281101', 2) ?? 0;
  const tables = ['x00281201', 'x00281202', 'x00281203'].map((tag) => readBytes(dataSet, tag));
  if (tables.some((table) => table === null) || (bits !== 8 && bits !== 16)) return null;
  const count = statedCount === 0 ? 65_536 : statedCount;
  const colors = new Uint8Array(count * 3);
  for (const [band, table] of tables.entries()) {
    const areWords = table!.length >= count * 2;
    // Each entry is a word, or two entries share a word. Of words with 16 used bits, only the high byte is shown.
    const shownByte = (bits === 16) === encoding.isBigEndian ? 0 : 1;
    for (let i = 0; i < count; i++)
      colors[i * 3 + band] = (areWords ? table![i * 2 + shownByte] : table![encoding.isBigEndian ? i ^ 1 : i]) ?? 0;
  }
  return { firstSample, colors };
}

function readAttributes(dataSet: DataSet): DicomHeader['attributes'] {
  const result: DicomHeader['attributes'] = {};
  for (const [tag, keyword] of Object.entries(shownKeywordByTag)) {
    const element = dataSet.elements[tag];
    if (element === undefined || element.length < 1 || element.length > 4096) continue;
    const value = uint16Tags.has(tag) ? dataSet.uint16(tag) : uint32Tags.has(tag) ? dataSet.uint32(tag) : undefined;
    if (value !== undefined) result[keyword] = value;
    else {
      const values = readText(dataSet, tag).replaceAll('\0', '').split('\\');
      result[keyword] = values.length === 1 ? (values[0] ?? '') : values;
    }
  }
  return result;
}

/** Replaces the type OV of extended offset tables, which the library does not know, by OW, which is encoded the same way. */
function replaceUnknownTypes(bytes: Uint8Array): Uint8Array {
  let result = bytes;
  for (const number of [1, 2]) {
    const at = bufferOf(bytes).lastIndexOf(Buffer.from([0xe0, 0x7f, number, 0, 0x4f, 0x56]));
    if (at < 0) continue;
    if (result === bytes) result = bytes.slice();
    result[at + 5] = 0x57;
  }
  return result;
}

/** Parses the elements up to the samples; `null` if the samples do not begin within these bytes. */
function parseHeader(bytes: Uint8Array): DataSet | null {
  if (bytes.length < 132 || Buffer.from(bytes.subarray(128, 132)).toString('latin1') !== 'DICM') {
    throw new OtherFormatError('Not a DICOM file: the prefix DICM is missing.');
  }
  // The library would inflate such a file without a limit.
  if (Buffer.from(bytes.subarray(0, maxMetaBytes)).includes(deflatedSyntax)) {
    throw new TileSourceError('The DICOM file is deflated as a whole, which is not supported.');
  }
  const readableBytes = replaceUnknownTypes(bytes);
  for (const tag of pixelTags) {
    try {
      const dataSet = dicomParser.parseDicom(readableBytes, { untilTag: tag });
      if (dataSet.elements[tag] !== undefined) return dataSet;
    } catch {
      // The library throws texts, not errors. Usually the reason is that the bytes end within the header, or that the samples have
      // another tag.
    }
  }
  return null;
}

/** The class of files that list other files. */
const directoryClass = '1.2.840.10008.1.3.10';

/** @throws TileSourceError for valid files that contain no image, such as plans, reports and waveforms. */
function refuseWithoutImage(bytes: Uint8Array): void {
  let dataSet: DataSet;
  try {
    dataSet = dicomParser.parseDicom(bytes);
  } catch {
    return; // the file is corrupt or truncated
  }
  const sopClass = readText(dataSet, 'x00080016') || readText(dataSet, 'x00020002');
  const kind = sopClass === directoryClass ? 'DICOMDIR' : readText(dataSet, 'x00080060') || sopClass;
  throw new TileSourceError(`The DICOM file contains no image${kind === '' ? '' : ` (${kind.slice(0, 64)})`}.`);
}

function readPixelModule(
  dataSet: DataSet,
): Pick<
  DicomHeader,
  'rows' | 'columns' | 'frames' | 'samples' | 'bitsAllocated' | 'bitsStored' | 'isSigned' | 'isPlanar' | 'photometric'
> {
  const [rows, columns] = [dataSet.uint16('x00280010') ?? 0, dataSet.uint16('x00280011') ?? 0];
  const frames = readNumber(dataSet, 'x00280008') ?? 1;
  if (rows < 1 || columns < 1 || !Number.isSafeInteger(frames) || frames < 1 || frames > maxFrames) {
    throw new TileSourceError(`Corrupt DICOM: ${frames} frames of ${columns} by ${rows} pixels.`);
  }
  const bitsAllocated = dataSet.uint16('x00280100') ?? 0;
  return {
    rows,
    columns,
    frames,
    samples: dataSet.uint16('x00280002') ?? 1,
    bitsAllocated,
    bitsStored: dataSet.uint16('x00280101') ?? bitsAllocated,
    isSigned: dataSet.uint16('x00280103') === 1,
    isPlanar: dataSet.uint16('x00280006') === 1,
    photometric: readText(dataSet, 'x00280004'),
  };
}

/**
 * Reads the header of a DICOM file.
 *
 * @param isWhole whether these are all bytes of the file.
 * @returns `null` if the samples begin after these bytes.
 * @throws TileSourceError if the file is not DICOM, contradicts itself or contains no image.
 */
export function readDicomHeader(bytes: Uint8Array, isWhole: boolean): DicomHeader | null {
  const dataSet = parseHeader(bytes);
  try {
    if (dataSet !== null) return headerOf(dataSet);
    if (isWhole) refuseWithoutImage(bytes);
    return null;
  } catch (cause) {
    if (cause instanceof TileSourceError) throw cause;
    // The library does not check the lengths of values, and reading a value that is too short throws.
    throw new TileSourceError('Corrupt DICOM: its header contains values of wrong length.', { cause });
  }
}

function headerOf(dataSet: DataSet): DicomHeader | null {
  const tag = pixelTags.find((each) => dataSet.elements[each] !== undefined);
  const element = tag && dataSet.elements[tag];
  if (element === undefined) return null;
  const transferSyntax = readText(dataSet, 'x00020010') || '1.2.840.10008.1.2';
  const isBigEndian = transferSyntax === explicitBigEndian;
  const pixels = readPixelModule(dataSet);
  const isSlide = readText(dataSet, 'x00080016') === slideClass;
  const matrixColumns = (isSlide ? dataSet.uint32('x00480006') : undefined) ?? pixels.columns;
  const matrixRows = (isSlide ? dataSet.uint32('x00480007') : undefined) ?? pixels.rows;
  if (matrixColumns < 1 || matrixRows < 1)
    throw new TileSourceError(`Corrupt DICOM: a slide of ${matrixColumns} by ${matrixRows} pixels.`);
  const [sharedGroups] = readItems(dataSet, 'x52009229');
  const [measures] = readItems(sharedGroups, 'x00289110');
  const opticalPathItems = readItems(dataSet, 'x00480105');
  const opticalPaths = opticalPathItems.map((path) => readText(path, 'x00480106'));
  const spacing = measures?.elements.x00280030 === undefined ? dataSet : measures;
  return {
    ...pixels,
    isFloat: tag !== pixelTags[0],
    transferSyntax,
    seriesUid: readText(dataSet, 'x0020000e'),
    instanceUid: readText(dataSet, 'x00080018'),
    instanceNumber: readNumber(dataSet, 'x00200013') ?? 0,
    flavor: isSlide ? readTextAt(dataSet, 'x00080008', 2) : '',
    isSlide,
    matrixColumns,
    matrixRows,
    focalPlanes: Math.max(1, dataSet.uint32('x00480303') ?? 1),
    frameOffset: dataSet.uint32('x00209228') ?? 0,
    positions: isSlide ? readPositions(dataSet, opticalPaths, pixels.frames) : null,
    opticalPaths: opticalPathItems.map(
      (path, index) => readText(path, 'x00480107') || readText(path, 'x00480106') || String(index),
    ),
    mmX: positiveOrNull(readNumber(spacing, 'x00280030', 1)),
    mmY: positiveOrNull(readNumber(spacing, 'x00280030', 0)),
    mmZ: positiveOrNull(readNumber(spacing, 'x00180088')),
    magnification: positiveOrNull(readNumber(opticalPathItems[0], 'x00480112')),
    icc: readBytes(opticalPathItems[0], 'x00282000') ?? readBytes(dataSet, 'x00282000'),
    palette: pixels.photometric === 'PALETTE COLOR' ? readPalette(dataSet, { isBigEndian, isSigned: pixels.isSigned }) : null,
    // With explicit types, the header of an element with samples has 12 bytes, otherwise 8.
    pixelElementOffset: element.dataOffset - (element.vr === undefined ? 8 : 12),
    pixelOffset: element.dataOffset,
    pixelLength: element.length === 0xff_ff_ff_ff || element.hadUndefinedLength === true ? null : element.length,
    isBigEndian,
    isSwapped: isBigEndian && pixels.bitsAllocated === 8 && element.vr === 'OW',
    extendedOffsets: readUint64s(dataSet, 'x7fe00001'),
    extendedLengths: readUint64s(dataSet, 'x7fe00002'),
    attributes: readAttributes(dataSet),
  };
}
