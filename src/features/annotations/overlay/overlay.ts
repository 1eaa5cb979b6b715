import { Canvas, type View } from './draw/canvas.js';
import { drawElement, drawnMargin } from './draw/draw.js';
import { DensityLayer, DensityPoints, type DensityTile } from './draw/density-layer.js';
import { densityBelow, DensityCounter, densityTile, firstDensityLevel, tilePlace } from './draw/density.js';
import { drawnSize, pointDiameter, type ColorMode, type GroupFilter } from './draw/shape.js';
import { maxFeatures, VectorTile } from './draw/vector-tile.js';
import type { BoundingBox } from '../../../annotation-format/bounding-box.js';
import type { BoxCondition } from '../../../annotation-format/element-query.js';
import type { AnnotationElement } from '../../../annotation-format/schema/document.js';
import type { ElementStore, ScannedElement, StoredElements } from '../elements/contract.js';
import type { CachedTile } from '../../caches/contract.js';
import { blockTiles, type BlockPlace } from './density.model.js';
import { breathe } from '../../../tilesource/process/concurrency.js';
import { encodePicture, parseEncoding } from '../../../tilesource/render/encode.js';
import { countedAlways, type AnnotationDensities } from './densities.js';

/** Elements drawn before others have a turn. */
const elementsPerTurn = 500;

/** Cells of a density in a vector tile: this many halvings above the pixels, so 8 × 8 pixels. */
const vectorShrink = 3;

/** What decides how a tile looks, beside the elements and the place. */
export interface OverlayStyle {
  mode: ColorMode;
  groups: GroupFilter;
  /** How often the density is counted; 1 shows shares as they are. `undefined`: what looks right, see `usualGain`. */
  gain: number | undefined;
}

/** What {@link AnnotationOverlay} works with. */
export interface AnnotationOverlayOptions {
  store: Pick<ElementStore, 'scan' | 'marks'>;
  densities: AnnotationDensities;
}

type Options = { signal?: AbortSignal | undefined };

/** Draws stored elements: pictures and vector tiles of any part at any scale that is a power of two. */
export class AnnotationOverlay {
  readonly #options: AnnotationOverlayOptions;

  constructor(options: AnnotationOverlayOptions) {
    this.#options = options;
  }

  /** A picture with transparent background as PNG. */
  async png(stored: StoredElements, view: View, style: OverlayStyle, options: Options = {}): Promise<CachedTile> {
    const canvas = await this.draw(stored, view, style, options);
    const encoding = parseEncoding({ encoding: 'PNG' });
    const picture = { data: canvas.toRgba(), width: view.width, height: view.height, bands: 4, dtype: 'uint8' } as const;
    return { bytes: await encodePicture(picture, encoding), type: encoding.type };
  }

  /** The same before it is encoded: densities below, then the larger elements in their order. */
  async draw(stored: StoredElements, view: View, style: OverlayStyle, options: Options = {}): Promise<Canvas> {
    const canvas = new Canvas(view);
    if (!meets(stored.box, view)) return canvas;
    const level = levelOf(view);
    const window = { level, column: view.left / view.scale, row: view.top / view.scale, width: view.width, height: view.height };
    const layer = new DensityLayer(window, style);
    const [elements, gain] = await Promise.all([
      this.#elements(stored, view, level, style.groups, options),
      style.gain ?? this.#options.densities.gain(stored, level, options),
      this.#eachDensity(stored, view, level, (tile) => layer.add(tile), options),
    ]);
    layer.drawOn(canvas, gain);
    await inTurns(elements, ({ element }) => drawElement(canvas, element, style.mode), options);
    return canvas;
  }

  /** A Mapbox vector tile; see {@link VectorTile}. Of more than 20 000 elements the largest are kept. */
  async vector(
    stored: StoredElements,
    view: View,
    style: Omit<OverlayStyle, 'gain'>,
    options: Options = {},
  ): Promise<CachedTile> {
    const tile = new VectorTile(view, style.mode);
    const type = 'application/vnd.mapbox-vector-tile';
    if (!meets(stored.box, view)) return { bytes: tile.encode(), type };
    const level = levelOf(view);
    const cell = view.scale * 2 ** vectorShrink;
    const [column, row] = [Math.floor(view.left / cell), Math.floor(view.top / cell)];
    const window = {
      level: level + vectorShrink,
      column,
      row,
      width: Math.ceil((view.left + view.width * view.scale) / cell) - column,
      height: Math.ceil((view.top + view.height * view.scale) / cell) - row,
    };
    const density = new DensityPoints(window, style);
    const [found] = await Promise.all([
      this.#elements(stored, view, level, style.groups, options),
      this.#eachDensity(stored, view, level, (part) => density.add(part), options),
    ]);
    const elements = found.length > maxFeatures ? found.toSorted(bySize).slice(0, maxFeatures).sort(byOrder) : found;
    await inTurns(elements, ({ element }) => tile.addElement(element), options);
    for (const point of density.points(maxFeatures)) tile.addDensity(point);
    return { bytes: tile.encode(), type };
  }

