import type { FigureLayer, LegendEntry } from '../annotations/figure-layers.js';
import { maxFigureShapes } from '../annotations/sheet.js';
import type { Box } from '../annotations/model.js';
import { h } from '../dom.js';
import { clipToWidth, scaleBar } from '../format.js';
import type { Light } from '../image/brightness.js';
import type { Channel } from '../image/channels.js';
import type { ImageMetadata } from '../image/metadata.js';
import type { FrameAppearance, Stage } from '../stage/contract.js';
import { figureTexts } from '../figure-texts.js';
import { boundsOf, onImage, placementOf, type Frame } from './frame.js';
import { legendMarks } from './legend.js';
import { inkOf, marksOfLabels, marksOfShape, rectangle, yieldToPage, widthOf, type Mark } from './marks.js';
import { paintPanel, type PanelPicture } from './picture.js';

/** An open image, as figures need it. */
export interface FigureSource {
  item: { _id: string; name: string };
  metadata: ImageMetadata;
  stage: Stage;
  look: () => FrameAppearance & { frame: number; light: Light };
  /** the visible channels */
  channels: () => Channel[];
  layersIn: (box: Box, signal: AbortSignal) => Promise<FigureLayer[]>;
}

/** The choices of the user. */
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

/** Size of texts in points. `share` and `largest` are its minimum and its maximum, as shares of the width of the figure. */
const textSize = { points: 7, share: 1 / 60, largest: 1 / 15 } as const;
/** Size of the page's texts in CSS pixels. Lines and points are scaled in proportion to texts. */
const screenTextSize = 13;
/** Widest scale bar in CSS pixels, and as a share of its panel. */
const maxBarWidth = { pixels: 150, share: 0.3 } as const;
/** Number of shapes that are converted to marks before other work of the page runs. */
const shapesAtATime = 500;

interface Panel {
  source: FigureSource;
  frame: Frame;
  /** the box of the image that is visible */
  bounds: Box;
  /** in pixels of the figure */
  place: Box;
  layers: FigureLayer[];
}

