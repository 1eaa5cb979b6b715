import { Brush } from './brush.js';
import { rotationHandleDistance } from './painter.js';
import {
  boxBetween,
  toCoordinate,
  handlesOf,
  isArea,
  isLargeEnough,
  isLocked,
  moveShape,
  moveHandle,
  touches,
  removeVertex,
  type Handle,
} from './shapes.js';
import { transientTools, ringTools, selectionTools, type Tool } from './tool-names.js';
import type { Element, Point } from '../annotation-model.js';
import type { ToolContext } from './tool-context.js';

/** Maximum distances, in screen pixels, at which the pointer hits a shape or a handle. */
const shapeReach = 6;
const handleReach = 9;

/** While dragging, a vertex is added each time the pointer has moved this far, in screen pixels. */
const freehandStep = 5;

/** Rectangles and ellipses with smaller sides, in screen pixels, count as accidental. */
const minBoxSide = 4;

/** Turns gestures on the stage into changes of shapes. */
export class Tools {
  tool: Tool = 'select';
  #draft: Element | null = null;
  /** The next vertex, at the pointer, in pixels of the image. */
  nextVertex: Point | null = null;
  /** The outline that was measured last. */
  measuredOutline: Element | null = null;
  /** Whether the pointer moves the view and not shapes, because Space is held. */
  isPaused = false;
  /** Radius of the brush and the eraser, in CSS pixels. */
  brushRadius = 20;
  /** The middle of the brush in pixels of the stage. */
  brushCenter: Point | null = null;
  /** Id of the polygon to which the tool for holes adds holes. */
  #polygonForHolesId: string | null = null;
  readonly #brush: Brush;
  /** The shape that is dragged, or whose handle is dragged. `from` is the grasped point, in pixels of the image. */
  #grasp: { before: Element; handle: Handle | null; from: Point } | null = null;
  /** The pressed pointer of a tool that draws. `isFirst` is true if the press begins a new drawing. */
  #press: { stagePoint: Point; isDragged: boolean; isFirst: boolean } | null = null;
  /** Delayed gestures; `null` while gestures are not delayed. */
  #delayedGestures: (() => void)[] | null = null;

  constructor(private readonly toolContext: ToolContext) {
    this.#brush = new Brush({ onChange: toolContext.redraw, onError: toolContext.onError });
    toolContext.stage.onPointer({
      press: (stagePoint) => this.#actOrDelay(() => this.#onPress(stagePoint)),
      drag: (stagePoint) => this.#actOrDelay(() => this.#onDrag(stagePoint)),
      release: (stagePoint, isAdding) => this.#actOrDelay(() => this.#onRelease(stagePoint, isAdding)),
      cancel: () => this.#actOrDelay(() => this.#cancelPress()),
      click: (stagePoint, isAdding) => this.#actOrDelay(() => this.#onClick(stagePoint, isAdding)),
      doubleClick: (stagePoint) => this.#actOrDelay(() => this.#onDoubleClick(stagePoint)),
    });
  }

  /** Delays gestures while an annotation to draw in is being created. */
  delayGestures() {
    this.#delayedGestures ??= [];
  }

  /** Ends the delay. @param isReady whether there is an annotation now, so that the delayed gestures are carried out */
  endDelay(isReady: boolean) {
    const delayedGestures = this.#delayedGestures ?? [];
    this.#delayedGestures = null;
    if (isReady) for (const act of delayedGestures) act();
  }

  /** Carries out a gesture, now or after the delay. @returns whether the tools use the gesture */
  #actOrDelay(act: () => boolean | void): boolean {
    if (!this.#delayedGestures) return act() === true;
    if (!this.isPaused) this.#delayedGestures.push(act);
    return !this.isPaused;
  }

