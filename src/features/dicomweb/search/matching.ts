import { textOfValue } from '../format/dataset.js';
import type { DicomJson, DicomJsonElement } from '../../../tilesource/tile-source.js';
import { foldName } from '../images/image-index.js';
import type { AttributeCondition } from './query.js';

const dateRepresentations: ReadonlySet<string> = new Set(['DA', 'TM', 'DT']);

/** Whether a data set meets all conditions. */
export function meetsAll(dataset: DicomJson, conditions: readonly AttributeCondition[], isFuzzy: boolean): boolean {
  return conditions.every((condition) => meetsOne(dataset, condition, isFuzzy));
}

function meetsOne(dataset: DicomJson, { path, vr, values }: AttributeCondition, isFuzzy: boolean): boolean {
  if (values.length === 0) return true;
  const texts = elementsAt(dataset, path).flatMap(({ Value = [] }) => Value.map(textOfValue));
  return texts.some((text) => values.some((pattern) => fitsValue(text, pattern, vr, isFuzzy)));
}

function elementsAt(dataset: DicomJson, [tag, ...innerTags]: readonly string[]): DicomJsonElement[] {
  const element = tag === undefined ? undefined : dataset[tag];
  if (element === undefined) return [];
  if (innerTags.length === 0) return [element];
  return (element.Value ?? []).flatMap((item) =>
    typeof item === 'object' && item !== null ? elementsAt(item as DicomJson, innerTags) : [],
  );
}

function fitsValue(text: string, pattern: string, vr: string, isFuzzy: boolean): boolean {
  if (dateRepresentations.has(vr)) return isInRange(text, pattern);
  if (vr === 'PN') return fitsName(foldName(text), foldName(pattern), isFuzzy);
  if (!/[*?]/.test(pattern))
    return (
      text === pattern ||
      (text !== '' &&
        Number(text) === Number(pattern) &&
        /^[\d.+-]+$/.test(pattern) &&
        vr !== 'UI' &&
        isNumericRepresentation(vr))
    );
  return fitsPattern(text, pattern);
}

function isNumericRepresentation(vr: string): boolean {
  return ['DS', 'IS', 'US', 'SS', 'UL', 'SL', 'FL', 'FD'].includes(vr);
}

/** Whether a name matches a pattern. If `isFuzzy`, it suffices that each word of the pattern begins a word of the name. */
function fitsName(name: string, pattern: string, isFuzzy: boolean): boolean {
  if (!isFuzzy) return /[*?]/.test(pattern) ? fitsPattern(name, pattern) : name === pattern;
  if (fitsPattern(name, pattern)) return true;
  const words = name.split(/[\s^=,]+/);
  return pattern
    .split(/[\s^=,*?]+/)
    .filter((word) => word !== '')
    .every((word) => words.some((nameWord) => nameWord.startsWith(word)));
}

/**
 * Whether a date or time equals the requested one, or is within the range. The end of a range can be shorter than the text; it then
 * includes everything that begins with it.
 */
function isInRange(text: string, pattern: string): boolean {
  const textWithoutColons = text.replaceAll(':', '');
  const [from = '', to] = pattern.replaceAll(':', '').split('-');
  if (to === undefined) return textWithoutColons === from;
  return (
    textWithoutColons !== '' &&
    (from === '' || textWithoutColons >= from) &&
    (to === '' || textWithoutColons.slice(0, to.length) <= to)
  );
}

/** Whether a text matches a pattern of `*` and `?`. The running time is at most proportional to the product of both lengths. */
function fitsPattern(text: string, pattern: string): boolean {
  let [patternIndex, starIndex, resumeIndex, textIndex] = [0, -1, 0, 0];
  while (textIndex < text.length) {
    if (patternIndex < pattern.length && pattern[patternIndex] === '*') {
      starIndex = patternIndex++;
      resumeIndex = textIndex;
    } else if (patternIndex < pattern.length && (pattern[patternIndex] === '?' || pattern[patternIndex] === text[textIndex])) {
      patternIndex += 1;
      textIndex += 1;
    } else if (starIndex >= 0) {
      patternIndex = starIndex + 1;
      textIndex = ++resumeIndex;
    } else return false;
  }
  while (pattern[patternIndex] === '*') patternIndex += 1;
  return patternIndex === pattern.length;
}
