import { request } from '../api.js';
import { actions, fill, h } from '../dom.js';
import { routeHash } from '../router.js';
import { formatCount } from '../format.js';
import { folderPicker } from '../browse/folder-picker.js';
import { checkbox, choice, field } from '../forms.js';
import { createNotice, panel, table, type SectionBuilder } from './parts.js';
import { browseTexts, commonTexts } from '../texts.js';
import { adminTexts } from '../admin-texts.js';

/** Maximum number of failed images that are listed. */
const maxListedImages = 100;

/** Names of the checkboxes that are ticked initially. */
const tickedNames = ['recurse', 'localJobs'];

/** Panels that create large images for whole folders, list the reasons why some images failed, and remove incomplete large images. */
export async function imagesSection({ signal }: Parameters<SectionBuilder>[0]): ReturnType<SectionBuilder> {
  const failedPanel = failedImagesPanel(signal);
  await failedPanel.load();
  return [await creationPanel(signal, failedPanel.load), failedPanel.element, incompletePanel()];
}

function failedImagesPanel(signal: AbortSignal) {
  const failedList = h('div');
  const notice = createNotice();
  return { load, element: panel(adminTexts.failedImages, notice.element, failedList) };

  async function load() {
    const requestOptions = { query: { limit: maxListedImages }, signal };
    const failedItems = await request('GET', 'large_image/tiles/refused', requestOptions);
    const rows = failedItems.map(({ itemId, name, reason }) => {
      const retry = async () => {
        try {
          await request('POST', `item/${itemId}/tiles`);
          notice.showSuccess(browseTexts.triedAgain(1));
        } finally {
          await load();
        }
      };
      const retryButton = notice.createButton(commonTexts.tryAgain, retry, {
        name: adminTexts.labelWithName(commonTexts.tryAgain, name),
      });
      return [h('a', { href: routeHash('item', itemId) }, name), h('span.amber', reason), retryButton];
    });
    const limitNote = failedItems.length === maxListedImages && h('p.quiet-text', adminTexts.newestListed(maxListedImages));
    if (rows.length === 0) fill(failedList, h('p.quiet-text', commonTexts.none));
    else fill(failedList, table(adminTexts.failedImageColumns, rows, adminTexts.failedImages), limitNote);
  }
}

/** The counters of the response, in the order of the table. */
const counterNames = [
  'totalItems',
  'childFoldersRecursed',
  'largeImagesCreated',
  'largeImagesNotCreated',
  'largeImagesRemovedAndRecreated',
  'largeImagesRemovedAndNotRecreated',
  'itemsSkipped',
  'jobsCanceled',
  'jobsFailedToCancel',
] as const;

async function creationPanel(signal: AbortSignal, onDone: () => Promise<void>) {
  const notice = createNotice();
  const counters = h('div', { 'data-testid': 'counters' });
  const picker = await folderPicker(signal);
  const jobsChoice = choice(adminTexts.conversionChoices);
  const boxes = Object.entries(adminTexts.createOptions).map(([name, label]) =>
    checkbox(label, { name, checked: tickedNames.includes(name) }),
  );
  const create = async () => {
    fill(counters);
    const folder = picker.requireSelected();
    const flags = Object.fromEntries(boxes.map(({ input }) => [input.name, input.checked]));
    const form = { createJobs: jobsChoice.value, ...flags };
    const answer = await request('PUT', `large_image/folder/${folder._id}/tiles`, { form });
    const rows = counterNames.map((name) => [adminTexts.counters[name], formatCount(answer[name])]);
    fill(counters, table(adminTexts.counterColumns, rows, adminTexts.countersLabel));
    notice.showSuccess(adminTexts.done(answer.totalItems, folder.name));
    await onDone();
  };
  return panel(
    adminTexts.createImagesIn,
    picker.element,
    field(adminTexts.conversionJobs, jobsChoice, adminTexts.conversionHint),
    h('div.checks', ...boxes.map(({ element }) => element)),
    notice.element,
    counters,
    actions(notice.createButton(adminTexts.createImages, create, { kind: 'primary' })),
  );
}

function incompletePanel() {
  const notice = createNotice();
  const remove = async () => {
    const { removed, message } = await request('DELETE', 'large_image/tiles/incomplete');
    const resultText = adminTexts.removedIncomplete(removed);
    if (message) notice.showError(`${resultText} ${message}`);
    else notice.showSuccess(resultText);
  };
  return panel(
    adminTexts.incomplete,
    h('p.quiet-text', adminTexts.incompleteHint),
    notice.element,
    actions(notice.createButton(adminTexts.removeIncomplete, remove, { kind: 'danger' })),
  );
}
