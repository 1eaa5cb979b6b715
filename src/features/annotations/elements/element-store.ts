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
  /** Id of the window; 24 hexadecimal digits. */
  id: string;
  count: number;
  detailsCount: number;
  /** Box around the elements. Its `size` is the size of the largest element, not of the box. */
  box: BoundingBox;
  /** Smallest and largest element id. */
  lowId: string;
  highId: string;
}

/**
 * The elements of one version of an annotation: a small plain value (about 300 bytes per 65,536 elements) in the field `elements`
 * of the annotation's document. The value never changes. Several documents can have the same value, such as previous versions and copies.
 */
export interface StoredElements {
  /**
   * Id of the family; 24 hexadecimal digits. Elements of the same family may share packs: {@link ElementStore.write} makes a new family,
   * and changes, previous versions and copies keep the family. Documents need an index on `elements.family`, because
   * {@link ElementStore.sweep} asks for the documents of a family.
   */
  family: string;
  /** Id of this content; 24 hexadecimal digits. Two values with the same `content` have the same elements. */
  content: string;
  /** Number of elements, which responses show as `_elementCount`. */
  count: number;
  /** Sum of the details of the elements, which responses show as `_detailsCount`. */
  detailsCount: number;
  /** Distinct groups, sorted. If some element has no group, `null` comes last. */
  groups: (string | null)[];
  /** Box around all elements, with the `size` of the largest element; `null` if there are no elements. */
  box: BoundingBox | null;
  windows: StoredWindow[];
  /**
   * Ids of the items to which image and pixelmap elements refer, sorted, without duplicates. `change` only adds ids: a caller that
   * removes or replaces such elements must compute the ids again.
   */
  references: string[];
}

/** Options of all operations of the store. When the signal is aborted, the operation rejects with the signal's reason. */
export interface StoreOptions {
  signal?: AbortSignal;
}

/** Options of functions that store elements. */
export interface WriteOptions extends StoreOptions {
  /** Finds the sizes of images that the writer may read, for the boxes of image and pixelmap elements. Default: the store's function. */
  overlaySizes?: FindOverlaySize | undefined;
}

/** Options of {@link ElementStore.change}. */
export interface ChangeOptions extends WriteOptions {
  /**
   * Makes the error for an invalid element. Default: the error of create and PUT. Callers must pass the same function each time,
   * because the store keeps a validator for each function.
   */
  makeError?: MakeError;
  /** Returns the name of the nth element for messages. Default: `elements[n]`. */
  nameOf?: NameElement;
}

/** A request body, either complete or as a stream of chunks. */
export type BodySource = Buffer | AsyncIterable<Uint8Array>;

/** Options of {@link ElementStore.readBody}. */
export interface ReadBodyOptions extends WriteOptions {
  /**
   * Receives a few unchecked elements at a time (for GeoJSON: the elements made from the features). Returns the elements to store
   * instead, one for each. If the function changes no element, it must return the same list, so that the texts are stored unchanged.
   */
  transform?: (elements: readonly unknown[]) => Promise<readonly unknown[]>;
}

/** Parsed, unchecked elements in original order. Elements without an id get a new one. */
export type ElementSource = Iterable<unknown> | AsyncIterable<unknown>;

/**
 * A pending write. Its elements are stored and protected from the sweep, but not visible yet. The caller must end the write by `commit`
 * or `discard`.
 */
export interface ElementWrite<Value> {
  /** The stored elements, or the value that {@link map} made from them. */
  readonly value: Value;
  /** Returns the same write with the value that `make` returns. If `make` fails, the write is discarded. */
  map<Other>(make: (value: Value) => Promise<Other>): Promise<ElementWrite<Other>>;
  /**
   * Ends the write.
   *
   * @param publish makes the elements visible by one atomic write of a document that refers to them. If `publish` throws a
   * LargeImageError, the elements are removed. After any other error they stay until the sweep, because they may be visible. `publish`
   * must not call the store's writing methods.
   * @returns the result of `publish`.
   * @throws LargeImageError `unavailable` if the lease of the write has expired. Also throws the error of `publish`, and the signal's
   * reason when it aborts.
   */
  commit<Result>(publish: (value: Value) => Promise<Result>): Promise<Result>;
  /** Removes the stored elements. */
  discard(): Promise<void>;
}

/** A JSON body whose lists of elements were stored while it was read. */
export interface ReceivedBody {
  /** The parsed body, not checked against any schema. The keys of the lists that were stored are removed. */
  value: unknown;
  /**
   * The elements of an object in `value`: the `elements` of an annotation document, or the elements made from the features of a GeoJSON
   * FeatureCollection. `null` if the object had no such list. For an empty list, the count is 0.
   */
  elementsOf: (body: unknown) => StoredElements | null;
  /** The unchecked `properties.annotation` (name, description and so on) of the first feature of a FeatureCollection in `value`. */
  annotationOf: (collection: unknown) => Record<string, unknown> | null;
  /** Number of features without a shape in a FeatureCollection in `value`. */
  skippedCountOf: (collection: unknown) => number;
}

