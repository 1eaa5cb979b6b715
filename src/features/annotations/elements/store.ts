import { schemaError, type MakeError } from '../../../annotation-format/messages.js';
import type { ElementQuery } from '../../../annotation-format/element-query.js';
import type { FindOverlaySize } from '../../../annotation-format/overlay-sizes.js';
import type { AnnotationElement } from '../../../annotation-format/schema/document.js';
import { createElementValidator, type ElementValidator } from '../../../annotation-format/validate.js';
import type { ChangeTools } from './write/change.js';
import { Editing } from './write/editing.js';
import { LongElements } from './write/long-elements.js';
import type {
  BodySource,
  ChangeOptions,
  CentroidReading,
  ChangedElements,
  ElementChanges,
  ElementEditing,
  ElementReading,
  ElementSource,
  ElementStore,
  PackMarks,
  PackSummary,
  ElementWrite,
  ReceivedBody,
  ReadBodyOptions,
  ElementText,
  ScannedElement,
  ScanOptions,
  StoredElements,
  StoredTable,
  StoreOptions,
  WindowPacks,
  WriteOptions,
  SweepReport,
} from './element-store.js';
import { FamilyLease } from './leases.js';
import { IdMaker } from './packs/ids.js';
import { defaultPackLayout, type PackLayout } from './packs/pack-layout.js';
import { noElements } from './write/list-writer.js';
import { ElementLoader } from './read/loader.js';
import { findElements } from './read/locate.js';
import { readCentroids, readElements } from './read/reading.js';
import { receiveBody } from './write/receive.js';
import type { ElementRecords } from './records.js';
import { scanElementTexts, loadPackMarks, listPackSummaries, scanElements } from './read/scan.js';
import { listWindowPacks, readTable } from './read/read-table.js';
import { sweepFamilies, type ElementsOfFamily, type SweepOptions } from './sweep.js';
import { writeElements } from './write/write.js';
import { hasEnded } from '../../../core/database/leases/process-name.js';

/** Dependencies and options of an element store. */
export interface ElementStoreOptions {
  records: ElementRecords;
  /** The host's brand. The field in which an image or pixelmap element names its item is called after the brand. */
  brand: string;
  /** Finds the sizes of images, for the boxes of image and pixelmap elements. */
  overlaySizes: FindOverlaySize;
  /** Memory for pack indexes in bytes. Default 64 MiB. The pack indexes of 200 million elements would need ten times as much. */
  packIndexCacheBytes?: number;
  /** Default: {@link defaultPackLayout}. Tests use smaller packs and windows. */
  layout?: PackLayout;
}

const defaultPackIndexCacheBytes = 64 * 1024 * 1024;

/** The element store. It keeps elements in packs, and packs in {@link ElementRecords}. */
export class PackedElementStore implements ElementStore {
  readonly noElements: StoredElements = noElements;
  readonly #tools: ChangeTools;
  /** When a write last received elements or ended, by `performance.now()`. */
  #lastWriteMs = -Infinity;
  readonly #validators = new Map<MakeError, ElementValidator>();

