import { contains, nameOf, overlaps, type AnnotationRecord, type Box, type Element } from './annotation-model.js';
import { displayOf, type Display } from './annotation-display.js';
import { coloringQuery, isPlain, needsLegend } from './coloring/coloring.js';
import { shapeColorsKey, ShapeColors } from './coloring/shape-colors.js';
import { requestLegend, type ColoringLegend } from './coloring/coloring-requests.js';
import { editsOf, type Edits } from './edits.js';
import type { SmallAnnotations } from './small-annotations.js';
import { groupFilter, loadElements, loadOverlays, overlayTileUrl } from './annotation-requests.js';
import { everywhere, Patches, partsOutside } from './drawing/patches.js';
import { boxOf, isDrawnByPage, isOverlay } from './drawing/shapes.js';
import type { Stage } from '../stage/stage-contract.js';
import { FetchRegions, regionOf } from './drawing/fetch-regions.js';
import type { ImageMetadata } from '../image/image-metadata.js';
import { annotationTexts } from '../annotation-texts.js';
import type { TileLayer, TileUrl } from '../stage/tile-layer.js';

/**
 * Maximum number of one annotation's shapes that this page fetches and draws. If more shapes are in the view, the server's tiles are
 * shown.
 */
const maxShapes = 5000;

/** Maximum number of points of the shapes in one request. */
const maxDetails = 250_000;

/** Maximum number of one annotation's shapes that a figure contains as vectors. */
export const maxFigureShapes = 20_000;

/** If more parts of a region than this are missing, the region is fetched as a whole. */
const maxMissingParts = 4;

/**
 * If more shapes than `maxShapes` times this factor are expected in the view, shapes are not requested. The expected number is computed from the
 * average density of shapes, which may be above the density in the view.
 */
const densityAllowance = 1.5;

/** After a view had too many shapes, shapes are requested again when the view's area is less than this share of the earlier area. */
const requestAgainBelow = 0.7;

export interface StageAnnotationOptions {
  record: AnnotationRecord;
  stage: Stage;
  metadata: ImageMetadata;
  /** called when the drawing must be updated */
  redraw: () => void;
  /** called when more shapes have arrived */
  onMoreShapes: () => void;
  onError: (error: unknown) => void;
  /** loads small annotations, which are fetched completely */
  smallAnnotations: SmallAnnotations;
}

/** The part of an annotation in a box of the image. `tiles` are the server's tiles, if they are shown instead of stored shapes. */
export interface ShapesInBox {
  shapes: Element[];
  overlays: Element[];
  tiles: TileUrl | null;
  /** the colors of shapes, if they are colored by a value */
  legend: ColoringLegend | null;
}

/** An annotation on the stage: drawn as shapes if few enough are in the view, otherwise as tiles of the server. */
export class StageAnnotation {
  /** stored shapes near the view; `null` until `#storedShapes` collects them from the patches */
  #shapesNearView: Map<string, Element> | null = new Map();
  /** the image and pixelmap elements near the view */
  #overlaysNearView: readonly Element[] = [];
  /** all image and pixelmap elements, which are shown together with tiles, and the version of the annotation that they belong to */
  #allOverlays: { version: number | null; elements: readonly Element[] } = { version: null, elements: [] };
  /** the box around the view whose shapes are in `#shapesNearView` */
  #boxNearView: Box | null = null;
  /** whether there are too many shapes near the view to draw; `null` until that was computed */
  #cachedIsDense: boolean | null = null;
  #patches = new Patches();
  /** running requests */
  #requests: { box: Box; controller: AbortController }[] = [];
  /** The region around a view that had too many shapes, and the view's share of the image. */
  #tooDenseView: { region: Box; share: number } | null = null;
  #tileLayer: TileLayer | null = null;
  /** The addresses of tiles that were used last, with a key for their version and display. */
  #cachedTileUrl: { key: string; url: TileUrl } | null = null;
  #closeController = new AbortController();
  #shownAs = 'none';
  #fetchRegions = new FetchRegions();
  /** The filter and the colors of shapes; `null` while all shapes are shown in their own colors, for example until the server has sent the first colors. */
  #shapeColors: ShapeColors | null = null;
  /** The key of the last requested `#shapeColors`. */
  #shapeColorsKey = '';
  #shapeColorsController = new AbortController();
  record: AnnotationRecord;
  readonly edits: Edits;
  readonly display: Display;

  constructor(private readonly options: StageAnnotationOptions) {
    this.record = options.record;
    this.edits = editsOf(options.record._id);
    this.display = displayOf(options.record._id);
  }

  get isVisible() {
    return this.display.visible ?? this.record.annotation.display?.visible !== false;
  }

