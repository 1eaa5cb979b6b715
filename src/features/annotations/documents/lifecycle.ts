import { mapConcurrently } from '../../../core/concurrency/map-concurrently.js';
import { idsPerQuery, groupInBatches } from '../../../core/database/id-batches.js';
import { isDuplicateKey } from '../../../core/database/refused-writes.js';
import type { BodySource, ElementSource, ReadBodyOptions, StoredElements } from '../elements/element-store.js';
import { UnknownIdError } from '../../../errors.js';
import type { Caller } from '../../../host.js';
import type { AnnotationRecord } from './annotation-record.js';
import type { NewAnnotation } from './annotation.model.js';
import type { ItemRecord } from '../../../core/host/records.js';
import type { AccessChange } from '../access/permissions.js';
import type { BodyForm, IncomingAnnotation } from './body.js';
import type { AnnotationDependencies, ChangeRequest } from './annotation-dependencies.js';
import type { AnnotationWriter } from './writer.js';

/** Options for creating annotations from a body. */
export interface CreateOptions extends ReadBodyOptions {
  /** Creator and owner of the annotations. */
  caller: Caller | null;
  /** Called when the body has been read and checked, before anything becomes visible. It cancels the creation by throwing an error. */
  confirm?: () => void;
  /** Returns the id of the annotation at an index, for work that may be repeated. Annotations that exist are not created again. */
  idAt?: (index: number) => string;
}

/** Number of annotations that are removed, or whose creators are notified, at the same time. */
const annotationsAtOnce = 8;

/** Creates, replaces, copies and removes annotations, with their elements in the element store. */
export class AnnotationLifecycle {
  constructor(
    private readonly options: AnnotationDependencies,
    private readonly writer: AnnotationWriter,
  ) {}

  /**
   * Creates annotations from a body. The caller's right must have been checked before.
   *
   * @returns `skippedCount`: number of GeoJSON features without a shape.
   */
  async create(
    item: ItemRecord,
    body: BodySource,
    form: BodyForm,
    { caller, confirm, idAt, ...readOptions }: CreateOptions,
  ): Promise<{ created: AnnotationRecord[]; skippedCount: number }> {
    const overlaySizes = this.options.overlayImages.sizeFinderFor(caller);
    const write = await this.options.bodies.receiveBody(body, form, { ...readOptions, overlaySizes });
    let skippedCount = 0;
    const created = await write.commit(async (incoming) => {
      confirm?.();
      skippedCount = incoming.reduce((sum, annotation) => sum + (annotation.skippedCount ?? 0), 0);
      return this.#insert(item, incoming, caller?.id ?? null, idAt);
    });
    for (const annotation of created) await this.writer.notify(annotation.creatorId, 'create', annotation);
    return { created, skippedCount };
  }

  /** Whether the annotation exists, even if it is deleted. */
  async exists(id: string): Promise<boolean> {
    return (await this.options.model.find(id)) !== null;
  }

