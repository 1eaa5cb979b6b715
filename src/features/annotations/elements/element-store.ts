import type { BoundingBox } from '../../../annotation-format/bounding-box.js';
import type { CentroidPropTable } from '../../../annotation-format/centroids.js';
import type { ElementBudget, ElementQuery, BoxCondition } from '../../../annotation-format/element-query.js';
import type { RaiseProblem } from '../../../annotation-format/messages.js';
import type { OverlaySizes } from '../../../annotation-format/overlay-sizes.js';
import type { AnnotationElement } from '../../../annotation-format/schema/document.js';
import type { ElementName } from '../../../annotation-format/validate.js';

/** A window: up to 65 536 elements that follow one another in original order. {@link StoredElements} refer to it. */
export interface StoredWindow {
  /** Id of the window's pack index; 24 hexadecimal digits. */
  id: string;
  count: number;
  detailsCount: number;
  /** Box around the elements; its `size` is that of the largest element. */
  box: BoundingBox;
  /** Smallest and largest element id. */
  lowId: string;
  highId: string;
}

/**
 * The elements of one version of an annotation: a small plain value (about 300 bytes per 65,536 elements) in the field `elements`
 * of the annotation's document. It never changes, and any number of documents can share it (previous versions, copies).
 */
export interface StoredElements {
  /**
   * Id of the family, which is shared by everything that may share packs: {@link ElementStore.write} makes a new one; changes,
   * previous versions and copies keep it. Documents need an index on `elements.family`, see {@link ElementStore.sweep}. 24
   * hexadecimal digits.
   */
  family: string;
  /** Id of this content: two values with the same `content` have the same elements. Used in entity tags. 24 hexadecimal digits. */
  content: string;
  /** Number of elements: `_elementCount`. */
  count: number;
  /** Sum of the details of the elements: `_detailsCount`. */
  detailsCount: number;
  /** Distinct groups, sorted; `null` is last if an element has no group. */
  groups: (string | null)[];
  /** Box around all elements, with the `size` of the largest element; `null` if there are no elements. */
  box: BoundingBox | null;
  windows: StoredWindow[];
  /**
   * Ids of the items to which image and pixelmap elements refer, sorted, without duplicates. `change` only adds ids; a caller that
   * removes or replaces such elements must recompute them.
   */
  references: string[];
}

/** Options of everything that takes time. An aborted signal ends it with the signal's reason. */
export interface StoreOptions {
  signal?: AbortSignal;
}

/** Options of functions that store elements. */
export interface WriteOptions extends StoreOptions {
  /** Sizes of images, for the boxes of image and pixelmap elements, as far as the writer may know them. By default those of the store. */
  overlaySizes?: OverlaySizes | undefined;
}

/** Options of {@link ElementStore.change}. */
export interface ChangeOptions extends WriteOptions {
  /** Makes the error for an invalid element; by default in the form of create and PUT. Must be the same function each time. */
  raise?: RaiseProblem;
  /** Name of the nth element in messages; by default `elements[n]`. */
  nameOf?: ElementName;
}

/** The bytes of a body: all of them, or as they come in. */
export type BodySource = Buffer | AsyncIterable<Uint8Array>;

/** Options of {@link ElementStore.readBody}. */
export interface ReceiveOptions extends WriteOptions {
  /**
   * Called with a few elements at a time (for GeoJSON: those made from the features) before they are checked. Returns the elements
   * to store instead, one for each; the same list if nothing changes, because their texts are then kept.
   */
  prepare?: (elements: readonly unknown[]) => Promise<readonly unknown[]>;
}

/** Elements in original order: parsed, valid or not. They get ids where they have none. */
export type ElementSource = Iterable<unknown> | AsyncIterable<unknown>;

/**
 * A pending write: its elements are stored but not visible yet, and protected from the sweep. `commit` or `discard` must be called to end it.
 */
export interface ElementWrite<Given> {
  /** The stored elements, or what {@link map} made of them. */
  readonly given: Given;
  /** Returns the write with another value made of the stored elements. If making it fails, the write is discarded. */
  map<Other>(make: (given: Given) => Promise<Other>): Promise<ElementWrite<Other>>;
  /**
   * Ends the write.
   *
   * @param publish makes the elements visible by one atomic write of a document that refers to them. If it refuses, the elements are removed. After
   * any other failure they stay for the sweep, because they may be visible. It must not call the store's writing methods.
   * @returns what `publish` returns.
   * @throws the error of `publish`; LargeImageError `unavailable` if the lease of the write has expired; the signal's reason.
   */
  commit<Result>(publish: (given: Given) => Promise<Result>): Promise<Result>;
  /** Removes what was stored. */
  discard(): Promise<void>;
}

