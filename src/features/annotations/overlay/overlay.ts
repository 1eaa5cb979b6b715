import type { View } from './draw/canvas.js';
import { drawnMargin } from './draw/draw.js';
import type { JoinedElementTexts, PictureDrawing } from './draw/drawing.js';
import type { CellWindow, DensityTile } from './draw/density/density-layer.js';
import { blockSideTiles, densityBelow, DensityCounter, densityTileSide, tileAddress } from './draw/density/density.js';
import type { DrawnSums } from './draw/density/draw-sums.js';
import { ownColor } from './draw/density/value-sums.js';
import { pointDiameter, type ColorMode, type GroupColors, type GroupFilter } from './draw/shape.js';
import { maxFeatures, VectorTile } from './draw/vector-tile.js';
import type { BoundingBox } from '../../../annotation-format/bounding-box.js';
import type { BoxCondition } from '../../../annotation-format/element-query.js';
import type { ElementStore, ElementText, StoredElements } from '../elements/element-store.js';
import type { CachedTile } from '../../caches/tile-cache.js';
import type { BlockAddress } from './density.model.js';
import { BadValueError } from '../../../errors.js';
import { encodePicture, parseEncoding } from '../../../tilesource/render/encode.js';
import type { Coloring } from './coloring/coloring.js';
import { minStoredElements, type AnnotationDensities } from './densities.js';
import type { Drawer, DrawingCost } from './drawer.js';

/** Limits of a part of a drawing, in bytes and pixels. Only one part is in memory at a time, and a thread can do other work between parts. */
const partTextBytes = 4 * 1024 * 1024;
const partPixels = 32_000_000;
/** Maximum sum of the pixels in the boxes of a picture's elements. */
const maxPixels = 4_000_000_000;
/** Maximum of the same sum, divided by the number of pixels of the picture. */
const maxBoxPixelsPerPixel = 32_000;

/** Difference between the level of density cells in a vector tile, which are 8 × 8 pixels large, and the level of pixels. */
const vectorLevelOffset = 3;

/** The appearance of a tile. */
export interface OverlayStyle {
  mode: ColorMode;
  groups: GroupFilter;
  /** Factor by which densities are multiplied. 1 shows true shares. If `undefined`, `defaultGain` chooses the factor. */
  gain: number | undefined;
  /** Colors of groups that the request chooses, see `GroupStyle`. */
  groupColors?: GroupColors | undefined;
  /** Colors shapes by values, filters shapes, or shows a heat map. */
  coloring?: Coloring | undefined;
}

const noGroupColors: GroupColors = new Map();

/** Finds the indices of the windows whose elements a picture may show. */
export function windowIndicesIn(stored: StoredElements, view: View): number[] {
  return [...stored.windows.keys()].filter((windowIndex) => overlapsView(stored.windows[windowIndex]!.box, view));
}

/** Options of {@link AnnotationOverlay}. */
export interface AnnotationOverlayOptions {
  store: Pick<ElementStore, 'scanTexts' | 'loadPackMarks'>;
  densities: AnnotationDensities;
  drawer: Drawer;
}

type Options = { signal?: AbortSignal | undefined };

/** Draws stored elements as pictures or vector tiles, of any part of the image at any scale that is a power of two. */
export class AnnotationOverlay {
  constructor(private readonly options: AnnotationOverlayOptions) {}

  /** Counts the elements of each group, and finds the most common color of each group. */
  async countGroups(
    stored: StoredElements,
    options: Options = {},
  ): Promise<Map<string | null, { color: string; count: number }>> {
    const highestCounts = new Map<string | null, number>();
    const groups = new Map<string | null, { color: string; count: number }>();
    for (const [group, color, count] of await this.options.densities.countGroups(stored, options)) {
      const isMostCommon = count > (highestCounts.get(group) ?? 0);
      if (isMostCommon) highestCounts.set(group, count);
      const existing = groups.get(group);
      groups.set(group, { color: isMostCommon || !existing ? color : existing.color, count: count + (existing?.count ?? 0) });
    }
    return groups;
  }

