import { boundingBox, boxOfLine, type BoundingBox } from '../../../../annotation-format/bounding-box.js';
import { ElementIds } from '../../../../annotation-format/element-ids.js';
import { measureOutline } from '../../../../annotation-format/measures.js';
import { KnownOverlaySizes, type FindOverlaySize } from '../../../../annotation-format/overlay-sizes.js';
import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import { duplicateIdError, nameByIndex, type ElementValidator } from '../../../../annotation-format/validate.js';
import type { StoredElements, StoredWindow } from '../element-store.js';
import { boxAround } from '../packs/pack-index.js';
import { WindowDraft } from './draft.js';
import type { IdMaker } from '../packs/ids.js';
import { countKeys } from './json-text.js';
import type { PackLayout } from '../packs/pack-layout.js';
import { elementTooLongError, maxElementBytes, checkGroupLimits, sortGroups } from './element-limits.js';
import type { ElementSlice } from './body-scanner.js';
import { isLongText } from '../../../../core/json.js';
import { isLong } from '../../../../core/json-pieces.js';
import { LineText } from './line-texts.js';
import type { LongElements } from './long-elements.js';
import type { WindowWriter } from './window-writer.js';

/** The state that all lists of one write share. */
export interface ListContext {
  family: string;
  brand: string;
  validate: ElementValidator;
  overlaySizes: FindOverlaySize;
  ids: IdMaker;
  longElements: LongElements;
  windowWriter: WindowWriter;
  draftPool: DraftPool;
  signal: AbortSignal | undefined;
  /** Creates the family. Called before the first record is stored. */
  createFamily: () => Promise<void>;
  /** Tells background work that elements are being written, so that it waits. */
  recordActivity: () => void;
}

/** A pool of two drafts: one is filled while the other is packed, compressed and stored. */
export class DraftPool {
  readonly #freeDrafts: WindowDraft[];
  /** Resolves when the last draft is stored. */
  #lastStore: Promise<void> = Promise.resolve();

  constructor(layout: PackLayout) {
    this.#freeDrafts = [new WindowDraft(layout), new WindowDraft(layout)];
  }

  /** Waits until a draft is not being stored, and returns this empty draft. */
  async takeFreeDraft(): Promise<WindowDraft> {
    if (this.#freeDrafts.length === 0) await this.#lastStore;
    // Each draft returns to the pool before the next draft is stored, so there is a free draft now.
    return this.#freeDrafts.pop() as WindowDraft;
  }

  /** Starts to store a draft when the previous draft is stored. @throws the error of storing an earlier draft. */
  async store(draft: WindowDraft, write: (draft: WindowDraft) => Promise<void>): Promise<void> {
    await this.#lastStore;
    const storePromise = write(draft).finally(() => {
      draft.clear();
      this.#freeDrafts.push(draft);
    });
    // The next call that waits throws the error. Until then, the error must not count as unhandled.
    storePromise.catch(() => undefined);
    this.#lastStore = storePromise;
  }

  /** Waits until everything is stored. @throws the error of storing. */
  async finish(): Promise<void> {
    await this.#lastStore;
  }
}

/** Number of elements between checks of the time. */
const elementsAtOnce = 64;
/** Maximum number of bytes that are inserted into the text of an element without an id. */
const idPrefixBytes = '{"id":"",'.length + 24;

/** Checks the elements of one list as they arrive and stores them window by window. */
export class ListWriter {
  readonly #ids = new ElementIds();
  readonly #sizes: KnownOverlaySizes;
  readonly #windows: StoredWindow[] = [];
  readonly #groups = new Set<string | null>();
  #count = 0;
  #draft: WindowDraft | null = null;
  #elements: StoredElements = noElements;

  constructor(private readonly context: ListContext) {
    this.#sizes = new KnownOverlaySizes(context.brand, context.overlaySizes);
  }

  /** Number of elements that were added so far. */
  get count(): number {
    return this.#count;
  }

