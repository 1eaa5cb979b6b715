import { actions, button, errorNotice, fill, h, linkButton, messageOf, nameText, showMessage, type Child } from '../../dom.js';
import { showFormDialog } from '../../forms.js';
import { formatCount } from '../../format.js';
import { askToRemove, nameFields } from '../../browse/dialog-parts.js';
import { isOpenedByLink, readToken } from '../../api.js';
import { currentUser } from '../../session.js';
import { browseTexts, commonTexts } from '../../texts.js';
import { annotationTexts } from '../../annotation-texts.js';
import { objectTexts } from '../../object-texts.js';
import { editsOf, forgetEdits, onEdits } from '../edits.js';
import { nameOf, type AnnotationRecord } from '../annotation-model.js';
import {
  createAnnotation,
  isConflict,
  keepsHistory,
  listAnnotations,
  mayAnnotate,
  removeAnnotation,
  renameAnnotation,
  restoreVersion,
} from '../annotation-requests.js';
import { FirstAnnotation } from './first-annotation.js';
import { followList } from './follow-list.js';
import { importControls } from './import-controls.js';
import { Legend } from './annotation-legend.js';
import { showDeletedAnnotations } from './deleted-dialog.js';
import { refillKeepingFocus } from './refill-keeping-focus.js';
import { showRecordDialog } from './record-dialog.js';
import type { Editor } from '../editor.js';
import type { PanelOptions } from './panel-options.js';

/** If there are more annotations than this, their legends are folded at first. */
const maxOpenLegends = 3;

/** If there are more annotations than this, a search field is shown, and the list scrolls. */
const maxWithoutSearch = 12;

/** Number of annotations that are listed initially, and added by each click on “Show more”. */
const listStep = 100;

