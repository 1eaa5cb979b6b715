import type { BoundingBox } from '../../../annotation-format/bounding-box.js';
import type { CentroidPropTable } from '../../../annotation-format/centroids.js';
import type { ElementBudget, ElementQuery, BoxCondition } from '../../../annotation-format/element-query.js';
import type { RaiseProblem } from '../../../annotation-format/messages.js';
import type { OverlaySizes } from '../../../annotation-format/overlay-sizes.js';
import type { AnnotationElement } from '../../../annotation-format/schema/document.js';
import type { ElementName } from '../../../annotation-format/validate.js';

/** Up to 65 536 elements that follow one another in original order; kept by reference in {@link StoredElements}. */
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
 * The elements of one version of an annotation: a small plain value (about 300 bytes for each 65 536 elements) that a head
 * document holds under the field `elements`. It never changes and may be held by any number of heads (history, copies).
 */
export interface StoredElements {
  /**
   * Marks everything that may share packs: made by {@link ElementStore.write}, kept by `change`, history and copies. Heads need
   * an index on `elements.family`, see {@link ElementStore.sweep}. 24 hexadecimal digits.
   */
  family: string;
  /** Names this content: two values with the same `content` have the same elements. For entity tags. 24 hexadecimal digits. */
  content: string;
  /** Number of elements: `_elementCount`. */
  count: number;
  /** Sum of the details of the elements: `_detailsCount`. */
  detailsCount: number;
  /** Distinct groups, sorted; `null` last where an element has none. */
  groups: (string | null)[];
  /** Box around all elements, `size` that of the largest element; `null` when there is none. */
  box: BoundingBox | null;
  windows: StoredWindow[];
  /**
   * Ids of the items that image and pixelmap elements show, each once and sorted. `change` adds to them and takes none away: whoever
   * removes or replaces such elements counts them anew.
   */
  references: string[];
}

/** Options of everything that takes time. An aborted signal ends it with the signal's reason. */
export interface StoreOptions {
  signal?: AbortSignal;
}

/** Options of what stores elements. */
export interface WriteOptions extends StoreOptions {
  /** For the boxes of image and pixelmap elements, as far as who writes them may know. Default: those of the store. */
  overlaySizes?: OverlaySizes | undefined;
}

/** Options of {@link ElementStore.change}. */
export interface ChangeOptions extends WriteOptions {
  /** Makes the error of an element that is not valid; default: the envelope of create and PUT. Give the same function each time. */
  raise?: RaiseProblem;
  /** What messages call the nth element to put; default: `elements[n]`. */
  nameOf?: ElementName;
}

/** Options of {@link ElementStore.readBody}. */
export interface ReceiveOptions extends WriteOptions {
  /**
   * Called with every few elements (of GeoJSON: those made of the features) before they are checked. Returns what is to be stored in
   * their place, one for each; the same list where nothing is to change, as then their texts are kept.
   */
  prepare?: (elements: readonly unknown[]) => Promise<readonly unknown[]>;
}

/** Elements in original order: parsed, valid or not. They get ids where they have none. */
export type ElementSource = Iterable<unknown> | AsyncIterable<unknown>;

/**
 * A write that has begun: its elements are stored, nobody sees them yet, and the sweeper is kept away from them. It ends with `commit` or
 * `discard`, and one of the two must be called.
 */
export interface ElementWrite<Given> {
  /** What was stored, for the head that is to refer to it. */
  readonly given: Given;
  /** Goes on with something made of what was stored. When that fails, the write is discarded. */
  map<Other>(make: (given: Given) => Promise<Other>): Promise<ElementWrite<Other>>;
  /**
   * Ends the write.
   *
   * @param publish puts the elements where readers find them: one atomic write of a head document. When it refuses, nothing is kept; what
   * any other failure leaves behind is kept for the sweeper, as it may be visible after all. It must not call the store's writing methods.
   * @returns what `publish` returns.
   * @throws what `publish` throws; LargeImageError `unavailable` when the write took too long without a sign of life; the signal's reason.
   */
  commit<Result>(publish: (given: Given) => Promise<Result>): Promise<Result>;
  /** Gives the write up: what was stored is removed. */
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
}

