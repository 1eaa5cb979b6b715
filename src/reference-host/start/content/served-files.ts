import { stat } from 'node:fs/promises';
import pLimit from 'p-limit';
import { dirname } from 'node:path';
import type { Types } from 'mongoose';
import { batches, iterateInSlices } from '../../../larger-host.js';
import type { HostContext } from '../../context.js';
import type { CollectionDocument } from '../../tree/collection.model.js';
import {
  computeDigest,
  isDigestPartial,
  formatInode,
  refreshFileInPlace,
  registerFilesInPlace,
  type FileInPlace,
} from '../../files/in-place.js';
import type { FolderDocument } from '../../tree/folder.model.js';
import type { ItemDocument } from '../../tree/item.model.js';
import { updateItem } from '../../tree/items.js';
import { ensureCollection, ensureFolder } from './content.js';
import { markMovedFiles, type DisplacedFile } from './displaced-files.js';
import { GoneFiles, type KnownFile } from './gone-files.js';
import { inTurns } from './in-turns.js';
import { listLocalFiles, type LocalFile } from './local-files.js';

/** Numbers of files that a scan of the served files has found, by what has happened to them. */
export interface ScanCounts {
  files: number;
  added: number;
  moved: number;
  changed: number;
  missing: number;
}

/** Dependencies of {@link ServedFiles}. */
export interface ServedFilesOptions {
  paths: readonly string[];
  creatorId: Types.ObjectId | null;
  isPublic: boolean;
  /** Called with the number of new files that have been handled, and the number of all new files. */
  onProgress(doneCount: number, totalCount: number): void;
  /** Called once for each path that is left out, with the reason. */
  onLeftOut(path: string, reason: string): void;
}

/** Maximum number of files of a folder whose items are created together. */
export const maxGroupFiles = 100;
/** Number of groups of files that are added at the same time. The files of one group are opened while another group waits for the database. */
const groupsAtOnce = 2;

/** Local files as items of the collection `Local files`, which follow changes on disk. */
export class ServedFiles {
  readonly #leftOutPaths = new Set<string>();
  /** The folders of the last scan. */
  folders: ReadonlySet<string> = new Set();
  /** Ids of the files of the last scan whose middle has to be compared, or read for the first time. */
  get uncomparedIds(): readonly Types.ObjectId[] {
    return this.#uncomparedIds;
  }

  #uncomparedIds: Types.ObjectId[] = [];

  constructor(private readonly options: ServedFilesOptions) {}

  /** Updates the items to match the files. */
  async scan(context: HostContext, signal: AbortSignal): Promise<ScanCounts> {
    const counts: ScanCounts = { files: 0, added: 0, moved: 0, changed: 0, missing: 0 };
    const collection = await ensureCollection(context, {
      ...this.options,
      name: 'Local files',
      description: 'Files of this machine, served in place.',
    });
    const filesByPath = await loadKnownFiles(context);
    const newFiles: LocalFile[] = [];
    const listedPaths = new Set<string>();
    const folders = new Set<string>();
    const presentItemIds: Types.ObjectId[] = [];
    const uncomparedIds: Types.ObjectId[] = [];
    const displacedFiles: DisplacedFile[] = [];
    const searchOptions = {
      signal,
      onLeftOut: (path: string, reason: string) => this.#leaveOut(path, reason),
      onFolder: (folder: string) => void folders.add(folder),
    };
    const updateRecords = async (localFile: LocalFile, files: readonly KnownFile[]) => {
      for (const file of files) {
        if (file.itemId !== null) presentItemIds.push(file.itemId);
        const isUnchanged = matchesRecord(file, localFile);
        if (!isUnchanged || needsComparison(file)) uncomparedIds.push(file._id);
        if (!isUnchanged) counts.changed += await refreshRecord(context, file, localFile);
      }
    };
    for await (const localFile of listLocalFiles(this.options.paths, searchOptions)) {
      if (listedPaths.has(localFile.path)) continue;
      listedPaths.add(localFile.path);
      counts.files += 1;
      const formerFiles = filesByPath.get(localFile.path);
      if (formerFiles === undefined) {
        newFiles.push(localFile);
        continue;
      }
      if (formerFiles.some(({ storage }) => storage.inode !== formatInode(localFile.stats))) {
        displacedFiles.push({ localFile, formerFiles });
        continue;
      }
      await updateRecords(localFile, formerFiles);
    }
    for await (const { localFile, formerFiles, isMoved } of inTurns(await markMovedFiles(displacedFiles, newFiles))) {
      if (isMoved) newFiles.push(localFile);
      else await updateRecords(localFile, formerFiles);
    }
    this.folders = folders;
    this.#uncomparedIds = uncomparedIds;
    await setMissingSince(context, presentItemIds, null);
    const goneFiles = await findGoneFiles(filesByPath, listedPaths, signal);
    for await (const { formerFiles, isMoved } of inTurns(displacedFiles)) {
      if (isMoved) for (const file of formerFiles) goneFiles.add(file);
    }
    await this.#registerNewFiles(context, collection, { newFiles, goneFiles, counts }, signal);
    counts.missing = goneFiles.size;
    await setMissingSince(context, goneFiles.listItemIds(), new Date());
    return counts;
  }

