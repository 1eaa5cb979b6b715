import { createNotice } from '../admin/parts.js';
import { request } from '../api.js';
import { h, showMessage } from '../dom.js';
import { showFormDialog, choice, field } from '../forms.js';
import { formatDate } from '../format.js';
import { stateTexts } from '../sharing-texts.js';
import type { ListEntry } from './edit-dialog.js';
import { idsByType, type Item } from './browse-model.js';

/** In the filter of a folder, this prefix and a state find the items in that state. */
const filterPrefix = 'reviewState:';

/** The review state of an item in words; `null` if the item has no review state. */
export function reviewStateText({ meta }: Pick<Item, 'meta'>): string | null {
  const state = meta?.reviewState;
  if (typeof state !== 'string') return null;
  const shownState = Object.hasOwn(stateTexts.states, state) ? stateTexts.states[state] : undefined;
  return shownState ?? state;
}

async function sendState(resources: Record<string, string[]>, state: string) {
  await request('PUT', 'resource/state', { form: { resources: JSON.stringify(resources), state: state || null } });
}

const stateChoices = () => ({ '': stateTexts.none, ...stateTexts.states });

/** The review state of an item, with the user who has set it and the time; `null` if the item has no state and the user may not set it. */
export function statePanel(item: Item, editing: { mayWrite: boolean; onSaved: () => Promise<unknown> } | null) {
  const { reviewState = '', reviewStateBy: by, reviewStateAt: at } = item.meta ?? {};
  const reviewText = reviewStateText(item);
  const mayWrite = editing?.mayWrite ?? false;
  if (!mayWrite && reviewText === null) return null;
  const notice = createNotice();
  const since = typeof by === 'string' && typeof at === 'string' && reviewText !== null && stateTexts.since(by, formatDate(at));
  const note = since && h('p.quiet-text', since);
  if (!mayWrite) return h('div.stack.column', h('p', reviewText), note);
  const select = choice(stateChoices(), String(reviewState as string), { 'aria-label': stateTexts.state });
  select.addEventListener('change', () => void save().catch(notice.showError));
  return h('div.stack.column', select, note, notice.element);

  async function save() {
    notice.clear();
    await sendState({ item: [item._id] }, select.value);
    select.blur();
    await editing?.onSaved();
  }
}

/** A form for the state of several items. */
export function showStateDialog(entries: ListEntry[], onSaved: () => Promise<void>) {
  const select = choice(stateChoices(), 'todo');
  showFormDialog({
    title: stateTexts.stateOfMany(entries.length),
    content: [field(stateTexts.state, select)],
    action: stateTexts.save,
    async send() {
      await sendState(idsByType(entries), select.value);
      await onSaved();
      showMessage(stateTexts.saved);
    },
  });
}

/**
 * A list of states to filter a folder by; `null` if neither the items nor the filter have a state.
 *
 * @param options `onFind` is called with the new text of the filter
 */
export function stateFilter({ items, find, onFind }: { items: Item[]; find: string; onFind: (find: string) => void }) {
  const words = find.split(/\s+/).filter((word) => word !== '');
  const currentState = words.find((word) => word.startsWith(filterPrefix))?.slice(filterPrefix.length) ?? '';
  if (currentState === '' && items.every((item) => reviewStateText(item) === null)) return null;
  const select = choice({ '': stateTexts.any, ...stateTexts.states }, currentState, { 'aria-label': stateTexts.filter });
  select.addEventListener('change', () => {
    const otherWords = words.filter((word) => !word.startsWith(filterPrefix));
    onFind([...otherWords, ...(select.value === '' ? [] : [`${filterPrefix}${select.value}`])].join(' '));
  });
  return select;
}
