import type { AnnotationElement } from './schema/document.js';
import type { PolylineElement } from './schema/polyline.js';

/** Bytes of one centroid record. */
export const centroidBytes = 28;

/** `_elementQuery.propskeys`: the members of each row of `props`. */
export const centroidPropKeys = ['type', 'fillColor', 'lineColor', 'lineWidth', 'closed'] as const;

/** One row of `_elementQuery.props`, in the order of {@link centroidPropKeys}. */
export type CentroidProps = [type: string, fillColor: string, lineColor: string, lineWidth: number, closed: boolean | null];

/** The distinct appearances of elements, in first-seen order. A record refers to a row by its index. */
export class CentroidPropTable {
  readonly rows: CentroidProps[] = [];
  readonly #indices = new Map<string, number>();

  /** Index of the row of an element's appearance, which is added if it is new. */
  indexOf(element: AnnotationElement): number {
    // Types without one of these fields have no value for it.
    const appearance = element as Pick<PolylineElement, 'fillColor' | 'lineColor' | 'lineWidth' | 'closed'>;
    const { fillColor = 'rgba(0,0,0,0)', lineColor = 'rgb(0,0,0)', lineWidth = 2, closed = null } = appearance;
    const key = `${element.type}|${fillColor}|${lineColor}|${lineWidth}|${closed}`;
    let index = this.#indices.get(key);
    if (index === undefined) {
      index = this.rows.length;
      this.rows.push([element.type, fillColor, lineColor, lineWidth, closed]);
      this.#indices.set(key, index);
    }
    return index;
  }
}

/**
 * Splits the JSON text of a record at its last empty list of elements, where the centroids belong. A zero byte separates the
 * centroids from the text before and after; JSON text never contains one.
 *
 * @param head the record without `annotation`, `annotation` without `elements`, and `_elementQuery`, each as an object.
 */
export function centroidFrame(head: {
  record: Readonly<Record<string, unknown>>;
  annotation: Readonly<Record<string, unknown>>;
  elementQuery: Readonly<Record<string, unknown>>;
}): { before: string; after: string } {
  // The parts are written one by one, because a search for the list in the complete text might find one inside attributes.
  const record = JSON.stringify(head.record).slice(0, -1);
  const annotation = JSON.stringify(head.annotation).slice(0, -1);
  const comma = (text: string) => (text === '{' ? '' : ', ');
  return {
    before: `${record}${comma(record)}"annotation": ${annotation}${comma(annotation)}"elements": [`,
    after: `]}, "_elementQuery": ${JSON.stringify(head.elementQuery)}}`,
  };
}
