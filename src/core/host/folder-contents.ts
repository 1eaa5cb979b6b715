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

/** Maximum number of items with the same name to search. A host may allow several in a folder. */
const maxNamesakes = 10;

/** Finds files and folders by their paths. */
export class FolderContents {
  constructor(private readonly parts: HostParts) {}

  /** The folder with this name directly in another one, the oldest if there are several; `null` if there is none. */
  async childFolder(parent: FolderRecord, name: string): Promise<FolderRecord | null> {
    const { folders, fields, folderOf } = this.parts;
    const doc = await folders
      .findOne({ [fields.folder.parentId]: parent.doc._id, [fields.folder.name]: name })
      .sort({ _id: 1 })
      .lean<StoredDocument>();
    return doc === null ? null : folderOf(doc);
  }

  /**
   * The file with this name in a folder. It belongs to the item of that name, and is its file of that name or its only one; `null`
   * if there is none.
   *
   * @param itemName name of the item, if it differs from that of the file
   */
  async fileNamed(folder: FolderRecord, name: string, itemName = name): Promise<ItemFile | null> {
    const { items, files, fields, itemOf, fileOf } = this.parts;
    const query = items
      .find({ [fields.item.folderId]: folder.doc._id, [fields.item.name]: itemName })
      .sort({ _id: 1 })
      .limit(maxNamesakes);
    for (const doc of await readInSlices<StoredDocument>(query.lean())) {
      const item = itemOf(doc);
      const itemFilter = { [fields.file.itemId]: doc._id };
      const named = await files.findOne({ ...itemFilter, [fields.file.name]: name }).lean<StoredDocument>();
      if (named !== null) return { file: fileOf(named), item };
      if (itemName !== name) continue;
      const [only, other] = await files.find(itemFilter).limit(2).lean<StoredDocument[]>();
      if (only !== undefined && other === undefined) return { file: fileOf(only), item };
    }
    return null;
  }

  /** The names of the files of all items directly in a folder, except one item; at most `limit` of them. */
  async namesIn(folder: FolderRecord, but: ItemRecord, limit: number): Promise<string[]> {
    const { items, files, fields } = this.parts;
    const docs = await items
      .find({ [fields.item.folderId]: folder.doc._id, _id: { $ne: but.doc._id } }, { _id: 1 })
      .sort({ _id: 1 })
      .limit(limit)
      .lean<StoredDocument[]>();
    const found: string[] = [];
    for (const some of batches(docs)) {
      const query = files.find({ [fields.file.itemId]: { $in: some.map(({ _id }) => _id) } }, { [fields.file.name]: 1 });
      const named = await query.limit(limit - found.length).lean<StoredDocument[]>();
      for (const doc of named) found.push(String(doc[fields.file.name]));
      if (found.length >= limit) break;
    }
    return found;
  }

  /**
   * The folders below a folder by their relative paths, and the folder itself under the empty path; `null` if there are more than
   * the limit.
   */
  async foldersBelow(folder: FolderRecord, limit: number): Promise<Map<string, FolderRecord> | null> {
    const { folders, fields, folderOf } = this.parts;
    const found = new Map([['', folder]]);
    let level = new Map([[folder.id, { path: '', folder }]]);
    while (level.size > 0) {
      const next: typeof level = new Map();
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
          if (!found.has(path)) found.set(path, child);
          next.set(child.id, { path, folder: child });
          if (found.size > limit) return null;
        }
      }
      level = next;
    }
    return found;
  }

  /** The folders from one up to the top, at most `limit`. */
  async ancestry(folderId: string, limit: number): Promise<FolderRecord[]> {
    const { folders, folderOf } = this.parts;
    const found: FolderRecord[] = [];
    let id: string | null = folderId;
    while (id !== null && id !== '' && found.length < limit && !found.some((known) => known.id === id)) {
      const doc: StoredDocument | null = await folders.findById(id).lean<StoredDocument>();
      if (doc === null) break;
      const folder = folderOf(doc);
      found.push(folder);
      id = folder.parentId;
    }
    return found;
  }

  /** Filters folders by a condition on the model. */
  async among(ids: readonly string[], filter: Readonly<Record<string, unknown>>): Promise<Set<string>> {
    const fitting = new Set<string>();
    for (const some of batches(ids)) {
      const query = this.parts.folders.find({ $and: [{ _id: { $in: [...some] } }, filter] }, { _id: 1 });
      for (const { _id } of await query.lean<StoredDocument[]>()) fitting.add(idText(_id));
    }
    return fitting;
  }
}
