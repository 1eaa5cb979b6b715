import { bufferOf } from '../../../../core/buffer-of.js';
import { Canvas, type View } from './canvas.js';
import { DensityLayer, DensityPoints, type CellWindow, type DensityTile } from './density/density-layer.js';
import { firstDensityLevel } from './density/density.js';
import { drawElement } from './draw.js';
import { drawnSize, type ColorMode, type GroupFilter } from './shape.js';
import { maxFeatures, VectorTile } from './vector-tile.js';
import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';

/** JSON texts of elements in one buffer, and the position at which each ends. */
export interface DrawnTexts {
  text: Uint8Array;
  ends: Uint32Array;
}

/** A drawing, as plain data that can be sent to a thread. */
interface Drawing {
  view: View;
  mode: ColorMode;
  groups: GroupFilter;
  /** The level of densities with the scale of the view. */
  level: number;
  elements: DrawnTexts;
  /** Densities that are drawn below the elements. */
  densities: { window: CellWindow; tiles: readonly DensityTile[]; gain: number } | null;
}

/** A picture, or a part of one. */
export interface PictureDrawing extends Drawing {
  /** The pixels drawn so far, see {@link Canvas.pixels}; `null` for the first part. */
  pixels: Float32Array | null;
}

/** A complete vector tile. */
export type VectorDrawing = Drawing;

/** The elements of the visible groups that are drawn at this level instead of being counted in its density. */
function* drawnElements({ elements: { text, ends }, level, groups }: Drawing): Generator<AnnotationElement, void, undefined> {
  const texts = bufferOf(text);
  for (let i = 0, start = 0; i < ends.length; i += 1) {
    const end = ends[i]!;
    // Stored elements have been checked, so the cast is safe.
    const element = JSON.parse(texts.toString('utf8', start, end)) as AnnotationElement;
    start = end;
    if (groups !== undefined && !groups.has(element.group ?? null)) continue;
    if (firstDensityLevel(drawnSize(element)) > level) yield element;
  }
}

/** Draws densities, then elements in their order. @returns the pixels of the canvas. */
export function paint(drawing: PictureDrawing): Float32Array {
  const { view, mode, groups, densities, pixels } = drawing;
  const canvas = new Canvas(view, pixels ?? undefined);
  if (densities !== null) {
    const layer = new DensityLayer(densities.window, { mode, groups });
    for (const tile of densities.tiles) layer.add(tile);
    layer.drawOn(canvas, densities.gain);
  }
  for (const element of drawnElements(drawing)) drawElement(canvas, element, mode);
  return canvas.pixels;
}

/** Like {@link paint}, but as red, green, blue and alpha from 0 to 255, not premultiplied. */
export function paintRgba(drawing: PictureDrawing): Uint8Array<ArrayBuffer> {
  return new Canvas(drawing.view, paint(drawing)).toRgba();
}

/** Makes a vector tile of elements, in their order, and of densities. */
export function makeVectorTile(drawing: VectorDrawing): Uint8Array {
  const { view, mode, groups, densities } = drawing;
  const tile = new VectorTile(view, mode);
  for (const element of drawnElements(drawing)) tile.addElement(element);
  if (densities !== null) {
    const density = new DensityPoints(densities.window, { mode, groups });
    for (const part of densities.tiles) density.add(part);
    for (const point of density.points(maxFeatures)) tile.addDensity(point);
  }
  return tile.encode();
}