  /** Finds the items of files that were moved or replaced, and makes items of all other new files. */
  async #registerNewFiles(
    context: HostContext,
    collection: CollectionDocument,
    { newFiles, goneFiles, counts }: { newFiles: readonly LocalFile[]; goneFiles: GoneFiles; counts: ScanCounts },
    signal: AbortSignal,
  ): Promise<void> {
    const { creatorId } = this.options;
    const folders = new Map<string, Promise<FolderDocument>>();
    // Folders are created one after the other: if two calls created the same parent at the same time, one would fail.
    const runInOrder = pLimit(1);
    const ensureFolderOnce = (names: readonly string[]) => {
      const key = names.join('/');
      const folder = folders.get(key) ?? runInOrder(() => ensureFolder(context, collection, names, creatorId));
      folders.set(key, folder);
      return folder;
    };
    let doneCount = 0;
    const reportDone = (fileCount: number) => this.options.onProgress((doneCount += fileCount), newFiles.length);
    const remainingFiles: LocalFile[] = [];
    const renamedItems: RenamedItem[] = [];
    for await (const localFile of inTurns(newFiles)) {
      signal.throwIfAborted();
      const formerFile = await this.#attempt([localFile], async () => goneFiles.takeMoved(identityOf(localFile)), signal);
      if (formerFile === undefined) reportDone(1);
      else if (formerFile === null) remainingFiles.push(localFile);
      else {
        const copies = goneFiles.takeAt(formerFile.storage.path);
        if (formerFile.storage.path === localFile.path)
          await this.#updateReplaced(context, localFile, [formerFile, ...copies], counts);
        else {
          renamedItems.push(
            ...(await moveItem(context, { formerFile, copies }, localFile, await ensureFolderOnce(localFile.folderNames))),
          );
          counts.moved += 1;
        }
        reportDone(1);
      }
    }
    await retryNames(context, renamedItems);
    const remainingByFolder = new Map<string, LocalFile[]>();
    for await (const localFile of inTurns(remainingFiles)) {
      const replacedFiles = goneFiles.takeAt(localFile.path);
      if (replacedFiles.length > 0) {
        await this.#updateReplaced(context, localFile, replacedFiles, counts);
        reportDone(1);
        continue;
      }
      const key = localFile.folderNames.join('/');
      const filesInFolder = remainingByFolder.get(key);
      if (filesInFolder === undefined) remainingByFolder.set(key, [localFile]);
      else filesInFolder.push(localFile);
    }
    const pendingGroups = [...remainingByFolder.values()].flatMap((files) => [...batches(files, maxGroupFiles)]).values();
    const addGroups = async () => {
      for (const files of pendingGroups) {
        signal.throwIfAborted();
        const addedCount = await this.#attempt(files, () => this.#addItems(context, files, ensureFolderOnce), signal);
        counts.added += addedCount ?? 0;
        reportDone(files.length);
      }
    };
    await Promise.all(Array.from({ length: groupsAtOnce }, addGroups));
  }

  #compareLater(files: readonly { _id: Types.ObjectId }[]): void {
    for (const { _id } of files) this.#uncomparedIds.push(_id);
  }

  /** Updates the items of a path where a different file was found. */
  async #updateReplaced(
    context: HostContext,
    localFile: LocalFile,
    files: readonly KnownFile[],
    counts: ScanCounts,
  ): Promise<void> {
    for (const file of files) counts.changed += await refreshRecord(context, file, localFile);
    this.#compareLater(files);
    await setMissingSince(
      context,
      files.flatMap(({ itemId }) => itemId ?? []),
      null,
    );
  }

  /** Makes items of files of one folder. @returns the number of new items */
  async #addItems(
    context: HostContext,
    files: readonly LocalFile[],
    ensureFolderOnce: (names: readonly string[]) => Promise<FolderDocument>,
  ) {
    const { creatorId } = this.options;
    const folder = await ensureFolderOnce(files[0]!.folderNames);
    const results = await registerFilesInPlace(
      context,
      folder,
      files.map(({ path, name, isZarr, treeDigest, stats }) => ({
        path,
        itemName: name,
        isTree: isZarr,
        tree: treeDigest,
        stats,
        creatorId,
      })),
    );
    for (const [index, each] of results.entries()) {
      if (each.status === 'rejected') this.#leaveOutFor(each.reason, [files[index]!]);
    }
    const addedFiles = results.flatMap((each) => (each.status === 'fulfilled' ? [each.value.file] : []));
    this.#compareLater(addedFiles.filter(({ size = 0 }) => isDigestPartial(size)));
    return addedFiles.length;
  }

  /** Does work on files. If it fails because of these files, they are left out, and the result is `undefined`. */
  async #attempt<T>(files: readonly LocalFile[], work: () => Promise<T>, signal: AbortSignal): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      this.#leaveOutFor(error, files);
      return undefined;
    }
  }

  /**
   * Leaves files out because of an error. A file that no longer exists, or whose name no item may have, must not keep other files from being
   * served.
   */
  #leaveOutFor(error: unknown, files: readonly LocalFile[]): void {
    const { code } = error as { code?: unknown };
    if (!['invalid', 'ENOENT', 'EACCES', 'EPERM', 'EIO', 'ENOTDIR'].includes(String(code))) throw error;
    for (const { path } of files) this.#leaveOut(path, (error as Error).message);
  }

  #leaveOut(path: string, reason: string): void {
    if (this.#leftOutPaths.has(path)) return;
    this.#leftOutPaths.add(path);
    this.options.onLeftOut(path, reason);
  }
}

