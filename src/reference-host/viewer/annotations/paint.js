// @ts-check
import { overlaps } from './model.js';
import { boxOf, cornersOf, handlesOf, isArea } from './shapes.js';

/**
 * @typedef {import('./model.js').Element} Element
 * @typedef {import('./model.js').Box} Box
 *
 * Where the image lies on the stage: `screen = image × scale + (x, y)`, in CSS pixels.
 * @typedef {{ scale: number, x: number, y: number }} Placement
 */

/** Where elements say nothing, as the server's pictures of them have it. */
const defaultLine = 'rgb(0,0,0)';
const defaultLineWidth = 2;
/** On the screen, in CSS pixels. */
const pointRadius = 5;
const handleSize = 9;
/** How far the turning handle of a box lies above it. */
export const rotationHandleDistance = 26;
/** Shapes smaller than this are a dot. */
const dotBelow = 2.5;
/** More labels than this cannot be read. */
const maxLabels = 200;

/** @type {WeakMap<Element, Path2D>} */
const paths = new WeakMap();

/** The outline of an element in image pixels. @param {Element} element */
function pathOf(element) {
  const known = paths.get(element);
  if (known) return known;
  const path = makePath(element);
  paths.set(element, path);
  return path;
}

/** @param {Element} element */
function makePath(element) {
  const { type, center = [0, 0, 0], width = 0, height = 0, radius = 0, rotation = 0, points = [], holes = [] } = element;
  const path = new Path2D();
  if (type === 'circle') path.arc(center[0], center[1], radius, 0, 2 * Math.PI);
  else if (type === 'ellipse') path.ellipse(center[0], center[1], width / 2, height / 2, rotation, 0, 2 * Math.PI);
  else if (type === 'rectangle' || type === 'rectanglegrid') {
    const corners = cornersOf(element);
    trace(
      path,
      corners.map(({ x, y }) => [x, y]),
      true,
    );
    if (type === 'rectanglegrid') grid(path, corners, element);
  } else {
    trace(path, points, element.closed === true);
    for (const hole of holes) trace(path, hole, true);
  }
  return path;
}

/** @param {Path2D} path @param {readonly (readonly number[])[]} points @param {boolean} closed */
function trace(path, points, closed) {
  for (const [index, [x = 0, y = 0]] of points.entries()) {
    if (index === 0) path.moveTo(x, y);
    else path.lineTo(x, y);
  }
  if (closed) path.closePath();
}

/** Most lines of a grid that are drawn each way. */
const maxGridLines = 1000;

/** @param {Path2D} path @param {import('./model.js').Point[]} corners @param {Element} element */
function grid(path, corners, { widthSubdivisions = 1, heightSubdivisions = 1 }) {
  const [topLeft, topRight, bottomRight, bottomLeft] = corners;
  if (!topLeft || !topRight || !bottomRight || !bottomLeft) return;
  lines(widthSubdivisions, topLeft, topRight, bottomLeft, bottomRight);
  lines(heightSubdivisions, topLeft, bottomLeft, topRight, bottomRight);

  /** @typedef {import('./model.js').Point} Point */
  /** @param {number} count @param {Point} from @param {Point} fromEnd @param {Point} to @param {Point} toEnd */
  function lines(count, from, fromEnd, to, toEnd) {
    for (let index = 1; index < Math.min(count, maxGridLines); index += 1) {
      const share = index / count;
      path.moveTo(from.x + (fromEnd.x - from.x) * share, from.y + (fromEnd.y - from.y) * share);
      path.lineTo(to.x + (toEnd.x - to.x) * share, to.y + (toEnd.y - to.y) * share);
    }
  }
}

/** Draws on one canvas; `ratio` is its pixels per CSS pixel. */
export class Painter {
  /** @param {CanvasRenderingContext2D} context @param {number} ratio @param {Placement} placement @param {Box} view what is seen, in image pixels */
  constructor(context, ratio, placement, view) {
    this.context = context;
    this.ratio = ratio;
    this.placement = placement;
    this.view = view;
    this.labels = 0;
  }

