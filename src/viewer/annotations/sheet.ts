import { contains, nameOf, overlaps, type AnnotationRecord, type Box, type Element } from './model.js';
import { displayOf, type Display } from './display.js';
import { editsOf, type Edits } from './edits.js';
import { groupFilter, loadElements, overlayTileUrl } from './requests.js';
import { Patches, without } from './drawing/patches.js';
import { boxOf, isOutlined, isOverlay } from './drawing/shapes.js';
import type { Stage } from '../stage/contract.js';
import type { ImageMetadata } from '../image/metadata.js';
import { annotationTexts } from '../texts.js';
import type { TileLayer, TileUrl } from '../stage/tile-layer.js';

/** Largest number of shapes of an annotation that this page fetches and draws. If more are in the view, tiles of the server are shown. */
const maxShapes = 5000;

/** Largest number of points of the shapes in one request. */
const maxDetails = 250_000;

/** Margin around the view in which shapes are fetched, as a share of its size. */
const margin = 0.3;

/** If more parts of a region than this are missing, the region is fetched as a whole. */
const maxParts = 4;

const everywhere: Box = { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };

/** Shapes are denser than average where people look. If more than this multiple of `maxShapes` is expected, shapes are not requested. */
const worthAsking = 1.5;

/** If there were too many shapes, they are requested again when the view has become smaller by this factor. */
const askAgainBelow = 0.7;

export interface SheetOptions {
  record: AnnotationRecord;
  stage: Stage;
  metadata: ImageMetadata;
  /** called when the drawing must be updated */
  redraw: () => void;
  /** called when shapes of further parts of the image have arrived */
  onMore: () => void;
  onError: (error: unknown) => void;
}

/** A box, extended on each side by a share of its size. */
function widened({ left, top, right, bottom }: Box, share: number): Box {
  const across = (right - left) * share;
  const down = (bottom - top) * share;
  return { left: left - across, top: top - down, right: right + across, bottom: bottom + down };
}

/** The region to fetch for a view. Its edges are multiples of a power of two, so that regions beside it leave no narrow gaps. */
function regionOf(view: Box): Box {
  const { left, top, right, bottom } = widened(view, margin);
  const step = 2 ** Math.floor(Math.log2((right - left) / 16));
  const [low, high] = [(value: number) => Math.floor(value / step) * step, (value: number) => Math.ceil(value / step) * step];
  return { left: low(left), top: low(top), right: high(right), bottom: high(bottom) };
}

/** An annotation on the stage: drawn as shapes if few enough are in the view, otherwise as tiles of the server. */
export class Sheet {
  /** stored elements near the view */
  #stored: Map<string, Element> = new Map();
  /** version of the annotation with these elements */
  #storedOf: number | null = null;
  /** image and pixelmap elements among them */
  #overlays: Element[] = [];
  /** the box that contains or overlaps all stored elements */
  #near: Box | null = null;
  #patches = new Patches();
  /** requests under way */
  #asking: { box: Box; end: AbortController }[] = [];
  /** The box of a view with too many shapes, and its share of the image. */
  #refused: { covers: Box; share: number } | null = null;
  #tiles: TileLayer | null = null;
  /** Version and groups that the tiles show. */
  #tilesOf: { shown: string; url: TileUrl } | null = null;
  #closed = false;
  #shown = 'none';
  record: AnnotationRecord;
  readonly edits: Edits;
  readonly display: Display;

  constructor(private readonly options: SheetOptions) {
    this.record = options.record;
    this.edits = editsOf(options.record._id);
    this.display = displayOf(options.record._id);
  }

  get visible() {
    return this.display.visible ?? this.record.annotation.display?.visible !== false;
  }

  /** Whether the shapes in the view are loaded, so that they can be selected. */
  get hasShapes() {
    return this.#shown === 'shapes';
  }

