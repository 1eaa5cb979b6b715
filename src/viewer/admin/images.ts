import { request } from '../api.js';
import { fill, h } from '../dom.js';
import { routeHash } from '../router.js';
import { formatCount } from '../format.js';
import { folderPicker } from '../browse/folder-picker.js';
import { choice, field } from '../forms.js';
import { retryLabel } from '../browse/model.js';
import { actionButton, outcome, panel, table } from './parts.js';
import { adminTexts, browseTexts, commonTexts } from '../texts.js';
import type { Section } from './section.js';

/** Images that could not be made are listed so many at a time. */
const maxRefused = 100;

/** Large images for whole folders, what could not be made and why, and removal of those that were never completed. */
export async function imagesSection({ signal }: Parameters<Section>[0]): ReturnType<Section> {
  const refused = refusedPanel(signal);
  await refused.load();
  return [await folderPanel(signal, refused.load), refused.element, incompletePanel()];
}

function refusedPanel(signal: AbortSignal) {
  const place = h('div');
  const said = outcome();
  return { load, element: panel(adminTexts.refused, said.element, place) };

  async function load() {
    const asked = { query: { limit: maxRefused }, signal };
    const found = await request<{ itemId: string; name: string; reason: string }[]>('GET', 'large_image/tiles/refused', asked);
    const rows = found.map(({ itemId, name, reason }) => {
      const label = retryLabel(reason);
      const run = async () => {
        try {
          await request('POST', `item/${itemId}/tiles`);
          said.good(browseTexts.triedAgain(1));
        } finally {
          await load();
        }
      };
      const again = actionButton({ label, name: adminTexts.tryNamed(label, name), failed: said.bad, run });
      return [h('a', { href: routeHash('item', itemId) }, name), h('span.amber', reason), again];
    });
    const more = found.length === maxRefused && h('p.quiet-text', adminTexts.newestListed(maxRefused));
    if (rows.length === 0) fill(place, h('p.quiet-text', commonTexts.none));
    else fill(place, table(adminTexts.refusedColumns, rows, adminTexts.refused), more);
  }
}

async function folderPanel(signal: AbortSignal, onDone: () => Promise<void>) {
  const said = outcome();
  const counters = h('div', { 'data-testid': 'counters' });
  const picker = await folderPicker(signal);
  const createJobs = choice(adminTexts.conversionChoices);
  const boxes = [option('recurse', true), option('localJobs', true), option('cancelJobs', false), option('redoExisting', false)];
  const start = actionButton({
    label: adminTexts.createImages,
    kind: 'primary',
    failed: said.bad,
    async run() {
      said.clear();
      fill(counters);
      const folder = picker.chosen();
      if (folder === null) throw new Error(browseTexts.chooseFolder);
      const flags = Object.fromEntries(boxes.map(({ input }) => [input.name, input.checked]));
      const form = { createJobs: createJobs.value, ...flags };
      const answer = await request<Record<string, number>>('PUT', `large_image/folder/${folder._id}/tiles`, { form });
      const rows = Object.entries(adminTexts.counters).map(([name, words]) => [words, formatCount(answer[name] ?? 0)]);
      fill(counters, table(adminTexts.counterColumns, rows, adminTexts.countersLabel));
      said.good(adminTexts.done(answer.totalItems ?? 0, folder.name));
      await onDone();
    },
  });
  return panel(
    adminTexts.createImagesIn,
    picker.element,
    field(adminTexts.conversionJobs, createJobs),
    h('div.checks', ...boxes.map(({ label }) => label)),
    said.element,
    counters,
    h('div.actions.wrap', start),
  );
}

function option(name: keyof typeof adminTexts.createOptions, checked: boolean) {
  const input = h('input', { type: 'checkbox', name, checked });
  return { input, label: h('label.row', input, ` ${adminTexts.createOptions[name]}`) };
}

function incompletePanel() {
  const said = outcome();
  return panel(
    adminTexts.incomplete,
    h('p.quiet-text', adminTexts.incompleteHint),
    said.element,
    h(
      'div.actions.wrap',
      actionButton({
        label: adminTexts.removeIncomplete,
        kind: 'danger',
        failed: said.bad,
        async run() {
          said.clear();
          const answer = await request<{ removed: number; message?: string }>('DELETE', 'large_image/tiles/incomplete');
          const { removed, message } = answer;
          const words = adminTexts.removed(removed, 'incomplete large image');
          if (message) said.bad(`${words} ${message}`);
          else said.good(words);
        },
      }),
    ),
  );
}
