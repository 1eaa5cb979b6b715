import type { DicomJson, DicomJsonElement } from '../../tile-source.js';

/** The elements of a header. The library is loaded when it is needed, because most threads never read a header. */
async function parseElements(bytes: Uint8Array): Promise<Record<string, Element>> {
  const { DicomMessage } = await import('./dicom-library.js');
  return DicomMessage.readFile(Uint8Array.from(bytes).buffer, { ignoreErrors: true }).dict;
}

/** An element as the library represents it. */
interface Element {
  vr: string;
  Value?: unknown[];
}

const binaryTypes: ReadonlySet<string> = new Set(['OB', 'OW', 'OF', 'OD', 'OL', 'OV', 'UN']);
const numericTypes: ReadonlySet<string> = new Set(['DS', 'IS', 'US', 'SS', 'UL', 'SL', 'FL', 'FD']);

/** Longest value that is included in metadata, in bytes. */
const maxInlineBytes = 4096;

/**
 * The header of a file as JSON.
 *
 * @param bytes from the preamble up to the samples, which are excluded.
 * @param bulkRoot base address of the long values. Below it, a value is named by the tags and item numbers that lead to it, such as
 * `00480105.0.00282000`.
 */
export async function headerToJson(bytes: Uint8Array, bulkRoot: string): Promise<DicomJson> {
  return readJson(await parseElements(bytes), `${bulkRoot}/`);
}

function readJson(dict: Readonly<Record<string, Element>>, path: string): DicomJson {
  const elements = Object.entries(dict)
    .filter(([tag]) => /^[\dA-F]{8}$/i.test(tag) && !tag.startsWith('0002') && !tag.startsWith('7FE0'))
    .map(([tag, element]): [string, DicomJsonElement] => [
      tag.toUpperCase(),
      readElement(element, `${path}${tag.toUpperCase()}`),
    ]);
  return Object.fromEntries(elements.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function readElement({ vr, Value: values = [] }: Element, path: string): DicomJsonElement {
  if (binaryTypes.has(vr)) {
    const [first] = values;
    if (!(first instanceof ArrayBuffer) || first.byteLength === 0) return { vr };
    return first.byteLength > maxInlineBytes
      ? { vr, BulkDataURI: path }
      : { vr, InlineBinary: Buffer.from(first).toString('base64') };
  }
  if (vr === 'SQ')
    return { vr, Value: values.map((item, index) => readJson(item as Record<string, Element>, `${path}.${index}.`)) };
  const present = values.filter((value) => value !== undefined && value !== null);
  if (present.every((value) => value === '')) return { vr };
  return { vr, Value: present.map((value) => (numericTypes.has(vr) && value !== '' ? Number(value) : value)) };
}

/** A long value of a header by its path from {@link headerToJson}; `null` if there is none. */
export async function readHeaderValue(bytes: Uint8Array, path: readonly string[]): Promise<Uint8Array | null> {
  let node: unknown = await parseElements(bytes);
  for (const [index, name] of path.entries()) {
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, name)) return null;
    const next = (node as Record<string, unknown>)[name];
    node =
      index === path.length - 1 || /^\d+$/.test(path[index + 1] ?? '') ? ((next as Element | undefined)?.Value ?? next) : next;
  }
  const [value] = Array.isArray(node) ? (node as unknown[]) : [];
  return value instanceof ArrayBuffer ? new Uint8Array(value) : null;
}
