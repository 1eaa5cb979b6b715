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
 * Parses a JSON list of stored elements, except for the points of lines and polygons. They are most of the text, and formats with the
 * same numbers can copy them.
 */
export function parseWithoutPoints(list: string): ElementsWithoutPoints {
  const texts: string[] = [];
  let rest = '';
  let at = 0;
  // In compact JSON, this sequence is a key and the beginning of its value: quotes in texts have a backslash before them.
  for (let start = list.indexOf(key + opened); start >= 0; start = list.indexOf(key + opened, at)) {
    const from = start + key.length;
    const to = list.indexOf(closed, from) + closed.length;
    rest += `${list.slice(at, from)}${texts.length}`;
    texts.push(list.slice(from, to));
    at = to;
  }
  const elements = JSON.parse(rest + list.slice(at)) as (AnnotationElement & { points?: unknown })[];
  const cut = new Map<AnnotationElement, string | null>();
  for (const element of elements) {
    if (typeof element.points !== 'number') continue;
    const text = texts[element.points] as string;
    const isLine = element.type === 'polyline' || element.type === 'arrow';
    element.points = isLine ? [] : (JSON.parse(text) as never);
    cut.set(element, isLine ? text : null);
  }
  // The key may also occur in `user`, where another number would be lost.
  if (cut.size < texts.length) return { elements: JSON.parse(list) as AnnotationElement[], pointsOf: () => null };
  return { elements, pointsOf: (element) => cut.get(element) ?? null };
}

/** The text of a list of positions, without its outer brackets. @param isRing whether the first one is repeated at the end. */
export function positionsIn(points: string, { isRing }: { isRing: boolean }): string {
  const positions = points.slice(1, -1);
  return isRing ? `${positions},${positions.slice(0, positions.indexOf(']') + 1)}` : positions;
}