/** A JSON body whose lists of elements have been stored while it was read. */
export interface ReceivedBody {
  /** The body parsed, without the lists that were stored: their keys are absent. Not checked against any schema. */
  value: unknown;
  /**
   * The elements of an object within `value`: of an annotation document its `elements`, of a GeoJSON FeatureCollection its
   * features turned into elements. `null` when it had no such list (an empty list is stored, with count 0).
   */
  elementsOf: (body: unknown) => StoredElements | null;
  /** The annotation of the first feature of a FeatureCollection in `value` (name, description, …; `properties.annotation`), unchecked. */
  annotationOf: (collection: unknown) => Record<string, unknown> | null;
  /** How many features of a FeatureCollection in `value` had no shape. */
  skippedOf: (collection: unknown) => number;
}

/** Changes to the elements of an annotation. */
export interface ElementChanges {
  /**
   * Elements with the id of a stored one take its place; all others are put at the end, in this order, with a new id where they
   * have none. Unchecked: they are validated, an error names the index in this list.
   */
  put?: readonly unknown[];
  /** Ids of elements to remove; ids that are not there are ignored. An id in `put` too: removed first, then put at the end. */
  remove?: Iterable<string>;
}

/** Result of {@link ElementStore.change}. */
export interface ChangedElements {
  stored: StoredElements;
  /** Ids of `put`, in its order, with those given by the store. */
  ids: string[];
  replaced: number;
  added: number;
  removed: number;
}

/** Result of {@link ElementStore.read}, which resolves when the first chunk has been made. */
export interface ElementReading {
  /**
   * Compact JSON texts of the elements, joined by commas, without brackets; about 64 KiB to 1 MiB at a time, in UTF-8. It can be
   * read once, at any pace: nothing is fetched in advance.
   */
  chunks: AsyncIterable<Buffer>;
  /** Counts of the elements sent so far, complete when `chunks` has ended. Used by `elementQueryEcho`. */
  budget: ElementBudget;
  /** Box around the elements sent so far; `null` when none was. Kept only when the query has `bbox`. */
  readonly box: BoundingBox | null;
  /** Original order of each element sent so far, in ascending order. Empty unless the query has `orders`. */
  readonly orders: readonly number[];
}

/** Result of {@link ElementStore.centroids}. */
export interface CentroidReading {
  /** Records of 28 bytes (`writeCentroid`), never a part of one. */
  chunks: AsyncIterable<Buffer>;
  /** As of {@link ElementReading}. */
  budget: ElementBudget;
  /** The rows that the records refer to; complete when `chunks` has ended. */
  props: CentroidPropTable;
}

/** An element with its box and its position. */
export interface ScannedElement {
  element: AnnotationElement;
  box: BoundingBox;
  /** Original order: grows by at least 1 from each element to the next. */
  order: number;
}

/** An element as it is stored: its JSON text, in a buffer that is shared with others. */
export interface ElementText extends Omit<ScannedElement, 'element'> {
  type: AnnotationElement['type'];
  /** `null`: none. */
  group: string | null;
  text: Buffer;
}

/** Appearance of elements: all that matters when they are smaller than a pixel. */
export interface ElementAppearance {
  type: AnnotationElement['type'];
  /** `null`: not given. */
  group: string | null;
  fillColor: string | null;
  lineColor: string | null;
  lineWidth: number | null;
  closed: boolean | null;
}

/** Facts about a pack (up to 128 neighboring elements of similar size) that are known without loading it. */
export interface PackSummary {
  /** Id of the pack, which never changes, so that it can be a key of caches. 24 hexadecimal digits. */
  id: string;
  count: number;
  detailsCount: number;
  /** Box around the elements; `size` is that of the largest one, not of the box. */
  box: BoundingBox;
  /** Original order of the window that the pack is in: packs of a later window are drawn later. */
  window: number;
}

/** Boxes and appearances of the elements of a pack, without their shapes. Arrays of the same length, in no particular order. */
export interface PackMarks {
  summary: PackSummary;
  /** Four numbers for each element: lowx, lowy, highx, highy. */
  boxes: Float64Array;
  /** Original order, as {@link ScannedElement.order}. */
  orders: Float64Array;
  /** Index into `appearances` for each element. */
  appearanceIndices: Uint32Array;
  appearances: readonly ElementAppearance[];
}

/** Conditions for the elements to read, all of which must be met, see `matchesConditions`. */
export interface ScanOptions extends StoreOptions {
  conditions?: readonly BoxCondition[];
}

/** Consecutive changes of one family, see {@link ElementStore.edit}. Reading through it sees the elements of the changes before. */
export interface ElementEditing extends Pick<ElementStore, 'find' | 'scan'> {
  /** Loads what changes of these elements need, all at once. */
  prepare(stored: StoredElements, ids: readonly string[]): Promise<void>;
  /**
   * As {@link ElementStore.change}; one that fails leaves nothing, and others may follow. After one whose `base` has no elements none may
   * follow.
   */
  change(base: StoredElements, changes: ElementChanges, options?: ChangeOptions): Promise<ChangedElements>;
}

