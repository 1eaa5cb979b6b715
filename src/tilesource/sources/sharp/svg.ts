import { TileSourceError } from '../../../errors.js';

/**
 * Refuses drawings that need other files. librsvg does not load them when it gets bytes instead of a path, so they could not be
 * reached anyway; a drawing with holes would be wrong, though, and must be said.
 *
 * @throws TileSourceError naming the reference.
 */
export function checkSvg(bytes: Buffer): void {
  const text = bytes.toString('utf8');
  if (text.includes('\0')) throw new TileSourceError('SVG is read as UTF-8 only.');
  if (/<!ENTITY/i.test(text)) throw new TileSourceError('SVG with entity declarations is not read.');
  if (/<(?:[\w-]+:)?include[\s>/]/i.test(text) && /XInclude/i.test(text))
    throw new TileSourceError('SVG with XInclude is not read.');
  if (/<\?xml-stylesheet/i.test(text) || /@import/i.test(text))
    throw new TileSourceError('SVG with external style sheets is not read.');
  for (const match of text.matchAll(/\b(?:href|src)\s*=\s*(?:"([^"]*)"|'([^']*)')/gi)) {
    const target = (match[1] ?? match[2] ?? '').trim();
    if (isInternal(target) || isLink(text, match.index)) continue;
    throw refersTo(target);
  }
  for (const match of text.matchAll(/url\(\s*["']?([^"')]*)/gi)) {
    const target = (match[1] ?? '').trim();
    if (!isInternal(target)) throw refersTo(target);
  }
}

function isInternal(target: string): boolean {
  return target === '' || target.startsWith('#') || /^data:/i.test(target);
}

/** Whether an attribute belongs to a hyperlink, which shows nothing of its target. */
function isLink(text: string, position: number): boolean {
  const tag = text.slice(text.lastIndexOf('<', position), position);
  return /^<(?:[\w-]+:)?a\s/i.test(tag);
}

function refersTo(target: string): TileSourceError {
  const shown = target.length > 100 ? `${target.slice(0, 100)}…` : target;
  return new TileSourceError(`SVG that refers to other files is not read: ${shown}`);
}
