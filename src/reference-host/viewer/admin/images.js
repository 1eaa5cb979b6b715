// @ts-check
import { request } from '../api.js';
import { fill, h } from '../dom.js';
import { formatCount, plural } from '../format.js';
import { folderPicker } from './folder-picker.js';
import { actionButton, field, outcome, panel, table } from './parts.js';

/** The counters in the order in which they are told, in words. */
const counterNames = {
  totalItems: 'Items visited',
  childFoldersRecursed: 'Child folders',
  largeImagesCreated: 'Large images created',
  largeImagesNotCreated: 'Large images not created',
  largeImagesRemovedAndRecreated: 'Made anew',
  largeImagesRemovedAndNotRecreated: 'Could not be made anew',
  itemsSkipped: 'Items skipped',
  jobsCanceled: 'Jobs canceled',
  jobsFailedToCancel: 'Jobs that could not be canceled',
};

/**
 * Large images for whole folders, and removal of those that were never completed.
 *
 * @type {import('./admin-view.js').Section}
 */
export async function imagesSection({ signal }) {
  return [await folderPanel(signal), incompletePanel()];
}

/** @param {AbortSignal} signal */
async function folderPanel(signal) {
  const said = outcome();
  const counters = h('div', { 'data-testid': 'counters' });
  const picker = await folderPicker(signal);
  const createJobs = h(
    'select',
    { id: 'create-jobs' },
    h('option', { value: 'false' }, 'Never: only files that can be read as they are'),
    h('option', { value: 'true' }, 'Where a file cannot be read as it is'),
    h('option', { value: 'always' }, 'Always'),
  );
  const boxes = {
    recurse: option('recurse', 'Child folders too', true),
    localJobs: option('localJobs', 'Jobs run in the processes of the server', true),
    cancelJobs: option('cancelJobs', 'Cancel unfinished jobs and begin anew', false),
    redoExisting: option('redoExisting', 'Make existing large images anew', false),
  };
  const start = actionButton({
    label: 'Create large images',
    kind: 'primary',
    failed: said.bad,
    async run() {
      said.clear();
      fill(counters);
      const folder = picker.chosen();
      if (folder === null) throw new Error('Choose a folder first.');
      const flags = Object.fromEntries(Object.entries(boxes).map(([name, { input }]) => [name, input.checked]));
      const form = { createJobs: createJobs.value, ...flags };
      const answer = await request('PUT', `large_image/folder/${folder._id}/tiles`, { form });
      const rows = Object.entries(counterNames).map(([name, words]) => [words, formatCount(answer[name] ?? 0)]);
      fill(counters, table(['', 'Number'], rows, 'Counters'));
      said.good(`Done: ${plural(answer.totalItems, 'item')} of ${folder.name}.`);
    },
  });
  return panel(
    'Create large images in a folder',
    picker.element,
    field('Conversion jobs', createJobs),
    h('div', { class: 'checks' }, ...Object.values(boxes).map(({ label }) => label)),
    said.element,
    counters,
    h('div', { class: 'actions' }, start),
  );
}

/** @param {string} name @param {string} words @param {boolean} checked */
function option(name, words, checked) {
  const input = h('input', { type: 'checkbox', name, checked });
  return { input, label: h('label', { class: 'check' }, input, ` ${words}`) };
}

function incompletePanel() {
  const said = outcome();
  return panel(
    'Incomplete large images',
    h(
      'p',
      { class: 'quiet-text' },
      'Takes away large images whose creation has not ended, and cancels their jobs. The items stay.',
    ),
    said.element,
    h(
      'div',
      { class: 'actions' },
      actionButton({
        label: 'Remove incomplete large images',
        kind: 'danger',
        failed: said.bad,
        async run() {
          said.clear();
          const { removed, message } = await request('DELETE', 'large_image/tiles/incomplete');
          const words = `${plural(removed, 'incomplete large image')} removed.`;
          if (message) said.bad(`${words} ${message}`);
          else said.good(words);
        },
      }),
    ),
  );
}