/** All files on this machine that have items, by their paths. */
async function loadKnownFiles({ models }: HostContext): Promise<Map<string, KnownFile[]>> {
  const fields = { name: 1, size: 1, itemId: 1, storage: 1 };
  const filesByPath = new Map<string, KnownFile[]>();
  const files = models.file.find({ 'storage.kind': 'in-place', itemId: { $ne: null } }, fields);
  for await (const file of iterateInSlices<KnownFile>(files.lean())) {
    const { path } = file.storage;
    const filesAtPath = filesByPath.get(path);
    if (filesAtPath === undefined) filesByPath.set(path, [file]);
    else filesAtPath.push(file);
  }
  return filesByPath;
}

/** Updates the record of a file. @returns 1 if the content of the file has changed; 0 if not, or if the file no longer exists */
async function refreshRecord(context: HostContext, file: KnownFile, { treeDigest }: LocalFile): Promise<0 | 1> {
  return (await refreshFileInPlace(context, file as FileInPlace, treeDigest).catch(() => false)) ? 1 : 0;
}

/** Whether the middle of a file has not been read yet, or has to be compared. */
function needsComparison({ size = 0, storage }: KnownFile): boolean {
  return isDigestPartial(size) && (storage.contents === undefined || storage.touched !== undefined);
}

function matchesRecord({ size, storage }: KnownFile, { stats, treeDigest }: LocalFile): boolean {
  const isSame = size === stats.size && storage.modified?.getTime() === stats.mtime.getTime();
  return isSame && storage.inode === formatInode(stats) && storage.tree === treeDigest;
}

