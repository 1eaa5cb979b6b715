import type { LegendEntry } from '../annotations/figure-layers.js';
import { clipToWidth } from '../format.js';
import { figureTexts } from '../figure-texts.js';
import { inkOf, rectangle, widthOf, type Mark } from './marks.js';

/** Maximum number of entries. More would take more space than the image. */
const maxEntries = 40;
/** Number of colors that show a scale. */
const scaleSteps = 24;

/** The marks of a legend, in rows that begin at `top`, and its height. @param place in pixels of the figure; `size` is the size of the texts */
export function legendMarks(entries: readonly LegendEntry[], place: { top: number; width: number; size: number }) {
  const { top, width, size } = place;
  const marks: Mark[] = [];
  if (entries.length === 0) return { marks, height: 0 };
  const [lineHeight, gap] = [size * 1.6, size * 1.2];
  const margin = size * 0.4;
  let x = margin;
  let y = top + size * 0.6;
  for (const { label, colors } of entries.slice(0, maxEntries)) addEntry(label, colors);
  if (entries.length > maxEntries) addEntry(figureTexts.moreEntries(entries.length - maxEntries), []);
  return { marks, height: Math.ceil(y + lineHeight - top) };

  function addEntry(label: string, colors: readonly string[]) {
    const swatch = colors.length === 0 ? 0 : colors.length === 1 ? size : size * 6;
    const indent = swatch === 0 ? 0 : swatch + size * 0.4;
    const shownLabel = clipToWidth(label, width - 2 * margin - indent, (part) => widthOf(part, size, false));
    const needed = indent + widthOf(shownLabel, size, false);
    if (x > margin && x + needed > width - margin) {
      x = margin;
      y += lineHeight;
    }
    const steps = colors.length > 1 ? scaleSteps : colors.length;
    for (let step = 0; step < steps; step += 1) {
      const color = colors[Math.round((step / Math.max(1, steps - 1)) * (colors.length - 1))] as string;
      const left = x + (swatch * step) / steps;
      const path = rectangle({ left, top: y, right: left + swatch / steps, bottom: y + size });
      // A line makes white channels visible on white.
      const stroke = steps === 1 ? { stroke: { ...inkOf('#5b5f6e'), width: size / 16 } } : {};
      marks.push({ path, fill: { ...inkOf(color), alpha: 1 }, ...stroke });
    }
    marks.push({
      text: shownLabel,
      x: x + indent,
      y: y + size * 0.85,
      size,
      isBold: false,
      isCentered: false,
      ink: inkOf('#16181f'),
    });
    x += needed + gap;
  }
}
