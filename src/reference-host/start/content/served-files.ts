import { stat } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import pLimit from 'p-limit';
import { dirname } from 'node:path';
import type { Types } from 'mongoose';
import { batches, eachInSlices } from '../../../larger-host.js';
import type { HostContext } from '../../context.js';
import type { CollectionDocument } from '../../tree/collection.model.js';
import { digestOf, inodeOf, refreshFileInPlace, registerFilesInPlace, type FileInPlace } from '../../files/in-place.js';
import type { FolderDocument } from '../../tree/folder.model.js';
import type { ItemDocument } from '../../tree/item.model.js';
import { updateItem } from '../../tree/items.js';
import { ensureCollection, ensureFolder } from './content.js';
import { GoneFiles, type KnownFile } from './gone-files.js';
import { ownFiles, type OwnFile } from './own-files.js';

/** Result of a scan of the served files. */
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
  /** Called with the number of new files that have items. */
  progress(done: number, total: number): void;
  /** Called once for each path that is left out, with the reason. */
  leftOut(path: string, reason: string): void;
}

/** Files of a folder that are made items together. Each is opened, which takes memory. */
export const filesTogether = 32;
/** Groups of them at the same time: one waits for the database while the other is opened. */
const groupsAtOnce = 2;

/** Number of files that are compared between two turns of the event loop. */
const filesPerTurn = 500;

/** Local files as items of the collection `Local files`, which follow changes on disk. */
export class ServedFiles {
  readonly #leftOut = new Set<string>();
  /** The folders of the last scan. */
  folders: ReadonlySet<string> = new Set();

  constructor(private readonly options: ServedFilesOptions) {}

  /** Updates the items to match the files. */
  async scan(context: HostContext, signal: AbortSignal): Promise<ScanCounts> {
    const counts: ScanCounts = { files: 0, added: 0, moved: 0, changed: 0, missing: 0 };
    const collection = await ensureCollection(context, {
      ...this.options,
      name: 'Local files',
      description: 'Files of this machine, served in place.',
    });
    const known = await knownFiles(context);
    const fresh: OwnFile[] = [];
    const seen = new Set<string>();
    const folders = new Set<string>();
    const back: Types.ObjectId[] = [];
    const walk = {
      signal,
      leftOut: (path: string, reason: string) => this.#leaveOut(path, reason),
      entered: (folder: string) => void folders.add(folder),
    };
    for await (const own of ownFiles(this.options.paths, walk)) {
      if (seen.has(own.path)) continue;
      seen.add(own.path);
      counts.files += 1;
      const files = known.get(own.path);
      if (files === undefined) {
        fresh.push(own);
        continue;
      }
      for (const file of files) {
        if (file.itemId !== null) back.push(file.itemId);
        if (isAsBefore(file, own)) continue;
        // It may have been removed again.
        if (await refreshFileInPlace(context, file as FileInPlace).catch(() => false)) counts.changed += 1;
      }
    }
    this.folders = folders;
    await setMissing(context, back, null);
    const gone = await goneFiles(known, seen, signal);
    await this.#register(context, collection, { fresh, gone, counts }, signal);
    counts.missing = gone.size;
    await setMissing(context, gone.itemIds(), new Date());
    return counts;
  }

  /** Finds the items of files that were moved, and makes items of all others. */
  async #register(
    context: HostContext,
    collection: CollectionDocument,
    { fresh, gone, counts }: { fresh: readonly OwnFile[]; gone: GoneFiles; counts: ScanCounts },
    signal: AbortSignal,
  ): Promise<void> {
    const { creatorId } = this.options;
    const folders = new Map<string, Promise<FolderDocument>>();
    // A folder and one in it would otherwise both create the upper one, and one of them would fail.
    const inOrder = pLimit(1);
    const folderOf = (names: readonly string[]) => {
      const key = names.join('/');
      const found = folders.get(key) ?? inOrder(() => ensureFolder(context, collection, names, creatorId));
      folders.set(key, found);
      return found;
    };
    let done = 0;
    const report = (files: number) => this.options.progress((done += files), fresh.length);
    const byFolder = new Map<string, OwnFile[]>();
    for (const [index, own] of fresh.entries()) {
      if (index % filesPerTurn === 0) await nextTurn();
      signal.throwIfAborted();
      const moved = await this.#attempt([own], async () => gone.take(factsOf(own)), signal);
      if (moved === undefined) report(1);
      else if (moved === null) {
        const key = own.folders.join('/');
        const others = byFolder.get(key);
        if (others === undefined) byFolder.set(key, [own]);
        else others.push(own);
      } else {
        const copies = gone.takeAt(moved.storage.path);
        await follow(context, { moved, copies }, own, await folderOf(own.folders));
        counts.moved += 1;
        report(1);
      }
    }
    const groups = [...byFolder.values()].flatMap((files) => [...batches(files, filesTogether)]).values();
    const work = async () => {
      for (const files of groups) {
        signal.throwIfAborted();
        const added = await this.#attempt(files, () => this.#add(context, files, folderOf), signal);
        counts.added += added ?? 0;
        report(files.length);
      }
    };
    await Promise.all(Array.from({ length: groupsAtOnce }, work));
  }

  /** Makes items of files of one folder. @returns how many */
  async #add(context: HostContext, files: readonly OwnFile[], folderOf: (names: readonly string[]) => Promise<FolderDocument>) {
    const { creatorId } = this.options;
    const folder = await folderOf(files[0]!.folders);
    const registered = await registerFilesInPlace(
      context,
      folder,
      files.map(({ path, name, isTree }) => ({ path, itemName: name, isTree, creatorId })),
    );
    for (const [index, each] of registered.entries()) {
      if (each.status === 'rejected') this.#leaveOutFor(each.reason, [files[index]!]);
    }
    return registered.filter(({ status }) => status === 'fulfilled').length;
  }

  /** Does work on files, and leaves these out if it fails because of them: `undefined`. */
  async #attempt<T>(files: readonly OwnFile[], work: () => Promise<T>, signal: AbortSignal): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      this.#leaveOutFor(error, files);
      return undefined;
    }
  }

  /** Leaves files out because of an error. A name that no item may have, or a file that is gone again, is no reason to leave out the rest. */
  #leaveOutFor(error: unknown, files: readonly OwnFile[]): void {
    const { code } = error as { code?: unknown };
    if (!['invalid', 'ENOENT', 'EACCES', 'EPERM', 'EIO', 'ENOTDIR'].includes(String(code))) throw error;
    for (const { path } of files) this.#leaveOut(path, (error as Error).message);
  }

  #leaveOut(path: string, reason: string): void {
    if (this.#leftOut.has(path)) return;
    this.#leftOut.add(path);
    this.options.leftOut(path, reason);
  }
}

