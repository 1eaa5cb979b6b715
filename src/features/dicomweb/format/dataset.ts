import { DicomMessage, DicomMetaDictionary, WriteBufferStream } from '../../../tilesource/sources/dicom/dicom-library.js';
import type { DicomJson, DicomJsonElement } from '../../../tilesource/tile-source.js';

/** A value that is not sent with the metadata, but under a separate address. */
export class BulkValue {
  constructor(
    /** Path of the address, relative to the address of the instance. */
    readonly path: string,
    readonly bytes: Uint8Array,
  ) {}
}

/** A value of an attribute. */
type AttributeValue = string | number | BulkValue | Uint8Array | Attributes;

/**
 * Attributes by their keywords. A list holds several values, or the items of a sequence. An empty list means that the attribute has
 * no value.
 */
export interface Attributes {
  [keyword: string]: AttributeValue | readonly AttributeValue[] | undefined;
}

export const transferSyntaxes = {
  implicitLittle: '1.2.840.10008.1.2',
  explicitLittle: '1.2.840.10008.1.2.1',
  explicitBig: '1.2.840.10008.1.2.2',
  rle: '1.2.840.10008.1.2.5',
  jpeg: '1.2.840.10008.1.2.4.50',
  jpeg2000Lossless: '1.2.840.10008.1.2.4.90',
  jpeg2000: '1.2.840.10008.1.2.4.91',
} as const;

/** The representations that this server uses where the standard lets another attribute decide. */
const chosenRepresentations: Readonly<Record<string, string>> = { xs: 'US', ox: 'OW' };
const numericRepresentations: ReadonlySet<string> = new Set(['DS', 'IS', 'US', 'SS', 'UL', 'SL', 'FL', 'FD']);

/** The attributes that {@link attributeOf} has looked up. */
const attributeByKeyword = new Map<string, { tag: string; vr: string }>();

/** Tag, as eight hexadecimal digits, and value representation of an attribute; `null` for unknown keywords. */
export function attributeOf(keyword: string): { tag: string; vr: string } | null {
  const attribute = attributeByKeyword.get(keyword);
  if (attribute !== undefined) return attribute;
  const entry = Object.hasOwn(DicomMetaDictionary.nameMap, keyword) ? DicomMetaDictionary.nameMap[keyword] : undefined;
  if (entry === undefined || !/^\([\dA-F]{4},[\dA-F]{4}\)$/i.test(entry.tag)) return null;
  const newAttribute = { tag: entry.tag.replace(/[(),]/g, '').toUpperCase(), vr: chosenRepresentations[entry.vr] ?? entry.vr };
  attributeByKeyword.set(keyword, newAttribute);
  return newAttribute;
}

/** Keyword and value representation of the attribute with a tag; `null` for unknown tags. */
export function attributeByTag(tag: string): { keyword: string; vr: string } | null {
  const name = `(${tag.slice(0, 4)},${tag.slice(4)})`.toUpperCase();
  const entry = Object.hasOwn(DicomMetaDictionary.dictionary, name) ? DicomMetaDictionary.dictionary[name] : undefined;
  return entry === undefined ? null : { keyword: entry.name, vr: chosenRepresentations[entry.vr] ?? entry.vr };
}

function requireAttribute(keyword: string): { tag: string; vr: string } {
  const attribute = attributeOf(keyword);
  if (attribute === null) throw new Error(`DICOM has no attribute ${keyword}.`);
  return attribute;
}

function listOf(value: AttributeValue | readonly AttributeValue[]): readonly AttributeValue[] {
  return Array.isArray(value) ? (value as readonly AttributeValue[]) : [value as AttributeValue];
}

/** A number as text of at most 16 characters, the limit of a decimal string. */
export function decimalText(value: number): string {
  const fullText = String(value);
  if (fullText.length <= 16) return fullText;
  for (let digits = 15; digits > 0; digits--) {
    const text = String(Number(value.toPrecision(digits)));
    if (text.length <= 16) return text;
    const exponentialText = value.toExponential(Math.max(0, digits - 6));
    if (exponentialText.length <= 16) return exponentialText;
  }
  return '0';
}