/** Size of a figure in pixels without its title and legend. */
export function figureSize(frames: readonly Frame[], width: number) {
  const [first] = frames as [Frame];
  const gap = gapOf(width, frames.length);
  const panelWidth = Math.floor((width - gap * (frames.length - 1)) / frames.length);
  return { across: panelWidth, gap, height: Math.max(1, Math.round((panelWidth * first.height) / first.width)) };
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

/** Makes a figure of one or several images. @param frames the shown part of each image */
export async function composeFigure(
  sources: readonly FigureSource[],
  frames: readonly Frame[],
  options: FigureOptions,
  signal: AbortSignal,
): Promise<{ figure: Figure; canvas: HTMLCanvasElement; notes: string[] }> {
  const { width, dpi } = options;
  const framesOnImage = frames.map((frame, index) => {
    const { metadata } = sources[index] as FigureSource;
    // Several images keep their common place.
    return frames.length === 1 ? onImage(frame, metadata) : boundsOf(frame, metadata) && frame;
  });
  const [first] = framesOnImage;
  if (!first) throw new Error(figureTexts.outside);
  const shownFrames = framesOnImage.map((frame, index) => frame ?? (frames[index] as Frame));
  const { across, gap, height } = figureSize(shownFrames, width);
  checkSize(width, height);
  const size = Math.min(width * textSize.largest, Math.max((textSize.points * dpi) / 72, width * textSize.share));
  const titleHeight = options.title === '' ? 0 : Math.ceil(size * 2);
  const panels = await Promise.all(
    sources.map(async (source, index): Promise<Panel> => {
      const frame = shownFrames[index] as Frame;
      const bounds = boundsOf(frame, source.metadata) ?? { left: 0, top: 0, right: 0, bottom: 0 };
      const left = index * (across + gap);
      const place = { left, top: titleHeight, right: left + across, bottom: titleHeight + height };
      const hasLayers = options.annotations && bounds.right > bounds.left;
      return { source, frame, bounds, place, layers: hasLayers ? await source.layersIn(bounds, signal) : [] };
    }),
  );
  const captions = panels.length > 1 ? panels.map(({ source, place }) => captionMark(source.item.name, place, size)) : [];
  const below = titleHeight + height + (captions.length > 0 ? Math.ceil(size * 1.8) : 0);
  const legend = options.legend ? legendMarks(legendEntries(panels), { top: below, width, size }) : { marks: [], height: 0 };
  const figure: Figure = { width, height: below + legend.height, parts: [] };
  checkSize(width, figure.height);
  const canvas = h('canvas', { width, height: figure.height });
  const context = canvas.getContext('2d', { alpha: false }) as CanvasRenderingContext2D | null;
  if (!context) throw new Error(figureTexts.failed);
  context.fillStyle = '#ffffff';
  context.fillRect(0, 0, width, figure.height);
  for (const panel of panels) {
    await paintPanel(context, panelPicture(panel), signal);
    figure.parts.push({ clip: panel.place, marks: await panelMarks(panel, size, options, signal) });
  }
  const around = [...(options.title === '' ? [] : [headingMark(options.title, width, size)]), ...captions, ...legend.marks];
  if (around.length > 0) figure.parts.push({ clip: { left: 0, top: 0, right: width, bottom: figure.height }, marks: around });
  const tiledLayers = panels.flatMap(({ layers }) => layers.filter(({ tiles }) => tiles !== null));
  return { figure, canvas, notes: tiledLayers.map(({ name }) => figureTexts.asPicture(name, maxFigureShapes)) };
}

function panelPicture({ source, frame, bounds, place, layers }: Panel): PanelPicture {
  const { item, metadata, look } = source;
  return { itemId: item._id, metadata, look: look(), bounds, place, placement: placementOf(frame, place), layers };
}

/** The shapes, their labels and the scale bar of a panel. */
async function panelMarks(
  { source, frame, bounds, place, layers }: Panel,
  size: number,
  options: FigureOptions,
  signal: AbortSignal,
): Promise<Mark[]> {
  const panelView = { placement: placementOf(frame, place), unit: size / screenTextSize, view: bounds };
  const marks: Mark[] = [];
  for (const { shapes, opacity } of layers) {
    for (let start = 0; start < shapes.length; start += shapesAtATime) {
      for (const shape of shapes.slice(start, start + shapesAtATime)) marks.push(...marksOfShape(shape, panelView, opacity));
      await yieldToPage();
      signal.throwIfAborted();
    }
  }
  for (const { shapes } of layers) marks.push(...marksOfLabels(shapes, panelView));
  const mm = source.metadata.mm_x;
  const bar = options.scaleBar && mm !== null ? barMarks(mm, (place.right - place.left) / frame.width, place, size) : [];
  return [...marks, ...bar];
}

/** The scale bar in the lower left corner, on a light background. @param zoom pixels of the figure per pixel of the image */
function barMarks(mmPerPixel: number, zoom: number, { left, right, bottom }: Box, size: number): Mark[] {
  const unit = size / screenTextSize;
  const maxWidth = Math.min(maxBarWidth.pixels * unit, (right - left) * maxBarWidth.share);
  const { width, label } = scaleBar({ zoom, mmPerPixel, maxWidth });
  const contentWidth = Math.max(width, widthOf(label, size, true));
  const [x, y] = [left + 10 * unit, bottom - 10 * unit];
  const middle = x + 10 * unit + contentWidth / 2;
  const box = { left: x, top: y - 36 * unit, right: x + contentWidth + 20 * unit, bottom: y };
  const bar = { left: middle - width / 2, top: y - 11 * unit, right: middle + width / 2, bottom: y - 8 * unit };
  return [
    { path: rectangle(box), fill: inkOf('#ffffff', 0.85) },
    { path: rectangle(bar), fill: inkOf('#16181f') },
    { text: label, x: middle, y: y - 17 * unit, size, isBold: true, isCentered: true, ink: inkOf('#16181f') },
  ];
}

function headingMark(title: string, width: number, size: number): Mark {
  const titleSize = size * 1.25;
  const shownTitle = clipToWidth(title, width - size, (part) => widthOf(part, titleSize, true));
  return {
    text: shownTitle,
    x: size * 0.4,
    y: size * 1.35,
    size: titleSize,
    isBold: true,
    isCentered: false,
    ink: inkOf('#16181f'),
  };
}

function captionMark(name: string, { left, right, bottom }: Box, size: number): Mark {
  const shownName = clipToWidth(name, right - left - size, (part) => widthOf(part, size, false));
  return {
    text: shownName,
    x: left + size * 0.4,
    y: bottom + size * 1.3,
    size,
    isBold: false,
    isCentered: false,
    ink: inkOf('#16181f'),
  };
}

/** The channels and groups of all images, without duplicates. */
function legendEntries(panels: readonly Panel[]): LegendEntry[] {
  const entries = panels.flatMap(({ source, layers }) => [
    ...source.channels().map(({ name, color, palette }) => ({ label: palette ? `${name} (${palette})` : name, colors: [color] })),
    ...layers.flatMap(({ legend }) => legend),
  ]);
  return [...new Map(entries.map((entry) => [JSON.stringify(entry), entry])).values()];
}
