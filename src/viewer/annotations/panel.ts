import { pause } from '../api.js';
import { announce, button, errorNotice, fill, h, icon, linkButton, messageOf, type Child } from '../dom.js';
import { askToCreate, askToRemove } from '../browse/create-dialog.js';
import { formatCount } from '../format.js';
import { currentUser } from '../session.js';
import { annotationTexts, browseTexts, commonTexts } from '../texts.js';
import { editsOf, forgetEdits } from './edits.js';
import { legend } from './legend.js';
import { nameOf } from './model.js';
import { recordDialog } from './record-dialog.js';
import {
  createAnnotation,
  followChanges,
  haveChanged,
  importAnnotations,
  isConflict,
  isRefused,
  isStateOf,
  listAnnotations,
  mayAnnotate,
  removeAnnotation,
  renameAnnotation,
  restoreVersion,
} from './requests.js';
import type { AnnotationRecord } from './model.js';
import type { ListState } from './requests.js';
import type { Item } from '../browse/model.js';
import type { Display } from './display.js';

/** Time in milliseconds after which an ended event stream is opened again. Without a stream, the list is requested at this interval. */
const watchMs = 3000;
/** If there are more annotations than this, their legends are folded at first. */
const maxOpenLegends = 3;

/** The list of an item's annotations. Users without write access see no buttons for changes. */
export function annotationPanel(options: {
  item: Item;
  signal: AbortSignal;
  /** called with the list; returns which annotations are visible */
  onList: (records: AnnotationRecord[]) => (id: string) => boolean;
  onShow: (id: string, changes: Partial<Display>) => void;
  /** begins or ends editing; returns the controls for it */
  onEdit: (id: string | null) => HTMLElement | null;
  /** loads the edited annotation again */
  onRenamed: () => Promise<unknown>;
  /** loads it again after a conflict; returns the message to show */
  onConflict: (reason: string) => Promise<string>;
}) {
  const { item, signal, onList, onShow, onEdit, onRenamed, onConflict } = options;
  let records: AnnotationRecord[] = [];
  let mayCreate = false;
  let isAsking = false;
  let isStale = false;
  /** whether the server has reported that the list is outdated */
  let isToldOtherwise = false;
  /** whether the user may not see the item any more */
  let isClosed = false;
  /** the edited annotation, if somebody else has deleted it */
  let kept: AnnotationRecord | null = null;
  let editedId: string | null = null;
  let editor: HTMLElement | null = null;
  const legends: Map<string, ReturnType<typeof legend>> = new Map();
  const list = h('ul.annotation-list.column', { 'aria-label': annotationTexts.annotations });
  const message = h('div.form-error', { role: 'alert', 'data-testid': 'annotation-message' });
  const input = h('input', { type: 'file', accept: '.json,.geojson', multiple: true, hidden: true });
  input.addEventListener('change', () => void take([...(input.files ?? [])]));
  const add = h('button.button', { onclick: create }, icon('plus'), annotationTexts.new);
  const fileButton = h('button.button', { onclick: () => input.click() }, icon('upload'), annotationTexts.import);
  const element = h('div.annotation-panel.column', h('p.quiet-text', commonTexts.loading));
  acceptFiles();
  void load();
  return {
    element,
    say,
    refresh: show,
    /** Takes another version of an annotation. */
    update(record: AnnotationRecord) {
      records = records.map((known) => (known._id === record._id ? record : known));
      show();
    },
  };

  /** Shows an error; without arguments removes it. */
  function say(...words: Child[]) {
    fill(message, ...words);
    if (message.textContent !== '') message.scrollIntoView({ block: 'nearest' });
  }

  async function load() {
    try {
      const asked = currentUser() === null ? false : mayAnnotate(item.folderId, signal);
      [records, mayCreate] = await Promise.all([listAnnotations(item._id, signal), asked]);
      if (signal.aborted) return;
      fill(element, list, message, mayCreate && h('div.actions.wrap', add, fileButton, input));
      show();
      void watch();
    } catch (error) {
      if (!signal.aborted) fill(element, errorNotice(error));
    }
  }

  /** Follows changes of others while the page is visible. */
  async function watch() {
    while (!signal.aborted) {
      if (!document.hidden) {
        // If the server cannot be reached, it is asked again later.
        await followChanges(item._id, { signal, onEvent }).catch(() => undefined);
        await follow();
      }
      await pause(watchMs, signal);
    }
  }

  function onEvent(state: ListState) {
    isToldOtherwise = !isStateOf(state, records);
    if (isToldOtherwise) void follow();
  }

  /** Requests the list until it is up to date. Retries after a while if that fails. Changes reported meanwhile are not lost. */
  async function follow() {
    isStale = true;
    if (isAsking) return;
    isAsking = true;
    while (isStale && !signal.aborted && !document.hidden) {
      isStale = false;
      try {
        await takeOver();
      } catch (error) {
        if (isRefused(error)) refuse(error);
        else isStale = true;
        await pause(watchMs, signal);
      }
    }
    isAsking = false;
  }

  async function takeOver() {
    const known = records;
    if (!isToldOtherwise && !(await haveChanged(item._id, known, signal))) return;
    isToldOtherwise = false;
    const next = await listAnnotations(item._id, signal);
    // A change that was saved here meanwhile is newer than the list.
    isStale ||= known !== records;
    if (isStale) return;
    const edited = known.find(({ _id }) => _id === editedId);
    if (edited && editsOf(edited._id).size > 0 && !next.some(({ _id }) => _id === editedId)) keep(edited);
    records = next;
    if (isClosed) say();
    isClosed = false;
    show();
  }

  /** Closes the view, because the item was removed or the user has lost access. */
  function refuse(error: unknown) {
    isClosed = true;
    records = [];
    show();
    say(messageOf(error));
  }

  /** Keeps an annotation with unsaved changes that somebody else has deleted. */
  function keep(record: AnnotationRecord) {
    kept = record;
    const bringBack = async () => {
      say();
      try {
        await restoreVersion(record, record._version);
        kept = null;
        await reload();
      } catch (error) {
        say(messageOf(error));
      }
    };
    say(
      annotationTexts.deletedMeanwhile(nameOf(record)),
      linkButton(annotationTexts.bringBack, () => void bringBack()),
    );
  }

  function show() {
    if (kept && editedId !== kept._id) kept = null;
    const all = kept ? [...records, kept] : records;
    const isVisible = onList(all);
    const root = list.getRootNode() as Document | ShadowRoot;
    const focused = list.contains(root.activeElement) ? (root.activeElement as HTMLElement) : null;
    const key = focused?.dataset.key;
    for (const id of legends.keys()) if (!all.some(({ _id }) => _id === id)) legends.delete(id);
    const empty = all.length === 0 && h('li.quiet-text', annotationTexts.none);
    fill(list, ...all.map((record) => row(record, isVisible(record._id))), empty);
    const same = [...list.querySelectorAll<HTMLElement>('[data-key]')].find((control) => control.dataset.key === key);
    (same ?? focused)?.focus({ preventScroll: true });
  }

  function row(record: AnnotationRecord, visible: boolean) {
    const { _id: id, _elementCount: count } = record;
    const name = nameOf(record);
    const box = h('input', { type: 'checkbox', onchange: () => onShow(id, { visible: box.checked }) });
    box.checked = visible;
    const mayEdit = record._accessLevel >= 1;
    const isEdited = id === editedId;
    const download = button('', () => recordDialog(latest(record), mayEdit, reload), {
      picture: 'download',
      name: annotationTexts.downloadNamed(name),
    });
    const pencil = button('', () => edit(isEdited ? null : id), {
      picture: 'pencil',
      name: (isEdited ? annotationTexts.stopEditing : annotationTexts.editNamed)(name),
      isPressed: isEdited,
    });
    for (const [what, control] of Object.entries({ box, download, pencil })) control.dataset.key = `${what} ${id}`;
    return h(
      'li',
      { class: isEdited ? 'annotation edited' : 'annotation' },
      h(
        'div.annotation-row.row',
        h('label.row.grow', { title: record.annotation.description ?? name }, box, h('span.annotation-name.clip', name)),
        h('span.count.quiet-text.small', { title: annotationTexts.shapes(count) }, formatCount(count)),
        download,
        mayEdit && pencil,
      ),
      count > 0 && legendOf(record),
      isEdited && editor,
      isEdited &&
        h(
          'div.annotation-whole.row',
          linkButton(annotationTexts.renameAnnotation, () => rename(record)),
          linkButton(annotationTexts.deleteAnnotation, () => remove(record)),
        ),
    );
  }

  /** The legend of an annotation. It stays the same element, because the user may be typing in it while another version arrives. */
  function legendOf(record: AnnotationRecord) {
    const { _id: id } = record;
    const isOpen = records.length <= maxOpenLegends;
    const known = legends.get(id) ?? legend(record, { isOpen, onShow: (changes) => onShow(id, changes), signal });
    legends.set(id, known);
    known.update(record);
    return known.element;
  }

  function edit(id: string | null) {
    say();
    editedId = id;
    editor = onEdit(id);
    show();
  }

  function create() {
    askToCreate({
      title: annotationTexts.new,
      action: annotationTexts.create,
      async create({ name, description }) {
        const record = await createAnnotation(item._id, { name, description });
        if (signal.aborted) return;
        records = [...records, record];
        show();
        edit(record._id);
        announce(annotationTexts.created(name));
      },
    });
  }

  async function reload() {
    records = await listAnnotations(item._id, signal);
    if (editedId !== null) await onRenamed();
    show();
  }

  /** Imports annotations from files: documents of this server, GeoJSON, and files of QuPath. Each file is imported completely or not at all. */
  async function take(files: File[]) {
    say();
    input.value = '';
    const reasons: string[] = [];
    for (const file of files) {
      try {
        const count = await importAnnotations(item._id, await withoutMark(file));
        if (count === 0) throw new Error(annotationTexts.importedNone);
        announce(annotationTexts.imported(file.name, count));
      } catch (error) {
        reasons.push(`${file.name}: ${messageOf(error)}`);
      }
      say(...reasons.map((reason) => h('p', reason)));
    }
    await reload().catch((error: unknown) => say(messageOf(error)));
  }

  function acceptFiles() {
    element.addEventListener('dragover', (event) => mayCreate && event.preventDefault());
    element.addEventListener('drop', (event) => {
      if (!mayCreate) return;
      event.preventDefault();
      void take([...(event.dataTransfer?.files ?? [])]);
    });
  }

  /** The newest known version of an annotation. */
  function latest(record: AnnotationRecord) {
    return records.find(({ _id }) => _id === record._id) ?? record;
  }

  /** Waits for a change. After a conflict, the version of the other user is loaded for the next attempt. */
  async function orConflict<T>(change: Promise<T>) {
    try {
      return await change;
    } catch (error) {
      throw isConflict(error) ? new Error(await onConflict(messageOf(error))) : error;
    }
  }

  function rename(shown: AnnotationRecord) {
    const { annotation } = latest(shown);
    askToCreate({
      title: annotationTexts.renameNamed(nameOf(latest(shown))),
      action: annotationTexts.rename,
      values: { name: annotation.name ?? '', description: annotation.description ?? '' },
      async create(words) {
        await orConflict(renameAnnotation(latest(shown), words));
        if (!signal.aborted) await onRenamed();
      },
    });
  }

  function remove(record: AnnotationRecord) {
    askToRemove({
      title: browseTexts.deleteNamed(nameOf(record)),
      text: annotationTexts.deleteText(record._elementCount),
      async remove() {
        await orConflict(removeAnnotation(latest(record)));
        forgetEdits(record._id);
        records = records.filter(({ _id }) => _id !== record._id);
        if (editedId === record._id) edit(null);
        else show();
        return annotationTexts.deleted(nameOf(record));
      },
    });
  }
}

/** Removes a byte order mark, which some programs write but JSON does not allow. */
async function withoutMark(file: File) {
  const start = new Uint8Array(await file.slice(0, 3).arrayBuffer());
  return start.join() === '239,187,191' ? new File([file.slice(3)], file.name) : file;
}
