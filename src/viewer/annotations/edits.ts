import { userKeyPrefix } from '../page-store.js';
import { storeEdits, lastStorageFailure, offerStoredEdits, type StoredEdits } from './stored-edits.js';
import { loadElement, sendChanges } from './annotation-requests.js';
import { lastUser } from '../session.js';
import { newId, type AnnotationRecord, type Edit, type Element } from './annotation-model.js';

/** Numbers of elements that this user and somebody else have changed at the same time. */
export interface Conflicts {
  /** number of elements that this user has changed, and that were added as new elements */
  added: number;
  /** number of elements that this user has deleted, but that were kept */
  kept: number;
}

/** Maximum number of steps that can be undone. */
const maxSteps = 200;

/** The unsaved changes of the elements of an annotation. */
export class Edits {
  /** by the id of the element, in the order of the first change */
  #edits: Map<string, Edit> = new Map();
  #undoSteps: Map<string, Edit>[] = [];
  /** Undone steps. The step that was undone last is at the end. */
  #redoSteps: Map<string, Edit>[] = [];
  /** The version of the annotation to which the changes apply. It contains the elements as they were `before`. */
  #version: number | null = null;
  #itemId = '';
  /**
   * The prefix of the key under which the browser stores the changes; `null`: the browser stores nothing. The prefix is kept with the changes, so that they are
   * stored for the right user even if the session ends in the meantime.
   */
  #storagePrefix = userKeyPrefix();
  /** A half-drawn shape. */
  #draft: Element | null = null;
  /** Counts changes, to tell whether a stored state is the current state. */
  #revision = 0;
  #pendingStore: Promise<void> | null = null;
  /** Whether the browser has stored the current changes. */
  #isStored = true;

  constructor(private readonly annotationId: string) {}

