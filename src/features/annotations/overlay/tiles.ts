import { defaultLineColor, hexColor } from './draw/colors.js';
import type { View } from './draw/canvas.js';
import { densityBelow } from './draw/density/density.js';
import type { ColorMode } from './draw/shape.js';
import { vectorExtent } from './draw/vector-tile.js';
import type { StoredElements } from '../elements/contract.js';
import type { CachedTile, TileCache } from '../../caches/contract.js';
import { NoLargeImageError } from '../../../errors.js';
import { enqueueFor } from '../../../core/concurrency/queues.js';
import type { WorkQueue } from '../../../core/concurrency/work-queue.js';
import type { Caller } from '../../../host.js';
import type { HostRecords } from '../../../core/host/host-records.js';
import { checkTile, levelScale, type PyramidShape } from '../../../tilesource/geometry.js';
import type { AnnotationOverlay } from './overlay.js';
import type { Images } from '../../images/images.js';
import type { Items } from '../../items/items.js';
import { SharedWork } from '../../../tilesource/process/shared-work.js';

/** What the tiles of an annotation need to know of it. */
export interface ShownAnnotation {
  id: string;
  itemId: string;
  version: number;
  elements: StoredElements;
}

/** Which tile, and how it is to look. */
export interface AnnotationTileRequest {
  kind: 'png' | 'mvt';
  level: number;
  x: number;
  y: number;
  color?: ColorMode | undefined;
  /** Names of groups, `null` for elements without one. Absent: all. */
  groups?: readonly (string | null)[] | undefined;
  /** Those not to show, of the former. */
  without?: readonly (string | null)[] | undefined;
  /** Only of PNG. */
  gain?: number | undefined;
}

/** What GET annotation/:id/tiles answers. Sizes in pixels of the full resolution. */
export interface AnnotationTilesDescription extends PyramidShape {
  /** Element count and version of the annotation. */
  elementCount: number;
  version: number;
  /** Each with the color that most of its elements are seen in. */
  groups: { name: string | null; color: string; count: number }[];
  /** Boxes with a shorter diagonal, in pixels of a tile, are shown as density. */
  densityBelow: number;
  /** Units along the width of a vector tile. */
  vectorExtent: number;
}

/** What {@link AnnotationTiles} works with. */
export interface AnnotationTilesOptions {
  /** The annotation, where the caller may read it. */
  load: (id: string, caller: Caller | null) => Promise<ShownAnnotation>;
  overlay: AnnotationOverlay;
  /** Where the drawing of tiles waits. */
  drawing: WorkQueue;
  images: Images;
  items: Items;
  records: HostRecords;
  tiles: TileCache;
}

/** A tile that is named but not yet made. */
export interface AnnotationTile {
  /** Names the bytes exactly. */
  key: string;
  make(asked: { caller: Caller | null; signal: AbortSignal }): Promise<CachedTile>;
}

/** Tiles of annotations that lie exactly above the tiles of their item. */
export class AnnotationTiles {
  /** Tiles being drawn now. */
  readonly #drawing = new SharedWork<CachedTile>();

  constructor(private readonly options: AnnotationTilesOptions) {}

  /**
   * Finds out what the tile is; nothing is drawn before `make` is called.
   *
   * @throws TileOutsideError, NoLargeImageError, AccessDeniedError where the item is not for the caller, and what `load` throws.
   */
  async tile(id: string, request: AnnotationTileRequest, caller: Caller | null): Promise<AnnotationTile> {
    const { load, overlay, tiles } = this.options;
    const annotation = await load(id, caller);
    const shape = await this.#shapeOf(annotation, caller);
    checkTile(shape, request);
    const { kind, level, x, y } = request;
    const { tileWidth, tileHeight, sizeX, sizeY, levels } = shape;
    const hidden = new Set(request.without);
    const named = request.groups ?? (hidden.size === 0 ? undefined : annotation.elements.groups);
    const style = {
      mode: request.color ?? 'element',
      groups: named && new Set(named.filter((name) => !hidden.has(name))),
      gain: request.gain,
    };
    // As they were asked for: those that are left may be many more.
    const asked = [request.groups, request.without].map((names) =>
      names ? [...new Set(names)].map((name) => JSON.stringify(name)).sort() : null,
    );
    const drawingOptions = [kind, level, x, y, style.mode, asked, kind === 'png' ? (style.gain ?? null) : 0];
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
    const draw = async (signal: AbortSignal): Promise<CachedTile> => {
      const made = await (kind === 'png'
        ? overlay.png(elements, view, style, { signal })
        : overlay.vector(elements, view, style, { signal }));
      await tiles.set(key, made);
      return made;
    };
    return {
      key,
      make: async (by) => {
        const enqueue = enqueueFor(this.options.drawing, by);
        return (await tiles.get(key)) ?? this.#drawing.join(key, (wanted) => enqueue(() => draw(wanted), wanted), by.signal);
      },
    };
  }

  /** Levels, sizes and groups. @throws as {@link tile}. */
  async describe(
    id: string,
    { caller, signal }: { caller: Caller | null; signal: AbortSignal },
  ): Promise<AnnotationTilesDescription> {
    const annotation = await this.options.load(id, caller);
    const { sizeX, sizeY, tileWidth, tileHeight, levels } = await this.#shapeOf(annotation, caller);
    const { groups, count } = annotation.elements;
    const counted = await this.options.overlay.groups(annotation.elements, { signal });
    return {
      sizeX,
      sizeY,
      tileWidth,
      tileHeight,
      levels,
      elementCount: count,
      version: annotation.version,
      groups: groups.map((name) => ({ name, ...(counted.get(name) ?? { color: hexColor(defaultLineColor), count: 0 }) })),
      densityBelow,
      vectorExtent,
    };
  }

  /** The pyramid is the image's: whoever may read an annotation but not its item must not learn of it. */
  async #shapeOf({ itemId }: ShownAnnotation, caller: Caller | null): Promise<PyramidShape> {
    const { images, items, records } = this.options;
    if ((await records.findItem(itemId)) === null) throw new NoLargeImageError();
    const item = await items.load(itemId, 0, caller);
    return images.use(item, (image) => image.metadata());
  }
}
