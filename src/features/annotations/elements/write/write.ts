import { LargeImageError } from '../../../../errors.js';
import type { ElementValidator } from '../../../../annotation-format/validate.js';
import type { OverlaySizes } from '../../../../annotation-format/overlay-sizes.js';
import type { ElementSource, Publish, StoredElements } from '../contract.js';
import { FamilyLease } from '../leases.js';
import type { IdMaker } from '../packs/ids.js';
import type { Layout } from '../packs/layout.js';
import type { LongElements } from './long-elements.js';
import { DraftPool, ListWriter, type ListContext } from './list-writer.js';
import type { ElementRecords } from '../records.js';
import { WindowWriter } from './window-writer.js';

/** What writing needs from the store. */
export interface WriteTools {
  records: ElementRecords;
  ids: IdMaker;
  brand: string;
  overlaySizes: OverlaySizes;
  layout: Layout;
  validate: ElementValidator;
  long: LongElements;
  /** To be called when elements are received: what can wait lets writes go first. */
  touch: () => void;
}

/** Whether an error says for sure that nothing was published: errors raised on purpose do, a lost connection does not. */
export function isRefusal(error: unknown): boolean {
  return error instanceof LargeImageError;
}

/** A write of a new family: lists of elements, then one publishing of them. Nothing is stored before a window is full or its list ends. */
export class FamilyWrite {
  readonly #family: string;
  readonly #context: ListContext;
  #lease: Promise<FamilyLease> | null = null;

  private constructor(
    private readonly tools: WriteTools,
    signal: AbortSignal | undefined,
  ) {
    const { ids, brand, overlaySizes, validate, long, records, touch } = tools;
    const family = ids.make();
    this.#family = family;
    const windows = new WindowWriter(records, family, ids, signal);
    const drafts = new DraftPool(tools.layout);
    const begin = async () => {
      this.#lease ??= FamilyLease.ofNewFamily(records, family, ids);
      await this.#lease;
    };
    this.#context = { family, brand, overlaySizes, validate, long, ids, windows, drafts, signal, begin, touch };
  }

  /**
   * Lets `fill` write lists of elements, then publishes what it returns. When anything before the publishing fails, nothing is
   * kept; what a failed publishing leaves behind is kept for the sweeper only when it may have been published after all.
   */
  static async run<Given, Result>(
    tools: WriteTools,
    signal: AbortSignal | undefined,
    fill: (write: FamilyWrite) => Promise<Given>,
    publish: Publish<Given, Result>,
  ): Promise<Result> {
    const write = new FamilyWrite(tools, signal);
    let published = false;
    try {
      const given = await fill(write);
      await write.#context.windows.finish();
      signal?.throwIfAborted();
      await (await write.#lease)?.confirm();
      published = true;
      return await publish(given);
    } catch (error) {
      if (!published || isRefusal(error)) await write.#discard();
      throw error;
    } finally {
      tools.touch();
      await (await write.#lease)?.release();
    }
  }

  /** Begins a list of elements. */
  list(): ListWriter {
    return new ListWriter(this.#context);
  }

  async #discard(): Promise<void> {
    // Inserts under way would come after the removal.
    await Promise.allSettled([this.#context.drafts.finish()]);
    await Promise.allSettled([this.#context.windows.finish()]);
    if (this.#lease !== null) await this.tools.records.removeFamily(this.#family);
  }
}

/** Elements checked and stored at a time. */
const elementsPerBatch = 1024;

/** Stores elements that are at hand. */
export async function writeElements<Result>(
  tools: WriteTools,
  source: ElementSource,
  publish: Publish<StoredElements, Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  return FamilyWrite.run(
    tools,
    signal,
    async (write) => {
      const list = write.list();
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
    },
    publish,
  );
}