  /** Elements that are drawn by themselves at this level, in their order. */
  async #elements(
    stored: StoredElements,
    view: View,
    level: number,
    groups: GroupFilter,
    { signal }: Options,
  ): Promise<ScannedElement[]> {
    const least = densityBelow * view.scale;
    const largest = stored.box?.size ?? 0;
    // Points are drawn larger than their box is.
    if (Math.max(largest, pointSize) < least) return [];
    const conditions = conditionsOf(view, drawnMargin);
    if (least > pointSize) conditions.push({ field: 'size', operator: '$gte', value: least });
    const elements: ScannedElement[] = [];
    for await (const scanned of this.#options.store.scan(stored, { conditions, ...(signal && { signal }) })) {
      const { element } = scanned;
      if (groups !== undefined && !groups.has(element.group ?? null)) continue;
      if (isDrawn(element, level)) elements.push(scanned);
    }
    return elements;
  }

  /** Tiles of densities that meet the view. */
  async #eachDensity(
    stored: StoredElements,
    view: View,
    level: number,
    visit: (tile: DensityTile) => void,
    { signal }: Options,
  ): Promise<void> {
    if (stored.count >= countedAlways) return this.#eachStored(stored, view, level, visit, { signal });
    const counter = new DensityCounter();
    const conditions = conditionsOf(view, 0);
    for await (const marks of this.#options.store.marks(stored, { conditions, ...(signal && { signal }) })) {
      counter.add(marks, level);
    }
    for (const [key, content] of counter.level(level).tiles)
      visit({ level, ...tilePlace(key), content, classes: counter.classes });
  }

  async #eachStored(
    stored: StoredElements,
    view: View,
    wanted: number,
    visit: (tile: DensityTile) => void,
    options: Options,
  ): Promise<void> {
    const { densities } = this.#options;
    const heads = await densities.heads(stored, options);
    const classes = new Map(heads.map((head) => [head.window, head.classes]));
    const places: BlockPlace[] = [];
    for (const [i, { window, levels }] of heads.entries()) {
      // Nothing is small enough to be counted, or nothing of this window is near.
      if (levels === null || wanted < levels.finest || !meets(stored.windows[i]!.box, view)) continue;
      const level = Math.min(wanted, levels.coarsest);
      const side = densityTile * blockTiles * 2 ** level;
      const { columns, rows } = partsOf(view, side);
      for (const row of rows) for (const column of columns) places.push({ window, level, column, row });
    }
    for (const block of await densities.blocks(places)) {
      const { columns, rows } = partsOf(view, densityTile * 2 ** block.level);
      for (const [i, content] of block.tiles.entries()) {
        const column = block.column * blockTiles + (i % blockTiles);
        const row = block.row * blockTiles + Math.floor(i / blockTiles);
        if (content.length === 0 || !columns.includes(column) || !rows.includes(row)) continue;
        visit({ level: block.level, column, row, content, classes: classes.get(block.window) ?? [] });
      }
      await breathe();
      options.signal?.throwIfAborted();
    }
  }
}

const pointSize = pointDiameter * Math.SQRT2;

function bySize(a: ScannedElement, b: ScannedElement): number {
  return b.box.size - a.box.size;
}

function byOrder(a: ScannedElement, b: ScannedElement): number {
  return a.order - b.order;
}

/** Level of densities of a view: its scale is a power of two. */
function levelOf({ scale }: View): number {
  return Math.round(Math.log2(scale));
}

/** Whether an element is drawn by itself at a level, rather than counted into its density. */
function isDrawn(element: AnnotationElement, level: number): boolean {
  return firstDensityLevel(drawnSize(element)) > level;
}

function edgesOf({ left, top, scale, width, height }: View): { left: number; top: number; right: number; bottom: number } {
  return { left, top, right: left + width * scale, bottom: top + height * scale };
}

/** What must hold for the box of an element that lies in the view, or within `margin` pixels around it. */
function conditionsOf(view: View, margin: number): BoxCondition[] {
  const { left, top, right, bottom } = edgesOf(view);
  const around = Math.max(margin * view.scale, pointDiameter);
  return [
    { field: 'highx', operator: '$gte', value: left - around },
    { field: 'lowx', operator: '$lt', value: right + around },
    { field: 'highy', operator: '$gte', value: top - around },
    { field: 'lowy', operator: '$lt', value: bottom + around },
  ];
}

function meets(box: BoundingBox | null, view: View): boolean {
  if (box === null) return false;
  const { left, top, right, bottom } = edgesOf(view);
  const around = Math.max(drawnMargin * view.scale, pointDiameter);
  return box.highx >= left - around && box.lowx < right + around && box.highy >= top - around && box.lowy < bottom + around;
}

/** Columns and rows of squares of this side that meet the view. */
function partsOf(view: View, side: number): { columns: number[]; rows: number[] } {
  const { left, top, right, bottom } = edgesOf(view);
  const range = (from: number, to: number) => {
    const first = Math.floor(from / side);
    return Array.from({ length: Math.max(0, Math.ceil(to / side) - first) }, (_, i) => first + i);
  };
  return { columns: range(left, right), rows: range(top, bottom) };
}

async function inTurns<T>(items: readonly T[], work: (item: T) => void, { signal }: Options): Promise<void> {
  for (const [i, item] of items.entries()) {
    work(item);
    if ((i + 1) % elementsPerTurn !== 0) continue;
    await breathe();
    signal?.throwIfAborted();
  }
}
