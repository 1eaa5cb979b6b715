import { messageOf } from '../dom.js';
import { writeColorings, type Coloring } from './coloring/coloring.js';
import { figureLayers } from './figure-layers.js';
import { isArea } from './drawing/shapes.js';
import { drawingLayer } from './drawing/drawing-layer.js';
import { paintMarks } from './drawing/selection-marks.js';
import { OverlayPictures } from './drawing/overlay-pictures.js';
import { polygonOf } from './drawing/polygons.js';
import { AnnotationPanel } from './panel/annotation-panel.js';
import { ShownObjectsPanel } from './objects/shown-objects-panel.js';
import { followPointer } from './follow-pointer.js';
import { PointedShapes, type ShapeOfAnnotation } from './pointed-shapes.js';
import { StageAnnotations } from './stage-annotations.js';
import { SmallAnnotations } from './small-annotations.js';
import { Toolbox } from './toolbox.js';
import type { Box, Point } from './annotation-model.js';
import type { Stage } from '../stage/stage-contract.js';
import type { ImageMetadata } from '../image/image-metadata.js';
import type { ImageItem } from '../browse/browse-model.js';

/** Interval in milliseconds at which annotations are updated while the view moves. */
const refreshMs = 50;

interface AnnotationsOptions {
  item: ImageItem;
  metadata: ImageMetadata;
  stage: Stage;
  /** element in which the image is drawn */
  drawingElement: HTMLElement;
  /** element for the tools */
  container: HTMLElement;
  hiddenIds: string[];
  /** colors and filters by the id of their annotation */
  colorings: ReadonlyMap<string, Coloring>;
  /** whether users who may annotate are offered tools for the first shape, if there are no annotations */
  offersFirstShape: boolean;
  /** writes the hidden annotations, the colors and the filters to the address */
  writeAddress: () => void;
  /** called if the item was removed or the user has lost access */
  onRefused: () => void;
  signal: AbortSignal;
}

/** The annotations of an image, on the stage and in their panel. */
export class ImageAnnotations {
  readonly #toolbox: Toolbox;
  readonly #pointedShapes: PointedShapes;
  readonly #stageAnnotations: StageAnnotations;
  readonly #shownObjectsPanel: ShownObjectsPanel;
  readonly #pictures: OverlayPictures;
  readonly #layer: ReturnType<typeof drawingLayer>;
  readonly #panel: AnnotationPanel;

