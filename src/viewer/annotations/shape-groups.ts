import { isOverlay } from './drawing/shapes.js';
import { newId, type Element } from './annotation-model.js';

/** Colors of new groups in turn. They are distinguishable on stained tissue and by color-blind people. */
const groupColors = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#7a3ec8', '#b2182b'];
/** Maximum number of groups in the list of a form. The legend has all groups. */
const maxOfferedGroups = 100;
/** Opacity of the fill of shapes, from 0 to 1. */
const fillOpacity = 0.2;
const lineWidth = 3;

/**
 * The members of a shape that give its line and fill a color.
 *
 * @param color `#rrggbb`
 */
export function shapeStyle({ type, closed }: Pick<Element, 'type' | 'closed'>, color: string): Partial<Element> {
  if (type === 'polyline' && !closed) return { lineColor: color, lineWidth };
  const [r, g, b] = [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16));
  return { lineColor: color, lineWidth, fillColor: type === 'point' ? color : `rgba(${r}, ${g}, ${b}, ${fillOpacity})` };
}

/** The color of a shape without its opacity, as `#rrggbb`; `null` if it has no color. */
function opaqueLineColor({ lineColor = '' }: Element): string | null {
  const [, short, long] = /^#(?:([\da-f]{3})[\da-f]?|([\da-f]{6})(?:[\da-f]{2})?)$/i.exec(lineColor) ?? [];
  if (short) return `#${short.replaceAll(/./g, '$&$&')}`.toLowerCase();
  if (long) return `#${long}`.toLowerCase();
  const [, ...channels] = /^rgba?\(\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)/.exec(lineColor) ?? [];
  if (channels.length === 0) return null;
  return `#${channels.map((channel) => Math.min(255, Number(channel)).toString(16).padStart(2, '0')).join('')}`;
}

/** The groups of an annotation with their colors, and the group of new shapes. */
export class Groups {
  /** colors by the name of the group; `null` stands for no group */
  #colors: Map<string | null, string> = new Map([[null, '#ffb000']]);
  chosenGroup: string | null = null;

  get names() {
    return this.#colors.keys();
  }

  colorOf(group: string | null) {
    return this.#colors.get(group) ?? this.addGroup(group);
  }

  /** The names of the groups to offer. If there are too many groups, only some are offered, which include `alwaysOffered`. */
  namesToOffer(...alwaysOffered: (string | null)[]) {
    const names = [...this.#colors.keys()];
    return names.length <= maxOfferedGroups ? names : [...new Set([...alwaysOffered, null, ...names.slice(0, maxOfferedGroups)])];
  }

  /** Adds a group, unless it exists. @returns the group's color */
  addGroup(group: string | null, color?: string | null) {
    const groupColor = this.#colors.get(group);
    if (groupColor) return groupColor;
    const newColor = color ?? groupColors[(this.#colors.size - 1) % groupColors.length] ?? '#000000';
    this.#colors.set(group, newColor);
    return newColor;
  }

  /** A new shape in the chosen group and its color. */
  makeShape(members: Pick<Element, 'type'> & Partial<Element>): Element {
    const group = this.chosenGroup;
    const style = shapeStyle(members, this.colorOf(group));
    return { ...members, ...style, ...(group !== null && { group }), id: newId() };
  }

  setColor(group: string | null, color: string) {
    this.#colors.set(group, color);
  }

  /** Gives groups the colors of their shapes. */
  adoptColors(shapes: Iterable<Element>) {
    const colors = new Map<string | null, string>();
    for (const shape of shapes) {
      const group = shape.group ?? null;
      const color = isOverlay(shape) || colors.has(group) ? null : opaqueLineColor(shape);
      if (color !== null) colors.set(group, color);
    }
    for (const [group, color] of colors) this.setColor(group, color);
  }

  /** Adds the groups that the server reports. @param replacesColors whether the reported colors replace earlier colors */
  addReported(groups: { name: string | null; color: string }[], replacesColors: boolean) {
    for (const { name, color } of groups) if (replacesColors || !this.#colors.has(name)) this.#colors.set(name, color);
  }
}

/** The groups of an annotation that is edited, and how they are changed. */
export interface EditedGroups {
  groups: Groups;
  /** called when another group was chosen for new shapes */
  onChoose: () => void;
  /** called when the server has sent the groups */
  onReported: () => void;
  /** Changes the color of a group, and of its shapes if all of them are loaded. @returns whether the shapes were changed */
  recolor: (group: string | null, color: string) => boolean;
}
