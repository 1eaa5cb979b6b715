import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import type {
  ChangedElements,
  ChangeOptions,
  ElementChanges,
  ElementEditing,
  ElementWrite,
  ScannedElement,
  ScanOptions,
  StoredElements,
  StoreOptions,
} from '../element-store.js';
import { FamilyLease } from '../leases.js';
import { findElements, locateElements } from '../read/locate.js';
import { scanElements } from '../read/scan.js';
import { changeElements, createElements, type ChangeTools } from './change.js';
import { PendingRecords } from './pending-records.js';
import { PendingWrite } from './pending-write.js';

/** If a request changes at most this many elements, their packs are loaded with their texts before the changes begin. */
const maxPreloadedElements = 128;

/** See ElementStore.edit. */
export class Editing implements ElementEditing {
  readonly #pending: PendingRecords;
  readonly #tools: ChangeTools;
  #lease: Promise<FamilyLease> | null = null;
  /** The write that stores the first elements, if the annotation had none. */
  #firstElementsWrite: PendingWrite<unknown> | null = null;

  private constructor(
    tools: ChangeTools,
    private readonly signal: AbortSignal | undefined,
  ) {
    this.#pending = new PendingRecords(tools.records);
    this.#tools = { ...tools, loader: tools.loader.withRecords(this.#pending) };
  }

  /** Runs `makeChanges` and stores the records of its changes. If `makeChanges` fails, nothing remains stored. */
  static async begin<Value>(
    tools: ChangeTools,
    makeChanges: (editing: ElementEditing) => Promise<Value>,
    signal: AbortSignal | undefined,
  ): Promise<ElementWrite<Value>> {
    const editing = new Editing(tools, signal);
    const controls = {
      signal,
      getLease: async () => editing.#lease,
      undo: () => editing.#pending.undo(),
      recordActivity: tools.recordActivity,
    };
    const write = await PendingWrite.begin(controls, () => makeChanges(editing)).catch(async (error: unknown) => {
      await editing.#firstElementsWrite?.discard();
      throw error;
    });
    // If the first elements were created, no other change was made.
    if (editing.#firstElementsWrite !== null) return editing.#firstElementsWrite.map(async () => write.value);
    return write.map(async (value) => {
      await editing.#pending.flush();
      return value;
    });
  }

  async preload(stored: StoredElements, ids: readonly string[]): Promise<void> {
    if (stored.count === 0 || ids.length === 0) return;
    const preloading =
      ids.length > maxPreloadedElements
        ? undefined
        : locateElements(this.#tools.loader, stored, ids, this.signal, maxPreloadedElements);
    await Promise.all([this.#takeLease(stored), preloading]);
  }

  async #takeLease({ family }: StoredElements): Promise<void> {
    this.#lease ??= FamilyLease.leaseFamily(this.#tools.records, family, this.#tools.ids);
    try {
      await this.#lease;
    } catch (error) {
      this.#lease = null;
      throw error;
    }
  }

  find(stored: StoredElements, ids: Iterable<string>, options: StoreOptions = {}): Promise<Map<string, AnnotationElement>> {
    return findElements(this.#tools.loader, stored, ids, options.signal);
  }

  scan(stored: StoredElements, options?: ScanOptions): AsyncIterable<ScannedElement> {
    return scanElements(this.#tools.loader, stored, options);
  }

  async change(base: StoredElements, changes: ElementChanges, options: ChangeOptions = {}): Promise<ChangedElements> {
    const { overlaySizes } = options;
    const tools = overlaySizes === undefined ? this.#tools : { ...this.#tools, overlaySizes };
    if (base.count === 0) {
      const write = await createElements(tools, base, changes, options);
      this.#firstElementsWrite = write;
      return write.value;
    }
    const { addedCount } = this.#pending;
    try {
      return await changeElements(tools, base, changes, {
        ...options,
        pending: this.#pending,
        takeLease: () => this.#takeLease(base),
      });
    } catch (error) {
      await this.#pending.undo(addedCount);
      throw error;
    }
  }
}