  useTool(tool: Tool) {
    this.#dropDrawing();
    const selectedShape = this.toolContext.selectedShape();
    const canHaveHole = selectedShape?.type === 'polyline' && selectedShape.closed === true && !isLocked(selectedShape);
    this.#polygonForHolesId = tool === 'hole' && canHaveHole ? selectedShape.id : null;
    this.measuredOutline = null;
    this.brushCenter = null;
    this.tool = tool === 'hole' && !canHaveHole ? 'select' : tool;
    if (!selectionTools.has(this.tool)) this.toolContext.select(null);
    this.toolContext.onToolChange();
    this.toolContext.redraw();
  }

  /** The shape being drawn or changed. */
  get draft() {
    return this.#draft;
  }

  set draft(draft: Element | null) {
    this.#draft = draft;
    this.toolContext.keepDraft(this.#isHalfDrawn ? draft : null);
  }

  /** Whether the draft is a new polygon or line, whose vertices are drawn one by one. */
  get #isHalfDrawn() {
    return (this.tool === 'polygon' || this.tool === 'line') && !this.#grasp;
  }

  /** Continues with a shape that was half drawn. */
  resume(draft: Element) {
    this.useTool(draft.closed ? 'polygon' : 'line');
    this.draft = draft;
    this.toolContext.redraw();
  }

