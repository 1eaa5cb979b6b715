import type { AnnotationElement } from '../schema/document.js';

const [key, opened, closed] = ['"points":', '[[', ']]'] as const;

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
