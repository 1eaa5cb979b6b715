import type { AnnotationElement } from '../schema/document.js';

const [key, opened, closed] = ['"points":', '[[', ']]'] as const;

/** The key of points and the beginning of their value, in compact JSON. */
export const pointsBeginning = Buffer.from(key + opened);
/** Length of the key in bytes. */
export const pointsKeyBytes = key.length;
/** The beginning of an element with an id, as this server writes it. */
const ownId = /^\{"id":"([0-9a-f]{24})",/;
const ownIdBytes = '{"id":"",'.length + 24;

/**
 * The JSON text of an element without its id, and with 0 for its points: elements without measurements have few different ones.
 *
 * @param element where the text begins and ends in `json`.
 * @param points where their value begins and ends.
 * @returns the text; `id` is the id if the element begins with it.
 */
export function textWithoutPoints(
  json: Buffer,
  element: { start: number; end: number },
  points: { start: number; end: number },
  encoding: 'latin1' | 'utf8' = 'utf8',
): { text: string; id: string | undefined } {
  const before = json.toString(encoding, element.start, points.start);
  const id = ownId.exec(before)?.[1];
  const head = id === undefined ? before : `{${before.slice(ownIdBytes)}`;
  return { text: `${head}0${json.toString(encoding, points.end, element.end)}`, id };
}

/** Elements whose lists of points may not have been parsed. */
export interface ElementsWithoutPoints {
  /** If the points of an element have not been parsed, its `points` is empty. */
  elements: AnnotationElement[];
  /** The JSON text of the points of an element; `null` if they have been parsed. */
  pointsOf: (element: AnnotationElement) => string | null;
}

/**
 * Parses a JSON list of stored elements, except for the points of lines and polygons. Points are most of the text, and formats that
 * write positions in the same way can copy them.
 */
export function parseWithoutPoints(list: string): ElementsWithoutPoints {
  const texts: string[] = [];
  let textWithoutPoints = '';
  let at = 0;
  // In compact JSON, this sequence can only be a key and the beginning of its value, because quotes inside texts follow a backslash.
  for (let start = list.indexOf(key + opened); start >= 0; start = list.indexOf(key + opened, at)) {
    const from = start + key.length;
    const to = list.indexOf(closed, from) + closed.length;
    textWithoutPoints += `${list.slice(at, from)}${texts.length}`;
    texts.push(list.slice(from, to));
    at = to;
  }
  const elements = JSON.parse(textWithoutPoints + list.slice(at)) as (AnnotationElement & { points?: unknown })[];
  const pointTexts = new Map<AnnotationElement, string | null>();
  for (const element of elements) {
    if (typeof element.points !== 'number') continue;
    const text = texts[element.points] as string;
    const isLine = element.type === 'polyline' || element.type === 'arrow';
    element.points = isLine ? [] : (JSON.parse(text) as never);
    pointTexts.set(element, isLine ? text : null);
  }
  // The key may also occur in `user`, where another number would be lost.
  if (pointTexts.size < texts.length) return { elements: JSON.parse(list) as AnnotationElement[], pointsOf: () => null };
  return { elements, pointsOf: (element) => pointTexts.get(element) ?? null };
}

/** The text of a list of positions, without its outer brackets. @param isRing whether to repeat the first position at the end. */
export function positionsIn(points: string, { isRing }: { isRing: boolean }): string {
  const positions = points.slice(1, -1);
  return isRing ? `${positions},${positions.slice(0, positions.indexOf(']') + 1)}` : positions;
}
