import { defaultLineColor, hexColor } from './draw/colors.js';
import type { View } from './draw/canvas.js';
import { densityBelow } from './draw/density/density.js';
import type { ColorMode } from './draw/shape.js';
import { vectorExtent } from './draw/vector-tile.js';
import type { StoredElements } from '../elements/element-store.js';
import type { CachedTile, TileCache } from '../../caches/tile-cache.js';
import { NoLargeImageError } from '../../../errors.js';
import { enqueueFor } from '../../../core/concurrency/queues.js';
import { WorkQueue } from '../../../core/concurrency/work-queue.js';
import type { Caller } from '../../../host.js';
import type { HostRecords } from '../../../core/host/host-records.js';
import { checkTile, levelScale, type PyramidShape } from '../../../tilesource/geometry.js';
import { rendering } from '../../../tilesource/requests.js';
import { windowIndicesIn, type AnnotationOverlay, type OverlayStyle } from './overlay.js';
import type { Coloring, ColoringLegend, ColoringView } from './coloring/coloring.js';
import { needsColoring, requestedGroupColors, type ColoringRequest } from './coloring/coloring-request.js';
import type { Colorings } from './coloring/colorings.js';
import type { ItemRecord } from '../../../core/host/records.js';
import type { Images } from '../../images/images.js';
import { SharedWork } from '../../../tilesource/process/shared-work.js';

/** The fields of an annotation that its tiles need. */
interface ShownAnnotation {
  id: string;
  itemId: string;
  version: number;
  elements: StoredElements;
}

/** An annotation and the item of its image. */
export interface AnnotationOnItem {
  annotation: ShownAnnotation;
  item: ItemRecord;
}

/** Position and appearance of a tile. */
export interface AnnotationTileRequest {
  kind: 'png' | 'mvt';
  level: number;
  x: number;
  y: number;
  color?: ColorMode | undefined;
  /** Names of the groups to show, with `null` for elements without a group. Default: all. */
  groups?: readonly (string | null)[] | undefined;
  /** Groups that are not shown, even if they are in `groups`. */
  without?: readonly (string | null)[] | undefined;
  /** Factor for densities. Used only for PNG. */
  gain?: number | undefined;
  coloring?: ColoringRequest | undefined;
}

/** Response of `GET annotation/:id/tiles`. Sizes are in base-layer pixels. */
export interface AnnotationTilesDescription extends PyramidShape {
  elementCount: number;
  version: number;
  /** The groups with their most common color and their number of elements. */
  groups: { name: string | null; color: string; count: number }[];
  /** Elements whose boxes have a shorter diagonal than this, in pixels of a tile, are shown as density. */
  densityBelow: number;
  /** Number of units along the width of a vector tile. */
  vectorExtent: number;
  /** The meaning of the colors, if the request colors or filters shapes. */
  coloring?: ColoringLegend;
}

/** Options of {@link AnnotationTiles}. */
export interface AnnotationTilesOptions {
  /** Loads an annotation. @throws an error if the caller may not read the annotation. */
  load: (id: string, caller: Caller | null) => Promise<ShownAnnotation>;
  overlay: AnnotationOverlay;
  colorings: Colorings;
  /** The queue in which drawing waits. */
  drawQueue: WorkQueue;
  images: Images;
  records: HostRecords;
  tiles: TileCache;
}

/** A tile whose key is known, but which has not been made yet. */
export interface AnnotationTile {
  /** Key of the tile in caches. Tiles with different bytes have different keys. */
  key: string;
  make(requester: { caller: Caller | null; signal: AbortSignal }): Promise<CachedTile>;
}

/** Tiles of annotations, which cover exactly the tiles of the item's image. */
export class AnnotationTiles {
  /** Draws each tile only once, even if several requests wait for it. */
  readonly #sharedDrawing = new SharedWork<CachedTile>();
  /** The queue for preparing colorings. It is separate, so that tiles of other callers are drawn during the seconds that preparing can take. */
  readonly #preparationQueue = new WorkQueue({ name: 'colored annotations', running: 2, waiting: 1000 });

  constructor(private readonly options: AnnotationTilesOptions) {}

  /**
   * Loads an annotation and its item. The caller must be allowed to read both, because the shape of tiles is a property of the
   * image.
   *
   * @throws NoLargeImageError if the item no longer exists, AccessDeniedError if the caller cannot read it, and the errors of
   * `load`.
   */
  async load(id: string, caller: Caller | null): Promise<AnnotationOnItem> {
    const annotation = await this.options.load(id, caller);
    if ((await this.options.records.findItem(annotation.itemId)) === null) throw new NoLargeImageError();
    return { annotation, item: await this.options.images.load(annotation.itemId, caller) };
  }

