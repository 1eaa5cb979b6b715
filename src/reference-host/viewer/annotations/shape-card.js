// @ts-check
import { fill, h, icon } from '../dom.js';
import { factList } from '../image/facts.js';
import { measuresOf } from './measures.js';

/** @typedef {import('./model.js').Element} Element */

/** Longest value of a field of users that is shown. */
const maxValue = 300;

/**
 * A card on the stage with the facts of the shape under the pointer; after a click, of that one.
 *
 * @param {import('../image/metadata.js').ImageMetadata} metadata
 */
export function shapeCard(metadata) {
  const content = h('div', {});
  const close = h(
    'button',
    { class: 'button icon-button quiet', type: 'button', 'aria-label': 'Close', onclick: () => pin(null) },
    icon('close'),
  );
  const element = h('section', { class: 'shape-card', 'aria-label': 'Shape', hidden: true }, content, close);
  /** @type {Element | null} */
  let pinned = null;
  /** @type {Element | null} */
  let shown = null;
  return { element, show, pin };

  /** @param {Element | null} shape */
  function show(shape) {
    const next = pinned ?? shape;
    element.hidden = next === null;
    close.hidden = pinned === null;
    if (next === shown || next === null) return;
    shown = next;
    fill(content, factList(factsOf(next)));
  }

  /** @param {Element | null} shape */
  function pin(shape) {
    pinned = shape;
    show(null);
  }

  /** @param {Element} shape @returns {[string, string | null | undefined][]} */
  function factsOf(shape) {
    const user = Object.entries(shape.user ?? {});
    return [
      ['Group', shape.group],
      ['Label', shape.label?.value],
      ...measuresOf(shape, metadata),
      ...user.map(([name, value]) => /** @type {[string, string]} */ ([name, textOf(value)])),
      ['Type', shape.id === 'measure' ? null : shape.type],
    ];
  }
}

/** @param {unknown} value */
function textOf(value) {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > maxValue ? `${text.slice(0, maxValue)}…` : text;
}
