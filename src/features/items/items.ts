import { LRUCache } from 'lru-cache';
import { limitEntries } from '../../core/concurrency/lru-options.js';
import { FreshCache } from '../../core/concurrency/fresh-cache.js';
import { verdictLifetimeMs } from '../../core/host/callers.js';
import { LevelDeniedError, UnknownIdError } from '../../errors.js';
import type { AccessLevel, Caller, HostAccess } from '../../host.js';
import { batches } from '../../core/database/id-batches.js';
import type { HostRecords } from '../../core/host/host-records.js';
import { limitsOf } from '../../core/host/link-holder.js';
import type { FolderRecord, ItemRecord } from '../../core/host/records.js';

/** Maximum number of entries in each cache below. */
const maxCachedItems = 20_000;
const maxCallersPerItem = 1000;
/** How long an item is cached. When a verdict is made, its item can already be this old. */
const itemLifetimeMs = verdictLifetimeMs / 5;

interface Verdict {
  item: ItemRecord;
  /** The caller's level on the item. */
  level: AccessLevel;
}

/** Loads items and folders for callers, if they have the required level of access. */
export class Items {
  readonly #items = new FreshCache<ItemRecord>({ max: maxCachedItems, lifetimeMs: itemLifetimeMs });
  /** Verdicts by item id, then by caller. */
  readonly #verdicts = new LRUCache<string, FreshCache<Verdict>>(limitEntries(maxCachedItems));

  /** How many parts of an image a caller cannot read, by caller and image. */
  readonly #hiddenPartCounts = new FreshCache<{ hiddenCount: number }>({ max: maxCachedItems, lifetimeMs: verdictLifetimeMs });

  constructor(
    private readonly records: HostRecords,
    private readonly access: HostAccess,
  ) {}

  /**
   * The item, if the caller has at least this level on it. Item and verdict are cached, so that most calls need no query. Neither is
   * ever older than {@link verdictLifetimeMs}.
   *
   * @throws UnknownIdError if there is no such item, AccessDeniedError if the caller lacks the level.
   */
  async load(id: string, level: 0 | 1 | 2, caller: Caller | null): Promise<ItemRecord> {
    const limits = limitsOf(caller);
    if (limits !== null && (limits.itemId !== id || level > 0)) throw deniedError(level, 'item', id, null);
    const callerKey = caller === null ? '' : `${caller.admin ? 'a' : 'u'}${caller.id ?? ''}`;
    let verdicts = this.#verdicts.get(id);
    if (verdicts === undefined) {
      verdicts = new FreshCache({ max: maxCallersPerItem, lifetimeMs: verdictLifetimeMs - itemLifetimeMs });
      this.#verdicts.set(id, verdicts);
    }
    const verdictOrPromise = verdicts.get(callerKey, () => this.#loadVerdict(id, caller));
    const { item, level: grantedLevel } = verdictOrPromise instanceof Promise ? await verdictOrPromise : verdictOrPromise;
    return this.#requireLevel(item, grantedLevel, level, caller);
  }

  /** The item, without a check of access; `null` if there is none. The item may come from the cache. */
  async findRecent(id: string): Promise<ItemRecord | null> {
    try {
      return await this.#items.get(id, () => this.#loadItem(id));
    } catch (error) {
      if (error instanceof UnknownIdError) return null;
      throw error;
    }
  }

  async #loadVerdict(id: string, caller: Caller | null): Promise<Verdict> {
    const item = await this.#items.get(id, () => this.#loadItem(id));
    return { item, level: await this.access.level(caller, { type: 'item', doc: item.doc }) };
  }