/** Result of {@link ElementStore.sweep}. */
export interface SweepReport {
  /** Number of checked families. Those in use by a write are left for the next sweep. */
  families: number;
  /** Number of removed documents: packs, windows, indexes. */
  removed: number;
  /** Number of families with records to which no document refers. Counted only if all families are checked. */
  abandoned: number;
}

/**
 * Stores the elements of annotations in immutable packs. Elements are invisible until the document of an annotation refers to them, and
 * {@link ElementStore.sweep} removes those to which no document refers. So a version, a copy or a rename takes one document only.
 *
 * Bad elements are refused with BadParameterError (400) before anything is published, in the words of `createElementValidator`.
 */
export interface ElementStore {
  /** Creates the indexes. */
  prepare(): Promise<void>;

  /** The value for an annotation without elements. */
  readonly empty: StoredElements;

  /** Milliseconds since the last write through this store. Work in the background waits until it is large enough. */
  readonly idleMs: number;

  /**
   * Reads a JSON body as it comes in, never the whole in memory: elements are checked and stored window by window (about 100 MB
   * of memory for any length). Lists of elements are recognised as `elements` of the body, of its `annotation`, and of
   * the same in each entry of a body that is a list; `features` likewise. All else may come to 8 MiB.
   *
   * @throws BadParameterError for broken JSON, invalid elements, repeated ids, `elements` that is no list, an element longer than 32 MiB, or a body that ends early;
   * LargeImageError `too-large` when all else is too long. Nothing is kept then.
   */
  readBody(body: BodySource, options?: ReceiveOptions): Promise<ElementWrite<ReceivedBody>>;

  /** Stores elements that are at hand, as a new family. @throws BadParameterError as `readBody`. */
  write(source: ElementSource, options?: StoreOptions): Promise<ElementWrite<StoredElements>>;

  /**
   * Adds, replaces and removes elements by id; only the affected packs are written. `base` is not changed. The value passed to
   * `commit` must replace `base` in the annotation's document, in one atomic write that fails if the document has changed (compare
   * `_version`). It may then throw a conflict, or `change` may be called again with the newer base.
   *
   * @throws BadParameterError for invalid elements and for ids that are repeated in `put`.
   */
  change(base: StoredElements, changes: ElementChanges, options?: ChangeOptions): Promise<ElementWrite<ChangedElements>>;

  /** Several changes of one annotation, each made on what the one before has left, that are stored and published together. Else as `change`. */
  edit<Given>(make: (editing: ElementEditing) => Promise<Given>, options?: StoreOptions): Promise<ElementWrite<Given>>;

  /**
   * Runs `publish` while no sweep can remove anything of a family. This is needed to write a second document (copy, revert) with the elements of a
   * first one. `publish` must read the first document, because before that it may be removed.
   *
   * @throws LargeImageError `unavailable` (503) when a sweep of this family does not end within seconds.
   */
  share<Result>(family: string, publish: () => Promise<Result>): Promise<Result>;

  /** Elements by id, as stored; ids that are not there are absent from the map. */
  find(stored: StoredElements, ids: Iterable<string>, options?: StoreOptions): Promise<Map<string, AnnotationElement>>;

  /** Elements as JSON text, as selected and ordered by the query. Errors of the first chunk reject the promise. */
  read(stored: StoredElements, query: ElementQuery, options?: StoreOptions): Promise<ElementReading>;

  /** Centres, sizes and appearances of elements, from the packs' columns without the shapes. Selects and orders like `read`. */
  centroids(stored: StoredElements, query: ElementQuery, options?: StoreOptions): Promise<CentroidReading>;

  /** Parsed elements in original order, one at a time, for export. */
  scan(stored: StoredElements, options?: ScanOptions): AsyncIterable<ScannedElement>;

  /** The same as texts, to be parsed elsewhere. */
  texts(stored: StoredElements, options?: ScanOptions): AsyncIterable<ElementText>;

  /** Packs that may hold elements which satisfy the conditions; from the pack indexes alone. */
  summaries(stored: StoredElements, options?: ScanOptions): Promise<PackSummary[]>;

  /** Boxes and appearances, pack by pack, of all packs that may hold elements which satisfy the conditions; or of the packs given. */
  marks(stored: StoredElements, options?: ScanOptions & { packs?: readonly PackSummary[] }): AsyncIterable<PackMarks>;

  /**
   * Removes records to which no document refers. Families with a pending write are skipped. A write whose process has died, or that
   * has been silent for more than `staleMs`, does not count as pending.
   *
   * @param elementsOf gives the stored elements of all documents of a family: annotations and previous versions.
   * @param options `families`: the families to sweep, for example after an annotation was removed; default all. `dryRun`: nothing
   * is removed.
   */
  sweep(
    elementsOf: (family: string) => Promise<Iterable<StoredElements>> | AsyncIterable<StoredElements>,
    options?: StoreOptions & { families?: Iterable<string>; staleMs?: number; dryRun?: boolean },
  ): Promise<SweepReport>;

  /** Families that a process was writing or sweeping which has ended. */
  abandonedFamilies(): Promise<string[]>;
}
