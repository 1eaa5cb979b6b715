import type { Caller, HostAccess } from '../../host.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { FolderRecord, ItemRecord } from '../../core/host/records.js';

/** The position of a walk, as ids. */
export interface FolderPosition {
  /** Ids of the folders that lead down from the start of the walk, which is not included, to the current folder. */
  path: readonly string[];
  /** The last item that was handled; `null` at the beginning of the folder. */
  itemId: string | null;
}

/** A step of a walk: a subfolder or an item, and its position. */
export type FolderStep = { position: FolderPosition } & ({ kind: 'folder' } | { kind: 'item'; item: ItemRecord });

interface WalkOptions {
  records: HostRecords;
  access: HostAccess;
  caller: Caller;
  /** Whether the walk includes the subfolders that the caller can read. A subfolder comes before the items of its parent. */
  recurse: boolean;
}

/** Walks through the items of a folder, from the beginning or from a position. */
export async function* walkFolder(
  options: WalkOptions,
  folder: FolderRecord,
  startPosition: FolderPosition | null,
  path: readonly string[] = [],
): AsyncGenerator<FolderStep> {
  const { records, access, caller, recurse } = options;
  const [currentFolderId, ...remainingPath] = startPosition?.path ?? [];
  const startsAfterItem = startPosition !== null && currentFolderId === undefined && startPosition.itemId !== null;
  if (recurse && !startsAfterItem) {
    const readableFilter = await access.filter(caller, 'folder', 0);
    for await (const child of records.listChildFolders(folder, readableFilter, currentFolderId)) {
      // A host may allow folders that are below themselves.
      if (path.includes(child.id)) continue;
      const childPath = [...path, child.id];
      const isCurrent = child.id === currentFolderId;
      if (!isCurrent) yield { kind: 'folder', position: { path: childPath, itemId: null } };
      yield* walkFolder(options, child, isCurrent ? { path: remainingPath, itemId: startPosition!.itemId } : null, childPath);
    }
  }
  for await (const item of records.listItemsOfFolder(folder, startsAfterItem ? startPosition.itemId : null)) {
    yield { kind: 'item', item, position: { path, itemId: item.id } };
  }
}