  /** Draws a PNG with a transparent background. */
  async drawPng(stored: StoredElements, view: View, style: OverlayStyle, options: Options = {}): Promise<CachedTile> {
    const lastPart = await this.#drawAllButLastPart(stored, view, style, options);
    const data =
      lastPart === null
        ? new Uint8Array(view.width * view.height * 4)
        : await this.options.drawer.paintRgba(lastPart.drawing, lastPart.cost, options.signal);
    const encoding = parseEncoding({ encoding: 'PNG' });
    const picture = { data, width: view.width, height: view.height, bands: 4, dtype: 'uint8' } as const;
    return { bytes: await encodePicture(picture, encoding), type: encoding.type };
  }

  /**
   * Draws a picture without encoding it, see {@link Canvas.pixels}. Densities are drawn first. Elements that are not counted in densities
   * are drawn above, in their order.
   */
  async draw(stored: StoredElements, view: View, style: OverlayStyle, options: Options = {}): Promise<Float32Array> {
    const lastPart = await this.#drawAllButLastPart(stored, view, style, options);
    if (lastPart === null) return new Float32Array(view.width * view.height * 4);
    return this.options.drawer.paint(lastPart.drawing, lastPart.cost, options.signal);
  }

  /** Draws all parts of a picture except the last. @returns the last part, which the caller must draw, or `null` if there is nothing to draw. */
  async #drawAllButLastPart(
    stored: StoredElements,
    view: View,
    style: OverlayStyle,
    options: Options,
  ): Promise<{ drawing: PictureDrawing; cost: DrawingCost } | null> {
    if (!overlapsView(stored.box, view)) return null;
    const level = levelOf(view);
    const window = { level, column: view.left / view.scale, row: view.top / view.scale, width: view.width, height: view.height };
    const { mode, groups, groupColors = noGroupColors, coloring } = style;
    let sums = await this.#loadSums(coloring, window, options);
    if (sums !== null && style.gain !== undefined) sums.gain = style.gain;
    let densities =
      coloring === undefined ? await this.#loadDensitiesWithGain(stored, view, { window, gain: style.gain }, options) : null;
    let part = new DrawingPart(view);
    let pixels: Float32Array | null = null;
    let drawnBoxPixels = 0;
    const maxBoxPixels = Math.min(maxPixels, maxBoxPixelsPerPixel * view.width * view.height);
    const sharedOptions = { view, mode, groups, groupColors, level };
    const makeDrawing = (): PictureDrawing => ({ ...sharedOptions, pixels, densities, sums, elements: part.elements() });
    for await (const element of this.#drawnElements(stored, view, options)) {
      const color = coloring === undefined ? ownColor : coloring.colorAt(element.order);
      if (color === null) continue;
      if (part.isFull) {
        pixels = await this.options.drawer.paint(makeDrawing(), part.cost, options.signal);
        densities = sums = null;
        drawnBoxPixels += part.boxPixels;
        if (drawnBoxPixels > maxBoxPixels) throw new BadValueError('Too many large shapes overlap here.');
        part = new DrawingPart(view);
      }
      part.add(element, color);
    }
    return { drawing: makeDrawing(), cost: part.cost };
  }

  /** Loads the sums of colored or filtered shapes. Returns `null` if there is no coloring. */
  async #loadSums(
    coloring: Coloring | undefined,
    window: CellWindow,
    { signal, shrink = 0 }: Options & { shrink?: number },
  ): Promise<DrawnSums | null> {
    if (coloring === undefined) return null;
    return coloring.loadSums(window, signal ?? new AbortController().signal, { shrink });
  }

  async #loadDensitiesWithGain(
    stored: StoredElements,
    view: View,
    { window, gain }: { window: CellWindow; gain: number | undefined },
    options: Options,
  ): Promise<PictureDrawing['densities']> {
    const [gainOrDefault, tiles] = await Promise.all([
      gain ?? this.options.densities.chooseGain(stored, window.level, options),
      this.#loadDensityTiles(stored, view, window.level, options),
    ]);
    return { window, tiles, gain: gainOrDefault };
  }

  /** Makes a Mapbox vector tile, see {@link VectorTile}. If there are more than 20,000 elements, only the largest are included. */
  async drawVectorTile(
    stored: StoredElements,
    view: View,
    style: Omit<OverlayStyle, 'gain'>,
    options: Options = {},
  ): Promise<CachedTile> {
    const type = 'application/vnd.mapbox-vector-tile';
    if (!overlapsView(stored.box, view)) return { bytes: new VectorTile(view).encode(), type };
    const level = levelOf(view);
    const { mode, groups, groupColors = noGroupColors, coloring } = style;
    const cellSide = view.scale * 2 ** vectorLevelOffset;
    const [column, row] = [Math.floor(view.left / cellSide), Math.floor(view.top / cellSide)];
    const window = {
      level: level + vectorLevelOffset,
      column,
      row,
      width: Math.ceil((view.left + view.width * view.scale) / cellSide) - column,
      height: Math.ceil((view.top + view.height * view.scale) / cellSide) - row,
    };
    const pixelWindow = {
      level,
      column: view.left / view.scale,
      row: view.top / view.scale,
      width: view.width,
      height: view.height,
    };
    const sums = await this.#loadSums(coloring, pixelWindow, { ...options, shrink: vectorLevelOffset });
    const tiles = coloring === undefined ? await this.#loadDensityTiles(stored, view, level, options) : [];
    let elements: ElementText[] = [];
    const colorOf = ({ order }: ElementText) => (coloring === undefined ? ownColor : coloring.colorAt(order));
    for await (const element of this.#drawnElements(stored, view, options)) {
      if (colorOf(element) === null) continue;
      if (groups === undefined || groups.has(element.group)) elements.push(element);
      if (elements.length === 2 * maxFeatures) elements = keepLargest(elements);
    }
    const part = new DrawingPart(view);
    for (const element of keepLargest(elements).sort(byOrder)) part.add(element, colorOf(element) ?? ownColor);
    const densities = { window, tiles, gain: 1 };
    const drawing = { view, mode, groups, groupColors, level, densities, sums, elements: part.elements() };
    return { bytes: await this.options.drawer.makeVectorTile(drawing, part.cost, options.signal), type };
  }

  /** Yields the elements that are drawn instead of being counted in a density, in their order. */
  async *#drawnElements(stored: StoredElements, view: View, { signal }: Options): AsyncGenerator<ElementText, void, undefined> {
    const minSize = densityBelow * view.scale;
    const largestSize = stored.box?.size ?? 0;
    // A point is drawn as a disc, which is larger than the point's box.
    if (Math.max(largestSize, pointDiagonal) < minSize) return;
    const conditions = conditionsOf(view, drawnMargin);
    if (minSize > pointDiagonal) conditions.push({ field: 'size', operator: '$gte', value: minSize });
    for await (const element of this.options.store.scanTexts(stored, { conditions, ...(signal && { signal }) }))
      if (element.box.size >= minSize || element.type === 'point') yield element;
  }

  /** Loads the tiles of densities that overlap the view. */
  async #loadDensityTiles(stored: StoredElements, view: View, level: number, { signal }: Options): Promise<DensityTile[]> {
    if (stored.count >= minStoredElements) return this.#loadStoredDensityTiles(stored, view, level, { signal });
    const counter = new DensityCounter();
    const conditions = conditionsOf(view, 0);
    for await (const marks of this.options.store.loadPackMarks(stored, { conditions, ...(signal && { signal }) })) {
      counter.add(marks, level);
    }
    const { classes } = counter;
    return Array.from(counter.densityLevel(level).tiles, ([key, cells]) => {
      return { level, ...tileAddress(key), content: cells.byClass(), classes };
    });
  }

  async #loadStoredDensityTiles(stored: StoredElements, view: View, viewLevel: number, options: Options): Promise<DensityTile[]> {
    const { densities } = this.options;
    const tiles: DensityTile[] = [];
    const summaries = await densities.loadSummaries(stored, options);
    const classesByWindow = new Map(summaries.map((summary) => [summary.window, summary.classes]));
    const addresses: BlockAddress[] = [];
    for (const [i, { window, levels }] of summaries.entries()) {
      // Windows are skipped if they are outside the view, or if none of their elements is small enough at this level to be counted.
      if (levels === null || viewLevel < levels.finest || !overlapsView(stored.windows[i]!.box, view)) continue;
      const level = Math.min(viewLevel, levels.coarsest);
      const side = densityTileSide * blockSideTiles * 2 ** level;
      const { columns, rows } = squaresOver(view, side);
      for (const row of rows) for (const column of columns) addresses.push({ window, level, column, row });
    }
    for (const block of await densities.loadBlocks(addresses)) {
      const { columns, rows } = squaresOver(view, densityTileSide * 2 ** block.level);
      for (const [i, content] of block.tiles.entries()) {
        const column = block.column * blockSideTiles + (i % blockSideTiles);
        const row = block.row * blockSideTiles + Math.floor(i / blockSideTiles);
        if (content.length === 0 || !columns.includes(column) || !rows.includes(row)) continue;
        tiles.push({ level: block.level, column, row, content, classes: classesByWindow.get(block.window) ?? [] });
      }
    }
    options.signal?.throwIfAborted();
    return tiles;
  }
}