  /** Whether shapes are shown, not tiles, so that the shapes in the view can be selected. */
  get showsShapes() {
    return this.#shownAs === 'shapes';
  }

  get isCompletelyLoaded() {
    return this.record._elementCount === 0 || (this.showsShapes && this.#hasLoaded(everywhere));
  }

  /** The loaded shapes, with the unsaved changes applied. While tiles are shown, only the changed shapes. */
  loadedShapes() {
    return this.edits.applyTo(this.showsShapes ? this.#storedShapes : new Map());
  }

  /** The elements that this page draws; for a box of the image, at least the elements that overlap the box. */
  *shownElements(box?: Box): Generator<Element, void> {
    yield* this.#filterShown(box && this.#isDrawnAsStored ? this.#patches.elementsIn(box).values() : this.loadedShapes());
  }

  /** The elements that this page draws whose labels are always visible. */
  labeledElements() {
    const isLabeled = ({ label }: Element) => label?.visibility === 'always';
    if (this.#isDrawnAsStored && this.#boxNearView)
      return [...this.#filterShown(this.#patches.elementsIn(this.#boxNearView, isLabeled).values())];
    return [...this.shownElements()].filter(isLabeled);
  }

  *#filterShown(elements: Iterable<Element>) {
    const { hiddenGroups } = this.display;
    const shapeColors = this.#shapeColors;
    for (const element of elements) {
      const isShown = !hiddenGroups.has(element.group ?? null) && !isOverlay(element);
      if (isShown && (shapeColors?.matches(element) ?? true)) yield element;
    }
  }

  /** The elements that this page draws in a box of the image, in their colors. */
  *paintedElements(box: Box): Generator<Element, void> {
    const shapeColors = this.#shapeColors;
    for (const element of this.shownElements(box)) yield shapeColors?.toColored(element) ?? element;
  }

  /** Requests the colors of another coloring or another version. Until the new colors arrive, the previous colors are used. */
  #updateShapeColors() {
    const { display, record, options } = this;
    const key = shapeColorsKey(record._version, display.coloring);
    if (key === this.#shapeColorsKey) return;
    this.#shapeColorsKey = key;
    this.#shapeColorsController.abort();
    this.#shapeColorsController = new AbortController();
    const { signal } = this.#shapeColorsController;
    const { coloring } = display;
    if (!needsLegend(coloring)) {
      this.#shapeColors = isPlain(coloring) ? null : new ShapeColors(coloring, null);
      options.redraw();
      return;
    }
    void requestLegend(record, coloring, signal).then(
      (legend) => {
        if (signal.aborted) return;
        this.#shapeColors = new ShapeColors(coloring, legend);
        options.redraw();
      },
      (error: unknown) => {
        if (!signal.aborted) options.onError(error);
      },
    );
  }

  /** Whether the drawing equals the stored annotation, without unsaved changes. */
  get #isDrawnAsStored() {
    return this.showsShapes && this.edits.changedElementCount === 0 && this.#boxNearView !== null;
  }

  get #storedShapes() {
    return (this.#shapesNearView ??= this.#patches.elementsIn(this.#boxNearView ?? everywhere, (element) => !isOverlay(element)));
  }

  /** The loaded elements that show other images on top of this image. */
  overlays(): readonly Element[] {
    if (!this.isVisible) return [];
    return this.#visibleOverlays(this.#shownAs === 'tiles' ? this.#allOverlays.elements : this.#overlaysNearView);
  }

  /** The overlays of visible groups, with the opacity of the annotation. */
  #visibleOverlays(overlays: readonly Element[]): Element[] {
    const { hiddenGroups, opacity } = this.display;
    return overlays.flatMap((overlay) =>
      hiddenGroups.has(overlay.group ?? null) ? [] : [{ ...overlay, opacity: (overlay.opacity ?? 1) * opacity }],
    );
  }

  /** Whether all shapes in a box are loaded, or none are needed, because tiles are shown or the annotation is hidden. */
  areShapesLoadedIn(box: Box) {
    if (!this.isVisible || !this.showsShapes) return true;
    return (
      this.#hasLoaded(box) &&
      (this.edits.changedElementCount === 0 || (this.#boxNearView !== null && contains(this.#boxNearView, box)))
    );
  }

  /** Whether all stored elements in a box are loaded. */
  #hasLoaded(box: Box) {
    return this.#patches.missingParts(box).length === 0;
  }

  find(id: string) {
    return this.edits.find(id, this.#storedShapes);
  }

  changeDisplay(changes: Partial<Display>) {
    Object.assign(this.display, changes);
    this.refresh();
    this.options.redraw();
  }

  /** Shows another version of the annotation. `elements` are its elements, if this page knows them. */
  update(record: AnnotationRecord, elements?: Iterable<Element>) {
    const isChanged = record._version !== this.record._version;
    this.record = record;
    this.#cachedIsDense = null;
    if (isChanged) this.#abortRequests();
    if (elements) {
      this.#shapesNearView = new Map([...elements].map((element) => [element.id, element]));
      if (this.#boxNearView)
        this.#patches.replaceElements(this.#boxNearView, [...this.#overlaysNearView, ...this.#shapesNearView.values()]);
    } else if (isChanged) {
      // The previous elements stay visible until the new elements have arrived.
      this.#shapesNearView = this.#storedShapes;
      this.#patches.clear();
      this.#boxNearView = null;
      this.#tooDenseView = null;
    }
    this.refresh();
    this.options.redraw();
  }

  /** The shapes in a box of the image as they are displayed, or the server's tiles if there are too many, or shapes that only the server can draw. */
  async shapesIn(box: Box, signal: AbortSignal): Promise<ShapesInBox> {
    const { record, edits } = this;
    const loadOptions = { region: box, limit: maxFigureShapes, maxDetails, signal };
    const loadedPatch = record._elementCount === 0 ? { elements: [] } : await loadElements(record, loadOptions);
    const isDrawable = loadedPatch?.elements.every((element) => isOverlay(element) || isDrawnByPage(element)) ?? false;
    const drawableElements = isDrawable ? (loadedPatch?.elements ?? []) : [];
    const shapes = [...this.#filterShown(edits.applyTo(new Map(drawableElements.map((element) => [element.id, element]))))];
    return {
      shapes: shapes.map((element) => this.#shapeColors?.toColored(element) ?? element),
      overlays: this.#visibleOverlays(loadedPatch ? loadedPatch.elements.filter(isOverlay) : await loadOverlays(record, signal)),
      tiles: isDrawable ? null : this.#tileUrl(),
      legend: this.#shapeColors?.legend ?? null,
    };
  }

  /** Updates the visible shapes or tiles after the view has moved. */
  refresh() {
    if (this.#closeController.signal.aborted) return;
    this.#updateShapeColors();
    const view = this.options.stage.visibleBox();
    if (!this.isVisible || this.record._elementCount === 0) {
      this.#abortRequests();
      if (this.record._elementCount === 0) {
        this.#shapesNearView = new Map();
        this.#overlaysNearView = [];
      }
      this.#switchTo(this.isVisible ? 'shapes' : 'none');
      return;
    }
    const { region, upcomingView, viewWithMargin } = this.#fetchRegions.update(view);
    const isCovered = this.#hasLoaded(view);
    // While there are unsaved changes, elements in a margin around the view are needed too, because the user can grasp them.
    const isOutdated =
      !this.#boxNearView ||
      !contains(this.#boxNearView, this.edits.changedElementCount > 0 ? viewWithMargin : view) ||
      this.#isDense;
    if (isOutdated && (isCovered || (this.#boxNearView && this.showsShapes))) this.#collectNearView();
    if (isCovered) this.#switchTo(this.#isDense ? 'tiles' : 'shapes');
    for (const { box, controller } of this.#requests) if (!overlaps(box, region)) controller.abort();
    this.#requests = this.#requests.filter(({ controller }) => !controller.signal.aborted);
    if (partsOutside(this.#patches.missingParts(upcomingView), this.#requests).length === 0) return;
    const share = this.#shareOf(view);
    if (!this.#expectsTooManyShapes(view, share)) this.#fetchMissingParts(this.#isSmall ? everywhere : region, share);
    else if (!isCovered) {
      this.#abortRequests();
      this.#switchTo('tiles');
    }
  }

  close() {
    this.#closeController.abort();
    this.#abortRequests();
    this.#shapeColorsController.abort();
    this.#switchTo('none');
    this.#tileLayer?.remove();
    this.#tileLayer = null;
  }

  /** Whether the whole annotation is fetched at once. */
  get #isSmall() {
    return this.record._elementCount <= maxShapes && this.record._detailsCount < maxDetails;
  }

  get #isDense() {
    return (this.#cachedIsDense ??=
      (!this.#boxNearView || this.#patches.countIn(this.#boxNearView) > maxShapes) && this.#storedShapes.size > maxShapes);
  }

  /** The region that is fetched for the current view. */
  get #region() {
    return this.#isSmall ? everywhere : regionOf(this.options.stage.visibleBox());
  }

  /** Share of the image that a view shows, from 0 to 1. */
  #shareOf({ left, top, right, bottom }: Box) {
    if (this.#isSmall) return 1;
    const { sizeX, sizeY } = this.options.metadata;
    const [across, down] = [Math.min(sizeX, right) - Math.max(0, left), Math.min(sizeY, bottom) - Math.max(0, top)];
    return (Math.max(0, across) * Math.max(0, down)) / (sizeX * sizeY);
  }

  /** @param share the view's share of the image */
  #expectsTooManyShapes(view: Box, share: number) {
    const { _elementCount: count, _detailsCount: details } = this.record;
    if (Math.max(count / maxShapes, details / maxDetails) * share > densityAllowance) return true;
    return (
      this.#tooDenseView !== null &&
      contains(this.#tooDenseView.region, view) &&
      share > this.#tooDenseView.share * requestAgainBelow
    );
  }

  #abortRequests() {
    for (const { controller } of this.#requests) controller.abort();
    this.#requests = [];
  }

  #fetchMissingParts(region: Box, share: number) {
    const view = this.options.stage.visibleBox();
    // Until the shapes have arrived, tiles are better than shapes of another region.
    if (!this.#isSmall && this.#patches.missingParts(view)[0] === view) this.#switchTo('tiles');
    const parts = partsOutside(this.#patches.missingParts(region), this.#requests);
    for (const box of parts.length > maxMissingParts ? [this.#region] : parts) void this.#fetchBox(box, share);
  }

  async #fetchBox(box: Box, share: number) {
    const pendingRequest = { box, controller: new AbortController() };
    const { signal } = pendingRequest.controller;
    this.#requests.push(pendingRequest);
    try {
      const { record } = this;
      const loadedPatch = await (box === everywhere
        ? this.options.smallAnnotations.load(record)
        : loadElements(record, { region: box, limit: maxShapes, maxDetails, signal }));
      if (signal.aborted) return;
      // Only the server draws heatmaps and similar elements.
      if (loadedPatch?.elements.every((element) => isOverlay(element) || isDrawnByPage(element))) {
        this.#patches.add({ box, ...loadedPatch });
        this.#tooDenseView = null;
      } else this.#tooDenseView = { region: this.#region, share };
      this.#collectNearView();
      const isIncomplete = this.#tooDenseView !== null && !this.#hasLoaded(this.options.stage.visibleBox());
      this.#switchTo(isIncomplete || this.#isDense ? 'tiles' : 'shapes');
      if (this.#tooDenseView) this.options.redraw();
      if (box === everywhere && this.#isOutsideImage())
        this.options.onError(new Error(annotationTexts.outside(nameOf(this.record))));
    } catch (error) {
      if (!signal.aborted) this.options.onError(error);
    } finally {
      this.#requests = this.#requests.filter((request) => request !== pendingRequest);
    }
  }

  /** Whether the annotation has shapes, but none of them is on the image. */
  #isOutsideImage() {
    const { sizeX, sizeY } = this.options.metadata;
    const image = { left: 0, top: 0, right: sizeX, bottom: sizeY };
    const shapes = [...this.#storedShapes.values()];
    return shapes.length > 0 && !shapes.some((element) => overlaps(boxOf(element), image));
  }

  /** Collects the loaded elements near the view. */
  #collectNearView() {
    this.#boxNearView = this.#region;
    this.#shapesNearView = this.#cachedIsDense = null;
    this.#patches.trim(this.#boxNearView);
    this.#overlaysNearView = [...this.#patches.elementsIn(this.#boxNearView, isOverlay).values()];
    this.options.onMoreShapes();
  }

  #switchTo(nextShown: 'none' | 'shapes' | 'tiles') {
    if (this.#shownAs !== nextShown) {
      this.#shownAs = nextShown;
      this.options.redraw();
    }
    if (nextShown === 'tiles') this.#showTiles();
    else this.#tileLayer?.hide();
  }

  /** The addresses of the tiles that show this version, without hidden groups. */
  #tileUrl(): TileUrl {
    const { record, display } = this;
    const filter = { ...groupFilter(record, display.hiddenGroups), ...coloringQuery(display.coloring) };
    const key = JSON.stringify([record._version, filter]);
    if (this.#cachedTileUrl?.key !== key)
      this.#cachedTileUrl = { key, url: (level, x, y) => overlayTileUrl(record, filter, level, x, y) };
    return this.#cachedTileUrl.url;
  }

  #showTiles() {
    this.#tileLayer ??= this.options.stage.addTileLayer();
    this.#tileLayer.show(this.#tileUrl(), this.display.opacity);
    void this.#loadAllOverlays();
  }

  async #loadAllOverlays() {
    const { record, options } = this;
    if (this.#allOverlays.version === record._version) return;
    this.#allOverlays.version = record._version;
    try {
      const elements = await loadOverlays(record, this.#closeController.signal);
      if (this.#allOverlays.version !== record._version) return;
      this.#allOverlays.elements = elements;
      options.redraw();
    } catch (error) {
      if (!this.#closeController.signal.aborted) options.onError(error);
    }
  }
}
