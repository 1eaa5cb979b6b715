import { Readable } from 'node:stream';
import { bufferOf } from '../../core/buffer-of.js';
import { answerInTime } from '../../core/concurrency/answer-in-time.js';
import { NoLargeImageError, TileSourceError } from '../../errors.js';
import type { HostFiles, HostLogger, NewFileContent, StoredDocument } from '../../host.js';
import {
  kindFields,
  fileState,
  type CachedFileFilter,
  type CachedFileKind,
  type CachedFileModel,
  type ItemImageState,
} from './cached-file.model.js';
import { batches } from '../../core/database/id-batches.js';
import { groupCalls } from '../../core/database/group-calls.js';
import type { Lease, Leases } from '../../core/database/leases/leases.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { ItemRecord } from '../../core/host/records.js';
import { mapConcurrently } from '../../core/concurrency/map-concurrently.js';
import type { Enqueue } from '../../core/concurrency/work-queue.js';
import { SharedWork } from '../../tilesource/process/shared-work.js';
import { imageKeyOf } from './cached-file-key.js';
import type { Settings } from '../settings/settings.js';
import { announceStep } from '../../core/steps.js';

/** Bytes of a cached file. */
export interface CachedContent {
  bytes: Uint8Array;
  /** Mime type. */
  type: string;
  /** Number of corrupt tiles, which leave holes in the picture. A picture with holes is not stored, because the next attempt may succeed. */
  corruptTiles?: number;
}

/** Result of {@link CachedFiles.obtain}. */
export interface ObtainedFile {
  content: CachedContent;
  /** Whether the file was made by this call, or by another call in this process that this call waited for. */
  created: boolean;
  /** Why the content could not be stored. The caller gets the content anyway. */
  storeError?: unknown;
}

/** Identifies one file of an item. */
export interface CachedFileName {
  kind: CachedFileKind;
  /** See `cachedFileKey`. */
  key: string;
}

/** Makes the content of an item's file. Aborting the signal stops the work. */
type MakeContent = (item: ItemRecord, signal: AbortSignal) => Promise<CachedContent>;

/** Options of {@link CachedFiles.obtain}. */
interface ObtainFileOptions {
  /** Whether the caller has just found that the file does not exist, so that the first search can be skipped. */
  isAbsent?: boolean;
  /** The queue in which a missing file waits to be made. Without a queue, the file is made immediately. */
  enqueue?: Enqueue;
  /** Aborts when the caller disconnects. */
  signal?: AbortSignal;
}

/** Options of {@link CachedFiles}. */
export interface CachedFilesOptions {
  model: CachedFileModel;
  /** If several processes need the same file, the one with the lease makes it. */
  leases: Leases;
  records: HostRecords;
  files: HostFiles;
  settings: Settings;
  logger: HostLogger;
}

const storedFileName = '_largeImageThumbnail';
/** Maximum number of histograms of an item. Most images have fewer frames. */
const maxDataFiles = 1000;
/** Number of files that are removed at the same time. Each removal consists of several short round trips to database and disk. */
const removalConcurrency = 8;
/** Maximum number of files passed to the host in one call. */
const maxFilesPerCall = 32;
/** Minimum time between two calls to the host, in milliseconds. Files that arrive in between are passed together in the next call. */
const pauseBetweenCallsMs = 80;

/**
 * Makes pictures and histograms once and stores them as files attached to their items. If several requests need the same file, in
 * this process or in others, one request makes the file and the other requests wait.
 */