  /** The shapes that are being drawn or changed. */
  get liveShapes(): Element[] {
    if (this.#brush.isStroking) return this.#brush.strokeShapes;
    return this.draft && !transientTools.has(this.tool) ? [this.draft] : [];
  }

  /** An outline that is drawn to select, cut or measure. */
  get transientOutline(): Element | null {
    return transientTools.has(this.tool) ? (this.draft ?? this.measuredOutline) : null;
  }

  get isBrushOrEraser() {
    return this.tool === 'brush' || this.tool === 'eraser';
  }

  /** Cancels the drawing; if there is none, deselects the tool; if no tool is chosen either, deselects the shapes. */
  cancel() {
    if (this.draft || this.measuredOutline || this.#grasp || this.#brush.isStroking) {
      this.#dropDrawing();
      this.measuredOutline = null;
      this.toolContext.redraw();
    } else if (this.tool !== 'select') this.useTool('select');
    else this.toolContext.select(null);
  }

  /** Completes the shape that is being drawn or changed. */
  finishDrawing() {
    const { draft } = this;
    const grasp = this.#grasp;
    this.#endStroke();
    if (!draft) return;
    this.#dropDrawing();
    if (grasp && this.tool === 'select') this.toolContext.commit({ before: grasp.before, after: draft });
    else if (isLargeEnough(draft)) this.#useDrawing(draft);
    this.toolContext.redraw();
  }

  /** Completes the current shape before editing ends. A shape with too few vertices stays stored as a draft, to be continued later. */
  finishOrKeepDrawing() {
    if (!this.#isHalfDrawn || !this.draft || isLargeEnough(this.draft)) return this.finishDrawing();
    // The setter `draft` would remove the stored draft too.
    this.#draft = null;
    this.nextVertex = null;
    this.#press = null;
  }

  /** Removes the last vertex of the drawing. @returns whether there was a vertex */
  removeLastVertex() {
    if (!this.draft?.points) return false;
    const points = this.draft.points.slice(0, -1);
    this.draft = points.length === 0 ? null : { ...this.draft, points };
    this.toolContext.redraw();
    return true;
  }

  /** Must be called when the pointer has moved without a pressed button. @param stagePoint in pixels of the stage */
  hover(stagePoint: Point) {
    if (this.isBrushOrEraser) {
      this.brushCenter = stagePoint;
      this.toolContext.redraw();
    }
    // While something is dragged, `#onDrag` follows the pointer.
    if (!this.draft?.points || this.#press || this.#grasp) return;
    this.nextVertex = this.toolContext.stage.toImage(stagePoint.x, stagePoint.y);
    this.toolContext.redraw();
  }

  /**
   * Clicks with a key. If the click grasps a shape or begins a stroke, the next key press releases it.
   *
   * @param stagePoint in pixels of the stage
   */
  clickByKey(stagePoint: Point) {
    this.#actOrDelay(() => this.#clickByKeyNow(stagePoint));
  }

  #clickByKeyNow(stagePoint: Point) {
    if (this.#grasp || this.#brush.isStroking) this.#onRelease(stagePoint);
    else if (!this.#onPress(stagePoint)) this.#onClick(stagePoint);
    else if (!this.#grasp && !this.#brush.isStroking) this.#onRelease(stagePoint);
  }

  /** Called when the image has moved under the cross. @param stagePoint position of the cross in pixels of the stage */
  followCross(stagePoint: Point) {
    if (this.#grasp || this.#brush.isStroking) this.#onDrag(stagePoint);
    else this.hover(stagePoint);
  }

  /** The cursor's shape at a position. */
  cursorAt(stagePoint: Point): string {
    if (this.isPaused) return 'grab';
    if (this.#delayedGestures) return 'crosshair';
    if (this.tool !== 'select') return 'crosshair';
    if (!this.toolContext.isEditing()) return '';
    const selectedShape = this.toolContext.selectedShape();
    const imagePoint = this.toolContext.stage.toImage(stagePoint.x, stagePoint.y);
    const isMovable = selectedShape !== null && !isLocked(selectedShape);
    if (isMovable && this.#handleAt(selectedShape, imagePoint)) return 'pointer';
    if (isMovable && touches(selectedShape, imagePoint, shapeReach / this.#scale)) return 'move';
    return this.shapeAt(stagePoint) ? 'pointer' : '';
  }

  /** The topmost shape at a position of the stage that can be grasped. */
  shapeAt(stagePoint: Point) {
    return this.topmostOf(this.toolContext.graspableShapes(), stagePoint);
  }

  /** The topmost of some shapes at a position of the stage. @param distance in screen pixels at which a shape counts as hit */
  topmostOf(shapes: Iterable<Element>, stagePoint: Point, distance: number = shapeReach): Element | null {
    const imagePoint = this.toolContext.stage.toImage(stagePoint.x, stagePoint.y);
    let topmostShape: Element | null = null;
    for (const element of shapes) if (touches(element, imagePoint, distance / this.#scale)) topmostShape = element;
    return topmostShape;
  }

  *#areas() {
    for (const shape of this.toolContext.graspableShapes()) if (isArea(shape)) yield shape;
  }

  #canUseTool() {
    return this.tool === 'measure' || this.toolContext.isEditing();
  }

  get #scale() {
    return this.toolContext.stage.zoom();
  }

  #dropDrawing() {
    this.draft = null;
    this.nextVertex = null;
    this.#grasp = null;
    this.#press = null;
    this.#brush.discardStroke();
  }

  /** Cancels the current gesture, but keeps the vertices that were clicked before. */
  #cancelPress() {
    if (this.#grasp || this.#press?.isFirst) this.draft = null;
    this.#grasp = null;
    this.#press = null;
    this.#brush.discardStroke();
    this.toolContext.redraw();
  }

  #endStroke() {
    this.#brush.release((edits) => {
      this.toolContext.commit(...edits);
      this.toolContext.select(edits[0]?.after ?? null);
    });
  }

  #useDrawing(element: Element, isAdding: boolean = false) {
    if (this.tool === 'measure') {
      this.measuredOutline = element;
      return;
    }
    if (this.tool === 'box' || this.tool === 'lasso') {
      this.toolContext.selectInside(element, isAdding);
      return;
    }
    if (this.tool === 'split') {
      this.toolContext.split(element);
      return;
    }
    if (this.tool === 'hole') {
      const before = this.#polygonForHolesId === null ? null : this.toolContext.find(this.#polygonForHolesId);
      if (!before) return;
      const after = { ...before, holes: [...(before.holes ?? []), element.points ?? []] };
      this.toolContext.commit({ before, after });
      this.toolContext.select(after);
      return;
    }
    this.toolContext.commit({ before: null, after: element });
    this.toolContext.select(element);
  }

  #handleAt(element: Element, imagePoint: Point): Handle | null {
    const maxDistance = handleReach / this.#scale;
    const handles = handlesOf(element, rotationHandleDistance / this.#scale);
    return handles.findLast(({ x, y }) => Math.hypot(x - imagePoint.x, y - imagePoint.y) <= maxDistance) ?? null;
  }

  #onPress(stagePoint: Point) {
    const { stage, selectedShape, makeShape } = this.toolContext;
    if (!this.#canUseTool() || this.isPaused) return false;
    const imagePoint = stage.toImage(stagePoint.x, stagePoint.y);
    if (this.isBrushOrEraser) return this.#pressBrush(imagePoint, stagePoint);
    if (this.tool === 'select') {
      const before = selectedShape();
      if (!before || isLocked(before)) return false;
      const handle = this.#handleAt(before, imagePoint);
      if (!handle && !touches(before, imagePoint, shapeReach / this.#scale)) return false;
      this.#grasp = { before, handle, from: imagePoint };
      return true;
    }
    this.#press = { stagePoint, isDragged: false, isFirst: this.draft === null };
    const box = { center: [0, 0, 0] as [number, number, number], width: 0, height: 0, rotation: 0 };
    if (this.tool === 'rectangle' || this.tool === 'ellipse')
      this.#grasp = { before: makeShape({ type: this.tool, ...box }), handle: null, from: imagePoint };
    else if (this.tool === 'box')
      this.#grasp = { before: { type: 'rectangle', id: 'box', ...box }, handle: null, from: imagePoint };
    return true;
  }

  /**
   * Begins a stroke. The brush extends the selected shape if the pointer is on it; otherwise it begins a new shape. The eraser changes the
   * selected shape, or the shape under the pointer.
   *
   * @param imagePoint the pointer in pixels of the image
   * @param stagePoint the pointer in pixels of the stage
   * @param from where the stroke on an existing shape begins, in pixels of the image
   */
  #pressBrush(imagePoint: Point, stagePoint: Point, from: Point = imagePoint) {
    const isErasing = this.tool === 'eraser';
    const radius = this.brushRadius / this.#scale;
    const selectedShape = this.toolContext.selectedShape();
    const startsOnSelected = selectedShape !== null && isArea(selectedShape) && touches(selectedShape, imagePoint, radius);
    const shapeToErase = isErasing ? this.topmostOf(this.#areas(), stagePoint, this.brushRadius) : null;
    const shape = startsOnSelected ? selectedShape : shapeToErase;
    this.brushCenter = stagePoint;
    if (shape && isLocked(shape)) return true;
    if (shape) this.#brush.press({ shape, isNew: false, isErasing, radius, firstPoint: from });
    else if (!isErasing) {
      const outline = this.toolContext.makeShape({ type: 'polyline', closed: true, points: [] });
      this.#brush.press({ shape: outline, isNew: true, isErasing, radius, firstPoint: imagePoint });
    }
    return true;
  }

  #onDrag(stagePoint: Point) {
    const { stage } = this.toolContext;
    const imagePoint = stage.toImage(stagePoint.x, stagePoint.y);
    if (this.isBrushOrEraser) {
      const { x, y } = this.brushCenter ?? stagePoint;
      this.brushCenter = stagePoint;
      // An eraser that began next to a shape works on the first shape that it reaches.
      if (!this.#brush.isStroking && this.tool === 'eraser') this.#pressBrush(imagePoint, stagePoint, stage.toImage(x, y));
      this.#brush.drag(imagePoint);
    } else if (this.tool === 'select') {
      if (!this.#grasp) return;
      const { before, handle, from } = this.#grasp;
      this.draft = handle
        ? moveHandle(before, handle, imagePoint)
        : moveShape(before, imagePoint.x - from.x, imagePoint.y - from.y);
    } else if (this.#grasp) {
      this.draft = boxBetween(this.#grasp.before, this.#grasp.from, imagePoint);
    } else if (this.#press && this.tool !== 'point') {
      const { stagePoint: lastVertexPoint } = this.#press;
      if (Math.hypot(stagePoint.x - lastVertexPoint.x, stagePoint.y - lastVertexPoint.y) < freehandStep) return;
      if (!this.#press.isDragged) this.#addVertex(lastVertexPoint);
      this.#press = { ...this.#press, stagePoint, isDragged: true };
      this.#addVertex(stagePoint);
    }
    this.toolContext.redraw();
  }

  #onRelease(stagePoint: Point, isAdding: boolean = false) {
    const { draft } = this;
    const grasp = this.#grasp;
    const press = this.#press;
    this.#grasp = null;
    this.#press = null;
    if (this.isBrushOrEraser) this.#endStroke();
    else if (this.tool === 'select') {
      this.draft = null;
      if (grasp && draft) this.toolContext.commit({ before: grasp.before, after: draft });
    } else if (grasp) {
      this.draft = null;
      const { x, y } = this.toolContext.stage.toImage(stagePoint.x, stagePoint.y);
      const isLarge = Math.min(Math.abs(x - grasp.from.x), Math.abs(y - grasp.from.y)) * this.#scale >= minBoxSide;
      if (draft && isLarge && isLargeEnough(draft)) this.#useDrawing(draft, isAdding);
    } else if (this.tool === 'point') {
      const { x, y } = this.toolContext.stage.toImage(stagePoint.x, stagePoint.y);
      this.#useDrawing(this.toolContext.makeShape({ type: 'point', center: toCoordinate(x, y) }));
    } else if (press?.isDragged) {
      if (press.isFirst) this.finishDrawing();
    } else if (press) this.#clickVertex(stagePoint);
    this.toolContext.redraw();
  }

  /** Adds a vertex where the pointer was clicked. A click near the first vertex completes the polygon. */
  #clickVertex(stagePoint: Point) {
    const points = this.draft?.points ?? [];
    const { x, y } = this.toolContext.stage.toImage(stagePoint.x, stagePoint.y);
    const isNear = (vertex: readonly number[] | undefined) =>
      vertex !== undefined && Math.hypot((vertex[0] ?? 0) - x, (vertex[1] ?? 0) - y) <= handleReach / this.#scale;
    const isRing = ringTools.has(this.tool) || this.tool === 'measure';
    if (isRing && points.length >= 3 && isNear(points[0])) {
      this.draft = this.draft && { ...this.draft, closed: true };
      this.finishDrawing();
    } else if (!isNear(points.at(-1))) this.#addVertex(stagePoint);
  }

  #addVertex(stagePoint: Point) {
    const { x, y } = this.toolContext.stage.toImage(stagePoint.x, stagePoint.y);
    const members = { type: 'polyline', closed: ringTools.has(this.tool), points: [] };
    const isSaved = !transientTools.has(this.tool);
    const draft = this.draft ?? (isSaved ? this.toolContext.makeShape(members) : { ...members, id: this.tool });
    this.measuredOutline = null;
    this.draft = { ...draft, points: [...(draft.points ?? []), toCoordinate(x, y)] };
    this.nextVertex = null;
  }

  #onClick(stagePoint: Point, isAdding: boolean = false) {
    if (this.isPaused) return;
    if (this.toolContext.isEditing()) this.toolContext.select(this.shapeAt(stagePoint), isAdding);
    else this.toolContext.inspect(stagePoint);
  }

  #onDoubleClick(stagePoint: Point) {
    if (!this.#canUseTool() || this.isPaused) return false;
    if (this.tool !== 'select') {
      this.finishDrawing();
      return true;
    }
    const selectedShape = this.toolContext.selectedShape();
    if (!selectedShape || isLocked(selectedShape)) return false;
    const imagePoint = this.toolContext.stage.toImage(stagePoint.x, stagePoint.y);
    const handle = this.#handleAt(selectedShape, imagePoint);
    if (handle?.kind === 'vertex') {
      const changedShape = removeVertex(selectedShape, handle.index);
      if (changedShape !== selectedShape) this.toolContext.commit({ before: selectedShape, after: changedShape });
    }
    return true;
  }
}
