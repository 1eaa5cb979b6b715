// @ts-check
import { rotationHandleDistance } from './paint.js';
import { boxBetween, coordinate, handlesOf, isDrawn, moved, reshaped, touches, withoutVertex } from './shapes.js';

/**
 * @typedef {import('./model.js').Element} Element
 * @typedef {import('./model.js').Point} Point
 * @typedef {import('./shapes.js').Handle} Handle
 * @typedef {import('../image/stage.js').Stage} Stage
 * @typedef {'select' | 'rectangle' | 'ellipse' | 'polygon' | 'line' | 'point'} Tool
 */

/**
 * What tools work on.
 *
 * @typedef {object} Bench
 * @property {Stage} stage
 * @property {() => Iterable<Element>} shapes that can be grasped, topmost last; none while nothing is edited
 * @property {() => Element | null} selected
 * @property {(element: Element | null) => void} select
 * @property {(before: Element | null, after: Element | null) => void} commit a finished change
 * @property {(members: Pick<Element, 'type'> & Partial<Element>) => Element} make a new element in the group and colour that are chosen
 * @property {() => boolean} editing
 * @property {() => void} redraw
 * @property {() => void} onTool called when another tool is taken up
 */

/** How near is near enough, in pixels of the screen. */
const reach = 6;
const handleReach = 9;
/** A drag adds a vertex each time it has come this far. */
const freehandStep = 5;
/** Rectangles that are smaller are slips of the hand. */
const minDrag = 4;

/** Turns gestures on the stage into changes of shapes. */
export class Tools {
  /** @type {Tool} */
  tool = 'select';
  /** The shape being drawn or changed. @type {Element | null} */
  draft = null;
  /** Where the next vertex would be. @type {Point | null} */
  tip = null;
  /** @type {{ before: Element, handle: Handle | null, from: Point } | null} */
  #grasp = null;
  /** @type {{ at: Point, dragged: boolean, first: boolean } | null} */
  #press = null;

  /** @param {Bench} bench */
  constructor(bench) {
    this.bench = bench;
    bench.stage.onPointer({
      press: (at) => this.#pressed(at),
      drag: (at) => this.#dragged(at),
      release: (at) => this.#released(at),
      click: (at) => this.#clicked(at),
      doubleClick: (at) => this.#doubleClicked(at),
    });
  }

  /** @param {Tool} tool */
  use(tool) {
    this.#drop();
    this.tool = tool;
    if (tool !== 'select') this.bench.select(null);
    this.bench.onTool();
    this.bench.redraw();
  }

  /** Gives up what is being drawn, then the selection, then the tool. */
  cancel() {
    if (this.draft) {
      this.#drop();
      this.bench.redraw();
    } else if (this.bench.selected()) this.bench.select(null);
    else if (this.tool !== 'select') this.use('select');
  }

  /** Ends a polygon or line with the vertices that it has. */
  finish() {
    const { draft } = this;
    if (!draft || !draft.points) return;
    this.#drop();
    if (isDrawn(draft)) this.#keep(draft);
    this.bench.redraw();
  }

  /** Takes back the last vertex of what is being drawn; whether there was one. */
  dropVertex() {
    if (!this.draft?.points) return false;
    const points = this.draft.points.slice(0, -1);
    this.draft = points.length === 0 ? null : { ...this.draft, points };
    this.bench.redraw();
    return true;
  }

  /** The pointer moves without a button. @param {Point} at in pixels of the stage */
  hover(at) {
    // What is grasped follows the pointer by itself.
    if (!this.draft?.points || this.#press || this.#grasp) return;
    this.tip = this.bench.stage.toImage(at.x, at.y);
    this.bench.redraw();
  }

  /** What a cursor at this place should look like. @param {Point} at @returns {string} */
  cursor(at) {
    if (!this.bench.editing()) return '';
    if (this.tool !== 'select') return 'crosshair';
    const selected = this.bench.selected();
    const point = this.bench.stage.toImage(at.x, at.y);
    if (selected && this.#handleAt(selected, point)) return 'pointer';
    if (selected && touches(selected, point, reach / this.#scale)) return 'move';
    return this.at(at) ? 'pointer' : '';
  }

  /** The topmost shape at a place of the stage that can be grasped. @param {Point} at */
  at(at) {
    return this.topmost(this.bench.shapes(), at);
  }

  /** The last of some shapes that lies at a place of the stage. @param {Iterable<Element>} shapes @param {Point} at @returns {Element | null} */
  topmost(shapes, at) {
    const point = this.bench.stage.toImage(at.x, at.y);
    /** @type {Element | null} */
    let found = null;
    for (const element of shapes) if (touches(element, point, reach / this.#scale)) found = element;
    return found;
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

  /** @param {Element} element */
  #keep(element) {
    this.bench.commit(null, element);
    this.use('select');
    this.bench.select(element);
  }

  /** @param {Element} element @param {Point} point @returns {Handle | null} */
  #handleAt(element, point) {
    const near = handleReach / this.#scale;
    const handles = handlesOf(element, rotationHandleDistance / this.#scale);
    return handles.findLast(({ x, y }) => Math.hypot(x - point.x, y - point.y) <= near) ?? null;
  }

  /** @param {Point} at */
  #pressed(at) {
    const { stage, selected, make, editing } = this.bench;
    if (!editing()) return false;
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

  /** @param {Point} at */
  #dragged(at) {
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

  /** @param {Point} at */
  #released(at) {
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
      const far = press && Math.min(Math.abs(at.x - press.at.x), Math.abs(at.y - press.at.y)) >= minDrag;
      if (draft && far && isDrawn(draft)) this.#keep(draft);
    } else if (this.tool === 'point') {
      const { x, y } = this.bench.stage.toImage(at.x, at.y);
      this.bench.commit(null, this.bench.make({ type: 'point', center: coordinate(x, y) }));
    } else if (press?.dragged) {
      if (press.first) this.finish();
    } else if (press) this.#clickVertex(at);
    this.bench.redraw();
  }

  /** A vertex where the pointer was clicked; near the first one the polygon is complete. @param {Point} at */
  #clickVertex(at) {
    const points = this.draft?.points ?? [];
    const { x, y } = this.bench.stage.toImage(at.x, at.y);
    const near = (/** @type {readonly number[] | undefined} */ vertex) =>
      vertex !== undefined && Math.hypot((vertex[0] ?? 0) - x, (vertex[1] ?? 0) - y) <= handleReach / this.#scale;
    if (this.tool === 'polygon' && points.length >= 3 && near(points[0])) this.finish();
    else if (!near(points.at(-1))) this.#addVertex(at);
  }

  /** @param {Point} at */
  #addVertex(at) {
    const { x, y } = this.bench.stage.toImage(at.x, at.y);
    const draft = this.draft ?? this.bench.make({ type: 'polyline', closed: this.tool === 'polygon', points: [] });
    this.draft = { ...draft, points: [...(draft.points ?? []), coordinate(x, y)] };
    this.tip = null;
  }

  /** @param {Point} at */
  #clicked(at) {
    if (this.bench.editing()) this.bench.select(this.at(at));
  }

  /** @param {Point} at */
  #doubleClicked(at) {
    if (!this.bench.editing()) return false;
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