/** Known files that no longer exist. Files that just cannot be read, or are no longer served, do not count. */
async function findGoneFiles(
  filesByPath: ReadonlyMap<string, readonly KnownFile[]>,
  listedPaths: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<GoneFiles> {
  const goneFiles = new GoneFiles();
  for await (const [path, files] of inTurns(filesByPath)) {
    if (listedPaths.has(path)) continue;
    signal.throwIfAborted();
    const isGone = await stat(path).then(
      () => false,
      ({ code }: NodeJS.ErrnoException) => code === 'ENOENT' || code === 'ENOTDIR',
    );
    if (isGone) for (const file of files) goneFiles.add(file);
  }
  return goneFiles;
}

function identityOf({ path, stats }: LocalFile) {
  return { inode: formatInode(stats), size: stats.size, modified: stats.mtime, digest: () => computeDigest(path) };
}

/** An item that should get the new name of its file. */
interface RenamedItem {
  itemId: Types.ObjectId;
  name: string;
}

/** Renames items whose new names were taken by other items. Files may have exchanged their names, so the names may be free now. */
async function retryNames(context: HostContext, renamedItems: readonly RenamedItem[]): Promise<void> {
  for (const { itemId, name } of renamedItems) {
    const item = await context.models.item.findById(itemId).lean<ItemDocument>();
    if (item !== null && item.name !== name) await updateItem(context, item, { name });
  }
}

/**
 * Gives the item of a moved file its new path, folder and name. If somebody has renamed the item, it keeps its name.
 *
 * @returns an array with the item if its new name was taken, otherwise an empty array
 */
async function moveItem(
  context: HostContext,
  { formerFile, copies }: { formerFile: KnownFile; copies: readonly KnownFile[] },
  localFile: LocalFile,
  folder: FolderDocument,
): Promise<RenamedItem[]> {
  const { models, events } = context;
  const isTree = formerFile.storage.isTree === true;
  const formerPath = isTree ? dirname(formerFile.storage.path) : formerFile.storage.path;
  const newLocation = { 'storage.path': localFile.path, 'storage.inode': formatInode(localFile.stats) };
  // Copies of the item have separate file records with the same bytes.
  await models.file.updateMany({ _id: { $in: copies.map(({ _id }) => _id) } }, { $set: newLocation });
  const file = await models.file
    .findOneAndUpdate(
      { _id: formerFile._id },
      {
        $set: {
          ...newLocation,
          ...(!isTree && { name: localFile.name }),
        },
      },
      { returnDocument: 'after' },
    )
    .lean();
  const item = formerFile.itemId === null ? null : await models.item.findById(formerFile.itemId).lean<ItemDocument>();
  if (file === null || item === null) return [];
  const isNamedAsFile = formerPath.endsWith(`/${item.name}`);
  const updatedItem = await updateItem(context, item, { folder, ...(isNamedAsFile && { name: localFile.name }) });
  const itemIds = [item._id, ...copies.flatMap(({ itemId }) => itemId ?? [])];
  await models.item.updateMany({ _id: { $in: itemIds } }, { $unset: { fileMissing: 1 } });
  await events.emit('file.saved', { file: { ...file }, created: false });
  return isNamedAsFile && updatedItem.name !== localFile.name ? [{ itemId: item._id, name: localFile.name }] : [];
}

/** Records since when the files of items have been missing; `null` records that they exist. */
export async function setMissingSince(
  { models }: HostContext,
  ids: readonly Types.ObjectId[],
  since: Date | null,
): Promise<void> {
  // All marked items are read, because they are few, while a query with all ids of a large folder would be long.
  const markedIds = new Set<string>();
  const query = models.item.find({ fileMissing: { $exists: true } }, { _id: 1 }).lean();
  for await (const { _id } of iterateInSlices<Pick<ItemDocument, '_id'>>(query)) markedIds.add(_id.toHexString());
  const idsToChange: Types.ObjectId[] = [];
  for await (const id of inTurns(ids)) {
    if (markedIds.has(id.toHexString()) === (since === null)) idsToChange.push(id);
  }
  for (const batch of batches(idsToChange)) {
    const _id = { $in: [...batch] };
    if (since === null) await models.item.updateMany({ _id }, { $unset: { fileMissing: 1 } });
    else await models.item.updateMany({ _id, fileMissing: null }, { $set: { fileMissing: since } });
  }
}