  constructor(options: ElementStoreOptions) {
    const { records, brand, overlaySizes } = options;
    const { packIndexCacheBytes = defaultPackIndexCacheBytes, layout = defaultPackLayout } = options;
    this.#tools = {
      records,
      brand,
      overlaySizes,
      layout,
      ids: new IdMaker(),
      loader: new ElementLoader(records, packIndexCacheBytes),
      validate: createElementValidator(brand),
      longElements: new LongElements(brand),
      recordActivity: () => {
        this.#lastWriteMs = performance.now();
      },
      validatorFor: (makeError) => this.#validatorFor(makeError),
    };
    this.#validators.set(schemaError, this.#tools.validate);
  }

  #validatorFor(makeError: MakeError): ElementValidator {
    let validator = this.#validators.get(makeError);
    if (validator === undefined) {
      validator = createElementValidator(this.#tools.brand, makeError);
      this.#validators.set(makeError, validator);
    }
    return validator;
  }

  #toolsFor({ overlaySizes }: WriteOptions): ChangeTools {
    return overlaySizes === undefined ? this.#tools : { ...this.#tools, overlaySizes };
  }

  get idleMs(): number {
    return performance.now() - this.#lastWriteMs;
  }

  createIndexes(): Promise<void> {
    return this.#tools.records.createIndexes();
  }

  /** Stops the threads of this store. */
  close(): Promise<void> {
    return this.#tools.longElements.close();
  }

  readBody(body: BodySource, options: ReadBodyOptions = {}): Promise<ElementWrite<ReceivedBody>> {
    return receiveBody(this.#toolsFor(options), body, options);
  }

  write(source: ElementSource, options: WriteOptions = {}): Promise<ElementWrite<StoredElements>> {
    return writeElements(this.#toolsFor(options), source, options.signal);
  }

  change(base: StoredElements, changes: ElementChanges, options: ChangeOptions = {}): Promise<ElementWrite<ChangedElements>> {
    return this.edit((editing) => editing.change(base, changes, options), options);
  }

  edit<Value>(
    makeChanges: (editing: ElementEditing) => Promise<Value>,
    options: StoreOptions = {},
  ): Promise<ElementWrite<Value>> {
    return Editing.begin(this.#tools, makeChanges, options.signal);
  }

  async keepFamilyWhile<Result>(family: string, publish: () => Promise<Result>): Promise<Result> {
    if (family === noElements.family) return publish();
    const lease = await FamilyLease.leaseFamily(this.#tools.records, family, this.#tools.ids);
    try {
      return await publish();
    } finally {
      await lease.release();
    }
  }

  find(stored: StoredElements, ids: Iterable<string>, options: StoreOptions = {}): Promise<Map<string, AnnotationElement>> {
    return findElements(this.#tools.loader, stored, ids, options.signal);
  }

  read(stored: StoredElements, query: ElementQuery, options?: StoreOptions): Promise<ElementReading> {
    return readElements(this.#tools.loader, stored, query, options);
  }

  readCentroids(stored: StoredElements, query: ElementQuery, options?: StoreOptions): Promise<CentroidReading> {
    return readCentroids(this.#tools.loader, stored, query, options);
  }

  scan(stored: StoredElements, options?: ScanOptions): AsyncIterable<ScannedElement> {
    return scanElements(this.#tools.loader, stored, options);
  }

  scanTexts(stored: StoredElements, options?: ScanOptions): AsyncIterable<ElementText> {
    return scanElementTexts(this.#tools.loader, stored, options);
  }

  readTable(stored: StoredElements, options?: StoreOptions): Promise<StoredTable> {
    return readTable(this.#tools.loader, stored, options);
  }

  listPacks(stored: StoredElements, options?: StoreOptions): Promise<WindowPacks[]> {
    return listWindowPacks(this.#tools.loader, stored, options);
  }

  listPackSummaries(stored: StoredElements, options?: ScanOptions): Promise<PackSummary[]> {
    return listPackSummaries(this.#tools.loader, stored, options);
  }

  loadPackMarks(stored: StoredElements, options?: ScanOptions & { packs?: readonly PackSummary[] }): AsyncIterable<PackMarks> {
    return loadPackMarks(this.#tools.loader, stored, options);
  }

  async listAbandonedFamilies(): Promise<string[]> {
    const leasedFamilies = await this.#tools.records.listLeasedFamilies();
    return leasedFamilies.flatMap(({ family, leaseIds }) => (leaseIds.some(hasEnded) ? [family] : []));
  }

  sweep(elementsOf: ElementsOfFamily, options: SweepOptions = {}): Promise<SweepReport> {
    return sweepFamilies(this.#tools.records, this.#tools.ids, elementsOf, options);
  }
}
