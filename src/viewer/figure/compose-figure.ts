import type { FigureLayer, LegendEntry } from '../annotations/figure-layers.js';
import { maxFigureShapes } from '../annotations/stage-annotation.js';
import type { Box } from '../annotations/annotation-model.js';
import { h } from '../dom.js';
import { clipToWidth, scaleBar } from '../format.js';
import type { LightSettings } from '../image/brightness.js';
import type { Channel } from '../image/channels.js';
import type { ImageMetadata } from '../image/image-metadata.js';
import type { FrameAppearance, Stage } from '../stage/stage-contract.js';
import { figureTexts } from '../figure-texts.js';
import { boundsOf, cropToImage, placementOf, type ImageArea } from './image-area.js';
import { legendMarks } from './figure-legend.js';
import { markColor, marksOfLabels, marksOfShape, rectangle, yieldToPage, widthOf, type Mark } from './figure-marks.js';
import { paintPanel, type PanelPicture } from './panel-picture.js';

/** The parts of an open image that figures need. */
export interface FigureSource {
  item: { _id: string; name: string };
  metadata: ImageMetadata;
  stage: Stage;
  currentAppearance: () => FrameAppearance & { frame: number; light: LightSettings };
  /** the visible channels */
  visibleChannels: () => Channel[];
  layersIn: (box: Box, signal: AbortSignal) => Promise<FigureLayer[]>;
}

/** The user's choices for a figure. */
export interface FigureOptions {
  /** in pixels of the figure */
  width: number;
  dpi: number;
  title: string;
  scaleBar: boolean;
  annotations: boolean;
  legend: boolean;
}

/** A figure: its size, and the marks that are drawn on its picture. Each part has its own clipping box. */
export interface Figure {
  width: number;
  height: number;
  parts: { clip: Box; marks: Mark[] }[];
}

/** Maximum side of a figure, and maximum number of its pixels: browsers cannot make much larger pictures. */
const limits = { side: 10_000, pixels: 40_000_000, minWidth: 50 } as const;

/** Font size in points, with its minimum and its maximum as shares of the width of the figure. */
const fontSizeLimits = { points: 7, minShare: 1 / 60, maxShare: 1 / 15 } as const;
/** Font size of the page in CSS pixels. Lines and points are scaled in proportion to texts. */
const screenFontSize = 13;
/** Maximum width of the scale bar, in CSS pixels and as a share of the panel's width. */
const maxBarWidth = { pixels: 150, share: 0.3 } as const;
/** Number of shapes that are converted to marks before the page can do other work. */
const shapesAtATime = 500;

/** One image of a figure. */
interface Panel {
  source: FigureSource;
  area: ImageArea;
  /** the box of the image that is visible */
  bounds: Box;
  /** in pixels of the figure */
  figureBox: Box;
  layers: FigureLayer[];
}

/** Size of a figure in pixels without its title and legend. */
export function figureSize(areas: readonly ImageArea[], width: number) {
  const [first] = areas as [ImageArea];
  const gap = gapOf(width, areas.length);
  const panelWidth = Math.floor((width - gap * (areas.length - 1)) / areas.length);
  return { panelWidth, gap, height: Math.max(1, Math.round((panelWidth * first.height) / first.width)) };
}

function gapOf(width: number, count: number) {
  return count > 1 ? Math.round(width / 60) : 0;
}

/** @throws if browsers cannot make a picture of this size */
function checkSize(width: number, height: number) {
  if (!(width >= limits.minWidth && width <= limits.side)) throw new Error(figureTexts.widthRange(limits.minWidth, limits.side));
  if (height > limits.side || width * height > limits.pixels)
    throw new Error(figureTexts.tooLarge(width, height, limits.side, limits.pixels));
}

/** Makes a figure of one or several images. @param areas the shown part of each image */
export async function composeFigure(
  sources: readonly FigureSource[],
  areas: readonly ImageArea[],
  options: FigureOptions,
  signal: AbortSignal,
): Promise<{ figure: Figure; canvas: HTMLCanvasElement; notes: string[] }> {
  const { width, dpi } = options;
  const croppedAreas = areas.map((area, index) => {
    const { metadata } = sources[index] as FigureSource;
    // Compared images are not cropped, so that they keep showing the same place.
    return areas.length === 1 ? cropToImage(area, metadata) : boundsOf(area, metadata) && area;
  });
  const [first] = croppedAreas;
  if (!first) throw new Error(figureTexts.outside);
  const shownAreas = croppedAreas.map((area, index) => area ?? (areas[index] as ImageArea));
  const { panelWidth, gap, height } = figureSize(shownAreas, width);
  checkSize(width, height);
  const fontSize = Math.min(
    width * fontSizeLimits.maxShare,
    Math.max((fontSizeLimits.points * dpi) / 72, width * fontSizeLimits.minShare),
  );
  const titleHeight = options.title === '' ? 0 : Math.ceil(fontSize * 2);
  const panels = await Promise.all(
    sources.map(async (source, index): Promise<Panel> => {
      const area = shownAreas[index] as ImageArea;
      const bounds = boundsOf(area, source.metadata) ?? { left: 0, top: 0, right: 0, bottom: 0 };
      const left = index * (panelWidth + gap);
      const figureBox = { left, top: titleHeight, right: left + panelWidth, bottom: titleHeight + height };
      const hasLayers = options.annotations && bounds.right > bounds.left;
      return { source, area, bounds, figureBox, layers: hasLayers ? await source.layersIn(bounds, signal) : [] };
    }),
  );
  const captions =
    panels.length > 1 ? panels.map(({ source, figureBox }) => captionMark(source.item.name, figureBox, fontSize)) : [];
  const legendTop = titleHeight + height + (captions.length > 0 ? Math.ceil(fontSize * 1.8) : 0);
  const legend = options.legend
    ? legendMarks(legendEntries(panels), { top: legendTop, width, fontSize })
    : { marks: [], height: 0 };
  const figure: Figure = { width, height: legendTop + legend.height, parts: [] };
  checkSize(width, figure.height);
  const canvas = h('canvas', { width, height: figure.height });
  const context = canvas.getContext('2d', { alpha: false }) as CanvasRenderingContext2D | null;
  if (!context) throw new Error(figureTexts.failed);
  context.fillStyle = '#ffffff';
  context.fillRect(0, 0, width, figure.height);
  for (const panel of panels) {
    await paintPanel(context, panelPicture(panel), signal);
    figure.parts.push({ clip: panel.figureBox, marks: await panelMarks(panel, fontSize, options, signal) });
  }
  const outerMarks = [...(options.title === '' ? [] : [titleMark(options.title, width, fontSize)]), ...captions, ...legend.marks];
  if (outerMarks.length > 0)
    figure.parts.push({ clip: { left: 0, top: 0, right: width, bottom: figure.height }, marks: outerMarks });
  const tiledLayers = panels.flatMap(({ layers }) => layers.filter(({ tiles }) => tiles !== null));
  return { figure, canvas, notes: tiledLayers.map(({ name }) => figureTexts.asPicture(name, maxFigureShapes)) };
}