const pointDiagonal = pointDiameter * Math.SQRT2;

/** Returns the largest elements, up to the maximum number of features in a tile. */
function keepLargest(elements: ElementText[]): ElementText[] {
  return elements.length > maxFeatures ? elements.sort((a, b) => b.box.size - a.box.size).slice(0, maxFeatures) : elements;
}

/** A part of the elements of a picture. These elements are drawn together. */
class DrawingPart {
  readonly cost: DrawingCost = { textBytes: 0, pixels: 0 };
  /** Sum of the pixels in the boxes of the elements, except heat maps and grids. */
  boxPixels = 0;
  readonly #texts: Buffer[] = [];
  readonly #colors: number[] = [];

  constructor(private readonly view: View) {}

  /** Whether the part has reached its limits. */
  get isFull(): boolean {
    return this.cost.textBytes >= partTextBytes || this.cost.pixels >= partPixels;
  }

  add({ text, box, type }: ElementText, color: number): void {
    this.#texts.push(text);
    this.#colors.push(color);
    this.cost.textBytes += text.length;
    if (type === 'heatmap' || type === 'griddata') this.cost.pixels = Infinity;
    else {
      const pixels = pixelsOf(box, this.view);
      this.boxPixels += pixels;
      this.cost.pixels += pixels;
    }
  }

