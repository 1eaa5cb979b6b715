import { ApiError, apiUrl, request } from '../api.js';
import { button, fill, h, icon, messageOf, tell, type Picture } from '../dom.js';
import { ask } from '../forms.js';
import { currentUser } from '../session.js';
import { browseTexts, commonTexts } from '../texts.js';
import { editDialog, type Entry } from './edit-dialog.js';
import { folderPicker } from './folder-picker.js';
import { retryLabel } from './model.js';
import { share } from './share-dialog.js';

type Action = { label: string; picture: Picture; run: () => void };

/** Number of reasons that are shown at once. */
const maxReasons = 3;

/** Address of a download: an archive, unless it is one item of one file. */
export function downloadUrl(entries: Entry[]) {
  const [first, second] = entries;
  if (first && !second) return apiUrl(`${first.type}/${first.doc._id}/download`);
  const resources: Record<string, string[]> = {};
  for (const { type, doc } of entries) (resources[type] ??= []).push(doc._id);
  return apiUrl('resource/download', { resources: JSON.stringify(resources) });
}

/**
 * The selected entries of a page's lists, and a bar at the bottom with actions for them, which is visible while something is selected. Shift
 * selects all entries between two.
 */
export function selection({ page, refresh, signal }: { page: HTMLElement; refresh: () => Promise<void>; signal: AbortSignal }) {
  const known: Map<string, Entry> = new Map();
  let chosen: Set<string> = new Set();
  let anchor: string | null = null;
  const bar = h('section.selection-bar.surface.raised.row.wrap', { 'aria-label': browseTexts.selection, hidden: true });
  page.addEventListener('keydown', (event) => onKey(event));
  return { bar, box, show };

  /** The box of an entry. */
  function box(entry: Entry) {
    const { _id: id, name } = entry.doc;
    known.set(id, entry);
    return h('input.select', {
      type: 'checkbox',
      'aria-label': browseTexts.select(name),
      'data-id': id,
      checked: chosen.has(id),
      onclick: (event: MouseEvent) => toggle(event.target as HTMLInputElement, event.shiftKey),
    });
  }

  function boxes() {
    return [...page.querySelectorAll<HTMLInputElement>('input.select')];
  }

  function toggle(input: HTMLInputElement, isRange: boolean) {
    const all = boxes();
    const from = isRange ? all.findIndex((one) => one.dataset.id === anchor) : -1;
    const to = all.indexOf(input);
    const between = from < 0 ? [] : all.slice(Math.min(from, to), Math.max(from, to) + 1);
    for (const one of between) one.checked = input.checked;
    anchor = input.dataset.id ?? null;
    show();
  }

  /** Shows the actions for the selected entries. Removed entries are deselected. */
  function show() {
    const checked = boxes().filter((input) => input.checked);
    chosen = new Set(checked.map((input) => input.dataset.id ?? ''));
    page.classList.toggle('choosing', chosen.size > 0);
    bar.hidden = chosen.size === 0;
    fill(
      bar,
      h('strong', { role: 'status' }, browseTexts.selected(chosen.size)),
      ...actions().map(({ label, picture, run }) => button(label, run, { picture })),
      h('a.button', { href: downloadUrl(entries()), download: true }, icon('download'), commonTexts.download),
      button('', () => setAll(false), { picture: 'close', name: browseTexts.clearSelection }),
    );
  }

  function setAll(checked: boolean) {
    for (const input of boxes()) input.checked = checked;
    show();
  }

  function entries() {
    return [...chosen].flatMap((id) => known.get(id) ?? []);
  }

  function actions(): Action[] {
    const all = entries();
    const least = Math.min(...all.map(({ level }) => level));
    const only = all.length === 1 && least >= 1 ? all[0] : undefined;
    const shared = only && only.type !== 'item' && least >= 2 ? only : undefined;
    const refused = all.flatMap(({ doc }) => ('largeImageRefused' in doc && doc.largeImageRefused ? [doc] : []));
    const mayRemove = all.every(({ type, level }) => level >= (type === 'item' ? 1 : 2));
    const mayCopy = currentUser() !== null && all.every(({ type }) => type !== 'collection');
    const retry = refused[0] && least >= 1 && retryLabel(refused[0].largeImageRefused ?? '');
    const offered: (Action | false | '' | undefined)[] = [
      only && { label: commonTexts.edit, picture: 'pencil', run: () => editDialog(only, refresh) },
      shared && { label: commonTexts.share, picture: 'people', run: () => share(shared, refresh) },
      retry && { label: retry, picture: 'retry', run: () => tryAgain(all) },
      mayCopy && {
        label: least >= 1 ? browseTexts.moveOrCopy : commonTexts.copy,
        picture: 'folder',
        run: () => void place(all, least >= 1),
      },
      mayRemove && { label: commonTexts.delete, picture: 'trash', run: () => remove(all) },
    ];
    return offered.flatMap((action) => action || []);
  }

  /** Does something with one entry after the other. Refused entries stay selected, so that it can be tried again. */
  async function forAll(queue: Entry[], act: (entry: Entry) => Promise<unknown>, said: (count: number) => string) {
    const reasons: string[] = [];
    let done = 0;
    try {
      const todo = queue.splice(0);
      for (const [index, entry] of todo.entries()) {
        try {
          await act(entry);
          done += 1;
        } catch (error) {
          // The other entries would fail too.
          const isHopeless = error instanceof ApiError && (error.status === 0 || error.status === 401);
          queue.push(...todo.slice(index, isHopeless ? undefined : index + 1));
          if (isHopeless) throw error;
          reasons.push(`${entry.doc.name}: ${messageOf(error)}`);
        }
      }
    } finally {
      if (done > 0) await refresh();
    }
    if (reasons.length === 0) return tell(said(done));
    const rest = reasons.length > maxReasons ? [browseTexts.moreReasons(reasons.length - maxReasons)] : [];
    throw new Error([...(done > 0 ? [said(done)] : []), ...reasons.slice(0, maxReasons), ...rest].join(' '));
  }

  function remove(all: Entry[]) {
    const title = all.length === 1 ? browseTexts.deleteNamed(all[0]?.doc.name ?? '') : browseTexts.deleteSeveral(all.length);
    const act = ({ type, doc }: Entry) => request('DELETE', `${type}/${doc._id}`);
    ask({
      title,
      text: browseTexts.deleteText,
      action: commonTexts.delete,
      kind: 'danger',
      send: () => forAll(all, act, browseTexts.deleted),
    });
  }

  function tryAgain(chosenNow: Entry[]) {
    const all = chosenNow.filter(({ doc }) => 'largeImageRefused' in doc);
    const act = ({ doc }: Entry) => request('POST', `item/${doc._id}/tiles`);
    const names = all.map(({ doc }) => doc.name).join(', ');
    ask({
      title: commonTexts.tryAgain,
      text: names,
      action: commonTexts.tryAgain,
      send: () => forAll(all, act, browseTexts.triedAgain),
    });
  }

  async function place(all: Entry[], mayMove: boolean) {
    const picker = await folderPicker(signal);
    const target = () => {
      const chosenPlace = picker.chosen();
      if (chosenPlace === null) throw new Error(browseTexts.chooseFolder);
      return chosenPlace._id;
    };
    const where = (type: Entry['type']) =>
      type === 'item' ? { folderId: target() } : { parentType: 'folder', parentId: target() };
    const move = ({ type, doc }: Entry) => request('PUT', `${type}/${doc._id}`, { query: where(type) });
    const copy = ({ type, doc }: Entry) => request('POST', `${type}/${doc._id}/copy`, { query: where(type) });
    let isCopy = !mayMove;
    const copyButton = h('button.button', { type: 'submit', onclick: () => (isCopy = true) }, browseTexts.copyHere);
    ask({
      title: browseTexts.moveOrCopyTitle(all.length),
      content: [picker.element],
      action: mayMove ? browseTexts.moveHere : browseTexts.copyHere,
      others: mayMove ? [copyButton] : [],
      async send() {
        const copies = isCopy;
        isCopy = !mayMove;
        target();
        await (copies ? forAll(all, copy, browseTexts.copied) : forAll(all, move, browseTexts.moved));
      },
    });
  }

  function onKey(event: KeyboardEvent) {
    const { key, target } = event;
    const isTyping = (target as HTMLElement).closest('input:not(.select), textarea, select') !== null;
    const mod = event.ctrlKey || event.metaKey;
    const label = { F2: commonTexts.edit, Delete: commonTexts.delete }[key];
    const action = label && actions().find((one) => one.label === label);
    if (isTyping || boxes().length === 0) return;
    if (key === 'a' && mod) setAll(true);
    else if (key === 'Escape' && chosen.size > 0) setAll(false);
    else if (action && chosen.size > 0) action.run();
    else return;
    event.preventDefault();
  }
}
