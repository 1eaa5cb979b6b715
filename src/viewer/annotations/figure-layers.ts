import { requestGroups } from './annotation-requests.js';
import { nameOf, type Box, type Element } from './annotation-model.js';
import { annotationTexts } from '../annotation-texts.js';
import { formatNumber } from '../format.js';
import type { OverlayPicture, OverlayPictures } from './drawing/overlay-pictures.js';
import type { StageAnnotation, ShapesInBox } from './stage-annotation.js';
import type { TileUrl } from '../stage/tile-layer.js';

/** An entry of a legend: one color, or a scale from the first color to the last. */
export interface LegendEntry {
  label: string;
  colors: readonly string[];
}

/** An annotation in a figure. */
export interface FigureLayer {
  name: string;
  opacity: number;
  shapes: Element[];
  overlays: { element: Element; picture: OverlayPicture }[];
  /** the server's tiles, if there are too many shapes for the page, or shapes that only the server can draw */
  tiles: TileUrl | null;
  legend: LegendEntry[];
}

/** The parts of annotations in a box of the image, in the order of `annotations`. */
export async function figureLayers(
  annotations: StageAnnotation[],
  pictures: OverlayPictures,
  box: Box,
  signal: AbortSignal,
): Promise<FigureLayer[]> {
  return Promise.all(
    annotations.map(async (annotation) => {
      const content = await annotation.shapesIn(box, signal);
      const overlays = await Promise.all(
        content.overlays.map(async (element) => ({ element, picture: await pictures.loadPicture(element) })),
      );
      return {
        name: nameOf(annotation.record),
        opacity: annotation.display.opacity,
        shapes: content.shapes,
        overlays: overlays.flatMap(({ element, picture }) => (picture ? [{ element, picture }] : [])),
        tiles: content.tiles,
        legend: await legendOf(annotation, content, signal),
      };
    }),
  );
}

/** The legend of an annotation: the values that its colors stand for, or its visible groups. */
async function legendOf(
  annotation: StageAnnotation,
  { shapes, legend, tiles }: ShapesInBox,
  signal: AbortSignal,
): Promise<LegendEntry[]> {
  const { record, display } = annotation;
  const coloringColumn = display.coloring.by;
  if (legend?.scale && coloringColumn !== null) {
    const { low, high, colors } = legend.scale;
    return [{ label: `${coloringColumn}: ${formatNumber(low, 4)} – ${formatNumber(high, 4)}`, colors }];
  }
  if (legend?.categories && coloringColumn !== null) {
    return legend.categories.map(({ value, color }) => ({
      label: annotationTexts.groupName(value === null ? null : String(value)),
      colors: [color],
    }));
  }
  const groupEntry = (group: string | null, color: string) => ({ label: group ?? nameOf(record), colors: [color] });
  if (tiles) {
    const groups = await requestGroups(record, signal);
    return groups.filter(({ name }) => !display.hiddenGroups.has(name)).map(({ name, color }) => groupEntry(name, color));
  }
  const colors: Map<string | null, string> = new Map();
  for (const { group = null, lineColor = '#000000' } of shapes) if (!colors.has(group)) colors.set(group, lineColor);
  return [...colors].map(([group, color]) => groupEntry(group, color));
}