export class CachedFiles {
  readonly #createGrouped = groupCalls((files: readonly NewFileContent[]) => this.#createMany(files), {
    maxSize: maxFilesPerCall,
    pauseMs: pauseBetweenCallsMs,
  });
  /** Files that are being made in this process. */
  readonly #filesInProgress = new SharedWork<ObtainedFile>();

  constructor(private readonly options: CachedFilesOptions) {}

  /** Maximum number of pictures of one kind per item; 0 stores none. */
  async readMaxThumbnails(): Promise<number> {
    return Number(await this.options.settings.get('large_image.max_thumbnail_files'));
  }

  /** The stored content, or `null`. A file whose bytes cannot be read counts as missing. */
  async read(item: ItemRecord, name: CachedFileName): Promise<CachedContent | null> {
    const doc = await this.#find(item, name);
    return doc === null ? null : this.#readContent(doc);
  }

  async #find(item: ItemRecord, { kind, key }: CachedFileName): Promise<StoredDocument | null> {
    return this.options.model.find(await this.#imageStateOf(item), kind, key);
  }

  async #imageStateOf(item: ItemRecord): Promise<ItemImageState> {
    return { itemId: item.doc._id, imageState: await this.options.records.readImageState(item) };
  }

  /** Finds the existing files of the items. @returns a text `<item id>\n<key>` for each existing file. */
  async findExisting(items: readonly ItemRecord[], kind: CachedFileKind, keys: readonly string[]): Promise<Set<string>> {
    const imageStates = await Promise.all(items.map((item) => this.#imageStateOf(item)));
    return this.options.model.findExisting(imageStates, kind, keys);
  }

  /**
   * Returns the stored content, or calls `make` and stores the result. Errors of `make` are thrown. Errors while storing are logged
   * and reported in {@link ObtainedFile.storeError}. The signal passed to `make` is aborted once the signals of all callers that wait
   * for the file are aborted.
   */
  obtain(item: ItemRecord, name: CachedFileName, make: MakeContent, options: ObtainFileOptions = {}): Promise<ObtainedFile> {
    const leaseId = `${item.id}\n${name.kind}\n${name.key}`;
    const { signal, ...otherOptions } = options;
    return this.#filesInProgress.join(
      leaseId,
      (sharedSignal) => this.#obtain(leaseId, item, name, make, { ...otherOptions, signal: sharedSignal }),
      signal,
    );
  }

  async #obtain(
    leaseId: string,
    item: ItemRecord,
    name: CachedFileName,
    make: MakeContent,
    {
      isAbsent = false,
      enqueue = (work) => work(),
      signal,
    }: Pick<ObtainFileOptions, 'isAbsent' | 'enqueue'> & { signal: AbortSignal },
  ): Promise<ObtainedFile> {
    if (name.kind === 'thumbnail' && (await this.readMaxThumbnails()) <= 0) {
      await this.#prune(item, name);
      return { content: await enqueue(() => make(item, signal), signal), created: true };
    }
    const storedContent = isAbsent ? null : await this.read(item, name);
    if (storedContent !== null) return { content: storedContent, created: false };
    // The lease is taken only after waiting in the queue, so that waiting here does not keep another process from making the file.
    return enqueue(() => this.#makeWithLease(leaseId, item, name, make, signal), signal);
  }

  async #makeWithLease(
    leaseId: string,
    item: ItemRecord,
    name: CachedFileName,
    make: MakeContent,
    signal: AbortSignal,
  ): Promise<ObtainedFile> {
    let contentMadeElsewhere: CachedContent | null = null;
    const isDone = async () => (contentMadeElsewhere = await this.read(item, name)) !== null;
    const lease = await this.options.leases.acquire(leaseId, { subject: item.id, signal, isDone });
    if (lease === null) return { content: contentMadeElsewhere!, created: false };
    announceStep('cached-file:claimed');
    const { logger } = this.options;
    let storedDoc: StoredDocument | null = null;
    try {
      // Before this process got the lease, another process may have made the file, and the item may have received another image.
      const currentItem = await this.options.records.findItem(item.id);
      if (currentItem === null) throw new NoLargeImageError();
      const existingContent = await this.read(currentItem, name);
      if (existingContent !== null) return { content: existingContent, created: false };
      const content = await make(currentItem, signal);
      if (content.corruptTiles) {
        return {
          content,
          created: true,
          storeError: new TileSourceError(`The picture has ${content.corruptTiles} corrupt tiles.`),
        };
      }
      try {
        storedDoc = await this.#create(currentItem, { ...name, content, creatorId: null }, 'server');
      } catch (err) {
        logger.warn({ err, itemId: item.id, key: name.key }, 'CachedFile:Store:Failed');
        return { content, created: true, storeError: err };
      }
      return { content, created: true };
    } finally {
      await this.#releaseAndPrune(lease, item, name, storedDoc);
    }
  }

  async #create(
    item: ItemRecord,
    { kind, key, content, creatorId }: CachedFileName & { content: CachedContent; creatorId: string | null },
    maker: 'server' | 'client',
  ): Promise<StoredDocument> {
    const { bytes, type } = content;
    const { itemId, imageState } = await this.#imageStateOf(item);
    const result = await this.#createGrouped({
      file: {
        name: storedFileName,
        mimeType: type,
        size: bytes.byteLength,
        parent: { type: 'attached', itemId: item.id },
        fields: {
          attachedToType: 'item',
          attachedToId: itemId,
          [kindFields[kind]]: true,
          thumbnailKey: key,
          ...(imageState !== null && { largeImageState: fileState(imageState, maker) }),
        },
        creatorId,
      },
      content: Readable.from(bytes.byteLength === 0 ? [] : [bufferOf(bytes)]),
    });
    if (result.status === 'rejected') throw result.reason;
    announceStep('cached-file:stored');
    return result.value;
  }

  /**
   * Stores files, in one call if the host supports that. It never rejects, because {@link groupCalls} would then repeat the call for each
   * file, but the content of a file can be read only once.
   */
  async #createMany(files: readonly NewFileContent[]): Promise<PromiseSettledResult<StoredDocument>[]> {
    const host = this.options.files;
    try {
      if (host.createMany && files.length > 1) return await host.createMany(files);
    } catch (reason) {
      return files.map(() => ({ status: 'rejected', reason }));
    }
    return Promise.allSettled(files.map(({ file, content }) => host.create(file, content)));
  }

  /**
   * Releases the lease and removes surplus files. If the image was removed while the file was made, the file is removed, too. Never
   * rejects.
   */
  async #releaseAndPrune(lease: Lease, item: ItemRecord, name: CachedFileName, storedDoc: StoredDocument | null): Promise<void> {
    const { files, logger } = this.options;
    try {
      const isStillValid = await lease.release();
      announceStep('cached-file:released');
      if (storedDoc === null) return;
      if (isStillValid) await this.#prune(item, name);
      else await files.remove(storedDoc);
    } catch (err) {
      logger.warn({ err, itemId: item.id, key: name.key }, 'CachedFile:Finish:Failed');
    }
  }

  /**
   * Removes the oldest files in a file's group if the group exceeds its limit. Plain thumbnails are a group, the pictures of each image
   * key are a group, and all histograms are a group. Every process prunes after it has stored a file, so the last one sees all files.
   */
  async #prune(item: ItemRecord, { kind, key }: CachedFileName): Promise<void> {
    const { model } = this.options;
    const limit = kind === 'data' ? maxDataFiles : await this.readMaxThumbnails();
    const ids = await model.listIds(item, kind);
    if (ids.length <= limit) return;
    const imageKey = imageKeyOf(key);
    const group = kind === 'data' ? ids : ids.filter(({ thumbnailKey }) => imageKeyOf(thumbnailKey) === imageKey);
    for (const { _id } of group.slice(limit)) await this.#removeById(_id);
  }

  async #removeById(id: unknown): Promise<void> {
    const doc = await this.options.model.findById(id);
    if (doc !== null) await this.options.files.remove(doc);
  }

  async #readContent(doc: StoredDocument): Promise<CachedContent | null> {
    const { records, files, logger } = this.options;
    const { size, mimeType, id } = records.fileOf(doc);
    try {
      const bytes = size === 0 ? Buffer.alloc(0) : await collectBytes(await files.read(doc, { start: 0, end: size }));
      if (bytes.byteLength === size) return { bytes, type: mimeType };
      logger.warn({ fileId: id, size, found: bytes.byteLength }, 'CachedFile:Truncated');
    } catch (err) {
      logger.warn({ err, fileId: id }, 'CachedFile:Read:Failed');
    }
    // The file is removed, so that it can be made again. If the removal also fails, the file is pruned later.
    await files.remove(doc).catch((err: unknown) => logger.warn({ err, fileId: id }, 'CachedFile:Remove:Failed'));
    return null;
  }

  /** Records of the files of an item: pictures, then data, each newest first. */
  async list(item: ItemRecord): Promise<StoredDocument[]> {
    const { model } = this.options;
    return [...(await model.list(item, 'thumbnail')), ...(await model.list(item, 'data'))];
  }

  /** Stores content from a client, which replaces the file with this key. @returns the new record. */
  async put(
    item: ItemRecord,
    file: CachedFileName & { content: CachedContent; creatorId: string | null },
  ): Promise<StoredDocument> {
    const { model } = this.options;
    const replacedFiles = (await model.listIds(item, file.kind)).filter(({ thumbnailKey }) => thumbnailKey === file.key);
    const storedDoc = await this.#create(item, file, 'client');
    for (const { _id } of replacedFiles) await this.#removeById(_id);
    announceStep('cached-file:former-removed');
    await this.#prune(item, file);
    return storedDoc;
  }

  /** Removes the file with this name. @returns the removed record; `null` if there was none. */
  async removeOne(item: ItemRecord, name: CachedFileName): Promise<StoredDocument | null> {
    const doc = await this.#find(item, name);
    if (doc !== null) await this.options.files.remove(doc);
    return doc;
  }

  /**
   * Removes the oldest pictures of an item beyond `keptCount`; if `keptCount` is 0, also the histograms.
   *
   * @returns the number of files before the removal, and the number of removed files.
   */
  async trim(item: ItemRecord, keptCount: number): Promise<[fileCount: number, removedCount: number]> {
    const { model } = this.options;
    const kinds: CachedFileKind[] = keptCount === 0 ? ['thumbnail', 'data'] : ['thumbnail'];
    const ids = (await Promise.all(kinds.map((kind) => model.listIds(item, kind)))).flat();
    const surplusIds = ids.slice(keptCount);
    await mapConcurrently(surplusIds, removalConcurrency, ({ _id }) => this.#removeById(_id));
    return [ids.length, surplusIds.length];
  }

  /** Removes all cached files of items, including those that are being made. */
  async removeAll(items: readonly { id: string; doc: { _id: unknown } }[]): Promise<void> {
    for (const batch of batches(items)) {
      // The leases are revoked first: a process that finds its lease revoked removes the file that it has stored.
      await this.options.leases.revoke(batch.map(({ id }) => id));
      announceStep('cached-file:revoked');
      const itemIds = batch.map(({ doc }) => doc._id);
      for (const kind of ['thumbnail', 'data'] as const) await this.#removeMatching({ kind, itemIds });
    }
  }

  /** Number of matching files. */
  count(filter: CachedFileFilter): Promise<number> {
    return this.options.model.count(filter);
  }

  /**
   * Removes the files that match one of the filters. @returns the number of removed files. If this takes
   * longer than clients wait, returns the number so far, and the removal continues.
   */
  async remove(filters: readonly CachedFileFilter[]): Promise<number> {
    const total = { count: 0 };
    const removeAllMatching = async () => {
      for (const filter of filters) await this.#removeMatching(filter, total);
      return total.count;
    };
    return answerInTime(removeAllMatching(), {
      interimAnswer: () => total.count,
      onLateError: (err) => this.options.logger.warn({ err }, 'CachedFile:Removal:Failed'),
    });
  }

  async #removeMatching(filter: CachedFileFilter, total = { count: 0 }): Promise<void> {
    const { model, files } = this.options;
    for await (const docs of model.iterateBatches(filter)) {
      if (files.removeMany) await files.removeMany(docs);
      else await mapConcurrently(docs, removalConcurrency, (doc) => files.remove(doc));
      total.count += docs.length;
    }
  }
}

async function collectBytes(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
