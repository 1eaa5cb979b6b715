import type { ElementRecords, IndexRecord, PackRecord, RecordKind, WindowRecord } from '../records.js';

/** Inserts records and remembers them, so that a change that is not published can be undone without looking for its traces. */
export class RecordedInserts implements Pick<ElementRecords, 'insertPacks' | 'insertWindows' | 'insertIndexes'> {
  readonly #inserted: Record<RecordKind, string[]> = { pack: [], window: [], index: [] };
  readonly #underWay = new Set<Promise<void>>();

  constructor(private readonly records: ElementRecords) {}

  async #insert(kind: RecordKind, ids: readonly { id: string }[], insert: () => Promise<void>): Promise<void> {
    for (const { id } of ids) this.#inserted[kind].push(id);
    const done: Promise<void> = insert().finally(() => this.#underWay.delete(done));
    this.#underWay.add(done);
    await done;
  }

  insertPacks(packs: readonly PackRecord[]): Promise<void> {
    return this.#insert('pack', packs, () => this.records.insertPacks(packs));
  }

  insertWindows(windows: readonly WindowRecord[]): Promise<void> {
    return this.#insert('window', windows, () => this.records.insertWindows(windows));
  }

  insertIndexes(parts: readonly IndexRecord[]): Promise<void> {
    return this.#insert('index', parts, () => this.records.insertIndexes(parts));
  }

  /** Removes what was inserted. */
  async undo(): Promise<void> {
    await Promise.allSettled(this.#underWay);
    for (const kind of ['window', 'index', 'pack'] as const) await this.records.remove(kind, this.#inserted[kind]);
  }
}