  /** Coordinates are image pixels from here on. */
  #inImage() {
    const { scale, x, y } = this.placement;
    this.context.setTransform(this.ratio * scale, 0, 0, this.ratio * scale, this.ratio * x, this.ratio * y);
  }

  /** Coordinates are CSS pixels of the stage from here on. */
  #onStage() {
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
  }

  /** Another image, laid over this one: a point of it lies at `[x, y] · matrix + offsets`. @param {Element} element @param {import('./overlay-pictures.js').OverlayPicture} picture */
  overlay({ transform = {}, opacity = 1 }, { picture, width, height }) {
    const { context } = this;
    const {
      xoffset = 0,
      yoffset = 0,
      matrix = [
        [1, 0],
        [0, 1],
      ],
    } = transform;
    this.#inImage();
    context.transform(...matrix[0], ...matrix[1], xoffset, yoffset);
    context.globalAlpha = opacity;
    context.drawImage(picture, 0, 0, width, height);
    context.globalAlpha = 1;
  }

  /** @param {Iterable<Element>} elements in the order in which they cover one another @param {number} opacity */
  shapes(elements, opacity) {
    const { context, view } = this;
    const { scale } = this.placement;
    const margin = (pointRadius + 2) / scale;
    const seen = {
      left: view.left - margin,
      top: view.top - margin,
      right: view.right + margin,
      bottom: view.bottom + margin,
    };
    this.#inImage();
    context.lineJoin = 'round';
    context.lineCap = 'round';
    context.globalAlpha = opacity;
    for (const element of elements) {
      const box = boxOf(element);
      if (overlaps(box, seen)) this.#shape(element, box);
    }
    context.globalAlpha = 1;
  }

  /** @param {Element} element @param {Box} box */
  #shape(element, box) {
    const { context } = this;
    const { scale } = this.placement;
    const { lineColor = defaultLine, lineWidth = defaultLineWidth, fillColor } = element;
    if (element.type === 'point') {
      const [x, y] = element.center ?? [0, 0];
      context.beginPath();
      context.arc(x, y, pointRadius / scale, 0, 2 * Math.PI);
      if (fillColor) this.#fill(fillColor);
      this.#stroke(lineColor, lineWidth);
      return;
    }
    const size = Math.max(box.right - box.left, box.bottom - box.top) * scale;
    if (size < dotBelow) {
      const side = Math.max(size, 1) / scale;
      context.fillStyle = lineColor;
      context.fillRect((box.left + box.right - side) / 2, (box.top + box.bottom - side) / 2, side, side);
      return;
    }
    const path = pathOf(element);
    if (fillColor && isArea(element)) this.#fill(fillColor, path);
    this.#stroke(lineColor, lineWidth, path);
    if (element.type === 'arrow') this.#arrowHead(element, lineWidth);
  }

  /** @param {string} color @param {Path2D} [path] */
  #fill(color, path) {
    this.context.fillStyle = color;
    if (path) this.context.fill(path, 'evenodd');
    else this.context.fill();
  }

  /** Lines have their width in image pixels when zoomed out, and in pixels of the screen when zoomed in: they hide nothing. @param {string} color @param {number} width @param {Path2D} [path] */
  #stroke(color, width, path) {
    if (width <= 0) return;
    const { context } = this;
    const { scale } = this.placement;
    context.strokeStyle = color;
    context.lineWidth = Math.max(1, width * Math.min(1, scale)) / scale;
    if (path) context.stroke(path);
    else context.stroke();
  }

  /** The head lies at the first point. @param {Element} element @param {number} lineWidth */
  #arrowHead({ points = [], lineColor = defaultLine }, lineWidth) {
    const [head, tail] = points;
    if (!head || !tail) return;
    const angle = Math.atan2(tail[1] - head[1], tail[0] - head[0]);
    const length = 14 / this.placement.scale;
    const { context } = this;
    context.beginPath();
    for (const side of [-0.45, 0.45]) {
      context.moveTo(head[0], head[1]);
      context.lineTo(head[0] + Math.cos(angle + side) * length, head[1] + Math.sin(angle + side) * length);
    }
    this.#stroke(lineColor, lineWidth);
  }

  /**
   * Marks a shape as the one being worked on.
   *
   * @param {Element} element
   * @param {{ accent: string, handles: boolean }} options
   */
  selection(element, { accent, handles }) {
    const { context } = this;
    const { scale } = this.placement;
    this.#inImage();
    if (element.type === 'point') {
      const [x, y] = element.center ?? [0, 0];
      context.beginPath();
      context.arc(x, y, (pointRadius + 4) / scale, 0, 2 * Math.PI);
      this.#mark(accent);
    } else this.#mark(accent, pathOf(element));
    if (handles) this.handles(element, accent);
  }

  /** @param {string} accent @param {Path2D} [path] */
  #mark(accent, path) {
    const { context } = this;
    for (const [color, width] of /** @type {const} */ ([
      ['#ffffff', 5],
      [accent, 2.5],
    ])) {
      context.strokeStyle = color;
      context.lineWidth = width / this.placement.scale;
      if (path) context.stroke(path);
      else context.stroke();
    }
  }

  /** @param {Element} element @param {string} accent */
  handles(element, accent) {
    const { context } = this;
    const { scale, x, y } = this.placement;
    this.#onStage();
    for (const handle of handlesOf(element, rotationHandleDistance / scale)) {
      const size = handle.kind === 'middle' ? handleSize - 3 : handleSize;
      const at = { x: handle.x * scale + x, y: handle.y * scale + y };
      context.beginPath();
      if (handle.kind === 'corner' || handle.kind === 'vertex') context.rect(at.x - size / 2, at.y - size / 2, size, size);
      else context.arc(at.x, at.y, size / 2, 0, 2 * Math.PI);
      context.fillStyle = '#ffffff';
      context.fill();
      context.strokeStyle = accent;
      context.lineWidth = 1.5;
      context.stroke();
    }
  }

  /** Writes the label of an element beside it. @param {Element} element */
  label(element) {
    if (!element.label || element.label.value === '' || this.labels >= maxLabels) return;
    const box = boxOf(element);
    if (!overlaps(box, this.view)) return;
    this.labels += 1;
    const { context } = this;
    const { scale, x, y } = this.placement;
    this.#onStage();
    context.font = `600 ${Math.min(40, Math.max(9, element.label.fontSize ?? 13))}px system-ui, sans-serif`;
    context.textAlign = 'center';
    context.textBaseline = 'bottom';
    context.lineJoin = 'round';
    context.lineWidth = 3.5;
    context.strokeStyle = '#ffffff';
    const middle = ((box.left + box.right) / 2) * scale + x;
    const above = element.type === 'point' ? pointRadius + 3 : 4;
    const top = Math.max(box.top, this.view.top + 24 / scale) * scale + y - above;
    context.strokeText(element.label.value, middle, top);
    context.fillStyle = element.label.color ?? '#16181f';
    context.fillText(element.label.value, middle, top);
  }
}
