import { bufferOf } from '../../../../core/buffer-of.js';
import { Canvas, type View } from './canvas.js';
import { drawSums, pointsOfSums, type DrawnSums } from './density/draw-sums.js';
import { splitColor } from './colors.js';
import { ownColor } from './density/value-sums.js';
import { DensityLayer, DensityPoints, type CellWindow, type DensityTile } from './density/density-layer.js';
import { firstDensityLevel } from './density/density.js';
import { drawElement } from './draw.js';
import { colorOfGroup } from './shape.js';
import { drawnSize, type ColorMode, type GroupColors, type GroupFilter, type ShapeColor } from './shape.js';
import { maxFeatures, VectorTile } from './vector-tile.js';
import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';

/** The JSON texts of the elements to draw, joined to one text. */
export interface JoinedElementTexts {
  /** The texts of all elements, without separators. */
  text: Uint8Array;
  /** Offset in `text` at which each element ends. */
  ends: Uint32Array;
  /** Color number of each element, see `ownColor`. `null` if all elements have their own colors. */
  colors: Int32Array | null;
}

/** A drawing, in a form that can be sent to a thread. */
interface Drawing {
  view: View;
  mode: ColorMode;
  groups: GroupFilter;
  /** See `GroupStyle`. */
  groupColors: GroupColors;
  /** The level of densities whose cells are as large as the pixels of the view. */
  level: number;
  elements: JoinedElementTexts;
  /** Densities that are drawn below the elements. */
  densities: { window: CellWindow; tiles: readonly DensityTile[]; gain: number } | null;
  /** Sums that are drawn instead of densities, if shapes are colored by their values or filtered. */
  sums: DrawnSums | null;
}

/** The drawing of a picture, or of a part of a picture. */
export interface PictureDrawing extends Drawing {
  /** The pixels after the previous part, see {@link Canvas.pixels}. `null` for the first part. */
  pixels: Float32Array | null;
}

/** The drawing of a vector tile. */
export type VectorDrawing = Drawing;

/** Yields the elements that are drawn instead of being counted in a density, with their colors. Elements of hidden groups are left out. */
function* drawnElements(drawing: Drawing): Generator<{ element: AnnotationElement; color: ShapeColor }, void, undefined> {
  const { level, groups } = drawing;
  const { text, ends, colors } = drawing.elements;
  const joinedTexts = bufferOf(text);
  for (let i = 0, start = 0; i < ends.length; i += 1) {
    const end = ends[i]!;
    // Stored elements have been checked, so the cast is safe.
    const element = JSON.parse(joinedTexts.toString('utf8', start, end)) as AnnotationElement;
    start = end;
    if (groups !== undefined && !groups.has(element.group ?? null)) continue;
    if (firstDensityLevel(drawnSize(element)) <= level) continue;
    const valueColor = colors?.[i] ?? ownColor;
    const color = valueColor === ownColor ? colorOfGroup(element.group ?? null, drawing) : splitColor(valueColor);
    yield { element, color };
  }
}

/** Draws densities, and then elements in their order. @returns the pixels of the canvas. */
export function paint(drawing: PictureDrawing): Float32Array {
  const { view, densities, sums, pixels } = drawing;
  const canvas = new Canvas(view, pixels ?? undefined);
  if (densities !== null) {
    const layer = densityLayerOf(drawing, densities);
    for (const tile of densities.tiles) layer.add(tile);
    layer.drawOn(canvas, densities.gain);
  }
  if (sums !== null) drawSums(canvas, sums);
  for (const { element, color } of drawnElements(drawing)) drawElement(canvas, element, color);
  return canvas.pixels;
}

/** Like {@link paint}, but lets other work run between the tiles of densities. */
export async function paintInSlices(drawing: PictureDrawing, signal?: AbortSignal): Promise<Float32Array> {
  const { view, densities, pixels } = drawing;
  if (densities === null) return paint(drawing);
  const canvas = new Canvas(view, pixels ?? undefined);
  const layer = densityLayerOf(drawing, densities);
  for (const tile of densities.tiles) {
    layer.add(tile);
    if (isSliceOver()) await nextSlice(signal);
  }
  layer.drawOn(canvas, densities.gain);
  return paint({ ...drawing, pixels: canvas.pixels, densities: null });
}

function densityLayerOf({ mode, groups, groupColors }: Drawing, { window }: NonNullable<Drawing['densities']>): DensityLayer {
  return new DensityLayer(window, { mode, groups, groupColors });
}

/** Converts the pixels of a canvas to red, green, blue and alpha from 0 to 255, not premultiplied. */
export function toRgba(view: View, pixels: Float32Array): Uint8Array<ArrayBuffer> {
  return new Canvas(view, pixels).toRgba();
}

/** Like {@link paint}, but returns the bytes of {@link toRgba}. */
export function paintRgba(drawing: PictureDrawing): Uint8Array<ArrayBuffer> {
  return toRgba(drawing.view, paint(drawing));
}

/** Makes a vector tile of elements and densities. */
export function makeVectorTile(drawing: VectorDrawing): Uint8Array {
  const { view, mode, groups, groupColors, densities, sums } = drawing;
  const tile = new VectorTile(view);
  for (const { element, color } of drawnElements(drawing)) tile.addElement(element, color);
  if (densities !== null) {
    const densityPoints = new DensityPoints(densities.window, { mode, groups, groupColors });
    for (const densityTile of densities.tiles) densityPoints.add(densityTile);
    for (const point of densityPoints.points(maxFeatures)) tile.addDensity(point);
  }
  if (sums !== null) for (const point of pointsOfSums(sums, maxFeatures)) tile.addDensity(point);
  return tile.encode();
}
