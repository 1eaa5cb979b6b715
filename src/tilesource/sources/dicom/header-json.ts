import type { DicomJson, DicomJsonElement } from '../../tile-source.js';

/** Parses the elements of a header. The library is loaded only now, because most threads never read a header. */
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

/** Maximum number of bytes of a value in the JSON. A longer value is replaced by its address. */
const maxInlineBytes = 4096;

/**
 * The header of a file as JSON.
 *
 * @param bytes from the preamble up to the samples, which are excluded.
 * @param bulkRoot base address of the long values. The address of a value continues with the tags and item numbers that lead to the
 * value, such as `00480105.0.00282000`.
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
    const [firstValue] = values;
    if (!(firstValue instanceof ArrayBuffer) || firstValue.byteLength === 0) return { vr };
    return firstValue.byteLength > maxInlineBytes
      ? { vr, BulkDataURI: path }
      : { vr, InlineBinary: Buffer.from(firstValue).toString('base64') };
  }
  if (vr === 'SQ')
    return { vr, Value: values.map((item, index) => readJson(item as Record<string, Element>, `${path}.${index}.`)) };
  const presentValues = values.filter((value) => value !== undefined && value !== null);
  if (presentValues.every((value) => value === '')) return { vr };
  return { vr, Value: presentValues.map((value) => (numericTypes.has(vr) && value !== '' ? Number(value) : value)) };
}

/**
 * Reads a long value of a header. `path` is the split address from {@link headerToJson}. `null` if the header has no such value.
 */
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
