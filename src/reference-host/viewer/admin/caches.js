// @ts-check
import { request } from '../api.js';
import { askToRemove } from '../browse/create-dialog.js';
import { fill, h } from '../dom.js';
import { formatBytes, formatCount, plural } from '../format.js';
import { actionButton, outcome, panel, table } from './parts.js';

/**
 * @typedef {object} CacheReport
 * @property {number} maxsize
 * @property {number} used
 * @property {number} [items]
 * @property {number} [processes]
 * @property {boolean} [available]
 * @property {number} [errors]
 * @property {string} [error]
 */

/**
 * Caches of the server, and files that it keeps for items.
 *
 * @type {import('./admin-view.js').Section}
 */
export async function cachesSection({ signal }) {
  return Promise.all([cachePanel(signal), keptFilesPanel(signal)]);
}

/** @param {AbortSignal} signal */
async function cachePanel(signal) {
  const said = outcome();
  const output = h('div', { class: 'stack' });
  /** @param {Record<string, CacheReport>} reports */
  const show = (reports) => fill(output, reportTable(reports, 'Caches'));
  const load = async () => show(await request('GET', 'large_image/cache', { signal }));
  await load();
  return panel(
    'Caches',
    output,
    said.element,
    h(
      'div',
      { class: 'actions' },
      actionButton({ label: 'Refresh', name: 'Refresh caches', run: load, failed: said.bad }),
      actionButton({
        label: 'Clear caches',
        kind: 'danger',
        failed: said.bad,
        async run() {
          said.clear();
          const { before, after } = await request('PUT', 'large_image/cache/clear');
          fill(output, reportTable(before, 'Before', 'Before'), reportTable(after, 'After', 'After'));
          said.good('The caches have been cleared.');
        },
      }),
    ),
  );
}

/** @param {Record<string, CacheReport>} reports @param {string} label @param {string} [caption] */
function reportTable(reports, label, caption) {
  const rows = Object.entries(reports).map(([name, report]) => [
    name,
    amount(name, report.used),
    amount(name, report.maxsize),
    report.items === undefined ? '' : formatCount(report.items),
    report.processes === undefined ? '' : formatCount(report.processes),
    state(report),
  ]);
  const body = table(['Cache', 'Used', 'Room', 'Entries', 'Processes', 'State'], rows, label);
  return caption ? h('div', {}, h('h3', {}, caption), body) : body;
}

/** `tileCache` counts bytes, the others count files. @param {string} name @param {number} value */
function amount(name, value) {
  return name === 'tileCache' ? formatBytes(value) : formatCount(value);
}

/** @param {CacheReport} report */
function state({ available, errors = 0, error }) {
  if (available === false) return `away${error ? `: ${error}` : ''}`;
  return errors === 0 ? 'well' : plural(errors, 'error');
}

/** Kinds of files that are kept for items, each with the route that counts and removes them. */
const kinds = [
  { path: 'thumbnails', one: 'thumbnail file', title: 'Thumbnails' },
  { path: 'associated_images', one: 'associated image', title: 'Associated images' },
  { path: 'histograms', one: 'histogram', title: 'Histograms' },
];

/** @param {AbortSignal} signal */
async function keptFilesPanel(signal) {
  const said = outcome();
  const counts = kinds.map(({ path }) => h('span', { 'data-testid': `count-${path}` }));
  const load = async () => {
    const found = await Promise.all(kinds.map(({ path }) => request('GET', `large_image/${path}`, { signal })));
    for (const [index, count] of found.entries()) fill(/** @type {HTMLElement} */ (counts[index]), formatCount(count));
  };
  await load();
  const rows = kinds.map(({ path, one, title }, index) => [
    title,
    counts[index],
    h(
      'button',
      {
        class: 'button',
        type: 'button',
        'aria-label': `Delete ${title.toLowerCase()}`,
        onclick: () =>
          askToRemove({
            title: `Delete all ${title.toLowerCase()}?`,
            text: 'They are made again when somebody asks for them.',
            async remove() {
              const removed = await request('DELETE', `large_image/${path}`);
              await load();
              const message = `${plural(removed, one)} removed.`;
              said.good(message);
              return message;
            },
          }),
      },
      'Delete',
    ),
  ]);
  return panel(
    'Files kept for items',
    h('p', { class: 'quiet-text' }, 'Thumbnails count associated images and pictures of frames too.'),
    table(['Kind', 'Files', ''], rows, 'Files kept for items'),
    said.element,
    h('div', { class: 'actions' }, actionButton({ label: 'Refresh', name: 'Refresh counts', run: load, failed: said.bad })),
  );
}