/** What to do to the elements of an annotation. */
export interface ElementChanges {
  /**
   * Elements with the id of a stored one take its place; all others are put at the end, in this order, with a new id where they
   * have none. Unchecked: they are validated, an error names the index in this list.
   */
  put?: readonly unknown[];
  /** Ids of elements to remove; ids that are not there are ignored. An id in `put` too: removed first, then put at the end. */
  remove?: Iterable<string>;
}

/** What {@link ElementStore.change} did. */
export interface ChangedElements {
  stored: StoredElements;
  /** Ids of `put`, in its order, with those given by the store. */
  ids: string[];
  replaced: number;
  added: number;
  removed: number;
}

/** Answer of {@link ElementStore.read}: what could fail early has been tried. */
export interface ElementReading {
  /**
   * Compact JSON texts of the elements, joined by commas, without brackets around them; about 64 KiB to 1 MiB at a time. Read it
   * once and at your own pace: nothing further is fetched before it is asked for. Bytes are UTF-8.
   */
  chunks: AsyncIterable<Buffer>;
  /** What was sent so far; complete when `chunks` has ended. For `elementQueryEcho`. */
  budget: ElementBudget;
  /** Box around the elements sent so far; `null` when none was. Kept only when the query has `bbox`. */
  readonly box: BoundingBox | null;
  /** Places of the elements sent so far among all, growing from each to the next. Kept only when the query has `orders`. */
  readonly orders: readonly number[];
}

/** Answer of {@link ElementStore.centroids}. */
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

/** How an element of a pack appears: all that matters where they are smaller than a pixel. */
export interface ElementAppearance {
  type: AnnotationElement['type'];
  /** `null`: not given. */
  group: string | null;
  fillColor: string | null;
  lineColor: string | null;
  lineWidth: number | null;
  closed: boolean | null;
}

/** What is known of a pack (up to 128 neighbouring elements of similar size) without fetching it. */
export interface PackSummary {
  /** Never changes its meaning: a key for caches. 24 hexadecimal digits. */
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

/** Which part of the elements a drawing needs: all conditions must hold, see `matchesConditions`. */
export interface ScanOptions extends StoreOptions {
  conditions?: readonly BoxCondition[];
}

/** Changes that follow one another, see {@link ElementStore.edit}: it sees what they have made. All are of one family. */
export interface ElementEditing extends Pick<ElementStore, 'find' | 'scan'> {
  /** Gets ready for changes of these elements: what is read together is read at once. */
  prepare(stored: StoredElements, ids: readonly string[]): Promise<void>;
  /**
   * As {@link ElementStore.change}; one that fails leaves nothing, and others may follow. After one whose `base` has no elements none may
   * follow.
   */
  change(base: StoredElements, changes: ElementChanges, options?: ChangeOptions): Promise<ChangedElements>;
}

/** What {@link ElementStore.sweep} did. */
export interface SweepReport {
  /** Families looked at; those in use by a write at the time are left for the next sweep. */
  families: number;
  /** Documents removed: packs, windows, indexes. */
  removed: number;
  /** Families with something that no head refers to; only counted where all families are looked at. */
  abandoned: number;
}

/**
 * Stores the elements of annotations in immutable packs. Nothing that is written can be seen before a head document refers to it, and
 * what no head refers to is removed by {@link ElementStore.sweep}: a version, a copy or a rename costs one head document.
 *
 * Bad elements are refused with BadParameterError (400) before anything is published, in the words of `createElementValidator`.
 */
export interface ElementStore {
  /** Creates the indexes. */
  prepare(): Promise<void>;

  /** The elements of an annotation without any: nothing is stored. */
  readonly empty: StoredElements;

  /** Milliseconds since elements were last received or changed through this store; work that can wait lets writes go first. */
  readonly idleMs: number;

