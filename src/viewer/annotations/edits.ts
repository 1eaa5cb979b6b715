import { loadElement, sendChanges } from './requests.js';
import { newId, type AnnotationRecord, type Edit, type Element } from './model.js';

/** Numbers of elements that somebody else has changed too. */
export interface Conflicts {
  /** our change, added as a new element */
  added: number;
  /** our deletion, which is not done */
  kept: number;
}

/** Maximum number of steps that can be undone. */
const maxSteps = 200;

/** The unsaved changes of the elements of an annotation. */
export class Edits {
  /** in the order of the first change */
  #edits: Map<string, Edit> = new Map();
  #former: Map<string, Edit>[] = [];
  /** Undone steps, newest last. */
  #later: Map<string, Edit>[] = [];
  /** The version of the annotation that contains all `before`. */
  #version: number | null = null;

  get size() {
    return this.#edits.size;
  }

  /** Number of elements that the annotation gains when the changes are saved. */
  get growth() {
    let growth = 0;
    for (const { before, after } of this.#edits.values()) growth += Number(after !== null) - Number(before !== null);
    return growth;
  }

  get canUndo() {
    return this.#former.length > 0;
  }

  get canRedo() {
    return this.#later.length > 0;
  }

  /**
   * @param before the element before the change
   * @param version version of the annotation that contains `before`
   */
  change(before: Element | null, after: Element | null, version: number) {
    this.changeAll([{ before, after }], version);
  }

  /** Changes several elements in one step. */
  changeAll(changes: readonly Edit[], version: number) {
    if (changes.length === 0) return;
    if (this.#edits.size === 0) this.#version = version;
    this.#former.push(new Map(this.#edits));
    if (this.#former.length > maxSteps) this.#former.shift();
    this.#later = [];
    for (const { before, after } of changes) {
      const id = (after ?? before)?.id;
      if (id === undefined) continue;
      const stored = this.#edits.has(id) ? (this.#edits.get(id)?.before ?? null) : before;
      if (stored === null && after === null) this.#edits.delete(id);
      else this.#edits.set(id, { before: stored, after });
    }
    tellListeners();
  }

  undo() {
    this.#step(this.#former, this.#later);
  }

  redo() {
    this.#step(this.#later, this.#former);
  }

  #step(from: Map<string, Edit>[], to: Map<string, Edit>[]) {
    const edits = from.pop();
    if (!edits) return;
    to.push(this.#edits);
    this.#edits = edits;
    tellListeners();
  }

  clear() {
    this.#edits = new Map();
    this.#forgetSteps();
    tellListeners();
  }

  #forgetSteps() {
    this.#former = [];
    this.#later = [];
  }

  /** The stored elements with the changes applied: changed ones at their position, new ones last. */
  *applied(stored: ReadonlyMap<string, Element>): Generator<Element, void> {
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

  /** Sends the changes, which must have been rebased on `record`. The server refuses them if the annotation has another version by now. */
  async save(record: AnnotationRecord) {
    const entries = [...this.#edits];
    const put = entries.flatMap(([, { after }]) => (after ? [after] : []));
    const remove = entries.flatMap(([id, { after }]) => (after ? [] : [id]));
    const report = await sendChanges(record, { put, remove });
    this.#version = report._version;
    // Changes made during the request stay unsaved, and apply to the new version.
    for (const [id, sent] of entries) {
      const now = this.#edits.get(id);
      // The change was undone during the request, which is a change of the new version.
      if (now === undefined) this.#edits.set(id, { before: sent.after, after: sent.before });
      else if (now === sent) this.#edits.delete(id);
      else this.#edits.set(id, { before: sent.after, after: now.after });
    }
    this.#forgetSteps();
    tellListeners();
    return report;
  }

  /**
   * Applies the changes to a newer version, which somebody else has saved. If an element was changed there too, ours is added as a new one, and
   * a deletion of ours is dropped.
   *
   * @param record the newer version
   */
  async rebase(record: AnnotationRecord): Promise<Conflicts> {
    const conflicts: Conflicts = { added: 0, kept: 0 };
    if (this.#version === record._version) return conflicts;
    let isChanged = false;
    for (const [id, { before }] of this.#edits) {
      if (before === null) continue;
      const now = await loadElement(record, id);
      // The user may have continued editing during the request.
      const edit = this.#edits.get(id);
      if (!edit || JSON.stringify(now) === JSON.stringify(edit.before)) continue;
      const { after } = edit;
      isChanged = true;
      this.#edits.delete(id);
      // The element may already exist, if the answer to an earlier attempt was lost.
      if (JSON.stringify(now) === JSON.stringify(after)) continue;
      if (after === null) {
        conflicts.kept += 1;
        continue;
      }
      const ours = { ...after, id: newId() };
      this.#edits.set(ours.id, { before: null, after: ours });
      conflicts.added += 1;
    }
    this.#version = record._version;
    // Earlier steps would restore elements that are no longer stored in this form.
    if (isChanged) this.#forgetSteps();
    tellListeners();
    return conflicts;
  }
}

const drafts: Map<string, Edits> = new Map();

/** The unsaved changes of an annotation. They are kept while the page is open, even if the user leaves the image. */
export function editsOf(annotationId: string) {
  let edits = drafts.get(annotationId);
  if (!edits) {
    edits = new Edits();
    drafts.set(annotationId, edits);
  }
  return edits;
}

/** Discards the unsaved changes of an annotation. */
export function forgetEdits(annotationId: string) {
  drafts.delete(annotationId);
  tellListeners();
}

/** Number of unsaved changes of all annotations. */
export function unsavedChanges() {
  return [...drafts.values()].reduce((sum, { size }) => sum + size, 0);
}

const listeners: Set<() => void> = new Set();

/** Calls the listener whenever unsaved changes are made, saved or discarded, until the signal aborts. */
export function onEdits(listener: () => void, signal?: AbortSignal) {
  listeners.add(listener);
  signal?.addEventListener('abort', () => listeners.delete(listener), { once: true });
}

function tellListeners() {
  for (const listener of listeners) listener();
}

// The browser asks before the page is closed with unsaved changes.
globalThis.addEventListener?.('beforeunload', (event) => {
  if (unsavedChanges() > 0) event.preventDefault();
});
