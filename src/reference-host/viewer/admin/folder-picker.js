// @ts-check
import { list } from '../api.js';
import { fill, h, icon } from '../dom.js';
import { currentUser } from '../session.js';
import { outcome } from './parts.js';

/** @typedef {{ type: 'collection' | 'user' | 'folder', _id: string, name: string }} Place */

/** Folders that are offered at once. */
const shown = 200;

/**
 * Goes down from collections to folders. What stands last in the path is chosen, when it is a folder.
 *
 * @param {AbortSignal} signal
 * @returns {Promise<{ element: HTMLElement, chosen: () => Place | null }>}
 */
export async function folderPicker(signal) {
  /** @type {Place[]} */
  let path = [];
  const trail = h('p', { class: 'picker-path', 'data-testid': 'picker-path' });
  const choices = h('ul', { class: 'picker-list', 'aria-label': 'Folders to choose from' });
  const said = outcome();
  await go([]);
  return {
    element: h('div', { class: 'picker' }, h('span', { class: 'label' }, 'Folder'), trail, choices, said.element),
    chosen: () => {
      const last = path.at(-1);
      return last?.type === 'folder' ? last : null;
    },
  };

  /** @param {Place[]} next */
  async function go(next) {
    const { places, total } = await childrenOf(next.at(-1), signal);
    path = next;
    const steps = [[], ...path.map((_place, index) => path.slice(0, index + 1))];
    fill(trail, ...steps.map((step) => stepButton(step)));
    fill(
      choices,
      ...places.map((place) => h('li', {}, pickButton(place))),
      places.length === 0 && h('li', { class: 'quiet-text' }, 'No folders in here.'),
      total > places.length && h('li', { class: 'quiet-text' }, `The first ${shown} of ${total}.`),
    );
  }

  /** @param {Place[]} step */
  function stepButton(step) {
    const isLast = step.length === path.length;
    const name = step.at(-1)?.name ?? 'All collections';
    return h(
      'button',
      { class: 'step', type: 'button', 'aria-current': isLast ? 'true' : null, onclick: () => open(step) },
      name,
    );
  }

  /** @param {Place} place */
  function pickButton(place) {
    const symbol = place.type === 'collection' ? 'collection' : place.type === 'user' ? 'person' : 'folder';
    return h('button', { class: 'pick', type: 'button', onclick: () => open([...path, place]) }, icon(symbol), place.name);
  }

  /** @param {Place[]} next */
  async function open(next) {
    said.clear();
    try {
      await go(next);
    } catch (error) {
      if (!signal.aborted) said.bad(error);
    }
  }
}

/**
 * @param {Place | undefined} place
 * @param {AbortSignal} signal
 * @returns {Promise<{ places: Place[], total: number }>}
 */
async function childrenOf(place, signal) {
  if (place === undefined) {
    const { entries, total } = await list('collection', { query: { limit: shown }, signal });
    const user = currentUser();
    /** @type {Place[]} */
    const own = user === null ? [] : [{ type: 'user', _id: user._id, name: 'My folders' }];
    return { places: [...entries.map((one) => toPlace('collection', one)), ...own], total: total + own.length };
  }
  const query = { parentType: place.type, parentId: place._id, limit: shown };
  const { entries, total } = await list('folder', { query, signal });
  return { places: entries.map((one) => toPlace('folder', one)), total };
}

/** @param {Place['type']} type @param {{ _id: string, name: string }} document @returns {Place} */
function toPlace(type, { _id, name }) {
  return { type, _id, name };
}
