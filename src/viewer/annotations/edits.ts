import { userKeyPrefix } from '../page-store.js';
import { storeEdits, reasonNotKept, offerStoredEdits, type StoredEdits } from './stored-edits.js';
import { loadElement, sendChanges } from './annotation-requests.js';
import { lastUser } from '../session.js';
import { newId, type AnnotationRecord, type Edit, type Element } from './annotation-model.js';

/** Numbers of elements that both this user and somebody else have changed. */
export interface Conflicts {
  /** elements that this user has changed, which were added as new ones */
  added: number;
  /** elements that this user has deleted, which were kept */
  kept: number;
}

/** Maximum number of steps that can be undone. */
const maxSteps = 200;

/** The unsaved changes of the elements of an annotation. */
export class Edits {
  /** in the order of the first change */
  #edits: Map<string, Edit> = new Map();
  #undoSteps: Map<string, Edit>[] = [];
  /** Undone steps, the last undone one last. */
  #redoSteps: Map<string, Edit>[] = [];
  /** The version of the annotation to which the changes apply. It contains the elements as they were `before`. */
  #version: number | null = null;
  #itemId = '';
  /**
   * The prefix of the key under which the browser stores the changes; `null`: it does not store them. Kept with the changes, so that they are
   * stored for the right user even if the session ends in the meantime.
   */
  #storagePrefix = userKeyPrefix();
  /** A half-drawn shape. */
  #draft: Element | null = null;
  /** Counts changes, to tell whether a stored state is the current one. */
  #revision = 0;
  #pendingStore: Promise<void> | null = null;
  /** Whether the browser has stored the current changes. */
  #isStored = true;

  constructor(private readonly annotationId: string) {}

  /**
   * Adds the changes of an earlier visit to the changes of this page. They are not added if both have changed the same element, or different
   * versions of the annotation.
   *
   * @returns whether they were added and stored
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

  /** The half-drawn shape. The browser stores it like the changes, but it is not saved on the server. */
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

  /** Whether the changes would be lost with the page. */
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
    // A finished shape is no longer a draft and becomes a change immediately: both are stored together.
    await Promise.resolve();
    for (let storedRevision = -1; storedRevision !== this.#revision;) {
      storedRevision = this.#revision;
      const { annotationId } = this;
      const unsaved = {
        annotationId,
        itemId: this.#itemId,
        version: this.#version ?? 0,
        edits: [...this.#edits],
        draft: this.#draft,
      };
      this.#isStored = (await storeEdits(this.#storagePrefix, unsaved)) && storedRevision === this.#revision;
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

  /** Number of elements that the annotation gains when the changes are saved. */
  get addedElementCount() {
    let addedCount = 0;
    for (const { before, after } of this.#edits.values()) addedCount += Number(after !== null) - Number(before !== null);
    return addedCount;
  }

  /** Number of shapes that each group gains or loses when the changes are saved; `null` for shapes without a group. */
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
      const storedElement = edits.has(id) ? (edits.get(id)?.before ?? null) : before;
      if (storedElement === null && after === null) edits.delete(id);
      else edits.set(id, { before: storedElement, after });
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

  /** The stored elements with the changes applied: changed ones at their position, new ones last. */
  *applyTo(stored: ReadonlyMap<string, Element>): Generator<Element, void> {
    for (const [id, element] of stored) {
      const edit = this.#edits.get(id);
      if (!edit) yield element;
      else if (edit.after) yield edit.after;
    }
    for (const [id, { after }] of this.#edits) if (after && !stored.has(id)) yield after;
  }

  /** An element with the changes applied. */
  find(id: string, stored: ReadonlyMap<string, Element>) {
    const edit = this.#edits.get(id);
    return (edit ? edit.after : stored.get(id)) ?? null;
  }

  /** Sends the changes, which must have been rebased on `record`. @throws if the server has another version by now */
  async save(record: AnnotationRecord) {
    const entries = [...this.#edits];
    const put = entries.flatMap(([, { after }]) => (after ? [after] : []));
    const remove = entries.flatMap(([id, { after }]) => (after ? [] : [id]));
    const savedRecord = await sendChanges(record, { put, remove });
    this.#version = savedRecord._version;
    // Changes made during the request stay unsaved, and apply to the new version. Steps can still be undone: this makes unsaved changes again.
    const sentEdits = new Map(entries);
    this.#edits = rebaseOnSaved(sentEdits, this.#edits);
    this.#undoSteps = this.#undoSteps.map((edits) => rebaseOnSaved(sentEdits, edits));
    this.#redoSteps = this.#redoSteps.map((edits) => rebaseOnSaved(sentEdits, edits));
    this.#store();
    return savedRecord;
  }

  /**
   * Applies the changes to a newer version, which somebody else has saved. If that version has changed the same element, this user's element is
   * added as a new one, or this user's deletion is dropped.
   *
   * @param record the newer version
   */
  async rebase(record: AnnotationRecord): Promise<Conflicts> {
    const conflicts: Conflicts = { added: 0, kept: 0 };
    if (this.#version === record._version) return conflicts;
    const editsAtStart = this.#edits;
    // The loop below only checks elements with unsaved changes, but undo and redo may also restore others.
    let areStepsOutdated = [...this.#undoSteps, ...this.#redoSteps].some((edits) =>
      [...edits.keys()].some((id) => !editsAtStart.has(id)),
    );
    for (const [id, { before }] of this.#edits) {
      if (before === null) continue;
      const current = await loadElement(record, id);
      // The user may have continued editing during the request.
      const edit = this.#edits.get(id);
      if (!edit || JSON.stringify(current) === JSON.stringify(edit.before)) continue;
      const { after } = edit;
      areStepsOutdated = true;
      this.#edits.delete(id);
      // The element may already exist, if the response to an earlier attempt was lost.
      if (JSON.stringify(current) === JSON.stringify(after)) continue;
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

/** Converts changes of a version to changes of the next version, which has the changes in `saved`. Both result in the same elements. */
function rebaseOnSaved(saved: ReadonlyMap<string, Edit>, edits: ReadonlyMap<string, Edit>): Map<string, Edit> {
  const changes = new Map(edits);
  for (const [id, { before, after: stored }] of saved) {
    const edit = edits.get(id);
    // Without a change in `edits`, the element becomes again what it was before `saved`.
    const target = edit ? edit.after : before;
    if (target === stored) changes.delete(id);
    else changes.set(id, { before: stored, after: target });
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

/** Why the browser does not store the unsaved changes of an annotation; `null` if it does, or has not tried yet. */
export function whyAtRisk(edits: Edits) {
  return edits.isAtRisk ? reasonNotKept() : null;
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