  /**
   * Checks the next elements and adds them.
   *
   * @param elements parsed elements, or {@link LineText}s of the slice.
   * @param slice contains the texts of exactly these elements. Canonical texts are stored unchanged.
   */
  async add(elements: readonly unknown[], slice?: ElementSlice): Promise<void> {
    this.context.signal?.throwIfAborted();
    this.context.recordActivity();
    for (let i = 0; i < elements.length; i += 1) {
      const value = elements[i];
      if (slice === undefined ? isLong(value) : isLongText(slice.ends[i]! - slice.starts[i]!)) {
        await this.#addLong(slice === undefined ? value : Buffer.from(slice.bytes.subarray(slice.starts[i], slice.ends[i])));
        continue;
      }
      const line = value instanceof LineText ? value : null;
      const element = line?.element ?? this.context.validate(value, this.#count);
      const ownId = line === null ? element.id : line.id;
      if (ownId !== undefined && !this.#ids.add(ownId)) throw duplicateIdError(ownId, this.#count);
      if (this.#sizes.isSizeMissing(element)) await this.#sizes.loadSize(element);
      const draft = this.#draft ?? (await this.#nextDraft());
      const id = ownId ?? this.context.ids.make();
      // If the validator dropped something, it returns another object.
      const isTextUnchanged =
        line !== null || (element === value && slice?.isCanonical[i] === 1 && hasKeyCount(element, slice.keyCounts[i]!));
      const bytes = isTextUnchanged ? copyText(draft, slice!, i, id, ownId !== undefined) : writeText(draft, element, id);
      if (bytes > maxElementBytes) throw elementTooLongError(this.#count);
      if (line === null) draft.add(element, id, boundingBox(element, this.#sizes.sizeOf(element)), bytes);
      else draft.add(element, id, boxOfLine(line.positions), bytes, measureOutline(line.positions, line.isClosed));
      this.#count += 1;
      if (draft.isFull) await this.#storeDraft();
      if (i % elementsAtOnce === 0 && isSliceOver()) await nextSlice(this.context.signal);
    }
  }

  async #addLong(element: unknown): Promise<void> {
    const { longElements, ids, signal } = this.context;
    const options = { name: nameByIndex(this.#count), newId: ids.make(), sizes: this.#sizes, signal };
    const { id, hasOwnId, text, appearance, group, box, cells } = await longElements.check(element, options);
    if (hasOwnId && !this.#ids.add(id)) throw duplicateIdError(id, this.#count);
    if (text.length > maxElementBytes) throw elementTooLongError(this.#count);
    const draft = this.#draft ?? (await this.#nextDraft());
    const { buffer, offset } = draft.reserve(text.length);
    buffer.set(text, offset);
    draft.addWithAppearance({ appearance, group, cells }, id, box, text.length);
    this.#count += 1;
    if (draft.isFull) await this.#storeDraft();
  }

  async #nextDraft(): Promise<WindowDraft> {
    this.#draft = await this.context.draftPool.takeFreeDraft();
    return this.#draft;
  }

  async #storeDraft(): Promise<void> {
    const draft = this.#draft;
    if (draft === null) return;
    this.#draft = null;
    for (const group of (await draft.countGroups()).keys()) this.#groups.add(group);
    if (isSliceOver()) await nextSlice(this.context.signal);
    checkGroupLimits(this.#groups);
    await this.context.draftPool.store(draft, async () => {
      await this.context.createFamily();
      this.#windows.push(await this.context.windowWriter.write(draft));
    });
  }

  /** Ends the list, so that {@link elements} returns it. Its last records are stored when the window writer has finished. */
  async finish(): Promise<void> {
    await this.#storeDraft();
    await this.context.draftPool.finish();
    const { family, ids } = this.context;
    this.#elements = await makeStoredElements(family, ids.make(), this.#windows, this.#groups, this.#sizes.itemIds());
  }

  /** Returns the elements of the list. Must be called after {@link finish}. */
  elements(): StoredElements {
    return this.#elements;
  }
}

/** The stored elements of an annotation that has none. */
export const noElements: StoredElements = {
  family: '',
  content: '',
  count: 0,
  detailsCount: 0,
  groups: [],
  box: null,
  windows: [],
  references: [],
};

/** Makes the value for the document of an annotation. @param windows the windows in original order. */
export async function makeStoredElements(
  family: string,
  content: string,
  windows: readonly StoredWindow[],
  groups: Iterable<string | null>,
  references: Iterable<string>,
): Promise<StoredElements> {
  const box: BoundingBox | null = boxAround(windows);
  if (box === null) return noElements;
  return {
    family,
    content,
    count: windows.reduce((sum, { count }) => sum + count, 0),
    detailsCount: box.details,
    groups: await sortGroups(groups),
    box,
    windows: [...windows],
    references: [...new Set(references)].sort(),
  };
}

/** Whether an element has this number of keys. If its text repeats a key, the text has more keys than the parsed element. */
function hasKeyCount(element: AnnotationElement, keyCount: number): boolean {
  let count = 0;
  for (const _key in element) count += 1;
  return count === keyCount || countKeys(element) === keyCount;
}

/** Copies the text of an element from a slice to a draft, and adds the id if the text has none. @returns the length in bytes. */
function copyText(draft: WindowDraft, slice: ElementSlice, i: number, id: string, hasId: boolean): number {
  const start = slice.starts[i] as number;
  const end = slice.ends[i] as number;
  const { buffer, offset } = draft.reserve(end - start + idPrefixBytes);
  if (hasId) return slice.bytes.copy(buffer, offset, start, end);
  const prefixBytes = buffer.write(`{"id":"${id}",`, offset, 'latin1');
  return prefixBytes + slice.bytes.copy(buffer, offset + prefixBytes, start + 1, end);
}

/** Writes an element to a draft as JSON text. @returns the length in bytes. */
function writeText(draft: WindowDraft, element: AnnotationElement, id: string): number {
  const text = elementText(element, id);
  // A UTF-16 unit takes at most three bytes.
  const { buffer, offset } = draft.reserve(text.length * 3);
  return buffer.write(text, offset, 'utf8');
}

/** Makes the JSON text under which an element is stored. */
export function elementText(element: AnnotationElement, id: string): string {
  return JSON.stringify(element.id === undefined ? { ...element, id } : element);
}
