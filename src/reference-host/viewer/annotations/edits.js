// @ts-check
import { loadElement, sendChanges } from './requests.js';

/**
 * @typedef {import('./model.js').Element} Element
 * @typedef {import('./model.js').AnnotationRecord} AnnotationRecord
 *
 * What has become of one element. `before` is `null` for a new one, `after` for one that was removed.
 * @typedef {{ before: Element | null, after: Element | null }} Edit
 */

/** Most steps that can be taken back. */
const maxSteps = 200;

/** What the reader has changed of the elements of an annotation and not saved. */
class Edits {
  /** @type {Map<string, Edit>} in the order of the first change */
  #edits = new Map();
  /** @type {Map<string, Edit>[]} */
  #former = [];
  /** What was taken back, newest last. @type {Map<string, Edit>[]} */
  #later = [];
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
   * @param {Element | null} before as it was until now
   * @param {Element | null} after
   * @param {number} version of the annotation that `before` is seen in
   */
  change(before, after, version) {
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

  /** @param {Map<string, Edit>[]} from @param {Map<string, Edit>[]} to */
  #step(from, to) {
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

  /**
   * Stored elements as they are with the changes: changed ones in their place, new ones last.
   *
   * @param {ReadonlyMap<string, Element>} stored
   * @returns {Generator<Element, void>}
   */
  *applied(stored) {
    for (const [id, element] of stored) {
      const edit = this.#edits.get(id);
      if (!edit) yield element;
      else if (edit.after) yield edit.after;
    }
    for (const [id, { after }] of this.#edits) if (after && !stored.has(id)) yield after;
  }

  /** The element as it is with the changes. @param {string} id @param {ReadonlyMap<string, Element>} stored */
  find(id, stored) {
    const edit = this.#edits.get(id);
    return (edit ? edit.after : stored.get(id)) ?? null;
  }

  /** Sends the changes; refused when the annotation is not the one any more that they were made on. @param {AnnotationRecord} record */
  async save(record) {
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
   * @param {AnnotationRecord} record the new version
   * @returns {Promise<number>} how many were given up
   */
  async rebase(record) {
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

/** @type {Map<string, Edits>} */
const drafts = new Map();

/** The unsaved changes of an annotation, kept while the page is open: leaving the image does not lose them. @param {string} annotationId */
export function editsOf(annotationId) {
  let edits = drafts.get(annotationId);
  if (!edits) {
    edits = new Edits();
    drafts.set(annotationId, edits);
  }
  return edits;
}

/** Forgets the unsaved changes of an annotation. @param {string} annotationId */
export function forgetEdits(annotationId) {
  drafts.delete(annotationId);
}

// The browser asks before the page is closed with work that is not saved.
addEventListener('beforeunload', (event) => {
  if ([...drafts.values()].some(({ size }) => size > 0)) event.preventDefault();
});
