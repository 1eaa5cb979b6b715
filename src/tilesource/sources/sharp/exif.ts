/** The names of the tags that are shown, by their numbers in Exif 2.32. */
const nameByTag: Readonly<Record<number, string>> = {
  0x10e: 'ImageDescription',
  0x10f: 'Make',
  0x110: 'Model',
  0x112: 'Orientation',
  0x11a: 'XResolution',
  0x11b: 'YResolution',
  0x128: 'ResolutionUnit',
  0x131: 'Software',
  0x132: 'DateTime',
  0x13b: 'Artist',
  0x8298: 'Copyright',
  0x829a: 'ExposureTime',
  0x829d: 'FNumber',
  0x8822: 'ExposureProgram',
  0x8827: 'PhotographicSensitivity',
  0x9003: 'DateTimeOriginal',
  0x9004: 'DateTimeDigitized',
  0x9010: 'OffsetTime',
  0x9204: 'ExposureBiasValue',
  0x9207: 'MeteringMode',
  0x9209: 'Flash',
  0x920a: 'FocalLength',
  0xa001: 'ColorSpace',
  0xa430: 'CameraOwnerName',
  0xa431: 'BodySerialNumber',
  0xa432: 'LensSpecification',
  0xa433: 'LensMake',
  0xa434: 'LensModel',
};

const exifDirectory = 0x8769;
const maxEntries = 200;
const maxTextLength = 1024;

/** Reads the shown tags of an Exif block, by name. Invalid tags are left out. */
export function readExif(block: Buffer): Record<string, string | number | number[]> {
  const values: Record<string, string | number | number[]> = {};
  const start = block.toString('latin1', 0, 6) === 'Exif\0\0' ? 6 : 0;
  const bytes = block.subarray(start);
  const byteOrder = bytes.toString('latin1', 0, 2);
  if (bytes.length < 8 || (byteOrder !== 'II' && byteOrder !== 'MM')) return values;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const isLittleEndian = byteOrder === 'II';
  const exifOffset = readDirectory(view, view.getUint32(4, isLittleEndian), isLittleEndian, values);
  if (exifOffset !== null) readDirectory(view, exifOffset, isLittleEndian, values);
  return values;
}

/**
 * Adds the shown tags of a directory to `values`.
 *
 * @returns the position of the Exif directory; `null` if this directory does not name it.
 */
function readDirectory(
  view: DataView,
  at: number,
  isLittleEndian: boolean,
  values: Record<string, string | number | number[]>,
): number | null {
  if (at + 2 > view.byteLength) return null;
  const count = Math.min(maxEntries, view.getUint16(at, isLittleEndian));
  let exifOffset: number | null = null;
  for (let entry = at + 2; entry < at + 2 + count * 12 && entry + 12 <= view.byteLength; entry += 12) {
    const tag = view.getUint16(entry, isLittleEndian);
    if (tag === exifDirectory) exifOffset = view.getUint32(entry + 8, isLittleEndian);
    const name = nameByTag[tag];
    const value = name === undefined ? null : readValue(view, entry, isLittleEndian);
    if (name !== undefined && value !== null) values[name] = value;
  }
  return exifOffset;
}

/** Number of bytes of a value, by the type of the entry. */
const bytesByType: Readonly<Record<number, number>> = { 2: 1, 3: 2, 4: 4, 5: 8, 9: 4, 10: 8 };

function readValue(view: DataView, entry: number, isLittleEndian: boolean): string | number | number[] | null {
  const type = view.getUint16(entry + 2, isLittleEndian);
  const count = view.getUint32(entry + 4, isLittleEndian);
  const valueBytes = bytesByType[type];
  if (valueBytes === undefined || count < 1) return null;
  const at = valueBytes * count <= 4 ? entry + 8 : view.getUint32(entry + 8, isLittleEndian);
  const shownCount = Math.min(count, type === 2 ? maxTextLength : 8);
  if (at + valueBytes * shownCount > view.byteLength) return null;
  if (type === 2) {
    const text = Buffer.from(view.buffer, view.byteOffset + at, shownCount).toString('utf8');
    return text.split('\0', 1)[0]!.trim();
  }
  const values = Array.from({ length: shownCount }, (_, i) => numberAt(view, at + i * valueBytes, type, isLittleEndian)).filter(
    Number.isFinite,
  );
  return values.length === 1 ? values[0]! : values;
}

function numberAt(view: DataView, at: number, type: number, isLittleEndian: boolean): number {
  switch (type) {
    case 3:
      return view.getUint16(at, isLittleEndian);
    case 4:
      return view.getUint32(at, isLittleEndian);
    case 9:
      return view.getInt32(at, isLittleEndian);
    case 5:
      return view.getUint32(at, isLittleEndian) / view.getUint32(at + 4, isLittleEndian);
    default:
      return view.getInt32(at, isLittleEndian) / view.getInt32(at + 4, isLittleEndian);
  }
}