  /**
   * Reads a JSON body as it comes in, never the whole in memory: elements are checked and stored window by window (about 100 MB
   * of memory for any length). Lists of elements are recognised as `elements` of the body, of its `annotation`, and of
   * the same in each entry of a body that is a list; `features` likewise. All else may come to 8 MiB.
   *
   * @throws BadParameterError for broken JSON, invalid elements, repeated ids, `elements` that is no list, an element longer than 32 MiB, or a body that ends early;
   * LargeImageError `too-large` when all else is too long. Nothing is kept then.
   */
  readBody(body: Buffer | AsyncIterable<Uint8Array>, options?: ReceiveOptions): Promise<ElementWrite<ReceivedBody>>;

  /** Stores elements that are at hand, as a new family. @throws BadParameterError as `readBody`. */
  write(source: ElementSource, options?: StoreOptions): Promise<ElementWrite<StoredElements>>;

  /**
   * Adds, replaces and removes elements by id; only the packs concerned are written. `base` stays as it is. What is given to `commit` must
   * make the head change from `base` to the new value in one atomic step that fails when the head has moved on (compare `_version`);
   * throw a conflict then, or call `change` again on the newer base.
   *
   * @throws BadParameterError for invalid elements and for ids that stand twice in `put`.
   */
  change(base: StoredElements, changes: ElementChanges, options?: ChangeOptions): Promise<ElementWrite<ChangedElements>>;

  /** Several changes of one annotation, each made on what the one before has left, that are stored and published together. Else as `change`. */
  edit<Given>(make: (editing: ElementEditing) => Promise<Given>, options?: StoreOptions): Promise<ElementWrite<Given>>;

  /**
   * Runs `publish` while no sweep can remove anything of a family: for writing a second head (copy, revert) that shares the elements of a
   * first one. Read the first head inside `publish`: before, it may be gone.
   *
   * @throws LargeImageError `unavailable` (503) when a sweep of this family does not end within seconds.
   */
  share<Result>(family: string, publish: () => Promise<Result>): Promise<Result>;

  /** Elements by id, as stored; ids that are not there are absent from the map. */
  find(stored: StoredElements, ids: Iterable<string>, options?: StoreOptions): Promise<Map<string, AnnotationElement>>;

  /** Elements as JSON text, in the order and number that the query asks for. Directories are loaded before the promise resolves. */
  read(stored: StoredElements, query: ElementQuery, options?: StoreOptions): Promise<ElementReading>;

  /** Centres, sizes and appearances of elements, from the packs' columns without the shapes. Selects and orders like `read`. */
  centroids(stored: StoredElements, query: ElementQuery, options?: StoreOptions): Promise<CentroidReading>;

  /** Parsed elements in original order, one at a time, for export. */
  scan(stored: StoredElements, options?: ScanOptions): AsyncIterable<ScannedElement>;

  /** The same as texts, for whoever parses them elsewhere. */
  texts(stored: StoredElements, options?: ScanOptions): AsyncIterable<ElementText>;

  /** Packs that may hold elements which satisfy the conditions; from the pack indexes alone. */
  summaries(stored: StoredElements, options?: ScanOptions): Promise<PackSummary[]>;

  /** Boxes and appearances, pack by pack, of all packs that may hold elements which satisfy the conditions; or of the packs given. */
  marks(stored: StoredElements, options?: ScanOptions & { packs?: readonly PackSummary[] }): AsyncIterable<PackMarks>;

  /**
   * Removes what no head refers to. Families in use by a write that is going on are left alone; the leavings of a process
   * that died are removed when that is seen, or when it has been silent for more than `staleMs`.
   *
   * @param heads the stored elements of all heads of a family: current versions and kept older ones.
   * @param options `families`: only these, e.g. after an annotation was removed. Default: all. `dryRun`: only looks at all of them.
   */
  sweep(
    heads: (family: string) => Promise<Iterable<StoredElements>> | AsyncIterable<StoredElements>,
    options?: StoreOptions & { families?: Iterable<string>; staleMs?: number; dryRun?: boolean },
  ): Promise<SweepReport>;

  /** Families that a process was writing or sweeping which has ended. */
  abandonedFamilies(): Promise<string[]>;
}