/** Attributes as JSON. @param bulkRoot the address that paths of bulk values are relative to. */
export function toJson(attributes: Attributes, bulkRoot: string): DicomJson {
  const elements: [string, DicomJsonElement][] = [];
  for (const [keyword, value] of Object.entries(attributes)) {
    if (value === undefined) continue;
    const { tag, vr } = requireAttribute(keyword);
    elements.push([tag, jsonElement(vr, listOf(value), bulkRoot)]);
  }
  return Object.fromEntries(elements.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function jsonElement(vr: string, values: readonly AttributeValue[], bulkRoot: string): DicomJsonElement {
  const [firstValue] = values;
  if (firstValue instanceof BulkValue) return { vr, BulkDataURI: `${bulkRoot}/${firstValue.path}` };
  if (firstValue instanceof Uint8Array) return { vr, InlineBinary: Buffer.from(firstValue).toString('base64') };
  if (values.length === 0 || (values.length === 1 && firstValue === '')) return { vr };
  return {
    vr,
    Value: values.map((value) => {
      if (vr === 'SQ') return toJson(value as Attributes, bulkRoot);
      if (vr === 'PN') return value === '' ? null : { Alphabetic: value };
      return numericRepresentations.has(vr) ? Number(value) : value;
    }),
  };
}

/** Attributes in the form that the DICOM library writes. */
function toLibraryForm(attributes: Attributes): Record<string, { vr: string; Value: unknown[] }> {
  const elementByTag: Record<string, { vr: string; Value: unknown[] }> = {};
  for (const [keyword, value] of Object.entries(attributes)) {
    if (value === undefined) continue;
    const { tag, vr } = requireAttribute(keyword);
    elementByTag[tag] = {
      vr,
      Value: listOf(value)
        .filter((entry) => entry !== '')
        .map((entry) => libraryValue(vr, entry)),
    };
  }
  return elementByTag;
}

function libraryValue(vr: string, value: AttributeValue): unknown {
  if (vr === 'SQ') return toLibraryForm(value as Attributes);
  const bytes = value instanceof BulkValue ? value.bytes : value;
  if (bytes instanceof Uint8Array) return Uint8Array.from(bytes).buffer;
  if (vr === 'PN') return { Alphabetic: value };
  return vr === 'DS' && typeof value === 'number' ? decimalText(value) : value;
}

const initialBufferBytes = 16_384;

/** Attributes as bytes, explicit little endian. */
export function toBytes(attributes: Attributes): Buffer {
  const stream = new WriteBufferStream(initialBufferBytes, true);
  DicomMessage.write(toLibraryForm(attributes), stream, transferSyntaxes.explicitLittle, {});
  return Buffer.from(stream.getBuffer(0, stream.size));
}

const implementationAttributes = {
  ImplementationClassUID: '2.25.302460127548230842617308245121765304193',
  ImplementationVersionName: 'EXPRESS_LI_1',
};

/** The start of a file: preamble and meta information (PS3.10 7.1). */
export function fileMeta({ classUid, instanceUid, syntax }: { classUid: string; instanceUid: string; syntax: string }): Buffer {
  const metaGroup = toBytes({
    FileMetaInformationVersion: Uint8Array.of(0, 1),
    MediaStorageSOPClassUID: classUid,
    MediaStorageSOPInstanceUID: instanceUid,
    TransferSyntaxUID: syntax,
    ...implementationAttributes,
  });
  const groupLength = toBytes({ FileMetaInformationGroupLength: metaGroup.length });
  return Buffer.concat([Buffer.alloc(128), Buffer.from('DICM', 'latin1'), groupLength, metaGroup]);
}

/** A value of an attribute in a data set as text; empty if there is no such value. */
export function valueText(dataset: DicomJson | undefined, tag: string, index = 0): string {
  return textOfValue(dataset?.[tag]?.Value?.[index]);
}

/** A value of DICOM JSON as text. For a person, it is the name. */
export function textOfValue(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  return typeof value === 'object' && value !== null && 'Alphabetic' in value ? textOfValue(value.Alphabetic) : '';
}
