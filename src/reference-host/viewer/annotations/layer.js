// @ts-check
import { h } from '../dom.js';
import { Painter } from './paint.js';

/**
 * @typedef {import('../image/stage.js').Stage} Stage
 * @typedef {import('./model.js').Element} Element
 * @typedef {import('./overlay-pictures.js').OverlayPicture} OverlayPicture
 *
 * What lies on the stage, lowest first: overlays, shapes with their labels, then whatever `above` paints.
 * @typedef {{ overlays: () => Iterable<Element>, picture: (element: Element) => OverlayPicture | null, shapes: () => Iterable<{ elements: Iterable<Element>, opacity: number }>, hovered: () => Element | null, above: (painter: Painter) => void }} Content
 */

/**
 * The canvas above the image, kept in step with the view.
 *
 * @param {Stage} stage
 * @param {HTMLElement} element that the canvas fills
 * @param {Content} content
 * @returns {() => void} asks for the content to be drawn anew
 */
export function drawingLayer(stage, element, content) {
  const canvas = h('canvas', { class: 'annotation-layer', 'aria-hidden': 'true', 'data-testid': 'annotation-layer' });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  // Below the overview in the corner.
  if (element.firstElementChild) element.firstElementChild.after(canvas);
  else element.append(canvas);
  let asked = false;
  // Within the frame in which the image is drawn: shapes must not swim on it.
  stage.onMove(draw);
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      if (canvas.isConnected) draw();
    });
  };

  function draw() {
    const ratio = devicePixelRatio;
    const { width, height } = element.getBoundingClientRect();
    const size = { width: Math.round(width * ratio), height: Math.round(height * ratio) };
    if (canvas.width !== size.width || canvas.height !== size.height) Object.assign(canvas, size);
    else {
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.clearRect(0, 0, canvas.width, canvas.height);
    }
    const painter = new Painter(context, ratio, stage.placement(), stage.view());
    for (const overlay of content.overlays()) {
      const picture = content.picture(overlay);
      if (picture) painter.overlay(overlay, picture);
    }
    const hovered = content.hovered();
    /** @type {Element[]} */
    const labelled = [];
    for (const { elements, opacity } of content.shapes()) {
      const list = [...elements];
      painter.shapes(list, opacity);
      for (const shape of list) if (shape.label?.visibility === 'always' || shape === hovered) labelled.push(shape);
    }
    content.above(painter);
    for (const shape of labelled) if (shape.label?.visibility !== 'hidden') painter.label(shape);
  }
}