  async #insert(
    item: ItemRecord,
    incoming: readonly IncomingAnnotation[],
    creatorId: string | null,
    idAt?: CreateOptions['idAt'],
  ) {
    const { model, store, permissions } = this.options;
    const initialAccess = await permissions.createInitialAccess(item, creatorId);
    const now = new Date();
    const firstVersion = await model.reserveVersions(incoming.length);
    const annotations = incoming.map(({ head, elements }, index): NewAnnotation => {
      const id = idAt?.(index);
      return {
        ...(id !== undefined && { id }),
        ...initialAccess,
        itemId: item.id,
        creatorId,
        created: now,
        updated: now,
        updatedId: creatorId,
        version: firstVersion + index,
        head,
        elements: elements ?? store.noElements,
      };
    });
    const inserted = await this.#insertMissing(annotations);
    const families = new Set(inserted.map(({ elements }) => elements.family));
    // The elements that were just stored for an annotation that exists already are not needed.
    for (const { elements } of incoming)
      if (elements !== null && !families.has(elements.family)) this.writer.sweepFamiliesLater([elements.family]);
    for (const annotation of inserted) this.options.followers.onElementsStored(annotation.elements);
    return inserted;
  }

  /**
   * Inserts the annotations that do not exist yet. A killed process may have sent the same insert shortly before. If that insert arrives
   * between the lookup and the insert here, the insert here fails with a duplicate key. So lookup and insert are tried a few times.
   */
  async #insertMissing(annotations: readonly NewAnnotation[]): Promise<AnnotationRecord[]> {
    const { model } = this.options;
    for (let triesLeft = 3; ; triesLeft--) {
      const missingAnnotations: NewAnnotation[] = [];
      for (const annotation of annotations) {
        if (annotation.id === undefined || (await model.find(annotation.id)) === null) missingAnnotations.push(annotation);
      }
      try {
        return await model.insert(missingAnnotations);
      } catch (error) {
        if (triesLeft === 0 || !isDuplicateKey(error)) throw error;
      }
    }
  }

  /**
   * Replaces an annotation by a body, moves it to another item, or writes it again unchanged.
   *
   * @returns `repliesWithElements`: whether the response should contain the elements. It should not if the body left them out.
   * @throws LargeImageError `conflict` if someone else has changed the annotation since this call began.
   */
  async replace(request: ChangeRequest, { body, item }: { body: BodySource | null; item: ItemRecord | null }) {
    const { bodies, permissions } = this.options;
    const current = request.current ?? (await this.writer.loadForChange(request));
    request.checkPrecondition?.(current);
    if (item !== null) await permissions.requireAnnotate(item, request.caller);
    const itemId = item?.id ?? current.itemId;
    const commit = ({ head, elements }: IncomingAnnotation) =>
      this.writer.commit(current, { head, elements: elements ?? current.elements, itemId }, request.caller);
    let result: { annotation: AnnotationRecord; repliesWithElements: boolean };
    try {
      if (body === null) {
        result = { annotation: await commit({ head: current.head, elements: null }), repliesWithElements: true };
      } else {
        const { signal, caller } = request;
        const overlaySizes = this.options.overlayImages.sizeFinderFor(caller);
        const write = await bodies.receiveBody(body, 'document', { ...(signal && { signal }), overlaySizes });
        const [incoming] = write.value;
        const annotation = await write.commit(() => commit(incoming!));
        result = { annotation, repliesWithElements: incoming!.elements !== null };
      }
    } catch (error) {
      throw await this.writer.toReportedError(error, request, current);
    }
    await this.writer.notifyAndSweep(current, result.annotation);
    return result;
  }

  /**
   * Replaces all elements in one new version.
   *
   * @param makeElements makes the new elements from the stored elements of the current version.
   * @throws LargeImageError `conflict` if someone else has changed the annotation since this call began. Also throws the errors of
   * `makeElements`.
   */
  async rewriteElements(
    request: ChangeRequest,
    makeElements: (stored: StoredElements) => ElementSource,
  ): Promise<AnnotationRecord> {
    const { signal, caller } = request;
    const current = await this.writer.loadForChange(request);
    let annotation: AnnotationRecord;
    try {
      const write = await this.options.store.write(makeElements(current.elements), { ...(signal && { signal }) });
      annotation = await write.commit((elements) => this.writer.commit(current, { elements }, caller));
    } catch (error) {
      throw await this.writer.toReportedError(error, request, current);
    }
    await this.writer.notifyAndSweep(current, annotation);
    return annotation;
  }

  /** Marks an annotation as deleted, or removes it if no history is kept. Repeating this does nothing. */
  async remove(request: ChangeRequest): Promise<void> {
    const { model } = this.options;
    for (;;) {
      const current = await this.writer.loadForChange(request, { deletedToo: true });
      const keepsHistory = await this.writer.keepsHistory();
      if (keepsHistory && !current.active) return;
      if (keepsHistory ? await model.deactivate(current.id, current.version) : await this.#removeWithVersions(current)) {
        await this.writer.notify(current.creatorId, 'remove', current);
        return;
      }
      if ((await model.find(current.id)) === null) return;
    }
  }

  async #removeWithVersions(current: AnnotationRecord): Promise<boolean> {
    const families = await this.#findFamilies(current);
    if (!(await this.options.model.remove(current.id, current.version))) return false;
    this.writer.sweepFamiliesLater(families);
    return true;
  }

  async #findFamilies(current: AnnotationRecord): Promise<string[]> {
    const former = await this.options.model.formerVersions.findFamilies(current.id);
    return [...new Set([current.elements.family, ...former])];
  }

  /** Removes annotations or marks them as deleted, without checking rights. @returns the number of annotations that were active. */
  async removeAll(annotations: AsyncIterable<AnnotationRecord> | Iterable<AnnotationRecord>): Promise<number> {
    const { model } = this.options;
    const keepsHistory = await this.writer.keepsHistory();
    let count = 0;
    for await (const batch of groupInBatches(annotations, idsPerQuery)) {
      const activeAnnotations = batch.filter((annotation) => annotation.active);
      if (keepsHistory) await model.deactivateAll(activeAnnotations.map(({ id }) => id));
      else await mapConcurrently(batch, annotationsAtOnce, (annotation) => this.#removeLatest(annotation));
      await mapConcurrently(activeAnnotations, annotationsAtOnce, (annotation) =>
        this.writer.notify(annotation.creatorId, 'remove', annotation),
      );
      count += activeAnnotations.length;
    }
    return count;
  }

  /** Removes an annotation, even if it is changed in the meantime. */
  async #removeLatest(initial: AnnotationRecord): Promise<void> {
    let annotation: AnnotationRecord | null = initial;
    while (annotation !== null && !(await this.#removeWithVersions(annotation)))
      annotation = await this.options.model.find(annotation.id);
  }

  /** Copies an annotation to an item. The copy shares the elements. The caller's rights must have been checked before. */
  async copy(id: string, item: ItemRecord, caller: Caller | null): Promise<AnnotationRecord> {
    const { store } = this.options;
    const source = await this.writer.load(id, 0, caller);
    const copiedAnnotation = await store.keepFamilyWhile(source.elements.family, async () => {
      const { head, elements } = await this.writer.load(id, 0, caller);
      const [copy] = await this.#insert(item, [{ head, elements }], caller?.id ?? null);
      return copy!;
    });
    await this.writer.notify(copiedAnnotation.creatorId, 'create', copiedAnnotation);
    return copiedAnnotation;
  }

  /** Copies all annotations of an item to a copy of the item. Creators and times are kept. */
  async copyAll(sourceItemId: string, item: ItemRecord, ownerId: string | null): Promise<void> {
    const { model, store, permissions } = this.options;
    const initialAccess = await permissions.createInitialAccess(item, ownerId);
    const annotations = model.list({ itemIds: [sourceItemId] }, { limit: 0, offset: 0, sort: [['_id', 1]] });
    for await (const { id, elements } of annotations) {
      await store.keepFamilyWhile(elements.family, async () => {
        const source = await model.find(id);
        if (source === null || !source.active || source.itemId !== sourceItemId) return;
        const version = await model.reserveVersion();
        const { creatorId, created, updated, updatedId, head, fileChanged } = source;
        const copiedFields = {
          creatorId,
          created,
          updated,
          updatedId,
          head,
          elements: source.elements,
          ...(fileChanged && { fileChanged }),
        };
        await model.insert([{ ...initialAccess, ...copiedFields, itemId: item.id, version }]);
      });
    }
  }

  /** Replaces the access list. The caller's right must have been checked before. */
  async setAccess(id: string, change: AccessChange): Promise<AnnotationRecord> {
    const annotation = await this.options.model.setAccess(id, change);
    if (annotation === null) throw new UnknownIdError('annotation', id);
    return annotation;
  }
}
