import { textOfValue } from '../format/dataset.js';
import type { DicomJson, DicomJsonElement } from '../../../tilesource/tile-source.js';
import { foldedName } from '../images/image-index.js';
import type { Match } from './query.js';

const ranged: ReadonlySet<string> = new Set(['DA', 'TM', 'DT']);

/** Whether a data set meets all conditions. */
export function meets(dataset: DicomJson, matches: readonly Match[], fuzzy: boolean): boolean {
  return matches.every((match) => meetsOne(dataset, match, fuzzy));
}

function meetsOne(dataset: DicomJson, { path, vr, values }: Match, fuzzy: boolean): boolean {
  if (values.length === 0) return true;
  const texts = elementsAt(dataset, path).flatMap(({ Value = [] }) => Value.map(textOfValue));
  return texts.some((text) => values.some((pattern) => fits(text, pattern, vr, fuzzy)));
}

function elementsAt(dataset: DicomJson, [tag, ...rest]: readonly string[]): DicomJsonElement[] {
  const element = tag === undefined ? undefined : dataset[tag];
  if (element === undefined) return [];
  if (rest.length === 0) return [element];
  return (element.Value ?? []).flatMap((item) =>
    typeof item === 'object' && item !== null ? elementsAt(item as DicomJson, rest) : [],
  );
}

function fits(text: string, pattern: string, vr: string, fuzzy: boolean): boolean {
  if (ranged.has(vr)) return inRange(text, pattern);
  if (vr === 'PN') return fitsName(foldedName(text), foldedName(pattern), fuzzy);
  if (!/[*?]/.test(pattern))
    return (
      text === pattern ||
      (text !== '' && Number(text) === Number(pattern) && /^[\d.+-]+$/.test(pattern) && vr !== 'UI' && isNumber(vr))
    );
  return fitsPattern(text, pattern);
}

function isNumber(vr: string): boolean {
  return ['DS', 'IS', 'US', 'SS', 'UL', 'SL', 'FL', 'FD'].includes(vr);
}

/** With fuzzy matching, each word need only match the start of a word of the name. */
function fitsName(name: string, pattern: string, fuzzy: boolean): boolean {
  if (!fuzzy) return /[*?]/.test(pattern) ? fitsPattern(name, pattern) : name === pattern;
  if (fitsPattern(name, pattern)) return true;
  const words = name.split(/[\s^=,]+/);
  return pattern
    .split(/[\s^=,*?]+/)
    .filter((word) => word !== '')
    .every((word) => words.some((each) => each.startsWith(word)));
}

/**
 * Whether a date or time equals the requested one, or is within the range. A shorter end of a range includes everything that begins
 * with it.
 */
function inRange(text: string, pattern: string): boolean {
  const clean = text.replaceAll(':', '');
  const [from = '', to] = pattern.replaceAll(':', '').split('-');
  if (to === undefined) return clean === from;
  return clean !== '' && (from === '' || clean >= from) && (to === '' || clean.slice(0, to.length) <= to);
}

/** Whether a text matches a pattern of `*` and `?`. The time is at most the product of both lengths. */
function fitsPattern(text: string, pattern: string): boolean {
  let [at, star, mark, i] = [0, -1, 0, 0];
  while (i < text.length) {
    if (at < pattern.length && pattern[at] === '*') {
      star = at++;
      mark = i;
    } else if (at < pattern.length && (pattern[at] === '?' || pattern[at] === text[i])) {
      at += 1;
      i += 1;
    } else if (star >= 0) {
      at = star + 1;
      i = ++mark;
    } else return false;
  }
  while (pattern[at] === '*') at += 1;
  return at === pattern.length;
}