  constructor(private readonly options: AnnotationsOptions) {
    const { stage, drawingElement, container, metadata, signal } = options;
    this.#toolbox = this.#makeToolbox();
    this.#pointedShapes = new PointedShapes(metadata, this.#toolbox.tools, () => this.#stageAnnotations.visibleAnnotations);
    container.append(this.#pointedShapes.element, this.#toolbox.element);
    this.#stageAnnotations = this.#makeStageAnnotations();
    this.#shownObjectsPanel = this.#makeShownObjectsPanel();
    this.#pictures = new OverlayPictures({ signal, onLoad: () => this.#layer.redraw(), onProblem: this.#showProblem });
    this.#layer = this.#makeLayer();
    this.#panel = this.#makePanel();
    followPointer(drawingElement, (stagePoint, isPressed) => this.#hover(stagePoint, isPressed), signal);
    stage.onMove(throttled(() => this.#stageAnnotations.refresh(), signal));
    stage.onRest(() => signal.aborted || this.#stageAnnotations.refresh());
    signal.addEventListener('abort', () => this.#close(), { once: true });
  }

  /** The panel with the list of annotations. */
  get panel() {
    return this.#panel.element;
  }

  get hiddenIds() {
    return this.#stageAnnotations.hiddenIds;
  }

  /** Colors and filters, in the form that addresses use. */
  get coloring() {
    return writeColorings(this.#stageAnnotations.colorings);
  }

  /** The visible annotations in a box of the image, bottom first, for figures. */
  layersIn(box: Box, signal: AbortSignal) {
    return figureLayers(this.#stageAnnotations.visibleAnnotations, this.#pictures, box, signal);
  }

  /** Shows these colors and filters, and no others. */
  setColorings(colorings: ReadonlyMap<string, Coloring>) {
    this.#stageAnnotations.setColorings(colorings);
    this.#panel.refresh();
  }

  /** The ids of the topmost shape at a point of the stage. */
  shapeAt(stagePoint: Point) {
    return shapeIds(this.#pointedShapes.shapeAt(stagePoint));
  }

  /** The ids of the selected shape, or of the shape whose card is open. */
  get selectedShape() {
    const { annotation, toolContext } = this.#toolbox.editedAnnotation;
    const shape = toolContext.selectedShape();
    return shapeIds(annotation && shape ? { annotation, shape } : this.#pointedShapes.shapeOfOpenCard);
  }

  /** Remembers which annotations the address hides. Must be called after the address was updated. */
  rememberAddress() {
    this.#stageAnnotations.rememberAddress();
  }

  /** Applies another address: hides these annotations, and shows annotations that the former address hid. Other hidden annotations stay hidden. */
  applyHiddenIds(ids: string[]) {
    this.#stageAnnotations.applyHiddenIds(ids);
    this.#panel.refresh();
  }

  readonly #showProblem = (message: string) => this.#panel.showProblem(message);

  #makeToolbox() {
    const { stage, drawingElement, container, signal } = this.options;
    return new Toolbox({
      stage,
      drawingElement,
      container,
      mayBeginFirstAnnotation: () => this.#mayBeginFirstAnnotation,
      beginFirstAnnotation: () => this.#panel.beginFirstAnnotation(),
      onSelect: (shape) => this.#shownObjectsPanel.reveal(this.#toolbox.editedAnnotation.annotation, shape),
      onInspect: (stagePoint) => this.#inspect(stagePoint),
      onSaved: (record) => this.#panel.update(record),
      closeCard: () => this.#pointedShapes.closeCard(),
      redraw: () => this.#layer.redraw(),
      redrawLive: () => this.#layer.redrawLive(),
      showProblem: this.#showProblem,
      signal,
    });
  }

  #makeStageAnnotations() {
    const { item, metadata, stage, hiddenIds, colorings, writeAddress, signal } = this.options;
    return new StageAnnotations({
      stage,
      metadata,
      smallAnnotations: new SmallAnnotations(item._id, signal),
      hiddenIds,
      colorings,
      writeAddress,
      redraw: () => this.#layer.redraw(),
      onMoreShapes: () => this.#layer.redrawIncomplete(),
      onError: (error) => signal.aborted || this.#showProblem(messageOf(error)),
      onGone: (annotation) => this.#toolbox.editedAnnotation.annotation === annotation && this.#startEditing(null),
    });
  }

  #makeShownObjectsPanel() {
    const { item, container, stage } = this.options;
    return new ShownObjectsPanel({
      itemId: item._id,
      container,
      annotationOf: (id) => this.#stageAnnotations.get(id),
      currentView: stage.visibleBox,
      drawnOutline: () => this.#drawnOutline(),
      goTo: ({ x, y }) => stage.goTo({ ...stage.animatedPosition(), x, y }),
      onMarksChange: () => this.#layer.redrawLive(),
      onCreated: () => this.#panel.reload(),
      onFilter: (id, filter) => {
        const annotation = this.#stageAnnotations.get(id);
        if (annotation) this.#stageAnnotations.changeDisplay(id, { coloring: { ...annotation.display.coloring, filter } });
        this.#panel.refreshColoring(id);
      },
    });
  }

  #makeLayer() {
    const { stage, drawingElement } = this.options;
    const { tools, editedAnnotation } = this.#toolbox;
    const annotations = this.#stageAnnotations;
    return drawingLayer(stage, drawingElement, {
      visibleOverlays: () => annotations.visibleAnnotations.flatMap((annotation) => annotation.overlays()),
      getOrFetchPicture: (element) => this.#pictures.getOrFetchPicture(element),
      shapesIn: (box) =>
        annotations.visibleAnnotations.map((annotation) => ({
          elements: annotation.paintedElements(box),
          opacity: annotation.display.opacity,
        })),
      labeledShapes: () => annotations.visibleAnnotations.flatMap((annotation) => annotation.labeledElements()),
      areShapesLoadedIn: (box) => annotations.areShapesLoadedIn(box),
      liveShapes: () => (editedAnnotation.visibleEditor ? tools.liveShapes : []),
      hoveredShape: () => this.#pointedShapes.hoveredShape,
      paintAbove: (painter) => {
        const isMarked = this.#shownObjectsPanel.paintMarks(painter);
        const { isAnyPainted, measuredShape } = paintMarks(
          painter,
          tools,
          editedAnnotation.visibleEditor?.selection.shapes ?? null,
        );
        this.#pointedShapes.showFacts(measuredShape);
        return isMarked || isAnyPainted;
      },
    });
  }

  #makePanel() {
    const { item, container, onRefused, signal } = this.options;
    const { tools, editedAnnotation } = this.#toolbox;
    return new AnnotationPanel({
      item,
      imageElement: container,
      signal,
      onList: (records) => {
        this.#stageAnnotations.update(records);
        this.#shownObjectsPanel.update(records);
        this.#toolbox.updateOffer();
        return (id) => this.#stageAnnotations.get(id)?.isVisible ?? false;
      },
      onDisplayChange: (id, changes) => {
        this.#stageAnnotations.changeDisplay(id, changes);
        if (changes.coloring) this.#shownObjectsPanel.showFilter(id);
      },
      finishDrawing: () => tools.finishDrawing(),
      onEdit: (id) => this.#startEditing(id),
      onToggleTable: (id, mayCreate) => this.#shownObjectsPanel.toggle(id, mayCreate),
      reloadEdited: async () => editedAnnotation.editor?.reload(),
      reloadAfterConflict: async (reason) => (await editedAnnotation.editor?.reloadAndExplain()) ?? reason,
      onRefused,
    });
  }

  #close() {
    this.#toolbox.close();
    this.#shownObjectsPanel.close();
    this.#stageAnnotations.close();
  }

  /** Whether choosing a tool creates the first annotation of the image. */
  get #mayBeginFirstAnnotation() {
    return this.options.offersFirstShape && this.#panel.mayBeginFirstAnnotation;
  }

  /** Starts editing an annotation; `null` ends editing. */
  #startEditing(id: string | null) {
    const annotation = id === null ? undefined : this.#stageAnnotations.get(id);
    this.#pointedShapes.closeCard();
    if (annotation) this.#stageAnnotations.changeDisplay(annotation.record._id, { visible: true });
    const editor = this.#toolbox.edit(annotation ?? null);
    this.#layer.redraw();
    return editor;
  }

  /** The outline of the area that was measured last, or of the selected area, in image pixels. */
  #drawnOutline(): Point[] | null {
    const { tools, editedAnnotation } = this.#toolbox;
    const areaShape = tools.measuredOutline?.closed ? tools.measuredOutline : editedAnnotation.toolContext.selectedShape();
    const polygon = areaShape && isArea(areaShape) ? polygonOf(areaShape) : null;
    return polygon?.points.map(([x, y]) => ({ x, y })) ?? null;
  }

  #inspect(stagePoint: Point) {
    const clickedShape = this.#pointedShapes.openCardAt(stagePoint);
    if (clickedShape) this.#shownObjectsPanel.reveal(clickedShape.annotation, clickedShape.shape);
  }

  #hover(stagePoint: Point, isPressed: boolean) {
    const { tools } = this.#toolbox;
    tools.hover(stagePoint);
    if (isPressed) return;
    this.options.stage.canvas.style.cursor = tools.cursorAt(stagePoint);
    if (this.#pointedShapes.hover(stagePoint)) this.#layer.redrawLive();
  }
}

/** The ids by which a comment refers to a shape. */
function shapeIds(target: ShapeOfAnnotation | null) {
  return target && { annotationId: target.annotation.record._id, elementId: target.shape.id };
}

/** Makes a function that calls `call` at most once per {@link refreshMs}, at the end of the interval. */
function throttled(call: () => void, signal: AbortSignal) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  return () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      call();
    }, refreshMs);
  };
}
