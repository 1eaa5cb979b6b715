// @ts-check
import { showAnnotations } from '../annotations/annotations.js';
import { append, h } from '../dom.js';
import { replaceRoute, routeHash } from '../router.js';
import { checkSession } from '../session.js';
import { frameControls } from './frame-controls.js';
import { readFrame } from './metadata.js';
import { scaleRow, stageButtons } from './overlays.js';
import { pixelReadout } from './readout.js';
import { openStage } from './stage.js';

/**
 * @typedef {import('../browse/model.js').Item} Item
 * @typedef {import('./metadata.js').ImageMetadata} ImageMetadata
 */

/**
 * An image in deep zoom with everything that lies on it. Frame, place and hidden annotations are kept in the address: `?frame=2&at=x,y,width&hide=id`.
 *
 * @param {object} options
 * @param {HTMLElement} options.element
 * @param {Item} options.item
 * @param {ImageMetadata} options.metadata
 * @param {URLSearchParams} options.query of the address
 * @param {AbortSignal} options.signal
 */
export async function openImage({ element, item, metadata, query, signal }) {
  let frame = readFrame(query.get('frame'), metadata);
  const drawing = h('div', { class: 'stage-drawing' });
  const problem = h('p', { class: 'stage-problem', role: 'alert', hidden: true });
  element.replaceChildren(drawing);
  const stage = await openStage({ element: drawing, item, metadata, frame, onProblem: showProblem, signal });
  const start = readPosition(query.get('at'));
  if (start) stage.goTo(start);
  const readout = pixelReadout({ stage, element: drawing, itemId: item._id, metadata, frame: () => frame, signal });
  const controls = frameControls(metadata, frame, (next, likely) => void showFrame(next, likely));
  append(element, [
    stageButtons(stage, element),
    h('div', { class: 'stage-footer' }, scaleRow(stage, metadata), readout.element),
    problem,
  ]);
  stage.onRest(writeAddress);
  const hide = readList(query.get('hide'));
  const annotations = showAnnotations({ item, metadata, stage, drawing, container: element, hide, onHide: writeAddress, signal });

  return {
    annotations: annotations.panel,
    frameControls: controls?.element ?? null,
    /** Follows an address of the same image, as from the back button. @param {URLSearchParams} next */
    update(next) {
      const position = readPosition(next.get('at'));
      if (position) stage.goTo(position);
      else stage.goHome();
      if (next.has('hide')) annotations.hideOnly(readList(next.get('hide')));
      const wanted = readFrame(next.get('frame'), metadata);
      if (wanted !== frame) {
        controls?.set(wanted);
        void showFrame(wanted, []);
      }
      return true;
    },
  };

  /** @param {number} next @param {number[]} likely */
  async function showFrame(next, likely) {
    frame = next;
    writeAddress();
    try {
      await stage.showFrame(next, likely);
      readout.refresh();
    } catch (error) {
      if (!signal.aborted) showProblem(String(error));
    }
  }

  /** @param {string} message */
  function showProblem(message) {
    problem.textContent = message;
    problem.hidden = false;
    // The browser loads pictures by itself, and does not say why one fails.
    void checkSession();
  }

  function writeAddress() {
    if (signal.aborted) return;
    const position = stage.position();
    const at = position && `${position.x},${position.y},${position.width}`;
    replaceRoute(routeHash('item', item._id, { frame: frame || null, at, hide: annotations.hidden().join(',') || null }));
  }
}

/** The entries of a list separated by commas. @param {string | null} text */
function readList(text) {
  return (text ?? '').split(',').filter((entry) => entry !== '');
}

/**
 * @param {string | null} text
 * @returns {import('./stage.js').ViewPosition | null}
 */
function readPosition(text) {
  const [x = NaN, y = NaN, width = NaN] = (text ?? '').split(',').map((part) => (part === '' ? NaN : Number(part)));
  return [x, y, width].every(Number.isFinite) && width >= 1 ? { x, y, width } : null;
}
