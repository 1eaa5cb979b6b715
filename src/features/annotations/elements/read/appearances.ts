import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import type { PolylineElement } from '../../../../annotation-format/schema/polyline.js';
import type { ElementAppearance } from '../element-store.js';

/** A stored appearance: the JSON text of `[type, group, fillColor, lineColor, lineWidth, closed]`. */
type AppearanceText = string;

interface ComparedAppearance extends ElementAppearance {
  index: number;
}

/** Maximum number of appearances to compare one by one. For a few appearances, this is faster than a look-up by key. */
const maxComparedAppearances = 8;

/** The distinct appearances of elements, in the order in which they first occurred. */
export class AppearanceTable {
  readonly texts: AppearanceText[] = [];
  readonly groups: (string | null)[] = [];
  readonly #indexByText = new Map<string, number>();
  readonly #indexByKey = new Map<string, number>();
  readonly #comparedAppearances: ComparedAppearance[] = [];

  /** Finds the index of the appearance of an element. A new appearance is added. */
  findOrAdd(element: AnnotationElement): number {
    // Elements of other types lack some of these fields, which are then `undefined`.
    const appearance = element as Pick<PolylineElement, 'group' | 'fillColor' | 'lineColor' | 'lineWidth' | 'closed'>;
    const { group = null, fillColor = null, lineColor = null, lineWidth = null, closed = null } = appearance;
    for (const candidate of this.#comparedAppearances) {
      if (
        candidate.group === group &&
        candidate.type === element.type &&
        candidate.lineColor === lineColor &&
        candidate.fillColor === fillColor &&
        candidate.lineWidth === lineWidth &&
        candidate.closed === closed
      ) {
        return candidate.index;
      }
    }
    // The group comes last, because it may be any text. The `=` before the group distinguishes a group named `null` from no group.
    const key = `${element.type}|${fillColor}|${lineColor}|${lineWidth}|${closed}|${group === null ? '' : '='}${group}`;
    let index = this.#indexByKey.get(key);
    if (index === undefined) {
      index = this.findOrAddText(JSON.stringify([element.type, group, fillColor, lineColor, lineWidth, closed]), group);
      this.#indexByKey.set(key, index);
      if (this.#comparedAppearances.length < maxComparedAppearances) {
        this.#comparedAppearances.push({ type: element.type, group, fillColor, lineColor, lineWidth, closed, index });
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

/** Parses the appearances of a pack. */
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