  /** The loaded shapes: all in the view, or only unsaved ones above tiles. */
  all() {
    return this.edits.applied(this.hasShapes ? this.#stored : new Map());
  }

  /** The elements that this page draws; at least those that meet a box of the image, where one is given. */
  *elements(box?: Box): Generator<Element, void> {
    const { hidden } = this.display;
    const isKnown = box && this.hasShapes && this.edits.size === 0 && this.#has(box);
    const elements = isKnown ? this.#patches.within(box).values() : this.all();
    for (const element of elements) if (!hidden.has(element.group ?? null) && !isOverlay(element)) yield element;
  }

  /** The loaded elements that show other images over this one. */
  overlays(): readonly Element[] {
    const { hidden } = this.display;
    return this.visible ? this.#overlays.filter(({ group = null }) => !hidden.has(group)) : [];
  }

  /** Whether all shapes in a box are loaded, or tiles are shown. */
  covers(box: Box) {
    if (!this.visible || !this.hasShapes) return true;
    return this.#has(box) && (this.edits.size === 0 || (this.#near !== null && contains(this.#near, box)));
  }

  /** Whether all that is stored of a box has come. */
  #has(box: Box) {
    return this.#patches.missing(box).length === 0;
  }

  find(id: string) {
    return this.edits.find(id, this.#stored);
  }

  /** Changes the display. */
  show(changes: Partial<Display>) {
    Object.assign(this.display, changes);
    this.refresh();
    this.options.redraw();
  }

  /** Shows another version of the annotation. `elements` are its elements, if this page knows them. */
  update(record: AnnotationRecord, elements?: Iterable<Element>) {
    const changed = record._version !== this.record._version;
    this.record = record;
    if (changed) this.#stop();
    if (elements) {
      this.#stored = new Map([...elements].map((element) => [element.id, element]));
      this.#storedOf = record._version;
      if (this.#near) this.#patches.change(this.#near, [...this.#overlays, ...this.#stored.values()]);
    } else if (changed) {
      this.#patches.clear();
      this.#near = null;
      this.#refused = null;
    }
    this.refresh();
    this.options.redraw();
  }

  /** Updates the shown shapes or tiles after the view has moved. */
  refresh() {
    if (this.#closed) return;
    const view = this.options.stage.view();
    if (!this.visible || this.record._elementCount === 0) {
      this.#stop();
      if (this.record._elementCount === 0) {
        this.#stored.clear();
        this.#overlays = [];
      }
      this.#present(this.visible ? 'shapes' : 'none');
      return;
    }
    const region = this.#region();
    const soon = widened(view, margin / 2);
    const isCovered = this.#has(view);
    // What is changed is drawn from what is near, and else only grasped there.
    const isElsewhere = !this.#near || !contains(this.#near, this.edits.size > 0 ? soon : view) || this.#stored.size > maxShapes;
    if (isElsewhere && (isCovered || (this.#near && this.hasShapes))) this.#gather(region);
    if (isCovered) this.#present(this.#stored.size > maxShapes ? 'tiles' : 'shapes');
    for (const { box, end } of this.#asking) if (!overlaps(box, region)) end.abort();
    this.#asking = this.#asking.filter(({ end }) => !end.signal.aborted);
    if (without(this.#patches.missing(soon), this.#asking).length === 0) return;
    const share = this.#shareOf(view);
    if (!this.#isTooMuch(view, share)) this.#load(region, share);
    else if (!isCovered) {
      this.#stop();
      this.#present('tiles');
    }
  }

  close() {
    this.#closed = true;
    this.#stop();
    this.#present('none');
    this.#tiles?.remove();
    this.#tiles = null;
  }

  /** Whether all of it is fetched at once. */
  get #isSmall() {
    return this.record._elementCount <= maxShapes && this.record._detailsCount < maxDetails;
  }

  /** The region whose shapes are needed. */
  #region() {
    return this.#isSmall ? everywhere : regionOf(this.options.stage.view());
  }

  /** Share of the image that a view shows. */
  #shareOf({ left, top, right, bottom }: Box) {
    if (this.#isSmall) return 1;
    const { sizeX, sizeY } = this.options.metadata;
    const [across, down] = [Math.min(sizeX, right) - Math.max(0, left), Math.min(sizeY, bottom) - Math.max(0, top)];
    return (Math.max(0, across) * Math.max(0, down)) / (sizeX * sizeY);
  }

  /** Whether too many shapes are to be expected. */
  #isTooMuch(view: Box, share: number) {
    const { _elementCount: count, _detailsCount: details } = this.record;
    if (Math.max(count / maxShapes, details / maxDetails) * share > worthAsking) return true;
    return this.#refused !== null && contains(this.#refused.covers, view) && share > this.#refused.share * askAgainBelow;
  }

  #stop() {
    for (const { end } of this.#asking) end.abort();
    this.#asking = [];
  }

  /** Fetches what is missing of a region. */
  #load(region: Box, share: number) {
    const view = this.options.stage.view();
    // Until the shapes have arrived, tiles are better than shapes of another region.
    if (!this.#isSmall && this.#patches.missing(view)[0] === view) this.#present('tiles');
    const parts = without(this.#patches.missing(region), this.#asking);
    for (const box of parts.length > maxParts ? [region] : parts) void this.#ask(box, region, share);
  }

  async #ask(box: Box, region: Box, share: number) {
    const asked = { box, end: new AbortController() };
    const { signal } = asked.end;
    this.#asking.push(asked);
    try {
      const wanted = { region: box === everywhere ? null : box, limit: maxShapes, maxDetails, signal };
      const found = await loadElements(this.record, wanted);
      if (signal.aborted) return;
      // Heatmaps and the like are drawn by the server only.
      if (found?.elements.every((element) => isOverlay(element) || isOutlined(element))) {
        this.#patches.add({ box, ...found });
        this.#refused = null;
      } else this.#refused = { covers: region, share };
      this.#gather(this.#region());
      if (this.#refused) this.#overlays = found?.elements.filter(isOverlay) ?? [];
      const isPart = this.#refused !== null && !this.#has(this.options.stage.view());
      this.#present(isPart || this.#stored.size > maxShapes ? 'tiles' : 'shapes');
      if (this.#refused) this.options.redraw();
      if (box === everywhere && this.#isOutside()) this.options.onError(new Error(annotationTexts.outside(nameOf(this.record))));
    } catch (error) {
      if (!signal.aborted) this.options.onError(error);
    } finally {
      this.#asking = this.#asking.filter((other) => other !== asked);
    }
  }

  /** Whether there are shapes, and none of them lies on the image. */
  #isOutside() {
    const { sizeX, sizeY } = this.options.metadata;
    const image = { left: 0, top: 0, right: sizeX, bottom: sizeY };
    const shapes = [...this.#stored.values()];
    return shapes.length > 0 && !shapes.some((element) => overlaps(boxOf(element), image));
  }

  /** Collects the loaded elements of a region. */
  #gather(region: Box) {
    const found = this.#patches.near(region);
    // Elements are reused, because computed properties such as outlines are stored with them.
    const known = this.#storedOf === this.record._version ? this.#stored : new Map<string, Element>();
    this.#storedOf = this.record._version;
    this.#near = region;
    const elements = [...found.values()];
    this.#overlays = elements.filter(isOverlay);
    const shapes = elements.filter((element) => !isOverlay(element));
    this.#stored = new Map(shapes.map((element) => [element.id, known.get(element.id) ?? element]));
    this.options.onMore();
  }

  #present(what: 'none' | 'shapes' | 'tiles') {
    if (this.#shown !== what) {
      this.#shown = what;
      this.options.redraw();
    }
    if (what === 'tiles') this.#showTiles();
    else this.#tiles?.hide();
  }

  #showTiles() {
    const { record, options, display } = this;
    const filter = groupFilter(record, display.hidden) ?? {};
    const shown = JSON.stringify([record._version, filter]);
    if (this.#tilesOf?.shown !== shown)
      this.#tilesOf = { shown, url: (level, x, y) => overlayTileUrl(record, filter, level, x, y) };
    this.#tiles ??= options.stage.addTiles();
    this.#tiles.show(this.#tilesOf.url, display.opacity);
  }
}