  /**
   * Adds the changes of an earlier visit to the changes of this page. Nothing is added if the visit and this page have changed the same element,
   * or different versions of the annotation.
   *
   * @returns whether the changes were added and stored
   */
  async resume({ version, itemId, edits, draft }: StoredEdits): Promise<boolean> {
    const areConflicting = (this.#draft && draft) || edits.some(([id]) => this.#edits.has(id));
    if (this.unsavedCount > 0 && (areConflicting || version !== this.#version)) return false;
    this.#edits = new Map([...this.#edits, ...edits]);
    this.#draft ??= draft;
    this.#version = version;
    this.#itemId = itemId;
    this.#storagePrefix = userKeyPrefix();
    this.#store();
    await this.#pendingStore;
    return this.#isStored;
  }

  /** The half-drawn shape. The browser stores this shape like the changes, but the shape is not saved on the server. */
  get draft() {
    return this.#draft;
  }

  keepDraft(draft: Element | null, { _version, itemId }: Pick<AnnotationRecord, '_version' | 'itemId'>) {
    if (draft === this.#draft) return;
    if (this.unsavedCount === 0) this.#startAtVersion(_version);
    this.#itemId = itemId;
    this.#draft = draft;
    this.#store();
  }

  /** Whether the changes would be lost if the page were closed now. */
  get isAtRisk() {
    return this.unsavedCount > 0 && !this.#isStored;
  }

  /** Stores the changes in the browser. If a state is already being stored, the newest state is stored after it. */
  #store() {
    this.#isStored = false;
    this.#revision += 1;
    notifyListeners();
    this.#pendingStore ??= this.#storeNow().finally(() => (this.#pendingStore = null));
  }

  async #storeNow() {
    // When a shape is finished, the draft ends first and the change is made immediately afterwards. Because of this pause, both are stored together.
    await Promise.resolve();
    for (let storedRevision = -1; storedRevision !== this.#revision;) {
      storedRevision = this.#revision;
      const { annotationId } = this;
      const unsavedEdits = {
        annotationId,
        itemId: this.#itemId,
        version: this.#version ?? 0,
        edits: [...this.#edits],
        draft: this.#draft,
      };
      this.#isStored = (await storeEdits(this.#storagePrefix, unsavedEdits)) && storedRevision === this.#revision;
    }
    notifyListeners();
  }

  get changedElementCount() {
    return this.#edits.size;
  }

  /** Number of changes, including a half-drawn shape. */
  get unsavedCount() {
    return this.changedElementCount + Number(this.#draft !== null);
  }

  #startAtVersion(version: number) {
    this.#version = version;
    this.#storagePrefix = userKeyPrefix();
  }

  /** Number of elements that the annotation gains when the changes are saved; negative if it loses elements. */
  get addedElementCount() {
    let addedCount = 0;
    for (const { before, after } of this.#edits.values()) addedCount += Number(after !== null) - Number(before !== null);
    return addedCount;
  }

  /** Number of shapes that each group gains when the changes are saved, negative if it loses shapes. The key `null` counts shapes without a group. */
  countShapeChangesByGroup(): Map<string | null, number> {
    const shapeChangesByGroup: Map<string | null, number> = new Map();
    const add = (element: Element | null, by: number) => {
      if (element) shapeChangesByGroup.set(element.group ?? null, (shapeChangesByGroup.get(element.group ?? null) ?? 0) + by);
    };
    for (const { before, after } of this.#edits.values()) {
      add(before, -1);
      add(after, 1);
    }
    return shapeChangesByGroup;
  }

  get canUndo() {
    return this.#undoSteps.length > 0;
  }

  get canRedo() {
    return this.#redoSteps.length > 0;
  }

  /**
   * Changes elements in one step.
   *
   * @param record the version of the annotation that contains the elements before the changes
   */
  changeAll(changes: readonly Edit[], { _version, itemId }: Pick<AnnotationRecord, '_version' | 'itemId'>) {
    if (changes.length === 0) return;
    if (this.#edits.size === 0) this.#startAtVersion(_version);
    this.#itemId = itemId;
    const edits = new Map(this.#edits);
    for (const { before, after } of changes) {
      const id = (after ?? before)?.id;
      if (id === undefined) continue;
      const originalElement = edits.has(id) ? (edits.get(id)?.before ?? null) : before;
      if (originalElement === null && after === null) edits.delete(id);
      else edits.set(id, { before: originalElement, after });
    }
    this.#addStep(edits);
  }

  /** Replaces the changes, as a step that can be undone. */
  #addStep(edits: Map<string, Edit>) {
    this.#undoSteps.push(this.#edits);
    if (this.#undoSteps.length > maxSteps) this.#undoSteps.shift();
    this.#redoSteps = [];
    this.#edits = edits;
    this.#store();
  }

  undo() {
    this.#moveStep(this.#undoSteps, this.#redoSteps);
  }

  redo() {
    this.#moveStep(this.#redoSteps, this.#undoSteps);
  }

  #moveStep(from: Map<string, Edit>[], to: Map<string, Edit>[]) {
    const edits = from.pop();
    if (!edits) return;
    to.push(this.#edits);
    this.#edits = edits;
    this.#store();
  }

  /** Discards the changes. This can be undone like any other step. */
  discard() {
    if (this.changedElementCount > 0) this.#addStep(new Map());
  }

  /** Forgets the changes, also in the browser. */
  forget() {
    this.#edits = new Map();
    this.#draft = null;
    this.#forgetSteps();
    this.#store();
  }

  #forgetSteps() {
    this.#undoSteps = [];
    this.#redoSteps = [];
  }

  /** The saved elements with the changes applied. Changed elements stay at their positions; new elements come last. */
  *applyTo(savedElements: ReadonlyMap<string, Element>): Generator<Element, void> {
    for (const [id, element] of savedElements) {
      const edit = this.#edits.get(id);
      if (!edit) yield element;
      else if (edit.after) yield edit.after;
    }
    for (const [id, { after }] of this.#edits) if (after && !savedElements.has(id)) yield after;
  }

  /** An element with the changes applied; `null` if there is no such element. */
  find(id: string, savedElements: ReadonlyMap<string, Element>) {
    const edit = this.#edits.get(id);
    return (edit ? edit.after : savedElements.get(id)) ?? null;
  }

  /** Sends the changes, which must have been rebased on `record`. @throws if the server has another version by now */
  async save(record: AnnotationRecord) {
    const entries = [...this.#edits];
    const put = entries.flatMap(([, { after }]) => (after ? [after] : []));
    const remove = entries.flatMap(([id, { after }]) => (after ? [] : [id]));
    const savedRecord = await sendChanges(record, { put, remove });
    this.#version = savedRecord._version;
    // Changes made during the request stay unsaved, and apply to the new version. Earlier steps can still be undone, which makes unsaved changes again.
    const sentEdits = new Map(entries);
    this.#edits = rebaseOnSaved(sentEdits, this.#edits);
    this.#undoSteps = this.#undoSteps.map((edits) => rebaseOnSaved(sentEdits, edits));
    this.#redoSteps = this.#redoSteps.map((edits) => rebaseOnSaved(sentEdits, edits));
    this.#store();
    return savedRecord;
  }

  /**
   * Applies the changes to a newer version, which somebody else has saved. If that version has changed the same element, this user's element is
   * added as a new element, or this user's deletion is dropped.
   *
   * @param record the newer version
   */
  async rebase(record: AnnotationRecord): Promise<Conflicts> {
    const conflicts: Conflicts = { added: 0, kept: 0 };
    if (this.#version === record._version) return conflicts;
    const editsAtStart = this.#edits;
    // The loop below only checks elements with unsaved changes, but undo and redo may also restore other elements.
    let areStepsOutdated = [...this.#undoSteps, ...this.#redoSteps].some((edits) =>
      [...edits.keys()].some((id) => !editsAtStart.has(id)),
    );
    for (const [id, { before }] of this.#edits) {
      if (before === null) continue;
      const currentElement = await loadElement(record, id);
      // The user may have continued editing during the request.
      const edit = this.#edits.get(id);
      if (!edit || JSON.stringify(currentElement) === JSON.stringify(edit.before)) continue;
      const { after } = edit;
      areStepsOutdated = true;
      this.#edits.delete(id);
      // The element may already exist, if the response to an earlier attempt was lost.
      if (JSON.stringify(currentElement) === JSON.stringify(after)) continue;
      if (after === null) {
        conflicts.kept += 1;
        continue;
      }
      const ourElement = { ...after, id: newId() };
      this.#edits.set(ourElement.id, { before: null, after: ourElement });
      conflicts.added += 1;
    }
    this.#version = record._version;
    // Earlier steps would restore elements that are no longer stored in this form.
    if (areStepsOutdated) this.#forgetSteps();
    if (this.#edits === editsAtStart) this.#edits = new Map(editsAtStart);
    this.#store();
    return conflicts;
  }
}

/** Converts changes of one version to changes of the next version, which contains the changes in `saved`. The elements that result stay the same. */
function rebaseOnSaved(saved: ReadonlyMap<string, Edit>, edits: ReadonlyMap<string, Edit>): Map<string, Edit> {
  const changes = new Map(edits);
  for (const [id, { before, after: savedElement }] of saved) {
    const edit = edits.get(id);
    // If `edits` does not change the element, the element becomes again what it was before `saved`.
    const target = edit ? edit.after : before;
    if (target === savedElement) changes.delete(id);
    else changes.set(id, { before: savedElement, after: target });
  }
  return changes;
}

/** Unsaved changes by user and annotation. */
const editsByKey: Map<string, Edits> = new Map();

/** The beginning of the keys in `editsByKey` for the user of this page, so that nobody else who signs in here sees the changes. */
const keyPrefix = () => `${lastUser()?._id ?? ''} `;

/** The unsaved changes of an annotation. They are kept even if the user leaves the image, and by the browser even if the page is closed. */
export function editsOf(annotationId: string) {
  const key = keyPrefix() + annotationId;
  let edits = editsByKey.get(key);
  if (!edits) {
    edits = new Edits(annotationId);
    editsByKey.set(key, edits);
  }
  return edits;
}

/** Discards the unsaved changes of an annotation. */
export function forgetEdits(annotationId: string) {
  const key = keyPrefix() + annotationId;
  editsByKey.get(key)?.forget();
  editsByKey.delete(key);
  notifyListeners();
}

/**
 * Takes over the unsaved changes of earlier visits that the browser has stored.
 *
 * @returns `itemId`: the item of the annotation whose changes were taken over last; `count`: the number of changes that were taken over; `countElsewhere`: the number of changes in other tabs
 */
export async function resumeEdits(): Promise<{ itemId: string | null; count: number; countElsewhere: number }> {
  let itemId: string | null = null;
  let count = 0;
  const countElsewhere = await offerStoredEdits(async (keptEdits) => {
    const isResumed = await editsOf(keptEdits.annotationId).resume(keptEdits);
    if (isResumed) {
      itemId = keptEdits.itemId;
      count += keptEdits.edits.length + Number(keptEdits.draft !== null);
    }
    return isResumed;
  });
  return { itemId, count, countElsewhere };
}

/** Why the browser does not store the unsaved changes of an annotation; `null` if the browser stores them, or has not tried yet. */
export function reasonNotStored(edits: Edits) {
  return edits.isAtRisk ? lastStorageFailure() : null;
}

/** Number of unsaved changes that the user has made, in all annotations. */
export function countUnsavedChanges() {
  const prefix = keyPrefix();
  return [...editsByKey].reduce((sum, [key, { unsavedCount }]) => sum + (key.startsWith(prefix) ? unsavedCount : 0), 0);
}

const listeners: Set<() => void> = new Set();

/** Calls the listener whenever changes are made, stored, saved or discarded, until the signal aborts. */
export function onEdits(listener: () => void, signal?: AbortSignal) {
  listeners.add(listener);
  signal?.addEventListener('abort', () => listeners.delete(listener), { once: true });
}

function notifyListeners() {
  for (const listener of listeners) listener();
}

// The browser asks before the page is closed with unsaved changes that it has not stored.
globalThis.addEventListener?.('beforeunload', (event) => {
  if ([...editsByKey.values()].some(({ isAtRisk }) => isAtRisk)) event.preventDefault();
});