/** The list of an item's annotations. Users without write access see no buttons for changes. */
export class AnnotationPanel {
  readonly element = h('div.annotation-panel.column', h('p.quiet-text', commonTexts.loading));
  readonly #list = h('ul.annotation-list.column', { 'aria-label': annotationTexts.annotations });
  readonly #message = h('div.form-error', { role: 'alert', 'data-testid': 'annotation-message' });
  /** The elements that show the number of shapes and the number of unsaved changes of each listed annotation. */
  readonly #countersById: Map<string, { record: AnnotationRecord; countElement: HTMLElement; unsavedElement: HTMLElement }> =
    new Map();
  readonly #legendsById: Map<string, Legend> = new Map();
  readonly #searchInput = h('input', {
    type: 'search',
    placeholder: annotationTexts.find,
    'aria-label': annotationTexts.find,
    oninput: () => this.#showRows(),
  });
  readonly #searchRow = h(
    'div.column',
    { hidden: true },
    this.#searchInput,
    actions(
      linkButton(annotationTexts.showAll, () => this.#showOrHideAll(true)),
      linkButton(annotationTexts.hideAll, () => this.#showOrHideAll(false)),
    ),
  );
  #maxListedRecords = listStep;
  #isVisible: (id: string) => boolean = () => false;
  #records: AnnotationRecord[] = [];
  #mayCreate = false;
  #editedAnnotation: { id: string; editor: Editor | null } | null = null;
  readonly #firstAnnotation = new FirstAnnotation((name) => this.#createAnnotation({ name, description: '' }));
  /** the edited annotation, if someone else has deleted it while it has unsaved changes */
  #deletedRecord: AnnotationRecord | null = null;

  constructor(private readonly options: PanelOptions) {
    onEdits(() => this.#showCounts(), options.signal);
    // The annotation is checked only after a half-drawn shape has become an unsaved change.
    options.signal.addEventListener('abort', () => queueMicrotask(() => this.#dropUnused()), { once: true });
    void this.#load();
  }

  /** Shows an error; without arguments, removes the error. */
  showProblem = (...words: Child[]) => {
    fill(this.#message, ...words);
    if (this.#message.textContent !== '') this.#message.scrollIntoView({ block: 'nearest' });
  };

  /** Whether the image has no annotations, and the user may draw the first shape. */
  get mayBeginFirstAnnotation() {
    return this.#mayCreate && this.#records.length === 0 && !this.#deletedRecord;
  }

  /** Creates the first annotation of the image, and starts editing it. */
  async beginFirstAnnotation() {
    if (this.mayBeginFirstAnnotation) await this.#firstAnnotation.createOnce();
  }

  /** Shows another version of an annotation. */
  update(record: AnnotationRecord) {
    this.#records = this.#records.map((listedRecord) => (listedRecord._id === record._id ? record : listedRecord));
    this.refresh();
  }

  /** Shows the current list, here and on the image. */
  refresh() {
    if (this.#deletedRecord && this.#editedAnnotation?.id !== this.#deletedRecord._id) this.#deletedRecord = null;
    const records = this.#deletedRecord ? [...this.#records, this.#deletedRecord] : this.#records;
    this.#isVisible = this.options.onList(records);
    for (const id of this.#legendsById.keys()) if (!records.some(({ _id }) => _id === id)) this.#legendsById.delete(id);
    this.#searchRow.hidden = records.length <= maxWithoutSearch;
    this.#list.classList.toggle('long', records.length > maxWithoutSearch);
    this.#showRows();
  }

  /** Shows the annotations whose names contain the typed text, up to the current maximum, and always the edited annotation. */
  #showRows() {
    const records = this.#deletedRecord ? [...this.#records, this.#deletedRecord] : this.#records;
    const searchText = this.#searchRow.hidden ? '' : this.#searchInput.value.trim().toLowerCase();
    const matches = records.filter((record) => nameOf(record).toLowerCase().includes(searchText));
    const firstMatches = matches.slice(0, this.#maxListedRecords);
    const editedRecords = records.filter((record) => record._id === this.#editedAnnotation?.id && !firstMatches.includes(record));
    const listedRecords = [...firstMatches, ...editedRecords];
    const emptyRow = records.length === 0 && h('li.quiet-text', this.#emptyText());
    const unlistedCount = matches.length - firstMatches.length;
    const moreButton = linkButton(annotationTexts.showMore(Math.min(unlistedCount, listStep)), () => this.#showMore());
    const moreRow = unlistedCount > 0 && h('li.quiet-text.row.wrap', annotationTexts.more(unlistedCount), moreButton);
    this.#countersById.clear();
    refillKeepingFocus(this.#list, () =>
      fill(this.#list, ...listedRecords.map((record) => this.#createRow(record, this.#isVisible(record._id))), emptyRow, moreRow),
    );
    this.#showCounts();
  }

  #showMore() {
    this.#maxListedRecords += listStep;
    this.#showRows();
  }

  /** The text for an empty list. Only administrators see all annotations, so other users are not told that there are none. */
  #emptyText() {
    if (currentUser()?.admin) return annotationTexts.none;
    return readToken() === null ? annotationTexts.nonePublic : annotationTexts.noneVisible;
  }

  #showOrHideAll(visible: boolean) {
    for (const { _id } of this.#records) this.options.onDisplayChange(_id, { visible });
    this.refresh();
  }

  async #load() {
    const { item, signal } = this.options;
    try {
      const permission = readToken() === null || isOpenedByLink() ? false : mayAnnotate(item.folderId, signal);
      const [records, mayCreate] = await Promise.all([listAnnotations(item._id, signal), permission]);
      if (signal.aborted) return;
      this.#records = records;
      this.#mayCreate = mayCreate;
      fill(this.element, this.#searchRow, this.#list, this.#message, mayCreate && this.#createControls());
      this.refresh();
    } catch (error) {
      if (!signal.aborted) fill(this.element, errorNotice(error));
      return;
    }
    await followList(item._id, {
      currentList: () => this.#records,
      onListChanged: (records) => this.#applyNewList(records),
      onRefused: this.options.onRefused,
      signal,
    });
  }

  #createControls() {
    const addButton = button(annotationTexts.new, () => this.#askToCreate(), { icon: 'plus' });
    const { item, imageElement, signal } = this.options;
    const targets = [this.element, imageElement];
    const reload = () => this.reload();
    const deletedButton = button('', () => showDeletedAnnotations(item._id, reload), {
      icon: 'trash',
      name: annotationTexts.deletedOnes,
    });
    return actions(
      addButton,
      deletedButton,
      importControls({ itemId: item._id, targets, showProblem: this.showProblem, onImported: reload, signal }),
    );
  }

  /** Shows a list with changes of others. */
  #applyNewList(newRecords: AnnotationRecord[]) {
    const editedRecord = this.#records.find(({ _id }) => _id === this.#editedAnnotation?.id);
    if (editedRecord && !newRecords.some(({ _id }) => _id === editedRecord._id)) {
      this.options.finishDrawing();
      if (editsOf(editedRecord._id).changedElementCount > 0) this.#keepDeleted(editedRecord);
    }
    this.#records = newRecords;
    this.refresh();
  }

  /** Keeps an annotation with unsaved changes that someone else has deleted. */
  #keepDeleted(record: AnnotationRecord) {
    this.#deletedRecord = record;
    const message = annotationTexts.deletedMeanwhile(nameOf(record));
    void keepsHistory().then((isKept) => this.#offerRestoring(message, record, isKept));
  }

  /** Says that an annotation was deleted, and offers to restore its last version, if the server has kept that version. */
  #offerRestoring(message: string, record: AnnotationRecord, isKept: boolean) {
    const bringBack = async () => {
      this.showProblem();
      try {
        await restoreVersion(record, record._version);
        this.#deletedRecord = null;
        await this.reload();
      } catch (error) {
        this.showProblem(messageOf(error));
      }
    };
    this.showProblem(message, ' ', isKept && linkButton(annotationTexts.bringBack, () => void bringBack()));
  }

  /** A row of the list. Its controls have keys, so that the focused control can be found again after the row was replaced. */
  #createRow(record: AnnotationRecord, checked: boolean) {
    const { _id: id, _elementCount: count } = record;
    const editedAnnotation = this.#editedAnnotation?.id === id ? this.#editedAnnotation : null;
    const name = nameOf(record);
    const mayEdit = record._accessLevel >= 1;
    const onchange = () => this.options.onDisplayChange(id, { visible: checkbox.checked });
    const checkbox = h('input', { type: 'checkbox', checked, onchange });
    const showRecord = () => showRecordDialog(this.#latestVersionOf(record), mayEdit, () => this.reload());
    const downloadButton = button('', showRecord, { icon: 'download', name: annotationTexts.downloadNamed(name) });
    const editLabel = (editedAnnotation ? annotationTexts.stopEditing : annotationTexts.editNamed)(name);
    const toggleEditing = () => this.#startEditing(editedAnnotation ? null : id);
    const editButton = button('', toggleEditing, { icon: 'pencil', name: editLabel, isPressed: editedAnnotation !== null });
    const tableButton = button('', () => this.options.onToggleTable(id, this.#mayCreate), {
      icon: 'table',
      name: objectTexts.openTable(name),
    });
    for (const [kind, control] of Object.entries({ checkbox, tableButton, downloadButton, editButton }))
      control.dataset.key = `${kind} ${id}`;
    const countElement = h('span.count.quiet-text.small');
    const unsavedElement = h('p.unsaved.amber.small');
    this.#countersById.set(id, { record, countElement, unsavedElement });
    const annotationActions = [
      linkButton(annotationTexts.renameAnnotation, () => this.#askToRename(record)),
      linkButton(annotationTexts.deleteAnnotation, () => void this.#askToRemove(record)),
    ];
    const legend = count > 0 || editedAnnotation ? this.#legendOf(record) : null;
    return h(
      'li',
      { class: editedAnnotation ? 'annotation edited' : 'annotation' },
      h(
        'div.annotation-row.row',
        legend?.foldButton,
        h(
          'div.annotation-title.grow',
          h('label.row', { title: record.annotation.description ?? name }, checkbox, h('span.break', nameText(name))),
          countElement,
        ),
        count > 0 && tableButton,
        !isOpenedByLink() && downloadButton,
        mayEdit && editButton,
      ),
      unsavedElement,
      legend?.element,
      editedAnnotation?.editor?.element,
      editedAnnotation && h('div.annotation-whole.row.wrap', ...annotationActions),
    );
  }

  /** Shows the number of shapes of each annotation, including unsaved changes, and the number of its unsaved changes. The editor shows the unsaved changes of the edited annotation. */
  #showCounts() {
    for (const [id, { record, countElement, unsavedElement }] of this.#countersById) {
      const { unsavedCount, addedElementCount } = editsOf(id);
      const shapeCount = record._elementCount + addedElementCount;
      countElement.textContent = formatCount(shapeCount);
      countElement.title = annotationTexts.shapes(shapeCount);
      unsavedElement.hidden = unsavedCount === 0 || this.#editedAnnotation?.id === id;
      unsavedElement.textContent = unsavedElement.hidden ? '' : annotationTexts.unsaved(unsavedCount);
    }
  }

  /** The legend of an annotation. The element stays the same, because the user may be typing in it while another version arrives. */
  #legendOf(record: AnnotationRecord) {
    const { _id: id } = record;
    const { onDisplayChange, signal } = this.options;
    const isOpen = this.#records.length <= maxOpenLegends;
    const legend =
      this.#legendsById.get(id) ??
      new Legend(record, { isOpen, onDisplayChange: (changes) => onDisplayChange(id, changes), signal });
    this.#legendsById.set(id, legend);
    legend.update(record);
    legend.setEditedGroups(this.#editedAnnotation?.id === id ? (this.#editedAnnotation.editor?.groups ?? null) : null);
    legend.foldButton.dataset.key = `legend ${id}`;
    return legend;
  }

  /** Shows colors and a filter that were chosen elsewhere. */
  refreshColoring(id: string) {
    this.#legendsById.get(id)?.refresh();
  }

  #startEditing(id: string | null) {
    this.showProblem();
    const editor = this.options.onEdit(id);
    this.#dropUnused();
    this.#editedAnnotation = id === null ? null : { id, editor };
    this.refresh();
  }

  /** Loads the list and the edited annotation again. */
  async reload() {
    const { item, signal, reloadEdited } = this.options;
    this.#records = await listAnnotations(item._id, signal);
    if (this.#editedAnnotation !== null) await reloadEdited();
    this.refresh();
  }

  /** The newest known version of an annotation. */
  #latestVersionOf(record: AnnotationRecord) {
    return this.#records.find(({ _id }) => _id === record._id) ?? record;
  }

  /** Waits for a change. After a conflict, the version of the other user is loaded for the next attempt. */
  async #reloadOnConflict<T>(change: Promise<T>) {
    try {
      return await change;
    } catch (error) {
      throw isConflict(error) ? new Error(await this.options.reloadAfterConflict(messageOf(error))) : error;
    }
  }

  #askToCreate() {
    showFormDialog({
      title: annotationTexts.new,
      action: annotationTexts.create,
      fields: nameFields(),
      send: async ({ name = '', description = '' }) => {
        await this.#createAnnotation({ name, description });
      },
    });
  }

  /** Creates an annotation, and starts editing it. @returns `null` if the user has left the image by then */
  async #createAnnotation(fields: { name: string; description: string }) {
    const { item, signal } = this.options;
    const record = await createAnnotation(item._id, fields);
    if (signal.aborted) return null;
    this.#records = [...this.#records, record];
    this.refresh();
    this.#startEditing(record._id);
    showMessage(annotationTexts.created(fields.name));
    return record;
  }

  /** Deletes the annotation that was created for the first shape, if no shape was drawn. */
  #dropUnused() {
    const record = this.#firstAnnotation.takeUnused(this.#records);
    if (!record) return;
    this.#records = this.#records.filter((listedRecord) => listedRecord !== record);
    // If somebody else has changed the annotation, the server keeps it, and the list shows it again.
    void removeAnnotation(record).catch(() => (this.options.signal.aborted ? undefined : this.reload()));
  }

  #askToRename(record: AnnotationRecord) {
    showFormDialog({
      title: annotationTexts.renameNamed(nameOf(this.#latestVersionOf(record))),
      action: annotationTexts.rename,
      fields: nameFields(this.#latestVersionOf(record).annotation),
      send: async ({ name = '', description = '' }) => {
        await this.#reloadOnConflict(renameAnnotation(this.#latestVersionOf(record), { name, description }));
        if (!this.options.signal.aborted) await this.options.reloadEdited();
      },
    });
  }

  async #askToRemove(record: AnnotationRecord) {
    const isKept = await keepsHistory();
    askToRemove({
      title: browseTexts.deleteNamed(nameOf(record)),
      text: annotationTexts.deleteText(record._elementCount, isKept),
      remove: async () => {
        const latestRecord = this.#latestVersionOf(record);
        await this.#reloadOnConflict(removeAnnotation(latestRecord));
        forgetEdits(record._id);
        this.#records = this.#records.filter(({ _id }) => _id !== record._id);
        if (this.#editedAnnotation?.id === record._id) this.#startEditing(null);
        else this.refresh();
        const message = annotationTexts.deleted(nameOf(latestRecord));
        this.#offerRestoring(`${message}. `, latestRecord, isKept);
        return message;
      },
    });
  }
}
