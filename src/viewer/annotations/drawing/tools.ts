import { rotationHandleDistance } from './paint.js';
import { boxBetween, coordinate, handlesOf, isDrawn, moved, reshaped, touches, withoutVertex, type Handle } from './shapes.js';
import type { Element, Point } from '../model.js';
import type { Stage } from '../../stage/contract.js';

export type Tool = 'select' | 'rectangle' | 'ellipse' | 'polygon' | 'line' | 'point' | 'hole' | 'measure';

/** The environment of the tools. */
export interface Bench {
  stage: Stage;
  /** shapes that can be grasped, topmost last; none while nothing is edited */
  shapes: () => Iterable<Element>;
  selected: () => Element | null;
  select: (element: Element | null) => void;
  /** a finished change */
  commit: (before: Element | null, after: Element | null) => void;
  /** a new element in the selected group and color */
  make: (members: Pick<Element, 'type'> & Partial<Element>) => Element;
  editing: () => boolean;
  /** a click while nothing is edited */
  inspect: (at: Point) => void;
  redraw: () => void;
  /** called when another tool is selected */
  onTool: () => void;
}

/** Distance in screen pixels at which a point counts as hit. */
const reach = 6;
const handleReach = 9;

/** While dragging, a vertex is added after each such distance. */
const freehandStep = 5;

/** Smaller rectangles are accidental. */
const minDrag = 4;

/** Turns gestures on the stage into changes of shapes. */
export class Tools {
  tool: Tool = 'select';
  /** The shape being drawn or changed. */
  draft: Element | null = null;
  /** The next vertex. */
  tip: Point | null = null;
  /** The last measurement. */
  measured: Element | null = null;
  /** The polygon that gets a hole. */
  #holed: Element | null = null;
  #grasp: { before: Element; handle: Handle | null; from: Point } | null = null;
  #press: { at: Point; dragged: boolean; first: boolean } | null = null;

  constructor(private readonly bench: Bench) {
    bench.stage.onPointer({
      press: (at) => this.#pressed(at),
      drag: (at) => this.#dragged(at),
      release: (at) => this.#released(at),
      click: (at) => this.#clicked(at),
      doubleClick: (at) => this.#doubleClicked(at),
    });
  }

  use(tool: Tool) {
    this.#drop();
    const selected = this.bench.selected();
    const isPolygon = selected?.type === 'polyline' && selected.closed === true;
    this.#holed = tool === 'hole' && isPolygon ? selected : null;
    this.measured = null;
    this.tool = tool === 'hole' && !isPolygon ? 'select' : tool;
    if (this.tool !== 'select') this.bench.select(null);
    this.bench.onTool();
    this.bench.redraw();
  }

  /** Cancels the drawing, then the selection, then the tool. */
  cancel() {
    if (this.draft || this.measured || this.#grasp) {
      this.#drop();
      this.measured = null;
      this.bench.redraw();
    } else if (this.bench.selected()) this.bench.select(null);
    else if (this.tool !== 'select') this.use('select');
  }

  /** Completes the current shape, or the change of one. */
  finish() {
    const { draft } = this;
    const grasp = this.#grasp;
    if (!draft) return;
    this.#drop();
    if (grasp && this.tool === 'select') this.bench.commit(grasp.before, draft);
    else if (isDrawn(draft)) this.#keep(draft);
    this.bench.redraw();
  }

  /** Removes the last vertex of the drawing. @returns whether there was one */
  dropVertex() {
    if (!this.draft?.points) return false;
    const points = this.draft.points.slice(0, -1);
    this.draft = points.length === 0 ? null : { ...this.draft, points };
    this.bench.redraw();
    return true;
  }

