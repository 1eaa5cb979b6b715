import type { AnnotationElement } from './schema/document.js';
import type { PolylineElement } from './schema/polyline.js';

/** Bytes of one centroid record. */
export const centroidBytes = 28;

/** The names of the entries in each row of `_elementQuery.props`. The API sends them as `_elementQuery.propskeys`. */
export const centroidPropKeys = ['type', 'fillColor', 'lineColor', 'lineWidth', 'closed'] as const;

/** One row of `_elementQuery.props`, in the order of {@link centroidPropKeys}. */
export type CentroidProps = [type: string, fillColor: string, lineColor: string, lineWidth: number, closed: boolean | null];

/** The distinct appearances of elements, in first-seen order. A centroid record refers to a row by its index. */
export class CentroidPropTable {
  readonly rows: CentroidProps[] = [];
  readonly #indices = new Map<string, number>();

  /** Index of the row of an element's appearance. A new appearance gets a new row. */
  findOrAdd(element: AnnotationElement): number {
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
 * The JSON text of a response before and after the elements of its annotation. The centroids are sent between these texts, separated by
 * zero bytes, which JSON text never contains.
 *
 * @param head the members of the response: `record` has all except `annotation` and `_elementQuery`; `annotation` has all members of the
 * annotation except `elements`; `elementQuery` becomes `_elementQuery`.
 */
export function textAroundCentroids(head: {
  record: Readonly<Record<string, unknown>>;
  annotation: Readonly<Record<string, unknown>>;
  elementQuery: Readonly<Record<string, unknown>>;
}): { before: string; after: string } {
  // Both texts are built directly, because a search for `"elements": [` in the complete text might find that text inside attributes.
  const record = JSON.stringify(head.record).slice(0, -1);
  const annotation = JSON.stringify(head.annotation).slice(0, -1);
  const commaAfter = (text: string) => (text === '{' ? '' : ', ');
  return {
    before: `${record}${commaAfter(record)}"annotation": ${annotation}${commaAfter(annotation)}"elements": [`,
    after: `]}, "_elementQuery": ${JSON.stringify(head.elementQuery)}}`,
  };
}
