import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import type { PolylineElement } from '../../../../annotation-format/schema/polyline.js';
import type { ElementAppearance } from '../element-store.js';

/** An appearance as it is stored: the JSON text of `[type, group, fillColor, lineColor, lineWidth, closed]`. */
type AppearanceText = string;

interface ComparedAppearance extends ElementAppearance {
  index: number;
}

/** Maximum number of appearances to compare one by one, which is faster than a look-up by key while there are few. */
const maxComparedAppearances = 8;

/** The distinct appearances of elements, in first-seen order. */
export class AppearanceTable {
  readonly texts: AppearanceText[] = [];
  readonly groups: (string | null)[] = [];
  readonly #indexByText = new Map<string, number>();
  readonly #indexByKey = new Map<string, number>();
  readonly #compared: ComparedAppearance[] = [];

  /** Finds the index of the appearance of an element. A new appearance is added. */
  findOrAdd(element: AnnotationElement): number {
    // Types without one of these fields have no value for it.
    const appearance = element as Pick<PolylineElement, 'group' | 'fillColor' | 'lineColor' | 'lineWidth' | 'closed'>;
    const { group = null, fillColor = null, lineColor = null, lineWidth = null, closed = null } = appearance;
    for (const known of this.#compared) {
      if (
        known.group === group &&
        known.type === element.type &&
        known.lineColor === lineColor &&
        known.fillColor === fillColor &&
        known.lineWidth === lineWidth &&
        known.closed === closed
      ) {
        return known.index;
      }
    }
    // The group, which may be any text, comes last. The `=` before it distinguishes a group named `null` from no group.
    const key = `${element.type}|${fillColor}|${lineColor}|${lineWidth}|${closed}|${group === null ? '' : '='}${group}`;
    let index = this.#indexByKey.get(key);
    if (index === undefined) {
      index = this.findOrAddText(JSON.stringify([element.type, group, fillColor, lineColor, lineWidth, closed]), group);
      this.#indexByKey.set(key, index);
      if (this.#compared.length < maxComparedAppearances) {
        this.#compared.push({ type: element.type, group, fillColor, lineColor, lineWidth, closed, index });
      }
    }
    return index;
  }

  /** Finds the index of a stored appearance. A new appearance is added. */
  findOrAddText(text: string, group: string | null): number {
    let index = this.#indexByText.get(text);
    if (index === undefined) {
      index = this.texts.length;
      this.texts.push(text);
      this.groups.push(group);
      this.#indexByText.set(text, index);
    }
    return index;
  }
}

/** Reads the appearances of a pack. */
export function parseAppearances(text: string): ElementAppearance[] {
  const rows = JSON.parse(text) as [ElementAppearance['type'], ...(string | number | boolean | null)[]][];
  return rows.map(([type, group, fillColor, lineColor, lineWidth, closed]) => ({
    type,
    // AppearanceTable writes the fields in this order.
    group: group as string | null,
    fillColor: fillColor as string | null,
    lineColor: lineColor as string | null,
    lineWidth: lineWidth as number | null,
    closed: closed as boolean | null,
  }));
}
