import type { LegendEntry } from '../annotations/figure-layers.js';
import { clipToWidth } from '../format.js';
import { figureTexts } from '../figure-texts.js';
import { markColor, rectangle, widthOf, type Mark } from './figure-marks.js';

/** Maximum number of entries. More entries would take more space than the image. */
const maxEntries = 40;
/** Number of colors in the swatch of a color scale. */
const scaleSteps = 24;

/** The marks of a legend, in rows that begin at `top`, and the legend's height. @param options in pixels of the figure */
export function legendMarks(entries: readonly LegendEntry[], options: { top: number; width: number; fontSize: number }) {
  const { top, width, fontSize } = options;
  const marks: Mark[] = [];
  if (entries.length === 0) return { marks, height: 0 };
  const [lineHeight, gap] = [fontSize * 1.6, fontSize * 1.2];
  const margin = fontSize * 0.4;
  let x = margin;
  let y = top + fontSize * 0.6;
  for (const { label, colors } of entries.slice(0, maxEntries)) addEntry(label, colors);
  if (entries.length > maxEntries) addEntry(figureTexts.moreEntries(entries.length - maxEntries), []);
  return { marks, height: Math.ceil(y + lineHeight - top) };

  function addEntry(label: string, colors: readonly string[]) {
    const swatchWidth = colors.length === 0 ? 0 : colors.length === 1 ? fontSize : fontSize * 6;
    const indent = swatchWidth === 0 ? 0 : swatchWidth + fontSize * 0.4;
    const shownLabel = clipToWidth(label, width - 2 * margin - indent, (part) => widthOf(part, fontSize, false));
    const entryWidth = indent + widthOf(shownLabel, fontSize, false);
    if (x > margin && x + entryWidth > width - margin) {
      x = margin;
      y += lineHeight;
    }
    const steps = colors.length > 1 ? scaleSteps : colors.length;
    for (let step = 0; step < steps; step += 1) {
      const color = colors[Math.round((step / Math.max(1, steps - 1)) * (colors.length - 1))] as string;
      const left = x + (swatchWidth * step) / steps;
      const path = rectangle({ left, top: y, right: left + swatchWidth / steps, bottom: y + fontSize });
      // An outline makes white swatches visible on white.
      const stroke = steps === 1 ? { stroke: { ...markColor('#5b5f6e'), width: fontSize / 16 } } : {};
      marks.push({ path, fill: { ...markColor(color), alpha: 1 }, ...stroke });
    }
    marks.push({
      text: shownLabel,
      x: x + indent,
      y: y + fontSize * 0.85,
      fontSize,
      isBold: false,
      isCentered: false,
      color: markColor('#16181f'),
    });
    x += entryWidth + gap;
  }
}
