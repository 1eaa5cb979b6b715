import { apiUrl } from '../api.js';
import { button, fill, h, icon } from '../dom.js';
import { browseTexts, commonTexts } from '../texts.js';
import { bulkActions } from './bulk-actions.js';
import type { ListEntry } from './edit-dialog.js';
import { idsByType } from './browse-model.js';

/** Address from which entries are downloaded: as one file for a single item with one file, otherwise as an archive. */
export function downloadUrl(entries: ListEntry[]) {
  const [first, second] = entries;
  if (first && !second) return apiUrl(`${first.type}/${first.doc._id}/download`);
  return apiUrl('resource/download', { resources: JSON.stringify(idsByType(entries)) });
}

/** Ids of the entries that stay selected while a page is rebuilt. */
let keptIds: Set<string> = new Set();

/**
 * The selected entries of a page's lists, and a bar with actions for them, which is visible at the bottom while something is selected. A
 * click with Shift selects or deselects all entries since the previous click.
 */
export function createSelection({
  page,
  refresh,
  signal,
}: {
  page: HTMLElement;
  refresh: () => Promise<void>;
  signal: AbortSignal;
}) {
  const entriesById: Map<string, ListEntry> = new Map();
  let selectedIds = keptIds;
  /** Id of the entry that was clicked last, where a range begins. */
  let anchorId: string | null = null;
  const bar = h('section.selection-bar.surface.raised.row.wrap', { 'aria-label': browseTexts.selection, hidden: true });
  // Keys work even if the focus is outside the list, for example after a page was opened.
  addEventListener('keydown', (event) => onKeyDown(event), { signal });
  return { bar, createCheckbox, update };

  /** Rebuilds the page. The same entries are selected again, if they still exist. */
  async function refreshPage() {
    keptIds = selectedIds;
    try {
      await refresh();
      // If the user undoes the action, the page is rebuilt once more, and must not select the entries again.
      selectedIds = new Set();
    } finally {
      keptIds = new Set();
    }
  }

  function createCheckbox(entry: ListEntry) {
    const { _id: id, name } = entry.doc;
    entriesById.set(id, entry);
    return h('input.select', {
      type: 'checkbox',
      'aria-label': browseTexts.select(name),
      'data-id': id,
      checked: selectedIds.has(id),
      onclick: (event: MouseEvent) => toggle(event.target as HTMLInputElement, event.shiftKey),
    });
  }

  function checkboxesOnPage() {
    return [...page.querySelectorAll<HTMLInputElement>('input.select')];
  }

  function toggle(input: HTMLInputElement, isRange: boolean) {
    const checkboxes = checkboxesOnPage();
    const fromIndex = isRange ? checkboxes.findIndex((checkbox) => checkbox.dataset.id === anchorId) : -1;
    const toIndex = checkboxes.indexOf(input);
    const checkboxesInRange =
      fromIndex < 0 ? [] : checkboxes.slice(Math.min(fromIndex, toIndex), Math.max(fromIndex, toIndex) + 1);
    for (const checkbox of checkboxesInRange) checkbox.checked = input.checked;
    anchorId = input.dataset.id ?? null;
    update();
  }

  /** Shows the actions for the selected entries. Removed entries are deselected. */
  function update() {
    const checkedInputs = checkboxesOnPage().filter((input) => input.checked);
    selectedIds = new Set(checkedInputs.map((input) => input.dataset.id ?? ''));
    page.classList.toggle('choosing', selectedIds.size > 0);
    bar.hidden = selectedIds.size === 0;
    fill(
      bar,
      h('strong', { role: 'status' }, browseTexts.selected(selectedIds.size)),
      ...availableActions().map((action) => button(action.label, action.run, { icon: action.icon })),
      h('a.button', { href: downloadUrl(selectedEntries()), download: true }, icon('download'), commonTexts.download),
      button('', () => setAll(false), { icon: 'close', name: browseTexts.clearSelection }),
    );
  }

  function setAll(isChecked: boolean) {
    for (const input of checkboxesOnPage()) input.checked = isChecked;
    update();
  }

  function selectedEntries() {
    return [...selectedIds].flatMap((id) => entriesById.get(id) ?? []);
  }

  function availableActions() {
    return bulkActions(selectedEntries(), { refresh: refreshPage, signal });
  }

  function onKeyDown(event: KeyboardEvent) {
    const { key, target } = event;
    const isTyping = (target as HTMLElement).closest?.('input:not(.select), textarea, select, dialog') !== null;
    const hasControlKey = event.ctrlKey || event.metaKey;
    const label = { F2: commonTexts.edit, Delete: commonTexts.delete }[key];
    const action = label && availableActions().find((candidate) => candidate.label === label);
    if (isTyping || checkboxesOnPage().length === 0) return;
    if (key === 'a' && hasControlKey) setAll(true);
    else if (key === 'Escape' && selectedIds.size > 0) setAll(false);
    else if (action && selectedIds.size > 0) action.run();
    else return;
    event.preventDefault();
  }
}