  elements(): JoinedElementTexts {
    const ends = new Uint32Array(this.#texts.length);
    let end = 0;
    for (const [i, text] of this.#texts.entries()) ends[i] = end += text.length;
    const colors = this.#colors.some((color) => color !== ownColor) ? Int32Array.from(this.#colors) : null;
    return { text: Buffer.concat(this.#texts), ends, colors };
  }
}

/** Computes the number of pixels of a view that a box covers. */
function pixelsOf({ lowx, lowy, highx, highy }: BoundingBox, view: View): number {
  const { left, top, right, bottom } = edgesOf(view);
  const width = Math.min(right, highx) - Math.max(left, lowx);
  const height = Math.min(bottom, highy) - Math.max(top, lowy);
  return (Math.max(0, width) * Math.max(0, height)) / view.scale ** 2;
}

function byOrder(a: ElementText, b: ElementText): number {
  return a.order - b.order;
}

/** Returns the level of densities whose cells are as large as the pixels of a view. The scale of the view must be a power of two. */
function levelOf({ scale }: View): number {
  return Math.round(Math.log2(scale));
}

function edgesOf({ left, top, scale, width, height }: View): { left: number; top: number; right: number; bottom: number } {
  return { left, top, right: left + width * scale, bottom: top + height * scale };
}

/** Makes the conditions for elements whose boxes lie in the view, or within `margin` pixels around it. */
function conditionsOf(view: View, margin: number): BoxCondition[] {
  const { left, top, right, bottom } = edgesOf(view);
  const distance = Math.max(margin * view.scale, pointDiameter);
  return [
    { field: 'highx', operator: '$gte', value: left - distance },
    { field: 'lowx', operator: '$lt', value: right + distance },
    { field: 'highy', operator: '$gte', value: top - distance },
    { field: 'lowy', operator: '$lt', value: bottom + distance },
  ];
}

function overlapsView(box: BoundingBox | null, view: View): boolean {
  if (box === null) return false;
  const { left, top, right, bottom } = edgesOf(view);
  const margin = Math.max(drawnMargin * view.scale, pointDiameter);
  return box.highx >= left - margin && box.lowx < right + margin && box.highy >= top - margin && box.lowy < bottom + margin;
}

/** Finds the columns and rows of the squares that overlap the view. @param side side of a square in base-layer pixels. */
function squaresOver(view: View, side: number): { columns: number[]; rows: number[] } {
  const { left, top, right, bottom } = edgesOf(view);
  const range = (from: number, to: number) => {
    const first = Math.floor(from / side);
    return Array.from({ length: Math.max(0, Math.ceil(to / side) - first) }, (_, i) => first + i);
  };
  return { columns: range(left, right), rows: range(top, bottom) };
}
