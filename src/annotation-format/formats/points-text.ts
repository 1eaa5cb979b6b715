import type { AnnotationElement } from '../schema/document.js';

const [pointsKey, openBrackets, closeBrackets] = ['"points":', '[[', ']]'] as const;

/** The key of points and the beginning of their value, in compact JSON. */
export const pointsBeginning = Buffer.from(pointsKey + openBrackets);
/** Length of the key in bytes. */
export const pointsKeyBytes = pointsKey.length;
/** The beginning of an element with an id in stored JSON. */
const leadingIdPattern = /^\{"id":"([0-9a-f]{24})",/;
const leadingIdBytes = '{"id":"",'.length + 24;

/**
 * Returns the JSON text of an element without its id, and with 0 in place of its points. Elements that differ only in id and points give
 * the same text, so that it needs to be parsed only once.
 *
 * @param element where the element begins and ends in `json`.
 * @param points where the list of points begins and ends in `json`.
 * @returns the text; `id` is the id if the element begins with it.
 */
export function textWithoutPoints(
  json: Buffer,
  element: { start: number; end: number },
  points: { start: number; end: number },
  encoding: 'latin1' | 'utf8' = 'utf8',
): { text: string; id: string | undefined } {
  const before = json.toString(encoding, element.start, points.start);
  const id = leadingIdPattern.exec(before)?.[1];
  const beforePoints = id === undefined ? before : `{${before.slice(leadingIdBytes)}`;
  return { text: `${beforePoints}0${json.toString(encoding, points.end, element.end)}`, id };
}

/** Elements some of whose lists of points are still JSON text. */
export interface ElementsWithoutPoints {
  /** If the points of an element have not been parsed, its `points` is empty. */
  elements: AnnotationElement[];
  /** The JSON text of the points of an element; `null` if they have been parsed. */
  pointsOf: (element: AnnotationElement) => string | null;
}

/**
 * Parses a JSON list of stored elements, except for the points of lines and polygons. Points are most of the text, and formats that
 * write positions in the same way can copy their text.
 */
export function parseWithoutPoints(list: string): ElementsWithoutPoints {
  const texts: string[] = [];
  let listWithoutPoints = '';
  let at = 0;
  // In compact JSON, this sequence can only be a key and the beginning of its value, because quotes inside texts follow a backslash.
  for (let start = list.indexOf(pointsKey + openBrackets); start >= 0; start = list.indexOf(pointsKey + openBrackets, at)) {
    const from = start + pointsKey.length;
    const to = list.indexOf(closeBrackets, from) + closeBrackets.length;
    listWithoutPoints += `${list.slice(at, from)}${texts.length}`;
    texts.push(list.slice(from, to));
    at = to;
  }
  const elements = JSON.parse(listWithoutPoints + list.slice(at)) as (AnnotationElement & { points?: unknown })[];
  const pointTexts = new Map<AnnotationElement, string | null>();
  for (const element of elements) {
    if (typeof element.points !== 'number') continue;
    const text = texts[element.points] as string;
    const isLine = element.type === 'polyline' || element.type === 'arrow';
    element.points = isLine ? [] : (JSON.parse(text) as never);
    pointTexts.set(element, isLine ? text : null);
  }
  // Lists of points inside `user` were replaced by numbers too. In that case, the whole list is parsed.
  if (pointTexts.size < texts.length) return { elements: JSON.parse(list) as AnnotationElement[], pointsOf: () => null };
  return { elements, pointsOf: (element) => pointTexts.get(element) ?? null };
}

/** The JSON text of a list of positions, without its outer brackets. @param isRing whether to repeat the first position at the end. */
export function positionsText(points: string, { isRing }: { isRing: boolean }): string {
  const positions = points.slice(1, -1);
  return isRing ? `${positions},${positions.slice(0, positions.indexOf(']') + 1)}` : positions;
}
