import type { BoundingBox } from '../../../annotation-format/bounding-box.js';
import type { CentroidPropTable } from '../../../annotation-format/centroids.js';
import type { ElementBudget, ElementQuery, BoxCondition } from '../../../annotation-format/element-query.js';
import type { MakeError } from '../../../annotation-format/messages.js';
import type { FindOverlaySize } from '../../../annotation-format/overlay-sizes.js';
import type { AnnotationElement } from '../../../annotation-format/schema/document.js';
import type { SegmentColumn, SegmentHeader } from './packs/segment.js';
import type { RawPack } from './read/loader.js';
import type { NameElement } from '../../../annotation-format/validate.js';

/** A window: up to 65,536 elements that are consecutive in original order. {@link StoredElements} refer to it. */
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
   * Id of the family. Everything that may share packs has the same one: {@link ElementStore.write} makes a new one; changes,
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

/** Options of all operations of the store. When the signal is aborted, the operation rejects with the signal's reason. */
export interface StoreOptions {
  signal?: AbortSignal;
}

/** Options of functions that store elements. */
export interface WriteOptions extends StoreOptions {
  /** Finds the sizes of images that the writer may read, for the boxes of image and pixelmap elements. Default: that of the store. */
  overlaySizes?: FindOverlaySize | undefined;
}

/** Options of {@link ElementStore.change}. */
export interface ChangeOptions extends WriteOptions {
  /**
   * Makes the error for an invalid element. Default: the error of create and PUT. Callers must pass the same function each time,
   * because the store keeps a validator for each function.
   */
  makeError?: MakeError;
  /** Name of the nth element in messages; by default `elements[n]`. */
  nameOf?: NameElement;
}

/** A request body: complete, or as chunks that arrive. */
export type BodySource = Buffer | AsyncIterable<Uint8Array>;

/** Options of {@link ElementStore.readBody}. */
export interface ReadBodyOptions extends WriteOptions {
  /**
   * Called with a few elements at a time (for GeoJSON: those made from the features) before they are checked. Returns the elements
   * to store instead, one for each. If it changes none, it must return the same list, so that their texts can be stored unchanged.
   */
  transform?: (elements: readonly unknown[]) => Promise<readonly unknown[]>;
}

/** Parsed elements in original order, not checked yet. Elements without an id get one. */
export type ElementSource = Iterable<unknown> | AsyncIterable<unknown>;

/**
 * A pending write: its elements are stored but not visible yet, and protected from the sweep. It must be ended by `commit` or
 * `discard`.
 */
export interface ElementWrite<Value> {
  /** The stored elements, or what {@link map} made of them. */
  readonly value: Value;
  /** Returns the write with another value, made from the stored elements. If that fails, the write is discarded. */
  map<Other>(make: (value: Value) => Promise<Other>): Promise<ElementWrite<Other>>;
  /**
   * Ends the write.
   *
   * @param publish makes the elements visible by one atomic write of a document that refers to them. If it refuses, the elements
   * are removed. After any other failure they stay until the sweep, because they may be visible. It must not call the store's
   * writing methods.
   * @returns the result of `publish`.
   * @throws the error of `publish`; LargeImageError `unavailable` if the lease of the write has expired; the signal's reason if it
   * is aborted.
   */
  commit<Result>(publish: (value: Value) => Promise<Result>): Promise<Result>;
  /** Removes the stored elements. */
  discard(): Promise<void>;
}

/** A JSON body whose lists of elements were stored while it was read. */
export interface ReceivedBody {
  /** The parsed body without the lists that were stored: their keys are removed. Not checked against any schema. */
  value: unknown;
  /**
   * The elements of an object in `value`: `elements` of an annotation document, or the features of a GeoJSON FeatureCollection
   * turned into elements. `null` if there was no such list (an empty list is stored, with count 0).
   */
  elementsOf: (body: unknown) => StoredElements | null;
  /** The annotation of the first feature of a FeatureCollection in `value` (name, description, …; `properties.annotation`), unchecked. */
  annotationOf: (collection: unknown) => Record<string, unknown> | null;
  /** Number of features without a shape in a FeatureCollection in `value`. */
  skippedCountOf: (collection: unknown) => number;
}

/** Changes to the elements of an annotation. */
export interface ElementChanges {
  /**
   * Elements that replace the stored elements with their ids. All others are added at the end, in this order, with a new id if they
   * have none. They are not checked yet; an error names the index in this list.
   */
  put?: readonly unknown[];
  /**
   * Ids of elements to remove; unknown ids are ignored. If an id is also in `put`, the stored element is removed and the new one is
   * added at the end.
   */
  remove?: Iterable<string>;
}

/** Result of {@link ElementStore.change}. */
export interface ChangedElements {
  stored: StoredElements;
  /** Ids of the elements in `put`, in its order, including new ones. */
  ids: string[];
  replaced: number;
  added: number;
  removed: number;
}