function panelPicture({ source, area, bounds, figureBox, layers }: Panel): PanelPicture {
  const { item, metadata, currentAppearance } = source;
  return {
    itemId: item._id,
    metadata,
    appearance: currentAppearance(),
    bounds,
    figureBox,
    placement: placementOf(area, figureBox),
    layers,
  };
}

/** The shapes, their labels and the scale bar of a panel. */
async function panelMarks(
  { source, area, bounds, figureBox, layers }: Panel,
  fontSize: number,
  options: FigureOptions,
  signal: AbortSignal,
): Promise<Mark[]> {
  const panelView = { placement: placementOf(area, figureBox), cssPixel: fontSize / screenFontSize, visibleBox: bounds };
  const marks: Mark[] = [];
  for (const { shapes, opacity } of layers) {
    for (let start = 0; start < shapes.length; start += shapesAtATime) {
      for (const shape of shapes.slice(start, start + shapesAtATime)) marks.push(...marksOfShape(shape, panelView, opacity));
      await yieldToPage();
      signal.throwIfAborted();
    }
  }
  for (const { shapes } of layers) marks.push(...marksOfLabels(shapes, panelView));
  const mmPerPixel = source.metadata.mm_x;
  const bar =
    options.scaleBar && mmPerPixel !== null
      ? scaleBarMarks(mmPerPixel, (figureBox.right - figureBox.left) / area.width, figureBox, fontSize)
      : [];
  return [...marks, ...bar];
}

/** The scale bar in the lower left corner, on a light background. @param zoom pixels of the figure per pixel of the image */
function scaleBarMarks(mmPerPixel: number, zoom: number, { left, right, bottom }: Box, fontSize: number): Mark[] {
  const cssPixel = fontSize / screenFontSize;
  const maxWidth = Math.min(maxBarWidth.pixels * cssPixel, (right - left) * maxBarWidth.share);
  const { width, label } = scaleBar({ zoom, mmPerPixel, maxWidth });
  const contentWidth = Math.max(width, widthOf(label, fontSize, true));
  const [x, y] = [left + 10 * cssPixel, bottom - 10 * cssPixel];
  const middle = x + 10 * cssPixel + contentWidth / 2;
  const box = { left: x, top: y - 36 * cssPixel, right: x + contentWidth + 20 * cssPixel, bottom: y };
  const bar = { left: middle - width / 2, top: y - 11 * cssPixel, right: middle + width / 2, bottom: y - 8 * cssPixel };
  return [
    { path: rectangle(box), fill: markColor('#ffffff', 0.85) },
    { path: rectangle(bar), fill: markColor('#16181f') },
    { text: label, x: middle, y: y - 17 * cssPixel, fontSize, isBold: true, isCentered: true, color: markColor('#16181f') },
  ];
}

function titleMark(title: string, width: number, fontSize: number): Mark {
  const titleSize = fontSize * 1.25;
  const shownTitle = clipToWidth(title, width - fontSize, (part) => widthOf(part, titleSize, true));
  return {
    text: shownTitle,
    x: fontSize * 0.4,
    y: fontSize * 1.35,
    fontSize: titleSize,
    isBold: true,
    isCentered: false,
    color: markColor('#16181f'),
  };
}

function captionMark(name: string, { left, right, bottom }: Box, fontSize: number): Mark {
  const shownName = clipToWidth(name, right - left - fontSize, (part) => widthOf(part, fontSize, false));
  return {
    text: shownName,
    x: left + fontSize * 0.4,
    y: bottom + fontSize * 1.3,
    fontSize,
    isBold: false,
    isCentered: false,
    color: markColor('#16181f'),
  };
}

/** The channels and groups of all images, without duplicates. */
function legendEntries(panels: readonly Panel[]): LegendEntry[] {
  const entries = panels.flatMap(({ source, layers }) => [
    ...source
      .visibleChannels()
      .map(({ name, color, palette }) => ({ label: palette ? `${name} (${palette})` : name, colors: [color] })),
    ...layers.flatMap(({ legend }) => legend),
  ]);
  return [...new Map(entries.map((entry) => [JSON.stringify(entry), entry])).values()];
}
