import type { StoredDocument } from '../../host.js';
import { batches } from '../database/id-batches.js';
import { idText } from '../database/id-text.js';
import { readInSlices } from '../database/read-limits.js';
import type { HostParts, FolderRecord, FileRecord, ItemRecord } from './records.js';

/** A file with the item that it belongs to. */
export interface ItemFile {
  file: FileRecord;
  item: ItemRecord;
}

/** Maximum number of items with the same name to search. A host may allow several items of one name in a folder. */
const maxNamesakes = 10;

/** Finds files and folders by their paths. */
export class FolderContents {
  constructor(private readonly parts: HostParts) {}

  /** Finds the oldest folder with this name directly in `parent`; `null` if there is none. */
  async findChildFolder(parent: FolderRecord, name: string): Promise<FolderRecord | null> {
    const { folders, fields, folderOf } = this.parts;
    const doc = await folders
      .findOne({ [fields.folder.parentId]: parent.doc._id, [fields.folder.name]: name })
      .sort({ _id: 1 })
      .lean<StoredDocument>();
    return doc === null ? null : folderOf(doc);
  }

  /**
   * Finds the file for a name in a folder. The item must have this name, and the file must have the same name or be the item's only
   * file.
   *
   * @param itemName the name of the item if it differs from the name of the file. Then only a file named `name` is found.
   * @returns `null` if there is no such file.
   */
  async findFileByName(folder: FolderRecord, name: string, itemName = name): Promise<ItemFile | null> {
    const { items, files, fields, itemOf, fileOf } = this.parts;
    const query = items
      .find({ [fields.item.folderId]: folder.doc._id, [fields.item.name]: itemName })
      .sort({ _id: 1 })
      .limit(maxNamesakes);
    for (const doc of await readInSlices<StoredDocument>(query.lean())) {
      const item = itemOf(doc);
      const itemFilter = { [fields.file.itemId]: doc._id };
      const fileDoc = await files.findOne({ ...itemFilter, [fields.file.name]: name }).lean<StoredDocument>();
      if (fileDoc !== null) return { file: fileOf(fileDoc), item };
      if (itemName !== name) continue;
      const [firstFile, secondFile] = await files.find(itemFilter).limit(2).lean<StoredDocument[]>();
      if (firstFile !== undefined && secondFile === undefined) return { file: fileOf(firstFile), item };
    }
    return null;
  }

  /** Lists the names of the files of all items directly in a folder, except one item; at most `limit` names. */
  async listFileNames(folder: FolderRecord, excluded: ItemRecord, limit: number): Promise<string[]> {
    const { items, files, fields } = this.parts;
    const docs = await items
      .find({ [fields.item.folderId]: folder.doc._id, _id: { $ne: excluded.doc._id } }, { _id: 1 })
      .sort({ _id: 1 })
      .limit(limit)
      .lean<StoredDocument[]>();
    const names: string[] = [];
    for (const batch of batches(docs)) {
      const query = files.find({ [fields.file.itemId]: { $in: batch.map(({ _id }) => _id) } }, { [fields.file.name]: 1 });
      const fileDocs = await query.limit(limit - names.length).lean<StoredDocument[]>();
      for (const doc of fileDocs) names.push(String(doc[fields.file.name]));
      if (names.length >= limit) break;
    }
    return names;
  }

  /**
   * Maps relative paths to the folders below a folder, and the empty path to the folder itself. `null` if there are more than
   * `limit` folders.
   */
  async listFoldersBelow(folder: FolderRecord, limit: number): Promise<Map<string, FolderRecord> | null> {
    const { folders, fields, folderOf } = this.parts;
    const folderByPath = new Map([['', folder]]);
    let level = new Map([[folder.id, { path: '', folder }]]);
    while (level.size > 0) {
      const nextLevel: typeof level = new Map();
      for (const ids of batches([...level.keys()])) {
        const docs = await folders
          .find(
            { [fields.folder.parentId]: { $in: ids.map((id) => level.get(id)!.folder.doc._id) } },
            { [fields.folder.meta]: 0 },
          )
          .limit(limit + 1)
          .lean<StoredDocument[]>();
        for (const doc of docs) {
          const child = folderOf(doc);
          const parent = level.get(child.parentId ?? '');
          if (parent === undefined) continue;
          const path = parent.path === '' ? child.name : `${parent.path}/${child.name}`;
          if (!folderByPath.has(path)) folderByPath.set(path, child);
          nextLevel.set(child.id, { path, folder: child });
          if (folderByPath.size > limit) return null;
        }
      }
      level = nextLevel;
    }
    return folderByPath;
  }

  /** Finds a folder and the folders above it, up to the top, but at most `limit` folders. */
  async findWithAncestors(folderId: string, limit: number): Promise<FolderRecord[]> {
    const { folders, folderOf } = this.parts;
    const ancestors: FolderRecord[] = [];
    let id: string | null = folderId;
    while (id !== null && id !== '' && ancestors.length < limit && !ancestors.some((known) => known.id === id)) {
      const doc: StoredDocument | null = await folders.findById(id).lean<StoredDocument>();
      if (doc === null) break;
      const folder = folderOf(doc);
      ancestors.push(folder);
      id = folder.parentId;
    }
    return ancestors;
  }

  /** Returns the ids among `ids` whose folders match a filter on the model. */
  async filterFolders(ids: readonly string[], filter: Readonly<Record<string, unknown>>): Promise<Set<string>> {
    const matchingIds = new Set<string>();
    for (const batch of batches(ids)) {
      const query = this.parts.folders.find({ $and: [{ _id: { $in: [...batch] } }, filter] }, { _id: 1 });
      for (const { _id } of await query.lean<StoredDocument[]>()) matchingIds.add(idText(_id));
    }
    return matchingIds;
  }
}
