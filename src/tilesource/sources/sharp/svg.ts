import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import { TileSourceError } from '../../../errors.js';

/** Maximum number of bytes of a drawing. Its text is searched several times, each time without a pause. */
export const maxDrawingBytes = 8 * 2 ** 20;

/**
 * Refuses drawings that refer to other files. librsvg gets bytes instead of a path and therefore does not load other files. Without this error,
 * parts of the drawing would be missing.
 *
 * @throws TileSourceError that names the reference.
 */
export async function checkSvg(bytes: Buffer, signal?: AbortSignal): Promise<void> {
  const text = bytes.toString('utf8');
  for (const [isRefused, message] of refusalChecks) {
    if (isRefused(text)) throw new TileSourceError(message);
    if (isSliceOver()) await nextSlice(signal);
  }
  // `tagStart` is the start of the tag that contains the attribute. It is found by moving forward from the previous attribute's tag.
  // Searching backward from each attribute would take very long in a long tag with many attributes.
  let [tagStart, nextTagStart] = [-1, text.indexOf('<')];
  for (const match of text.matchAll(/\b(?:href|src)\s*=\s*(?:"([^"]*)"|'([^']*)')/gi)) {
    if (isSliceOver()) await nextSlice(signal);
    for (; nextTagStart >= 0 && nextTagStart < match.index; nextTagStart = text.indexOf('<', nextTagStart + 1))
      tagStart = nextTagStart;
    const target = (match[1] ?? match[2] ?? '').trim();
    if (isInternal(target) || isLink(text, tagStart)) continue;
    throw externalReferenceError(target);
  }
  for (const match of text.matchAll(/url\(\s*["']?([^"')]*)/gi)) {
    if (isSliceOver()) await nextSlice(signal);
    const target = (match[1] ?? '').trim();
    if (!isInternal(target)) throw externalReferenceError(target);
  }
}

/** Checks for contents that are refused, with the error messages. Each check searches the whole text without a pause. */
const refusalChecks: readonly [isRefused: (text: string) => boolean, message: string][] = [
  [(text) => text.includes('\0'), 'SVG must be encoded as UTF-8.'],
  [(text) => /<!ENTITY/i.test(text), 'SVG with entity declarations is not supported.'],
  [(text) => /<(?:[\w-]{1,100}:)?include[\s>/]/i.test(text) && /XInclude/i.test(text), 'SVG with XInclude is not supported.'],
  [(text) => /<\?xml-stylesheet/i.test(text), 'SVG with external style sheets is not supported.'],
  [(text) => /@import/i.test(text), 'SVG with external style sheets is not supported.'],
];

function isInternal(target: string): boolean {
  return target === '' || target.startsWith('#') || /^data:/i.test(target);
}

/** Whether a tag is a hyperlink, which needs no file to be rendered. */
function isLink(text: string, tagStart: number): boolean {
  return tagStart >= 0 && /^<(?:[\w-]{1,100}:)?a\s/i.test(text.slice(tagStart, tagStart + 110));
}

function externalReferenceError(target: string): TileSourceError {
  const shownTarget = target.length > 100 ? `${target.slice(0, 100)}…` : target;
  return new TileSourceError(`SVG that refers to other files is not supported: ${shownTarget}`);
}