  /**
   * The pointer moves without a button.
   *
   * @param at in pixels of the stage
   */
  hover(at: Point) {
    // The dragged element follows the pointer automatically.
    if (!this.draft?.points || this.#press || this.#grasp) return;
    this.tip = this.bench.stage.toImage(at.x, at.y);
    this.bench.redraw();
  }

  /**
   * Uses a key like the pointer's button: it presses and releases; if something is dragged, it stays pressed until the next time.
   *
   * @param at in pixels of the stage
   */
  strike(at: Point) {
    if (this.#grasp) this.#released(at);
    else if (!this.#pressed(at)) this.#clicked(at);
    else if (!this.#grasp) this.#released(at);
  }

  /** Called when the position for keys has moved on the image. @param at in pixels of the stage */
  follow(at: Point) {
    if (this.#grasp) this.#dragged(at);
    else this.hover(at);
  }

  /** The cursor's shape at a position. */
  cursor(at: Point): string {
    if (this.tool !== 'select') return 'crosshair';
    if (!this.bench.editing()) return '';
    const selected = this.bench.selected();
    const point = this.bench.stage.toImage(at.x, at.y);
    if (selected && this.#handleAt(selected, point)) return 'pointer';
    if (selected && touches(selected, point, reach / this.#scale)) return 'move';
    return this.at(at) ? 'pointer' : '';
  }

  /** The topmost shape at a position of the stage that can be grasped. */
  at(at: Point) {
    return this.topmost(this.bench.shapes(), at);
  }

  /** The topmost of some shapes at a position of the stage. */
  topmost(shapes: Iterable<Element>, at: Point): Element | null {
    const point = this.bench.stage.toImage(at.x, at.y);
    let found: Element | null = null;
    for (const element of shapes) if (touches(element, point, reach / this.#scale)) found = element;
    return found;
  }

  #isActive() {
    return this.tool === 'measure' || this.bench.editing();
  }

  get #scale() {
    return this.bench.stage.zoom();
  }

  #drop() {
    this.draft = null;
    this.tip = null;
    this.#grasp = null;
    this.#press = null;
  }

  #keep(element: Element) {
    if (this.tool === 'measure') {
      this.measured = element;
      return;
    }
    if (this.#holed) {
      const before = this.#holed;
      const after = { ...before, holes: [...(before.holes ?? []), element.points ?? []] };
      this.bench.commit(before, after);
      this.use('select');
      this.bench.select(after);
      return;
    }
    this.bench.commit(null, element);
    this.use('select');
    this.bench.select(element);
  }

  #handleAt(element: Element, point: Point): Handle | null {
    const near = handleReach / this.#scale;
    const handles = handlesOf(element, rotationHandleDistance / this.#scale);
    return handles.findLast(({ x, y }) => Math.hypot(x - point.x, y - point.y) <= near) ?? null;
  }

  #pressed(at: Point) {
    const { stage, selected, make } = this.bench;
    if (!this.#isActive()) return false;
    const point = stage.toImage(at.x, at.y);
    if (this.tool === 'select') {
      const before = selected();
      if (!before) return false;
      const handle = this.#handleAt(before, point);
      if (!handle && !touches(before, point, reach / this.#scale)) return false;
      this.#grasp = { before, handle, from: point };
      return true;
    }
    this.#press = { at, dragged: false, first: this.draft === null };
    if (this.tool === 'rectangle' || this.tool === 'ellipse') {
      this.#grasp = {
        before: make({ type: this.tool, center: [0, 0, 0], width: 0, height: 0, rotation: 0 }),
        handle: null,
        from: point,
      };
    }
    return true;
  }

  #dragged(at: Point) {
    const point = this.bench.stage.toImage(at.x, at.y);
    if (this.tool === 'select') {
      if (!this.#grasp) return;
      const { before, handle, from } = this.#grasp;
      this.draft = handle ? reshaped(before, handle, point) : moved(before, point.x - from.x, point.y - from.y);
    } else if (this.#grasp) {
      this.draft = boxBetween(this.#grasp.before, this.#grasp.from, point);
    } else if (this.#press && this.tool !== 'point') {
      const { at: last } = this.#press;
      if (Math.hypot(at.x - last.x, at.y - last.y) < freehandStep) return;
      if (!this.#press.dragged) this.#addVertex(last);
      this.#press = { ...this.#press, at, dragged: true };
      this.#addVertex(at);
    }
    this.bench.redraw();
  }

  #released(at: Point) {
    const { draft } = this;
    const grasp = this.#grasp;
    const press = this.#press;
    this.#grasp = null;
    this.#press = null;
    if (this.tool === 'select') {
      this.draft = null;
      if (grasp && draft) this.bench.commit(grasp.before, draft);
    } else if (grasp) {
      this.draft = null;
      const { x, y } = this.bench.stage.toImage(at.x, at.y);
      const far = Math.min(Math.abs(x - grasp.from.x), Math.abs(y - grasp.from.y)) * this.#scale >= minDrag;
      if (draft && far && isDrawn(draft)) this.#keep(draft);
    } else if (this.tool === 'point') {
      const { x, y } = this.bench.stage.toImage(at.x, at.y);
      this.bench.commit(null, this.bench.make({ type: 'point', center: coordinate(x, y) }));
    } else if (press?.dragged) {
      if (press.first) this.finish();
    } else if (press) this.#clickVertex(at);
    this.bench.redraw();
  }

  /** Adds a vertex where the pointer was clicked; a click near the first one completes the polygon. */
  #clickVertex(at: Point) {
    const points = this.draft?.points ?? [];
    const { x, y } = this.bench.stage.toImage(at.x, at.y);
    const near = (vertex: readonly number[] | undefined) =>
      vertex !== undefined && Math.hypot((vertex[0] ?? 0) - x, (vertex[1] ?? 0) - y) <= handleReach / this.#scale;
    const isRing = this.tool === 'polygon' || this.tool === 'hole' || this.tool === 'measure';
    if (isRing && points.length >= 3 && near(points[0])) {
      this.draft = this.draft && { ...this.draft, closed: true };
      this.finish();
    } else if (!near(points.at(-1))) this.#addVertex(at);
  }

  #addVertex(at: Point) {
    const { x, y } = this.bench.stage.toImage(at.x, at.y);
    const closed = this.tool === 'polygon' || this.tool === 'hole';
    const members = { type: 'polyline', closed, points: [] };
    const isSaved = this.tool !== 'measure' && this.tool !== 'hole';
    const draft = this.draft ?? (isSaved ? this.bench.make(members) : { ...members, id: this.tool });
    this.measured = null;
    this.draft = { ...draft, points: [...(draft.points ?? []), coordinate(x, y)] };
    this.tip = null;
  }

  #clicked(at: Point) {
    if (this.bench.editing()) this.bench.select(this.at(at));
    else this.bench.inspect(at);
  }

  #doubleClicked(at: Point) {
    if (!this.#isActive()) return false;
    if (this.tool !== 'select') {
      this.finish();
      return true;
    }
    const selected = this.bench.selected();
    if (!selected) return false;
    const point = this.bench.stage.toImage(at.x, at.y);
    const handle = this.#handleAt(selected, point);
    if (handle?.kind === 'vertex') {
      const fewer = withoutVertex(selected, handle.index);
      if (fewer !== selected) this.bench.commit(selected, fewer);
    }
    return true;
  }
}
