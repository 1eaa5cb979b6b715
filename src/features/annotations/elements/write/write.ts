import type { ElementValidator } from '../../../../annotation-format/validate.js';
import type { FindOverlaySize } from '../../../../annotation-format/overlay-sizes.js';
import type { ElementSource, StoredElements } from '../element-store.js';
import { FamilyLease } from '../leases.js';
import type { IdMaker } from '../packs/ids.js';
import type { PackLayout } from '../packs/pack-layout.js';
import type { LongElements } from './long-elements.js';
import { DraftPool, ListWriter, type ListContext } from './list-writer.js';
import { PendingWrite } from './pending-write.js';
import type { ElementRecords } from '../records.js';
import { WindowWriter } from './window-writer.js';

/** The dependencies of writes. */
export interface WriteTools {
  records: ElementRecords;
  ids: IdMaker;
  brand: string;
  overlaySizes: FindOverlaySize;
  layout: PackLayout;
  validate: ElementValidator;
  longElements: LongElements;
  /** Tells background work that elements are being written, so that it waits. Must be called repeatedly during a write. */
  recordActivity: () => void;
}

/** Writes lists of elements as a new family. Nothing is stored until a window is full or a list ends. */
export class FamilyWrite {
  readonly #family: string;
  readonly #context: ListContext;
  #lease: Promise<FamilyLease> | null = null;

  private constructor(
    private readonly tools: WriteTools,
    signal: AbortSignal | undefined,
  ) {
    const { ids, brand, overlaySizes, validate, longElements, records, recordActivity } = tools;
    const family = ids.make();
    this.#family = family;
    const windowWriter = new WindowWriter(records, family, ids, signal);
    const draftPool = new DraftPool(tools.layout);
    const createFamily = async () => {
      this.#lease ??= FamilyLease.createFamily(records, family, ids);
      await this.#lease;
    };
    this.#context = {
      family,
      brand,
      overlaySizes,
      validate,
      longElements,
      ids,
      windowWriter,
      draftPool,
      signal,
      createFamily,
      recordActivity,
    };
  }

  /** Begins a write. @param fill writes lists of elements and returns the value of the write. */
  static begin<Value>(
    tools: WriteTools,
    signal: AbortSignal | undefined,
    fill: (write: FamilyWrite) => Promise<Value>,
  ): Promise<PendingWrite<Value>> {
    const write = new FamilyWrite(tools, signal);
    const controls = {
      signal,
      getLease: async () => write.#lease,
      undo: () => write.#undo(),
      recordActivity: tools.recordActivity,
    };
    return PendingWrite.begin(controls, async () => {
      const value = await fill(write);
      await write.#context.windowWriter.finish();
      return value;
    });
  }

  startList(): ListWriter {
    return new ListWriter(this.#context);
  }

  async #undo(): Promise<void> {
    // Inserts that are still running are awaited, because they would otherwise store records after the removal.
    await Promise.allSettled([this.#context.draftPool.finish()]);
    await Promise.allSettled([this.#context.windowWriter.finish()]);
    if (this.#lease !== null) await this.tools.records.removeFamily(this.#family);
  }
}

/** Number of elements that are checked and stored at a time. */
const elementsPerBatch = 1024;

/** Stores elements that are in memory. */
export function writeElements(
  tools: WriteTools,
  source: ElementSource,
  signal: AbortSignal | undefined,
): Promise<PendingWrite<StoredElements>> {
  return FamilyWrite.begin(tools, signal, async (write) => {
    const list = write.startList();
    let batch: unknown[] = [];
    for await (const element of source) {
      batch.push(element);
      if (batch.length < elementsPerBatch) continue;
      await list.add(batch);
      batch = [];
    }
    await list.add(batch);
    await list.finish();
    return list.elements();
  });
}
