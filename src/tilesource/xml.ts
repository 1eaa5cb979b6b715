import { XMLParser } from 'fast-xml-parser';
import { TileSourceError } from '../errors.js';

/** An XML element as returned by the parser: attributes have the prefix `@`, text is `#text`, repeated children are arrays. */
export type XmlElement = Readonly<Record<string, unknown>>;

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  removeNSPrefix: true,
  parseAttributeValue: false,
  parseTagValue: false,
  // DOCTYPE is refused below, so these are only the five entities of XML and character references.
  processEntities: true,
});

/**
 * Parses XML from a file.
 *
 * @param fileDescription names the file in messages.
 * @throws TileSourceError if the text is not well formed, or has a DOCTYPE, whose entities could expand without end.
 */
export function parseXml(text: string, fileDescription = 'this TIFF'): XmlElement {
  if (/<!\s*(?:doctype|entity)/i.test(text))
    throw new TileSourceError(`The XML in ${fileDescription} has a DOCTYPE, which is not accepted.`);
  try {
    return toElement(parser.parse(text)) ?? {};
  } catch (cause) {
    throw new TileSourceError(`The XML in ${fileDescription} is not well formed.`, { cause });
  }
}

function toElement(value: unknown): XmlElement | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as XmlElement) : null;
}

/** The child elements with this name, without its namespace. Elements with neither attributes nor children are left out. */
export function children(element: XmlElement, name: string): XmlElement[] {
  const value = Object.hasOwn(element, name) ? element[name] : undefined;
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.map(toElement).filter((child) => child !== null);
}

/** The text of an attribute, or `undefined`. */
export function attribute(element: XmlElement, name: string): string | undefined {
  const value = Object.hasOwn(element, `@${name}`) ? element[`@${name}`] : undefined;
  return typeof value === 'string' ? value : undefined;
}

/** The text of a child element, which may have attributes; `undefined` if there is no such child or text. */
export function childText(element: XmlElement, name: string): string | undefined {
  const value = Object.hasOwn(element, name) ? element[name] : undefined;
  if (typeof value === 'string') return value;
  const text = toElement(value)?.['#text'];
  return typeof text === 'string' ? text : undefined;
}

/**
 * Converts an element to a plain object: attributes and children under their names, text under `text`.
 *
 * @param listNames names of children that always become lists, even if there is only one such child.
 */
export function toPlainObject(element: XmlElement, listNames: ReadonlySet<string>): Record<string, unknown> {
  const toPlain = (value: unknown): unknown => {
    const child = toElement(value);
    return child === null ? value : toPlainObject(child, listNames);
  };
  const members = Object.entries(element).map(([name, value]): [string, unknown] => {
    if (Array.isArray(value)) return [name, value.map(toPlain)];
    if (listNames.has(name)) return [name, [toPlain(value)]];
    return [name === '#text' ? 'text' : name.replace(/^@/, ''), toPlain(value)];
  });
  return Object.fromEntries(members);
}

/** Escapes a text for an attribute or element of XML. Characters that XML cannot contain become U+FFFD. */
export function escapeXml(text: string): string {
  // eslint-disable-next-line no-control-regex -- XML has no way to write these characters
  const writable = text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]|\p{Surrogate}/gu, '\ufffd');
  return writable.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
}
