// @ts-check
import { request } from '../api.js';
import { h, messageOf } from '../dom.js';
import { formatCount, formatLength } from '../format.js';

/**
 * @typedef {import('./metadata.js').ImageMetadata} ImageMetadata
 * @typedef {import('./stage.js').Stage} Stage
 * @typedef {{ r?: number, g?: number, b?: number, a?: number, l?: number, value?: number[] }} Pixel
 */

/** The pointer must rest this long, in milliseconds, before its pixel is asked for. */
const restMs = 120;

/**
 * Position and value of the pixel under the pointer; for those who use the keyboard, of the one in the middle.
 *
 * @param {object} options
 * @param {Stage} options.stage
 * @param {HTMLElement} options.element that the pointer moves over
 * @param {string} options.itemId
 * @param {ImageMetadata} options.metadata
 * @param {() => number} options.frame
 * @param {AbortSignal} options.signal
 */
export function pixelReadout({ stage, element, itemId, metadata, frame, signal }) {
  const position = h('span', { class: 'readout-position', 'data-testid': 'position' });
  const swatch = h('span', { class: 'swatch', 'aria-hidden': 'true' });
  const value = h('span', { class: 'readout-value', 'data-testid': 'pixel' });
  const output = h('output', { class: 'readout', 'aria-label': 'Pixel', hidden: true }, position, swatch, value);
  /** @type {{ x: number, y: number } | null} in pixels of the stage */
  let at = null;
  /** @type {AbortController | null} */
  let asking = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  element.addEventListener('pointermove', (event) => follow(event));
  element.addEventListener('pointerdown', (event) => follow(event));
  element.addEventListener('pointerleave', (event) => {
    if (event.pointerType === 'mouse') hide();
  });
  stage.onMove(() => at && update(at));
  stage.onRest(() => {
    if (stage.canvas.matches(':focus-visible')) {
      const { width, height } = element.getBoundingClientRect();
      update({ x: width / 2, y: height / 2 });
    }
  });
  signal.addEventListener('abort', hide, { once: true });
  return { element: output, refresh: () => at && update(at) };

  /** @param {PointerEvent} event */
  function follow(event) {
    const box = element.getBoundingClientRect();
    update({ x: event.clientX - box.left, y: event.clientY - box.top });
  }

  function hide() {
    at = null;
    clearTimeout(timer);
    asking?.abort();
    output.hidden = true;
  }

  /** @param {{ x: number, y: number }} pointer in pixels of the stage */
  function update(pointer) {
    at = pointer;
    clearTimeout(timer);
    asking?.abort();
    const point = stage.toImage(pointer.x, pointer.y);
    const x = Math.floor(point.x);
    const y = Math.floor(point.y);
    const inside = x >= 0 && y >= 0 && x < metadata.sizeX && y < metadata.sizeY;
    output.hidden = !inside;
    if (!inside) return;
    position.textContent = positionText(x, y, metadata);
    timer = setTimeout(() => void ask(x, y), restMs);
  }

  /** @param {number} left @param {number} top */
  async function ask(left, top) {
    const controller = new AbortController();
    asking = controller;
    try {
      const query = { left, top, frame: (metadata.frames?.length ?? 1) > 1 ? frame() : null };
      /** @type {Pixel} */
      const pixel = await request('GET', `item/${itemId}/tiles/pixel`, { query, signal: controller.signal });
      value.textContent = pixelText(pixel);
      swatch.style.backgroundColor = pixelColor(pixel);
      output.dataset.pixel = `${left},${top}`;
    } catch (error) {
      if (!controller.signal.aborted) value.textContent = messageOf(error);
    }
  }
}

/** @param {number} x @param {number} y @param {ImageMetadata} metadata */
function positionText(x, y, { mm_x: mmX, mm_y: mmY }) {
  const pixels = `${formatCount(x)}, ${formatCount(y)} px`;
  return mmX === null || mmY === null ? pixels : `${pixels} · ${formatLength(x * mmX)}, ${formatLength(y * mmY)}`;
}

/**
 * The samples as they are in the file, with the names of colours where they are colours.
 *
 * @param {Pixel} pixel
 */
function pixelText({ value = [], ...channels }) {
  const colors = /** @type {const} */ (['r', 'g', 'b', 'a']).filter((name) => channels[name] !== undefined);
  const samples = value.length > 0 ? value : colors.map((name) => channels[name]);
  if (colors.length >= 3 && samples.length === colors.length) {
    return samples.map((sample, index) => `${colors[index]?.toUpperCase()} ${sample}`).join('  ');
  }
  return samples.join('  ');
}

/** @param {Pixel} pixel */
function pixelColor({ r, g, b, l }) {
  if (r !== undefined) return `rgb(${r} ${g} ${b})`;
  return l === undefined ? 'transparent' : `rgb(${l} ${l} ${l})`;
}