/** Result of {@link ElementStore.read}, which resolves when the first chunk has been made. */
export interface ElementReading {
  /**
   * Compact JSON texts of the elements, joined by commas, without brackets; about 64 KiB to 1 MiB at a time, in UTF-8. They can be
   * read once, at any pace: nothing is fetched in advance.
   */
  chunks: AsyncIterable<Buffer>;
  /** Counts the elements sent so far; complete when `chunks` has ended. Used by `elementQueryEcho`. */
  budget: ElementBudget;
  /** Box around the elements sent so far; `null` if there are none. Kept only if the query has `bbox`. */
  readonly box: BoundingBox | null;
  /** Original order of each element sent so far, in ascending order. Empty unless the query has `orders`. */
  readonly orders: readonly number[];
}

/** Result of {@link ElementStore.readCentroids}. */
export interface CentroidReading {
  /**
   * Whole records of 28 bytes: id (12 bytes), x and y of the center and the diagonal (float32), and the row of the appearance in
   * `props` (int32). The numbers are little-endian.
   */
  chunks: AsyncIterable<Buffer>;
  /** See {@link ElementReading.budget}. */
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
  /** `null` if the element has none. */
  group: string | null;
  text: Buffer;
}

/** Appearance of elements: everything that is visible of them when they are smaller than a pixel. */
export interface ElementAppearance {
  type: AnnotationElement['type'];
  /** `null` if the elements have none. */
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
  /** Index of the pack's window in {@link StoredElements.windows}. Packs of a later window are drawn later. */
  windowIndex: number;
}

/** Boxes and appearances of the elements of a pack, without their shapes. Arrays of the same length, in no particular order. */
export interface PackMarks {
  summary: PackSummary;
  /** Four numbers for each element: lowx, lowy, highx, highy. */
  boxes: Float64Array;
  /** Original order, as in {@link ScannedElement.order}. */
  orders: Float64Array;
  /** Index into `appearances` for each element. */
  appearanceIndices: Uint32Array;
  appearances: readonly ElementAppearance[];
}

/** A part of the table of an annotation: measurements of elements of one window, column by column. */
export interface TableSegment {
  /** Index of the window in {@link StoredElements.windows}. */
  windowIndex: number;
  header: SegmentHeader;
  /** Ranges of rows whose elements have not changed since the segment was written: the first row, and the row after the last one. */
  liveRanges: readonly (readonly [from: number, to: number])[];
  /** Loads the bytes of columns of the header, in the requested order; see `decodeNumbers` and `decodeTexts`. */
  loadColumns: (columns: readonly SegmentColumn[], signal?: AbortSignal) => Promise<Buffer[]>;
  /** Loads packs by their indices in the header. They must have live rows. */
  loadPacks: (packIndices: readonly number[], signal?: AbortSignal) => Promise<RawPack[]>;
}

/** Packs of one window, which are loaded encoded. */
export interface WindowPacks {
  /** Id of the window, which never changes, so that it can be a key of caches. */
  id: string;
  /** Index of the window in {@link StoredElements.windows}. */
  windowIndex: number;
  load(signal?: AbortSignal): Promise<RawPack[]>;
}

/** The table of an annotation. */
export interface StoredTable {
  segments: TableSegment[];
  /** By window: the packs that are in no segment, because they were changed or the window is small. There are few per window. */
  loosePacks: WindowPacks[];
}

/** Conditions that all elements to read must meet, see `matchesConditions`. */
export interface ScanOptions extends StoreOptions {
  conditions?: readonly BoxCondition[];
}

/**
 * Consecutive changes of one family, see {@link ElementStore.edit}. Each reads the elements as the changes before it left them.
 */
export interface ElementEditing extends Pick<ElementStore, 'find' | 'scan'> {
  /** Loads in advance, in as few queries as possible, everything that changes of these elements need. */
  preload(stored: StoredElements, ids: readonly string[]): Promise<void>;
  /**
   * Like {@link ElementStore.change}. A failed change stores nothing, and further changes are possible. After a change whose `base`
   * has no elements, no further change is possible.
   */
  change(base: StoredElements, changes: ElementChanges, options?: ChangeOptions): Promise<ChangedElements>;
}

/** Result of {@link ElementStore.sweep}. */
export interface SweepReport {
  /** Number of checked families. Families that are being written are left for the next sweep. */
  families: number;
  /** Number of removed documents: packs, windows, and parts of indexes and tables. */
  removed: number;
  /** Number of families with records that no document refers to. Counted only if all families are checked. */
  abandoned: number;
}

/**
 * Stores the elements of annotations in immutable packs. Elements are invisible until the document of an annotation refers to them,
 * and {@link ElementStore.sweep} removes those that no document refers to. So a new version, a copy or a rename writes only one
 * document.
 *
 * Invalid elements are refused with BadParameterError (400) before anything is published, with the messages of
 * `createElementValidator`.
 */
export interface ElementStore {
  /** Creates the indexes of the collections. */
  createIndexes(): Promise<void>;

