// @ts-check
import { h, icon } from '../dom.js';
import { formatMagnification, scaleBar } from '../format.js';

/**
 * @typedef {import('./metadata.js').ImageMetadata} ImageMetadata
 * @typedef {import('./stage.js').Stage} Stage
 */

/** Widest scale bar, in screen pixels. */
const maxBarWidth = 150;

/**
 * Scale bar and magnification, kept in step with the view.
 *
 * @param {Stage} stage
 * @param {ImageMetadata} metadata
 */
export function scaleRow(stage, metadata) {
  const bar = h('div', { class: 'scale-bar-line' });
  const label = h('span', { class: 'scale-bar-label', 'data-testid': 'scale-bar' });
  const magnification = h('span', {
    class: 'magnification',
    'data-testid': 'magnification',
    title: 'Magnification on the screen',
  });
  stage.onMove(() => {
    const zoom = stage.zoom();
    const drawn = scaleBar({ zoom, mmPerPixel: metadata.mm_x, maxWidth: maxBarWidth });
    bar.style.width = `${drawn.width}px`;
    label.textContent = drawn.label;
    magnification.textContent = formatMagnification(zoom, metadata.magnification);
  });
  return h(
    'div',
    { class: 'scale-row' },
    h('div', { class: 'scale-bar', role: 'img', 'aria-label': 'Scale bar' }, label, bar),
    magnification,
  );
}

/**
 * Buttons for zoom, the whole image, and the full screen.
 *
 * @param {Stage} stage
 * @param {HTMLElement} fullScreenElement
 */
export function stageButtons(stage, fullScreenElement) {
  const step = 1.6;
  const buttons = [
    button('plus', 'Zoom in', () => stage.zoomBy(step)),
    button('minus', 'Zoom out', () => stage.zoomBy(1 / step)),
    button('home', 'Show the whole image', () => stage.goHome()),
  ];
  // Some phones have no full screen for anything but videos.
  if (document.fullscreenEnabled)
    buttons.push(button('fullScreen', 'Full screen', () => void toggleFullScreen(fullScreenElement)));
  return h('div', { class: 'stage-buttons', role: 'toolbar', 'aria-label': 'View' }, ...buttons);
}

/** @param {Parameters<typeof icon>[0]} picture @param {string} name @param {() => void} onclick */
function button(picture, name, onclick) {
  return h('button', { class: 'button icon-button', type: 'button', title: name, 'aria-label': name, onclick }, icon(picture));
}

/** @param {HTMLElement} element */
async function toggleFullScreen(element) {
  if (document.fullscreenElement === element) await document.exitFullscreen();
  else await element.requestFullscreen();
}
