import type { PackMarks } from '../../elements/element-store.js';
import { defaultLineColor, defaultLineWidth, hexColor, toPaintColor, type PaintColor } from './colors.js';

/** Number of elements of a group that have a color (`#rrggbb`). The group is `null` for elements without a group. */
export type GroupColorCount = [group: string | null, color: string, count: number];

/** Counts elements by group and color. The color is the line color, or the fill color if no line is visible. */
export class GroupColorCounter {
  readonly #countsByKey = new Map<string, GroupColorCount>();

  add({ appearances, appearanceIndices }: Pick<PackMarks, 'appearances' | 'appearanceIndices'>): void {
    const counts = new Uint32Array(appearances.length);
    for (const index of appearanceIndices) counts[index]! += 1;
    for (const [i, appearance] of appearances.entries())
      if (counts[i]! > 0) this.addAll([[appearance.group, hexColor(visibleColor(appearance)), counts[i]!]]);
  }

  addAll(counts: Iterable<GroupColorCount>): void {
    for (const [group, color, count] of counts) {
      const key = JSON.stringify([group, color]);
      this.#countsByKey.set(key, [group, color, (this.#countsByKey.get(key)?.[2] ?? 0) + count]);
    }
  }

  get counts(): GroupColorCount[] {
    return [...this.#countsByKey.values()];
  }
}

function visibleColor({ lineColor, lineWidth, fillColor }: PackMarks['appearances'][number]): PaintColor {
  const line = lineColor === null ? null : toPaintColor(lineColor);
  if (line !== null && line[3] > 0 && (lineWidth ?? defaultLineWidth) > 0) return line;
  return fillColor === null ? (line ?? defaultLineColor) : toPaintColor(fillColor);
}