  /** Determines the key of a tile. Nothing is drawn before `make` is called. @throws TileOutsideError, NoLargeImageError */
  async openTile({ annotation, item }: AnnotationOnItem, request: AnnotationTileRequest): Promise<AnnotationTile> {
    const { overlay, tiles, images } = this.options;
    const shape: PyramidShape = await images.use(item, (image) => image.metadata());
    checkTile(shape, request);
    const { kind, level, x, y } = request;
    const { tileWidth, tileHeight, sizeX, sizeY, levels } = shape;
    const hiddenGroups = new Set(request.without);
    const requestedGroups = request.groups ?? (hiddenGroups.size === 0 ? undefined : annotation.elements.groups);
    const groupColors = requestedGroupColors(request.coloring);
    const style: OverlayStyle = {
      mode: request.color ?? 'element',
      groups: requestedGroups && new Set(requestedGroups.filter((name) => !hiddenGroups.has(name))),
      gain: request.gain,
      groupColors,
    };
    // The key contains the groups of the request, because the list of visible groups may be much longer.
    const groupFilters = [request.groups, request.without].map((names) =>
      names ? [...new Set(names)].map((name) => JSON.stringify(name)).sort() : null,
    );
    const coloring = request.coloring !== undefined && needsColoring(request.coloring) ? request.coloring : null;
    const gain = kind === 'png' ? (style.gain ?? null) : 0;
    const drawingOptions = [rendering.version, kind, level, x, y, style.mode, groupFilters, gain, coloring, [...groupColors]];
    const pyramid = [tileWidth, tileHeight, sizeX, sizeY, levels];
    const key = `annotation/${annotation.id}/${annotation.version}/${annotation.elements.content}?${JSON.stringify([pyramid, drawingOptions])}`;
    const scale = levelScale(shape, level);
    const view: View = {
      left: x * tileWidth * scale,
      top: y * tileHeight * scale,
      scale,
      width: tileWidth,
      height: tileHeight,
    };
    const { elements } = annotation;
    const prepare = async (signal: AbortSignal): Promise<OverlayStyle> => {
      if (coloring === null) return style;
      const coloringView = { ...coloringViewOf(shape), mode: style.mode, groupColors, groups: style.groups };
      const openedColoring = await this.options.colorings.open(elements, coloring, coloringView, signal);
      if (openedColoring.groupColors !== null) return { ...style, mode: 'group', groupColors: openedColoring.groupColors };
      await openedColoring.prepare(Math.round(Math.log2(scale)), windowIndicesIn(elements, view), signal);
      return { ...style, coloring: openedColoring };
    };
    const draw = async (preparedStyle: OverlayStyle, signal: AbortSignal): Promise<CachedTile> => {
      const tile = await (kind === 'png'
        ? overlay.drawPng(elements, view, preparedStyle, { signal })
        : overlay.drawVectorTile(elements, view, preparedStyle, { signal }));
      await tiles.set(key, tile);
      return tile;
    };
    return {
      key,
      make: async (requester) => {
        const enqueue = enqueueFor(this.options.drawQueue, requester);
        const enqueuePreparation = enqueueFor(this.#preparationQueue, requester);
        const work = async (sharedSignal: AbortSignal) => {
          const preparedStyle = coloring === null ? style : await enqueuePreparation(() => prepare(sharedSignal), sharedSignal);
          return enqueue(() => draw(preparedStyle, sharedSignal), sharedSignal);
        };
        return (await tiles.get(key)) ?? this.#sharedDrawing.join(key, work, requester.signal);
      },
    };
  }

  /** Describes the levels and sizes of the tiles, the groups, and the colors of a coloring. @throws NoLargeImageError */
  async describe(
    { annotation, item }: AnnotationOnItem,
    coloring: ColoringRequest,
    requester: { caller: Caller | null; signal: AbortSignal },
  ): Promise<AnnotationTilesDescription> {
    const { overlay, images, colorings } = this.options;
    const { signal } = requester;
    const shape: PyramidShape = await images.use(item, (image) => image.metadata());
    const { sizeX, sizeY, tileWidth, tileHeight, levels } = shape;
    const makeLegend = async () => {
      const view: ColoringView = { ...coloringViewOf(shape), mode: 'element', groupColors: new Map(), groups: undefined };
      const openedColoring: Coloring = await colorings.open(annotation.elements, coloring, view, signal);
      return openedColoring.makeLegend(signal);
    };
    const coloringLegend = needsColoring(coloring) ? await enqueueFor(this.#preparationQueue, requester)(makeLegend) : undefined;
    const { groups, count } = annotation.elements;
    const colorsAndCounts = await overlay.countGroups(annotation.elements, { signal });
    return {
      sizeX,
      sizeY,
      tileWidth,
      tileHeight,
      levels,
      elementCount: count,
      version: annotation.version,
      groups: groups.map((name) => ({ name, ...(colorsAndCounts.get(name) ?? { color: hexColor(defaultLineColor), count: 0 }) })),
      densityBelow,
      vectorExtent,
      ...(coloringLegend && { coloring: coloringLegend }),
    };
  }
}

/** Returns the properties of an image that colorings need. */
function coloringViewOf(shape: PyramidShape): Pick<ColoringView, 'extent' | 'coarsestLevel'> {
  const { sizeX, sizeY, levels } = shape;
  return { extent: { sizeX, sizeY }, coarsestLevel: levels - 1 };
}
