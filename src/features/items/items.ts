import { LRUCache } from 'lru-cache';
import { verdictLifetimeMs } from '../../core/callers.js';
import { AccessDeniedError, UnknownIdError } from '../../errors.js';
import type { AccessLevel, Caller, HostAccess } from '../../host.js';
import type { FolderRecord, HostRecords, ItemRecord } from '../../core/host-records.js';

/** Items kept, each with its callers. */
const maxItems = 20_000;
const maxCallersPerItem = 1000;

interface Verdict {
  item: ItemRecord;
  levels: Map<string, AccessLevel>;
}

const levelNames = { 0: 'Read', 1: 'Write', 2: 'Admin' } as const;

/** Items and folders as a caller may see them. */
export class Items {
  readonly #verdicts = new LRUCache<string, Verdict>({ max: maxItems, ttl: verdictLifetimeMs });
  /** Counts what has been forgotten, so that an answer that was under way meanwhile is not kept. */
  #forgotten = 0;

  constructor(
    private readonly records: HostRecords,
    private readonly access: HostAccess,
  ) {}

  /**
   * The item, when the caller has at least this level on it. Kept for {@link verdictLifetimeMs}: no query while that holds.
   *
   * @throws UnknownIdError when there is no such item, AccessDeniedError when it is not for the caller.
   */
  async load(id: string, level: 0 | 1 | 2, caller: Caller | null): Promise<ItemRecord> {
    const cached = this.#verdicts.get(id);
    const who = caller === null ? '' : `${caller.admin ? 'a' : 'u'}${caller.id ?? ''}`;
    const known = cached?.levels.get(who);
    if (cached !== undefined && known !== undefined) return this.#admit(cached.item, known, level, caller);
    const before = this.#forgotten;
    const start = performance.now();
    const item = cached?.item ?? (await this.records.findItem(id));
    if (item === null) throw new UnknownIdError('item', id);
    const granted = await this.access.level(caller, { type: 'item', doc: item.doc });
    if (before === this.#forgotten) this.#remember(item, { who, level: granted, start });
    return this.#admit(item, granted, level, caller);
  }

  /** The item as it is in the database now, when the caller has at least this level on it. For what changes it. */
  async loadFresh(id: string, level: 0 | 1 | 2, caller: Caller | null): Promise<ItemRecord> {
    this.forget(id);
    return this.load(id, level, caller);
  }

  /** The folder, when the caller has at least this level on it. */
  async loadFolder(id: string, level: 0 | 1 | 2, caller: Caller | null): Promise<FolderRecord> {
    const folder = await this.records.findFolder(id);
    if (folder === null) throw new UnknownIdError('folder', id);
    const granted = await this.access.level(caller, { type: 'folder', doc: folder.doc });
    if (granted < level) throw denied(level, 'folder', folder.id, caller);
    return folder;
  }

  /** Whether the caller has a level on a folder. */
  async hasFolderLevel(folder: FolderRecord, level: 0 | 1 | 2, caller: Caller | null): Promise<boolean> {
    return (await this.access.level(caller, { type: 'folder', doc: folder.doc })) >= level;
  }

  /** Drops what is kept of one item, or of all. */
  forget(id?: string): void {
    this.#forgotten++;
    if (id === undefined) this.#verdicts.clear();
    else this.#verdicts.delete(id);
  }

  /** @param answer `start`: when it was asked for, which is how old it is. */
  #remember(item: ItemRecord, { who, level, start }: { who: string; level: AccessLevel; start: number }): void {
    const verdict = this.#verdicts.get(item.id);
    if (verdict === undefined) this.#verdicts.set(item.id, { item, levels: new Map([[who, level]]) }, { start });
    // The time of the first look stays: a further caller must not prolong what others are believed to have.
    else if (verdict.levels.size < maxCallersPerItem) verdict.levels.set(who, level);
  }

  #admit(item: ItemRecord, granted: AccessLevel, wanted: 0 | 1 | 2, caller: Caller | null): ItemRecord {
    if (granted >= wanted) return item;
    // Permissions come from the folder, so that is what existing clients see named.
    throw item.folderId === '' ? denied(wanted, 'item', item.id, caller) : denied(wanted, 'folder', item.folderId, caller);
  }
}

function denied(level: 0 | 1 | 2, model: string, id: string, caller: Caller | null): AccessDeniedError {
  return new AccessDeniedError(`${levelNames[level]} access denied for ${model} ${id} (user ${caller?.id ?? 'None'}).`);
}
