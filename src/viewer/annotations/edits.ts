import { loadElement, sendChanges } from './requests.js';
import type { AnnotationRecord, Element } from './model.js';

/** What has become of one element. `before` is `null` for a new one, `after` for one that was removed. */
export type Edit = { before: Element | null; after: Element | null };

/** Most steps that can be taken back. */
const maxSteps = 200;

/** What the reader has changed of the elements of an annotation and not saved. */
export class Edits {
  /** in the order of the first change */
  #edits: Map<string, Edit> = new Map();
  #former: Map<string, Edit>[] = [];
  /** What was taken back, newest last. */
  #later: Map<string, Edit>[] = [];
  /** The version of the annotation that the changes are made on. */
  #version = 0;

  get size() {
    return this.#edits.size;
  }

  get canUndo() {
    return this.#former.length > 0;
  }

  get canRedo() {
    return this.#later.length > 0;
  }

  /**
   * @param before as it was until now
   * @param version of the annotation that `before` is seen in
   */
  change(before: Element | null, after: Element | null, version: number) {
    if (this.#edits.size === 0) this.#version = version;
    const id = (after ?? before)?.id;
    if (id === undefined) return;
    this.#former.push(new Map(this.#edits));
    if (this.#former.length > maxSteps) this.#former.shift();
    this.#later = [];
    const stored = this.#edits.has(id) ? (this.#edits.get(id)?.before ?? null) : before;
    if (stored === null && after === null) this.#edits.delete(id);
    else this.#edits.set(id, { before: stored, after });
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
  }

  clear() {
    this.#edits = new Map();
    this.#forgetSteps();
  }

  #forgetSteps() {
    this.#former = [];
    this.#later = [];
  }

  /** Stored elements as they are with the changes: changed ones in their place, new ones last. */
  *applied(stored: ReadonlyMap<string, Element>): Generator<Element, void> {
    for (const [id, element] of stored) {
      const edit = this.#edits.get(id);
      if (!edit) yield element;
      else if (edit.after) yield edit.after;
    }
    for (const [id, { after }] of this.#edits) if (after && !stored.has(id)) yield after;
  }

  /** The element as it is with the changes. */
  find(id: string, stored: ReadonlyMap<string, Element>) {
    const edit = this.#edits.get(id);
    return (edit ? edit.after : stored.get(id)) ?? null;
  }

  /** Sends the changes; refused when the annotation is not the one any more that they were made on. */
  async save(record: AnnotationRecord) {
    const entries = [...this.#edits];
    const put = entries.flatMap(([, { after }]) => (after ? [after] : []));
    const remove = entries.flatMap(([id, { after }]) => (after ? [] : [id]));
    const report = await sendChanges({ ...record, _version: this.#version }, { put, remove });
    this.#version = report._version;
    // What was changed while the request was under way stays unsaved, on top of what is stored now.
    for (const [id, sent] of entries) {
      const now = this.#edits.get(id);
      // Taken back while it was sent: that is a change of what is stored now.
      if (now === undefined) this.#edits.set(id, { before: sent.after, after: sent.before });
      else if (now === sent) this.#edits.delete(id);
      else this.#edits.set(id, { before: sent.after, after: now.after });
    }
    this.#forgetSteps();
    return report;
  }

  /**
   * After somebody else's change: gives up the changes of elements that were changed there too, and keeps the others.
   *
   * @param record the new version
   * @returns how many were given up
   */
  async rebase(record: AnnotationRecord): Promise<number> {
    let lost = 0;
    for (const [id, { before }] of this.#edits) {
      if (before === null) continue;
      const now = await loadElement(record, id);
      if (JSON.stringify(now) === JSON.stringify(before)) continue;
      this.#edits.delete(id);
      lost += 1;
    }
    this.#version = record._version;
    this.#forgetSteps();
    return lost;
  }
}

const drafts: Map<string, Edits> = new Map();

/** The unsaved changes of an annotation, kept while the page is open: leaving the image does not lose them. */
export function editsOf(annotationId: string) {
  let edits = drafts.get(annotationId);
  if (!edits) {
    edits = new Edits();
    drafts.set(annotationId, edits);
  }
  return edits;
}

/** Forgets the unsaved changes of an annotation. */
export function forgetEdits(annotationId: string) {
  drafts.delete(annotationId);
}

// The browser asks before the page is closed with work that is not saved.
addEventListener('beforeunload', (event) => {
  if ([...drafts.values()].some(({ size }) => size > 0)) event.preventDefault();
});