  /** The value for an annotation without elements. */
  readonly noElements: StoredElements;

  /** Milliseconds since a write last received elements or ended. Background work waits until this is large enough. */
  readonly idleMs: number;

  /**
   * Reads a JSON body while it arrives, never keeping all of it in memory: elements are checked and stored window by window (about
   * 100 MB of memory for any length). Lists of elements are `elements`, `annotation.elements` and `features`, of the body or,
   * if it is a list, of each of its entries. The rest of the body can have 8 MiB.
   *
   * @throws BadParameterError for broken JSON, invalid elements, repeated ids, `elements` that is not a list, an element longer
   * than 32 MiB, or a body that ends early; LargeImageError `too-large` if the rest of the body is too long. After an error, nothing is kept.
   */
  readBody(body: BodySource, options?: ReadBodyOptions): Promise<ElementWrite<ReceivedBody>>;

  /** Stores elements that are in memory, as a new family. @throws BadParameterError like `readBody`. */
  write(source: ElementSource, options?: StoreOptions): Promise<ElementWrite<StoredElements>>;

  /**
   * Adds, replaces and removes elements by id; only the affected packs are written. `base` is not changed. The value passed to
   * `commit` must replace `base` in the annotation's document, in one atomic write that fails if the document has changed (compare
   * `_version`). In that case throw a conflict, or call `change` again with the newer base.
   *
   * @throws BadParameterError for invalid elements and for ids that are repeated in `put`.
   */
  change(base: StoredElements, changes: ElementChanges, options?: ChangeOptions): Promise<ElementWrite<ChangedElements>>;

  /**
   * Makes several changes of one annotation, each based on the result of the one before, and stores and publishes them together.
   * Otherwise like `change`.
   */
  edit<Value>(makeChanges: (editing: ElementEditing) => Promise<Value>, options?: StoreOptions): Promise<ElementWrite<Value>>;

  /**
   * Keeps sweeps away from a family while `publish` runs. This is needed to write a second document (copy, revert) with the elements
   * of a first one. `publish` must read the first document itself, because that one may be removed before `publish` is called.
   *
   * @throws LargeImageError `unavailable` (503) if a sweep of this family does not end within seconds.
   */
  keepFamilyWhile<Result>(family: string, publish: () => Promise<Result>): Promise<Result>;

  /** Elements by id, as stored; unknown ids are missing from the map. */
  find(stored: StoredElements, ids: Iterable<string>, options?: StoreOptions): Promise<Map<string, AnnotationElement>>;

  /** Reads elements as JSON text, selected and ordered by the query. Errors of the first chunk reject the promise. */
  read(stored: StoredElements, query: ElementQuery, options?: StoreOptions): Promise<ElementReading>;

  /** Reads centers, sizes and appearances of elements, without loading their shapes. Selects and orders like `read`. */
  readCentroids(stored: StoredElements, query: ElementQuery, options?: StoreOptions): Promise<CentroidReading>;

  /** Parsed elements in original order, one at a time, for export. */
  scan(stored: StoredElements, options?: ScanOptions): AsyncIterable<ScannedElement>;

  /** Like {@link ElementStore.scan}, but yields texts, which the caller parses. */
  scanTexts(stored: StoredElements, options?: ScanOptions): AsyncIterable<ElementText>;

  /** Opens the table of measurements of all elements. Its columns are loaded later. */
  readTable(stored: StoredElements, options?: StoreOptions): Promise<StoredTable>;

  /** Lists all packs, window by window, for readers that need shapes and measurements together. */
  listPacks(stored: StoredElements, options?: StoreOptions): Promise<WindowPacks[]>;

  /** Lists the packs that may contain elements which satisfy the conditions. Reads only pack indexes. */
  listPackSummaries(stored: StoredElements, options?: ScanOptions): Promise<PackSummary[]>;

  /**
   * Loads boxes and appearances, pack by pack.
   *
   * @param options `packs`: the packs to load; default: all that may contain elements which satisfy the conditions.
   */
  loadPackMarks(stored: StoredElements, options?: ScanOptions & { packs?: readonly PackSummary[] }): AsyncIterable<PackMarks>;

  /**
   * Removes records that no document refers to. Families with a pending write are skipped. A write whose process has died, or that
   * has been silent for more than `staleMs`, does not count as pending.
   *
   * @param elementsOf returns the stored elements of all documents of a family: annotations and previous versions.
   * @param options `families`: the families to sweep, for example after an annotation was removed; default: all. `dryRun`: nothing
   * is removed.
   */
  sweep(
    elementsOf: (family: string) => Promise<Iterable<StoredElements>> | AsyncIterable<StoredElements>,
    options?: StoreOptions & { families?: Iterable<string>; staleMs?: number; dryRun?: boolean },
  ): Promise<SweepReport>;

  /** Lists the families that a process was writing or sweeping when it was killed. */
  listAbandonedFamilies(): Promise<string[]>;
}