/** Changes to the elements of an annotation. */
export interface ElementChanges {
  /**
   * Unchecked elements to store. An element whose id is stored already replaces the stored element. Every other element is added at the
   * end, in this order, with a new id if it has none. Errors name the index of an element in this list.
   */
  put?: readonly unknown[];
  /**
   * Ids of elements to remove. Unknown ids are ignored. If an id is also in `put`, the stored element is removed and the new element is
   * added at the end.
   */
  remove?: Iterable<string>;
}

/** Result of {@link ElementStore.change}. */
export interface ChangedElements {
  stored: StoredElements;
  /** Ids of the elements in `put`, in the same order, including new ids. */
  ids: string[];
  /** Number of stored elements that were replaced. */
  replaced: number;
  /** Number of elements that were added at the end. */
  added: number;
  /** Number of stored elements that were removed. */
  removed: number;
}

/** Result of {@link ElementStore.read}, which resolves when the first chunk has been made. */
export interface ElementReading {
  /** Compact JSON texts of the elements in UTF-8, joined by commas, without brackets. The chunks can be read once, at any pace. */
  chunks: AsyncIterable<Buffer>;
  /** Counts the elements sent so far. The counts are final when `chunks` has ended. */
  budget: ElementBudget;
  /** Box around the elements sent so far; `null` if there are none, or if the query does not request boxes. */
  readonly box: BoundingBox | null;
  /** Original order of each element sent so far, in ascending order. Empty if the query does not request orders. */
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
  /** The rows to which the records refer. All rows are known when `chunks` has ended. */
  props: CentroidPropTable;
}

/** An element with its box and its position. */
export interface ScannedElement {
  element: AnnotationElement;
  box: BoundingBox;
  /** Position in the original order. It grows by at least 1 from each element to the next. */
  order: number;
}

/** A stored element as JSON text. Its buffer also contains the texts of other elements. */
export interface ElementText extends Omit<ScannedElement, 'element'> {
  type: AnnotationElement['type'];
  /** `null` if the element has no group. */
  group: string | null;
  text: Buffer;
}

/** The appearance of elements: all their fields that matter when they are drawn smaller than a pixel. */
export interface ElementAppearance {
  type: AnnotationElement['type'];
  /** `null` if the elements have no group. */
  group: string | null;
  fillColor: string | null;
  lineColor: string | null;
  lineWidth: number | null;
  closed: boolean | null;
}

/** Facts about a pack (up to 128 neighboring elements of similar size) that are known without loading the pack. */
export interface PackSummary {
  /** Id of the pack, which never changes, so that it can be a key of caches. 24 hexadecimal digits. */
  id: string;
  count: number;
  detailsCount: number;
  /** Box around the elements. Its `size` is the size of the largest element, not of the box. */
  box: BoundingBox;
  /** Index of the pack's window in {@link StoredElements.windows}. Packs of a later window are drawn later. */
  windowIndex: number;
}

/** Boxes and appearances of the elements of a pack, without their shapes. All arrays list the elements in the same arbitrary order. */
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
  /** Ranges of rows whose elements have not changed since the segment was written. `to` is exclusive. */
  liveRanges: readonly (readonly [from: number, to: number])[];
  /** Loads the bytes of columns of the header, in the requested order; see `decodeNumbers` and `decodeTexts`. */
  loadColumns: (columns: readonly SegmentColumn[], signal?: AbortSignal) => Promise<Buffer[]>;
  /** Loads packs by their indices in the header. Each of these packs must have live rows. */
  loadPacks: (packIndices: readonly number[], signal?: AbortSignal) => Promise<RawPack[]>;
}

/** Packs of one window. `load` returns them still encoded. */
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
  /** The packs that are in no segment, by window. These are the packs of small windows and packs that were changed: few per window. */
  loosePacks: WindowPacks[];
}

/** Options of reading elements. Only elements that meet all conditions are read. */
export interface ScanOptions extends StoreOptions {
  conditions?: readonly BoxCondition[];
}

/**
 * Consecutive changes of one family, see {@link ElementStore.edit}. Each change sees the elements as the previous changes left them.
 */
export interface ElementEditing extends Pick<ElementStore, 'find' | 'scan'> {
  /** Loads everything that changes of these elements will need, in as few queries as possible. */
  preload(stored: StoredElements, ids: readonly string[]): Promise<void>;
  /**
   * Like {@link ElementStore.change}. A failed change stores nothing, and further changes are possible. After a change whose `base`
   * has no elements, no further change is possible.
   */
  change(base: StoredElements, changes: ElementChanges, options?: ChangeOptions): Promise<ChangedElements>;
}

