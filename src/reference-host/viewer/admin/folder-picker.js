// @ts-check
import { list } from '../api.js';
import { fill, h, icon } from '../dom.js';
import { currentUser } from '../session.js';
import { outcome } from './parts.js';

/** @typedef {{ type: 'collection' | 'user' | 'folder', _id: string, name: string }} Container */

/** Folders that are offered at once. */
const shown = 200;

/**
 * Goes down from collections to folders. What stands last in the path is chosen, when it is a folder.
 *
 * @param {AbortSignal} signal
 * @returns {Promise<{ element: HTMLElement, chosen: () => Container | null }>}
 */
export async function folderPicker(signal) {
  /** @type {Container[]} */
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

  /** @param {Container[]} next */
  async function go(next) {
    const { containers, total } = await childrenOf(next.at(-1), signal);
    path = next;
    const steps = [[], ...path.map((_container, index) => path.slice(0, index + 1))];
    fill(trail, ...steps.map((step) => stepButton(step)));
    fill(
      choices,
      ...containers.map((container) => h('li', {}, pickButton(container))),
      containers.length === 0 && h('li', { class: 'quiet-text' }, 'No folders in here.'),
      total > containers.length && h('li', { class: 'quiet-text' }, `The first ${shown} of ${total}.`),
    );
  }

  /** @param {Container[]} step */
  function stepButton(step) {
    const isLast = step.length === path.length;
    const name = step.at(-1)?.name ?? 'All collections';
    return h(
      'button',
      { class: 'step', type: 'button', 'aria-current': isLast ? 'true' : null, onclick: () => open(step) },
      name,
    );
  }

  /** @param {Container} container */
  function pickButton(container) {
    const symbol = container.type === 'collection' ? 'collection' : container.type === 'user' ? 'person' : 'folder';
    return h(
      'button',
      { class: 'pick', type: 'button', onclick: () => open([...path, container]) },
      icon(symbol),
      container.name,
    );
  }

  /** @param {Container[]} next */
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
 * @param {Container | undefined} container
 * @param {AbortSignal} signal
 * @returns {Promise<{ containers: Container[], total: number }>}
 */
async function childrenOf(container, signal) {
  if (container === undefined) {
    const { entries, total } = await list('collection', { query: { limit: shown }, signal });
    const user = currentUser();
    /** @type {Container[]} */
    const own = user === null ? [] : [{ type: 'user', _id: user._id, name: 'My folders' }];
    return { containers: [...entries.map((one) => toContainer('collection', one)), ...own], total: total + own.length };
  }
  const query = { parentType: container.type, parentId: container._id, limit: shown };
  const { entries, total } = await list('folder', { query, signal });
  return { containers: entries.map((one) => toContainer('folder', one)), total };
}

/** @param {Container['type']} type @param {{ _id: string, name: string }} document @returns {Container} */
function toContainer(type, { _id, name }) {
  return { type, _id, name };
}
