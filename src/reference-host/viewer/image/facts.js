// @ts-check
import { request } from '../api.js';
import { errorNotice, fill, h } from '../dom.js';
import { formatBytes, formatCount, formatDate, formatLength, significant } from '../format.js';

/**
 * @typedef {import('../browse/model.js').Item} Item
 * @typedef {import('./metadata.js').ImageMetadata} ImageMetadata
 */

/**
 * A list of terms and what they are; pairs without a value are left out.
 *
 * @param {(readonly [string, string | null | undefined])[]} pairs
 */
function factList(pairs) {
  const rows = pairs.flatMap(([term, value]) => (value ? [h('dt', {}, term), h('dd', {}, value)] : []));
  return h('dl', { class: 'facts' }, ...rows);
}

/** @param {Item} item */
export function itemFacts(item) {
  return factList([
    ['File size', formatBytes(item.size)],
    ['Created', formatDate(item.created)],
    ['Updated', formatDate(item.updated)],
    ['Description', item.description],
  ]);
}

/** @param {ImageMetadata} metadata */
export function imageFacts(metadata) {
  const { sizeX, sizeY, mm_x: mmX, mm_y: mmY, magnification, frames = [], levels, tileWidth, tileHeight } = metadata;
  return factList([
    ['Size', `${formatCount(sizeX)} × ${formatCount(sizeY)} px`],
    ['Extent', mmX && mmY ? `${formatLength(sizeX * mmX, 3)} × ${formatLength(sizeY * mmY, 3)}` : null],
    ['Pixel size', mmX && mmY ? `${formatLength(mmX)} × ${formatLength(mmY)}` : 'unknown'],
    ['Magnification', magnification ? `${significant(magnification, 3)}×` : 'unknown'],
    ['Frames', frames.length > 1 ? formatCount(frames.length) : null],
    ['Levels', `${levels}, tiles ${tileWidth} × ${tileHeight} px`],
    ['Samples', [metadata.bandCount && `${metadata.bandCount} ×`, metadata.dtype].filter(Boolean).join(' ')],
  ]);
}

/**
 * A section of the side panel that can be folded.
 *
 * @param {string} title
 * @param {{ open: boolean, name?: string }} options
 * @param {...HTMLElement} content
 */
export function section(title, { open, name }, ...content) {
  return h(
    'details',
    { class: 'section', open, 'data-section': name },
    h('summary', {}, title),
    h('div', { class: 'section-content' }, ...content),
  );
}

/**
 * Free-form facts from the file, fetched when the reader unfolds them.
 *
 * @param {string} itemId
 * @param {AbortSignal} signal
 */
export function technicalSection(itemId, signal) {
  const content = h('div', {}, h('p', { class: 'quiet-text' }, 'Loading…'));
  const element = section('Technical metadata', { open: false, name: 'technical' }, content);
  element.addEventListener('toggle', () => void load(), { once: true });
  return element;

  async function load() {
    try {
      fill(content, valueTree(await request('GET', `item/${itemId}/tiles/internal_metadata`, { signal })));
    } catch (error) {
      if (!signal.aborted) fill(content, errorNotice(error));
    }
  }
}

/**
 * Any JSON value: lists and objects can be unfolded.
 *
 * @param {unknown} value
 * @returns {HTMLElement}
 */
export function valueTree(value) {
  if (typeof value !== 'object' || value === null)
    return h('span', { class: 'value' }, value === null ? '–' : `${/** @type {string | number | boolean} */ (value)}`);
  const entries = Object.entries(value);
  if (entries.length === 0) return h('span', { class: 'value quiet-text' }, 'empty');
  return h('ul', { class: 'tree' }, ...entries.map(([key, member]) => h('li', {}, branch(key, member))));
}

/** @param {string} key @param {unknown} value */
function branch(key, value) {
  if (typeof value !== 'object' || value === null)
    return h('div', { class: 'leaf' }, h('span', { class: 'key' }, key), valueTree(value));
  const children = h('div');
  // Children are made when they are first seen: such a tree can hold tens of thousands of values.
  const ontoggle = () => children.hasChildNodes() || fill(children, valueTree(value));
  return h('details', { ontoggle }, h('summary', {}, key), children);
}