/** Result of {@link ElementStore.sweep}. */
export interface SweepReport {
  /** Number of checked families. Families with a pending write are left for the next sweep. */
  families: number;
  /** Number of removed documents: packs, windows, and parts of indexes and tables. */
  removed: number;
  /** Number of families with records to which no document refers. Counted only if all families are checked. */
  abandoned: number;
}

/**
 * Stores the elements of annotations in immutable packs. Elements are invisible until the document of an annotation refers to them,
 * and {@link ElementStore.sweep} removes elements to which no document refers. So a new version, a copy or a rename writes only
 * one document.
 *
 * Invalid elements are refused with BadParameterError (400) before anything is published, with the messages of
 * `createElementValidator`.
 */
export interface ElementStore {
  createIndexes(): Promise<void>;

  /** The stored elements of an annotation that has none. */
  readonly noElements: StoredElements;

  /** Milliseconds since a write last received elements or ended. Background work waits until this time is long enough. */
  readonly idleMs: number;

  /**
   * Reads a JSON body while it arrives. Elements are checked and stored window by window, so that a body of any length takes about
   * 100 MB of memory. The lists of elements are `elements`, `annotation.elements` and `features`, in the body itself or in each entry of
   * a body that is a list. The rest of the body can have 8 MiB.
   *
   * @throws BadParameterError for broken JSON, invalid elements, repeated ids, `elements` that is not a list, an element longer
   * than 32 MiB, or a body that ends early. Throws LargeImageError `too-large` if the rest of the body is too long. After an error,
   * nothing remains stored.
   */
  readBody(body: BodySource, options?: ReadBodyOptions): Promise<ElementWrite<ReceivedBody>>;

  /** Stores elements that are in memory, as a new family. @throws BadParameterError like `readBody`. */
  write(source: ElementSource, options?: StoreOptions): Promise<ElementWrite<StoredElements>>;

  /**
   * Adds, replaces and removes elements by id. Only the affected packs are written. `base` is not changed. The function passed to
   * `commit` must replace `base` in the annotation's document, in one atomic write that fails if the document has changed (compare
   * `_version`). If that write fails, throw a conflict, or call `change` again with the newer base.
   *
   * @throws BadParameterError for invalid elements and for ids that are repeated in `put`.
   */
  change(base: StoredElements, changes: ElementChanges, options?: ChangeOptions): Promise<ElementWrite<ChangedElements>>;

  /**
   * Makes several changes of one annotation, each based on the result of the previous change, and stores and publishes them together.
   * Otherwise like `change`.
   */
  edit<Value>(makeChanges: (editing: ElementEditing) => Promise<Value>, options?: StoreOptions): Promise<ElementWrite<Value>>;

  /**
   * Keeps sweeps away from a family while `publish` runs. This is needed to write a second document (copy, revert) with the elements
   * of a first document. `publish` must read the first document itself, because that document may be removed before `publish` is called.
   *
   * @throws LargeImageError `unavailable` (503) if a sweep of this family does not end within seconds.
   */
  keepFamilyWhile<Result>(family: string, publish: () => Promise<Result>): Promise<Result>;

  /** Finds elements by id. Unknown ids are missing from the map. */
  find(stored: StoredElements, ids: Iterable<string>, options?: StoreOptions): Promise<Map<string, AnnotationElement>>;

  /** Reads elements as JSON text, selected and ordered by the query. Errors of the first chunk reject the promise. */
  read(stored: StoredElements, query: ElementQuery, options?: StoreOptions): Promise<ElementReading>;

  /** Reads centers, sizes and appearances of elements, without loading their shapes. Selects and orders like `read`. */
  readCentroids(stored: StoredElements, query: ElementQuery, options?: StoreOptions): Promise<CentroidReading>;

  /** Yields parsed elements in original order, one at a time. */
  scan(stored: StoredElements, options?: ScanOptions): AsyncIterable<ScannedElement>;

  /** Like {@link ElementStore.scan}, but yields the elements as texts. */
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
   * @param options `packs`: the packs to load. Default: all packs that may contain elements which satisfy the conditions.
   */
  loadPackMarks(stored: StoredElements, options?: ScanOptions & { packs?: readonly PackSummary[] }): AsyncIterable<PackMarks>;

  /**
   * Removes records to which no document refers. Families with a pending write are skipped. A write does not count as pending if its
   * process has died, or if it has not renewed its lease for more than `staleMs`.
   *
   * @param elementsOf returns the stored elements of all documents of a family: annotations and previous versions.
   * @param options `families`: the families to sweep, for example after an annotation was removed. Default: all. `dryRun`: nothing
   * is removed.
   */
  sweep(
    elementsOf: (family: string) => Promise<Iterable<StoredElements>> | AsyncIterable<StoredElements>,
    options?: StoreOptions & { families?: Iterable<string>; staleMs?: number; dryRun?: boolean },
  ): Promise<SweepReport>;

  /** Lists the families that a process was writing or sweeping when it was killed. */
  listAbandonedFamilies(): Promise<string[]>;
}
