import { patchSchemaError } from '../../../annotation-format/messages.js';
import { applyPatch, parsePatch, patchedElementIds, type PatchTarget } from '../../../annotation-format/patch.js';
import type { AnnotationHead } from '../../../annotation-format/schema/document.js';
import { itemField } from '../../../annotation-format/schema/common.js';
import type { ChangedElements, ElementChanges, ElementEditing, StoredElements } from '../elements/element-store.js';
import { createHeadValidator } from '../../../annotation-format/validate.js';
import type { AnnotationRecord } from './annotation-record.js';
import type { MergedChange } from './merged-changes.js';
import type { AnnotationDependencies, ChangeRequest } from './annotation-dependencies.js';
import type { AnnotationWriter } from './writer.js';

/** Maximum number of characters of an id that a message repeats. */
const maxQuotedCharacters = 60;

/** A change of elements of an annotation. */
export interface ElementEdit {
  /** Ids of the affected elements, as far as they are known before the change. */
  elementIds: readonly string[];
  /** The changes, or a function that derives them from the elements of the current version. */
  changes: ElementChanges | ((stored: StoredElements, editing: ElementEditing) => Promise<ElementChanges>);
}

/**
 * Changes parts of annotations. These changes can be applied to any version, so that no change is lost when several changes are made at the
 * same time.
 */
export class AnnotationEdits {
  readonly #checkPatchedHead = createHeadValidator(patchSchemaError);

  constructor(
    private readonly options: AnnotationDependencies,
    private readonly writer: AnnotationWriter,
    private readonly brand: string,
  ) {}

  /** Applies a JSON patch. If another version was written in the meantime, that version is patched, so that nothing is lost. */
  async patch(request: ChangeRequest, body: unknown): Promise<AnnotationRecord> {
    const operations = parsePatch(body);
    const elementIds = [...patchedElementIds(operations)].filter(isElementId);
    const apply: MergedChange['apply'] = async (current, editing) => {
      const options = { ...(request.signal && { signal: request.signal }) };
      const elements = await editing.find(current.elements, elementIds, options);
      // `applyPatch` treats the head and the elements as plain objects.
      const target = { head: current.head, elements } as unknown as PatchTarget;
      const result = applyPatch(target, operations);
      const head = result.isHeadChanged ? this.#requireValidHead(result.head) : current.head;
      if (result.elementChanges.length === 0) return { head };
      const put = result.elementChanges.flatMap((change) => (change.kind === 'remove' ? [] : [change.element]));
      const remove = result.elementChanges.flatMap((change) => (change.kind === 'remove' ? [change.id] : []));
      // Messages refer to elements by id like the patch does, not by number.
      const nameOf = (index: number) => `elements/id:${String(put[index]?.id).slice(0, maxQuotedCharacters)}`;
      const writeOptions = { ...options, ...this.#overlaySizeOptions(request), makeError: patchSchemaError, nameOf };
      const changedElements = await editing.change(current.elements, { put, remove }, writeOptions);
      return { head, elements: await this.#updateReferences(current.elements, changedElements, editing, request) };
    };
    return this.writer.makeMergedChange(request, { elementIds, apply });
  }

  #overlaySizeOptions({ caller }: ChangeRequest) {
    return { overlaySizes: this.options.overlayImages.sizeFinderFor(caller) };
  }

  #requireValidHead(head: Record<string, unknown>): AnnotationHead {
    this.#checkPatchedHead(head);
    return this.options.bodies.checkHead(head);
  }

  /**
   * Updates the ids of the items to which image and pixelmap elements refer. The store has already added new ids. All elements are read
   * only if an id may no longer be in use.
   */
  async #updateReferences(
    formerElements: StoredElements,
    { stored, replaced, removed }: ChangedElements,
    editing: ElementEditing,
    { signal }: ChangeRequest,
  ): Promise<StoredElements> {
    if (formerElements.references.length === 0 || replaced + removed === 0) return stored;
    const field = itemField(this.brand);
    const references = new Set<string>();
    for await (const { element } of editing.scan(stored, { ...(signal && { signal }) })) {
      if (element.type !== 'image' && element.type !== 'pixelmap') continue;
      // The schema requires this field on image and pixelmap elements.
      references.add(String((element as unknown as Record<string, unknown>)[field]));
    }
    return { ...stored, references: [...references].sort() };
  }

  /**
   * Adds, replaces and removes elements. Only the affected packs are written. If another version was written in the meantime, that
   * version is changed.
   */
  async changeElements(
    request: ChangeRequest,
    { elementIds: ids, changes }: ElementEdit,
  ): Promise<{ annotation: AnnotationRecord; changedElements: ChangedElements }> {
    let changedElements: ChangedElements;
    const apply: MergedChange['apply'] = async (current, editing) => {
      const edit = typeof changes === 'function' ? await changes(current.elements, editing) : changes;
      const writeOptions = {
        ...(request.signal && { signal: request.signal }),
        ...this.#overlaySizeOptions(request),
        makeError: patchSchemaError,
      };
      changedElements = await editing.change(current.elements, edit, writeOptions);
      return { elements: await this.#updateReferences(current.elements, changedElements, editing, request) };
    };
    const annotation = await this.writer.makeMergedChange(request, { elementIds: ids, apply });
    return { annotation, changedElements: changedElements! };
  }

  /** Changes the attributes. If another version was written in the meantime, that version is changed. */
  async changeAttributes(
    request: ChangeRequest,
    change: (attributes: Readonly<Record<string, unknown>>) => Record<string, unknown>,
  ): Promise<AnnotationRecord> {
    const apply: MergedChange['apply'] = async (current) => {
      const attributes = change(current.head.attributes ?? {});
      return { head: this.#requireValidHead({ ...current.head, attributes }) };
    };
    return this.writer.makeMergedChange(request, { apply, requiresItemAccess: false });
  }
}

function isElementId(id: string): boolean {
  return /^[0-9a-f]{24}$/.test(id);
}