  async #loadItem(id: string): Promise<ItemRecord> {
    const item = await this.records.findItem(id);
    if (item === null) throw new UnknownIdError('item', id);
    return item;
  }

  /**
   * Checks that the caller can read all items and folders that an image consists of. The result is cached.
   *
   * @param partsKey equal for images with the same parts.
   * @throws AccessDeniedError if the caller cannot read a part, or a part no longer exists.
   */
  async requireParts(
    image: ItemRecord,
    partsKey: string,
    parts: { items: ReadonlySet<string>; folders: ReadonlySet<string> },
    caller: Caller | null,
  ): Promise<void> {
    if (caller?.admin === true || (parts.items.size === 0 && parts.folders.size === 0)) return;
    const callerKey = `u${caller?.id ?? ''}`;
    const countOrPromise = this.#hiddenPartCounts.get(`${callerKey} ${partsKey}`, () => this.#countHiddenParts(parts, caller));
    const { hiddenCount } = countOrPromise instanceof Promise ? await countOrPromise : countOrPromise;
    if (hiddenCount === 0) return;
    const subject = `${hiddenCount} of the items and folders that the image of item ${image.id} is made of`;
    throw new LevelDeniedError(0, subject, caller?.id);
  }

  async #countHiddenParts(
    { items, folders }: { items: ReadonlySet<string>; folders: ReadonlySet<string> },
    caller: Caller | null,
  ): Promise<{ hiddenCount: number }> {
    let hiddenCount = 0;
    if (items.size > 0) hiddenCount += items.size - (await this.filterReadableItems([...items], caller)).size;
    if (folders.size > 0) hiddenCount += folders.size - (await this.filterReadableFolders([...folders], caller)).size;
    return { hiddenCount };
  }

  /** Loads the item from the database, not from a cache, for routes that change it. The caller must have at least this level on it. */
  async loadFresh(id: string, level: 0 | 1 | 2, caller: Caller | null): Promise<ItemRecord> {
    const item = await this.#loadItem(id);
    return this.#requireLevel(item, await this.access.level(caller, { type: 'item', doc: item.doc }), level, caller);
  }

  /** The folder, if the caller has at least this level on it. */
  async loadFolder(id: string, level: 0 | 1 | 2, caller: Caller | null): Promise<FolderRecord> {
    const folder = await this.records.findFolder(id);
    if (folder === null) throw new UnknownIdError('folder', id);
    const grantedLevel = await this.access.level(caller, { type: 'folder', doc: folder.doc });
    if (grantedLevel < level) throw deniedError(level, 'folder', folder.id, caller);
    return folder;
  }

  /** Whether the caller has at least this level on a folder. */
  async hasFolderLevel(folder: FolderRecord, level: 0 | 1 | 2, caller: Caller | null): Promise<boolean> {
    return (await this.access.level(caller, { type: 'folder', doc: folder.doc })) >= level;
  }

  /** Filters items to those that the caller can read. */
  async filterReadableItems(ids: readonly string[], caller: Caller | null): Promise<Set<string>> {
    const filter = await this.access.filter(caller, 'item', 0);
    const readableIds = new Set<string>();
    for (const batch of batches(ids)) for (const id of await this.records.filterExistingItems(batch, filter)) readableIds.add(id);
    return readableIds;
  }

  /** Filters folders to those that the caller can read. */
  async filterReadableFolders(ids: readonly string[], caller: Caller | null): Promise<Set<string>> {
    return this.records.contents.filterFolders(ids, await this.access.filter(caller, 'folder', 0));
  }

  /** Drops what is cached about this item, or about all items if no id is passed. */
  forget(id?: string): void {
    this.#hiddenPartCounts.clear();
    if (id === undefined) {
      this.#items.clear();
      this.#verdicts.clear();
    } else {
      this.#items.delete(id);
      this.#verdicts.delete(id);
    }
  }

  #requireLevel(item: ItemRecord, grantedLevel: AccessLevel, level: 0 | 1 | 2, caller: Caller | null): ItemRecord {
    if (grantedLevel >= level) return item;
    // The message names the folder, as existing clients expect, because an item has the permissions of its folder.
    throw item.folderId === ''
      ? deniedError(level, 'item', item.id, caller)
      : deniedError(level, 'folder', item.folderId, caller);
  }
}

function deniedError(level: 0 | 1 | 2, model: string, id: string, caller: Caller | null): LevelDeniedError {
  return new LevelDeniedError(level, `${model} ${id}`, caller?.id);
}