/** All files on this machine that have items, by their paths. */
async function knownFiles({ models }: HostContext): Promise<Map<string, KnownFile[]>> {
  const fields = { name: 1, size: 1, itemId: 1, storage: 1 };
  const known = new Map<string, KnownFile[]>();
  const files = models.file.find({ 'storage.kind': 'in-place', itemId: { $ne: null } }, fields);
  for await (const file of eachInSlices<KnownFile>(files)) {
    const { path } = file.storage;
    const others = known.get(path);
    if (others === undefined) known.set(path, [file]);
    else others.push(file);
  }
  return known;
}

function isAsBefore({ size, storage }: KnownFile, { stats }: OwnFile): boolean {
  return size === stats.size && storage.modified?.getTime() === stats.mtime.getTime() && storage.inode === inodeOf(stats);
}

/** Known files that no longer exist. Files that just cannot be read, or are no longer served, do not count. */
async function goneFiles(
  known: ReadonlyMap<string, readonly KnownFile[]>,
  seen: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<GoneFiles> {
  const gone = new GoneFiles();
  let count = 0;
  for (const [path, files] of known) {
    if (count++ % filesPerTurn === 0) await nextTurn();
    if (seen.has(path)) continue;
    signal.throwIfAborted();
    const isGone = await stat(path).then(
      () => false,
      ({ code }: NodeJS.ErrnoException) => code === 'ENOENT' || code === 'ENOTDIR',
    );
    if (isGone) for (const file of files) gone.add(file);
  }
  return gone;
}

function factsOf({ path, stats }: OwnFile) {
  return { inode: inodeOf(stats), size: stats.size, modified: stats.mtime, digest: () => digestOf(path) };
}

/** Gives the item of a moved file its new path, folder and name. If somebody has renamed the item, it keeps its name. */
async function follow(
  context: HostContext,
  { moved, copies }: { moved: KnownFile; copies: readonly KnownFile[] },
  own: OwnFile,
  folder: FolderDocument,
): Promise<void> {
  const { models, events } = context;
  const formerName = moved.storage.isTree === true ? dirname(moved.storage.path) : moved.storage.path;
  const place = { 'storage.path': own.path, 'storage.inode': inodeOf(own.stats) };
  // Copies of the item have separate file records with the same bytes.
  await models.file.updateMany({ _id: { $in: copies.map(({ _id }) => _id) } }, { $set: place });
  const file = await models.file
    .findOneAndUpdate(
      { _id: moved._id },
      {
        $set: {
          ...place,
          ...(moved.storage.isTree !== true && { name: own.name }),
        },
      },
      { returnDocument: 'after' },
    )
    .lean();
  const item = moved.itemId === null ? null : await models.item.findById(moved.itemId).lean<ItemDocument>();
  if (file === null || item === null) return;
  const isNamedAsFile = formerName.endsWith(`/${item.name}`);
  await updateItem(context, item, { folder, ...(isNamedAsFile && { name: own.name }) });
  const itemIds = [item._id, ...copies.flatMap(({ itemId }) => itemId ?? [])];
  await models.item.updateMany({ _id: { $in: itemIds } }, { $unset: { fileMissing: 1 } });
  await events.emit('file.saved', { file: { ...file }, created: false });
}

/** Marks items whose file is missing, or removes the mark. */
export async function setMissing({ models }: HostContext, ids: readonly Types.ObjectId[], since: Date | null): Promise<void> {
  // Few items are marked, and all ids of a large folder would be a long query at each scan.
  const marked = new Set<string>();
  const query = models.item.find({ fileMissing: { $exists: true } }, { _id: 1 }).lean();
  for await (const { _id } of eachInSlices<Pick<ItemDocument, '_id'>>(query)) marked.add(_id.toHexString());
  const wrong = ids.filter((id) => marked.has(id.toHexString()) === (since === null));
  for (const some of batches(wrong)) {
    const _id = { $in: [...some] };
    if (since === null) await models.item.updateMany({ _id }, { $unset: { fileMissing: 1 } });
    else await models.item.updateMany({ _id, fileMissing: null }, { $set: { fileMissing: since } });
  }
}
