import { attributeOf, decimalText } from '../format/dataset.js';
import { mappedAttributes, type MappedAttribute, type MetadataMapping } from '../../settings/dicom-attributes.js';

/** Maximum length of values by their representation, in characters. */
const maxLengthByRepresentation: Readonly<Record<string, number>> = { LO: 64, SH: 16, PN: 64, CS: 16, LT: 10_240, UT: 10_240 };

/**
 * Attributes from metadata. Invalid values are left out.
 *
 * @param mapping for each attribute, the key of its value in the metadata; a key can be a path of names with dots. By default, the key of
 * an attribute is its name, such as `PatientID`, or else `dicom.PatientID`.
 */
export function mappedValues(metadata: unknown, mapping: MetadataMapping): Partial<Record<MappedAttribute, string>> {
  const values: Partial<Record<MappedAttribute, string>> = {};
  for (const keyword of mappedAttributes) {
    const key = mapping[keyword];
    const value =
      key === undefined ? (valueAt(metadata, keyword) ?? valueAt(metadata, `dicom.${keyword}`)) : valueAt(metadata, key);
    const text = formatValue(keyword, value);
    if (text !== null) values[keyword] = text;
  }
  return values;
}

/** A value of metadata by its key, or by a path of keys. */
export function valueAt(metadata: unknown, path: string): unknown {
  if (typeof metadata === 'object' && metadata !== null && Object.hasOwn(metadata, path))
    return (metadata as Record<string, unknown>)[path];
  let currentValue = metadata;
  for (const name of path.split('.')) {
    if (typeof currentValue !== 'object' || currentValue === null || !Object.hasOwn(currentValue, name)) return undefined;
    currentValue = (currentValue as Record<string, unknown>)[name];
  }
  return currentValue;
}

/** The text of a string, number, boolean or valid date; `null` for other values. */
export function plainText(value: unknown): string | null {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return null;
  return String(value).trim();
}

function formatValue(keyword: MappedAttribute, value: unknown): string | null {
  if (keyword === 'PixelSpacing') return formatSpacing(value);
  const text = plainText(value);
  const attribute = attributeOf(keyword);
  if (text === null || text === '' || attribute === null) return null;
  const { vr } = attribute;
  if (vr === 'DA' || vr === 'TM' || vr === 'DT') return formatDateOrTime(vr, text);
  if (vr === 'DS') return Number.isFinite(Number(text)) ? decimalText(Number(text)) : null;
  if (vr === 'CS') return /^[A-Z\d _]{1,16}$/.test(text.toUpperCase()) ? text.toUpperCase() : null;
  // A backslash would separate two values, and control characters have no meaning in most representations.
  const cleanText = text.replaceAll(/[\\\p{Cc}]/gu, ' ');
  return cleanText.slice(0, maxLengthByRepresentation[vr] ?? 64);
}

/** Millimeters per pixel as text. The value is one number, or a list of the distances between rows and between columns. */
function formatSpacing(value: unknown): string | null {
  const [y, x = y] = [value].flat().map((entry) => Number(plainText(entry) ?? Number.NaN));
  return y !== undefined && x !== undefined && y > 0 && x > 0 && Number.isFinite(x * y)
    ? `${decimalText(y)}\\${decimalText(x)}`
    : null;
}

/** Converts a date, a time, or both to the form of DICOM. The text has the form of ISO 8601 or DICOM. */
function formatDateOrTime(vr: 'DA' | 'TM' | 'DT', text: string): string | null {
  const parts = /^(?:(\d{4})-?(\d\d)-?(\d\d))?[T ]?(?:(\d\d):?(\d\d)(?::?(\d\d))?(?:\.\d*)?)?(?:Z|[+-]\d\d:?\d\d)?$/.exec(text);
  if (parts === null) return null;
  const [, year, month, day, hour, minute, second = '00'] = parts;
  const date = year === undefined ? '' : `${year}${month}${day}`;
  const time = hour === undefined ? '' : `${hour}${minute}${second}`;
  const formattedText = { DA: date, TM: time, DT: date === '' ? '' : date + time }[vr];
  const isDateValid = date === '' || (Number(month) >= 1 && Number(month) <= 12 && Number(day) >= 1 && Number(day) <= 31);
  const isTimeValid = time === '' || (Number(hour) < 24 && Number(minute) < 60 && Number(second) <= 60);
  return formattedText !== '' && isDateValid && isTimeValid ? formattedText : null;
}
