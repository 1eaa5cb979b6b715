import { randomUUID } from 'node:crypto';
import { BadParameterError, InvalidError, LargeImageError, NoLargeImageError, TileSourceError } from '../../errors.js';
import { callerName } from '../../core/concurrency/queues.js';
import type { WorkQueue } from '../../core/concurrency/work-queue.js';
import type { Caller, HostFiles, HostLogger } from '../../host.js';
import type { CachedTile, TileCache } from '../caches/contract.js';
import type { OpenImage } from '../caches/open-image.js';
import type { SourceCache } from '../caches/source-cache.js';
import type { FileRecord, HostRecords, ItemRecord } from '../../core/host/host-records.js';
import { idText } from '../../core/database/id-text.js';
import { needsConversion } from '../../tilesource/convert/needs-conversion.js';
import { openLargeImage } from '../../tilesource/large-image.js';
import { step } from '../../core/steps.js';
import { SharedWork } from '../../tilesource/process/shared-work.js';
import type { TileSourceRegistry } from '../../tilesource/registry.js';
import type { IccOption, LargeImage } from '../../tilesource/requests.js';
import { FileStamps } from './file-stamps.js';
import { hostFileInput } from './file-input.js';
import type { CachedFiles } from '../cached-files/cached-files.js';
import type { Items } from '../items/items.js';
import type { Settings } from '../settings/settings.js';

/** What {@link Images} works with. */
export interface ImagesOptions {
  records: HostRecords;
  items: Items;
  /** What is kept of an image goes with it. */
  cachedFiles: Pick<CachedFiles, 'removeAll'>;
  files: HostFiles;
  registry: TileSourceRegistry;
  sources: SourceCache<OpenImage>;
  tiles: TileCache;
  /** Closes a file that changed or went, here and in other processes that have it open. */
  forgetFile: (fileId: string) => void;
  settings: Settings;
  logger: HostLogger;
  temporaryDirectory: string;
}

interface ServedFile {
  fileId: string;
  sourceName?: string;
}

interface OpenOptions {
  sourceName?: string | undefined;
  icc: IccOption;
  signal?: AbortSignal;
}

/** Large images of items: made, removed, and opened for the requests that show them. */
export class Images {
  readonly #options: ImagesOptions;
  /** Pictures being made now, so that the same one is made once for all who ask at the same time. */
  readonly #underWay = new SharedWork<CachedTile>();

  readonly #stamps: FileStamps;

  constructor(options: ImagesOptions) {
    this.#options = options;
    this.#stamps = new FileStamps({
      pathOf: async (fileId) => {
        const file = await options.records.findFile(fileId);
        return file === null ? null : options.files.localPath(file.doc);
      },
      changed: (fileId) => this.#changedOnDisk(fileId),
    });
  }

  /** The sources that may read files. */
  get registry(): TileSourceRegistry {
    return this.#options.registry;
  }

  /**
   * Names a picture of an item exactly: file, its state, colour correction and request. Equal names mean equal bytes, so it is
   * the key of caches and the ground of entity tags.
   *
   * @throws NoLargeImageError
   */
  async pictureKey(item: ItemRecord, kind: string, request: Readonly<Record<string, unknown>>): Promise<string> {
    const { state } = await this.#state(item);
    const canonical = Object.keys(request)
      .sort()
      .filter((name) => request[name] !== undefined)
      .map((name) => `${name}=${JSON.stringify(request[name])}`)
      .join('&');
    return `${state}/${kind}?${canonical}`;
  }

  /**
   * The picture of this key from the cache, or made, then kept. What is being made is broken off when the signals of all who asked for
   * it are aborted.
   *
   * @param asked looked at only for what is not in the cache
   * @param queue where what has to be made waits
   */
  async picture(
    item: ItemRecord,
    key: string,
    make: (image: LargeImage, signal: AbortSignal) => Promise<CachedTile>,
    { asked, queue }: { asked: { caller: Caller | null; readonly signal: AbortSignal }; queue: WorkQueue },
  ): Promise<CachedTile> {
    const cached = this.#options.tiles.get(key);
    const found = cached instanceof Promise ? await cached : cached;
    if (found !== undefined) return found;
    return this.#underWay.join(
      key,
      async (wanted) => {
        const waiting = { signal: wanted, caller: callerName(asked.caller) };
        const tile = await queue.run(() => this.use(item, (image) => make(image, wanted), wanted), waiting);
        // Keeping it is nobody's wait: a cache answers for its own errors.
        Promise.resolve(this.#options.tiles.set(key, tile)).catch(() => {});
        return tile;
      },
      asked.signal,
    );
  }

  /**
   * Opens the large image of an item for one use; it stays open for the next.
   *
   * @param signal of whoever asks: an opening that nobody waits for any more is broken off
   * @throws NoLargeImageError, TileSourceError; LargeImageError `unavailable` where the file was replaced meanwhile
   */
  async use<R>(item: ItemRecord, use: (image: LargeImage) => Promise<R> | R, signal?: AbortSignal): Promise<R> {
    const { state, served, icc } = await this.#state(item);
    const { fileId, sourceName } = served;
    const result = await this.#options.sources.use(
      state,
      (wanted) => this.#open(item, fileId, { sourceName, icc, signal: wanted }),
      (open) => use(open.image),
      signal,
    );
    if (state === (await this.#state(item)).state) return result;
    throw new LargeImageError('unavailable', 'The file of this image was replaced while it was read. Please try again.');
  }

  /** Names the file that an item is served from, in the state that its pictures depend on; begins with the id of the file. */
  async #state(item: ItemRecord): Promise<{ state: string; served: ServedFile; icc: IccOption }> {
    const served = servedFile(item);
    const icc = await this.#icc();
    const checked = this.#stamps.of(served.fileId);
    const stamp = typeof checked === 'string' ? checked : await checked;
    const { sourceName = '', revision = '' } = item.largeImage ?? {};
    return { state: `${served.fileId}:${item.changed}:${sourceName}:${revision}:${String(icc)}:${stamp}`, served, icc };
  }

  /** Somebody has replaced a file where it lies: what was made of it goes. */
  async #changedOnDisk(fileId: string): Promise<void> {
    const { records, cachedFiles, logger } = this.#options;
    this.#options.sources.evict((key) => key.startsWith(`${fileId}:`));
    const file = await records.findFile(fileId);
    if (file === null) return;
    logger.info({ fileId }, 'LargeImage:File:Changed');
    for (const item of await records.markers.itemsServing(file)) await cachedFiles.removeAll(item);
  }

  async #open(item: ItemRecord, fileId: string, options: OpenOptions): Promise<OpenImage> {
    const file = await this.#options.records.findFile(fileId);
    if (file === null) throw new TileSourceError(`No large image file in this item: file ${fileId} of item ${item.id} is gone.`);
    return this.#openFile(file, options);
  }

  async #openFile(file: FileRecord, { sourceName, icc, signal }: OpenOptions): Promise<OpenImage> {
    const { registry, files, logger, settings, temporaryDirectory } = this.#options;
    const input = await hostFileInput(file, files, () => this.#companionsOf(file));
    const maxSmallImageSize = Number(await settings.get('large_image.max_small_image_size'));
    const opened = await registry.open(input, {
      maxSmallImageSize,
      ...(sourceName !== undefined && { sourceName }),
      temporaryDirectory,
      ...(signal && { signal }),
    });
    const image = openLargeImage(opened.source, {
      sourceName: opened.name,
      icc,
      warn: (fields, event) => logger.warn({ fileId: file.id, ...fields }, event),
      temporaryDirectory,
    });
    return {
      image,
      sourceName: opened.name,
      retainedBytes: opened.source.retainedBytes ?? 0,
      close: async () => opened.source.close(),
    };
  }

  async #companionsOf(file: FileRecord): Promise<FileRecord[]> {
    const { records } = this.#options;
    const item = file.itemId === null ? null : await records.findItem(file.itemId);
    return item === null ? [] : (await records.filesOfItem(item)).filter(({ id }) => id !== file.id);
  }

  async #icc(): Promise<IccOption> {
    return (await this.#options.settings.get('large_image.icc_correction')) as IccOption;
  }

  /** Name of the first source that can read a file, by trying. @throws TileSourceError that says why none can. */
  async findSource(file: FileRecord): Promise<string> {
    const opened = await this.#openFile(file, { icc: false });
    // Nobody has to wait for it, however long a source takes.
    opened.close().catch((err: unknown) => {
      this.#options.logger.warn({ err, fileId: file.id, sourceName: opened.sourceName }, 'TileSource:Close:Failed');
    });
    return opened.sourceName;
  }

  /** Whether a file that no source opens is an image that is only too large for them. */
  async needsConversion(file: FileRecord): Promise<boolean> {
    const { files, temporaryDirectory } = this.#options;
    return needsConversion(await hostFileInput(file, files), temporaryDirectory);
  }

  /** @throws TileSourceError when nothing can be made of a file: no source reads it, and it is not only too large for them. */
  async requireImage(file: FileRecord): Promise<void> {
    try {
      await this.findSource(file);
    } catch (error) {
      if (!(error instanceof TileSourceError) || !(await this.needsConversion(file))) throw error;
    }
  }

  /**
   * The file that an item is made a large image of: the one asked for, or its only one.
   *
   * @throws BadParameterError, InvalidError
   */
  async chooseFile(item: ItemRecord, fileId: string | undefined): Promise<FileRecord> {
    if (fileId === undefined) {
      const files = await this.#options.records.filesOfItem(item);
      if (files.length !== 1) throw new BadParameterError('Missing "fileId" parameter.');
      return files[0]!;
    }
    const file = await this.#options.records.findFile(fileId);
    if (file === null) throw new InvalidError(`No such file: ${fileId}`, 'id');
    return file;
  }

  /**
   * The file of an item that is converted into a copy: the one asked for, that of its large image, or its only one.
   *
   * @throws BadParameterError, InvalidError
   */
  async chooseConvertible(item: ItemRecord, fileId: string | undefined): Promise<FileRecord> {
    const served = item.largeImage?.originalId ?? item.largeImage?.fileId;
    const file = await this.chooseFile(item, fileId ?? served);
    if (file.itemId !== item.id) throw new BadParameterError('The provided file must be in the provided item.');
    return file;
  }

  /**
   * Makes an item a large image of one of its files, which a source must be able to read as it is.
   *
   * @throws BadParameterError when the item is one, or is to become one, or the file is another item's; TileSourceError when no
   * source reads the file. Nothing is saved then.
   */
  async create(item: ItemRecord, file: FileRecord): Promise<ItemRecord> {
    assertCreatable(item, file);
    const sourceName = await this.#sourceOrReason(item, file);
    const claimed = await this.#options.records.markers.claim(item, { fileId: file.doc._id, sourceName });
    this.#options.items.forget(item.id);
    if (claimed === null) throw new BadParameterError('Item already has largeImage set.');
    return claimed;
  }

  /** @throws TileSourceError when no source reads the file: its reason is kept at the item. */
  async #sourceOrReason(item: ItemRecord, file: FileRecord): Promise<string> {
    try {
      return await this.findSource(file);
    } catch (error) {
      if (error instanceof TileSourceError) await this.#options.records.markers.refuse(item, error.message);
      throw error;
    }
  }

  /** Takes the large image off an item; the file stays. @returns false when there was none. */
  async remove(item: ItemRecord): Promise<boolean> {
    if (item.largeImage === null) return false;
    const removed = await this.#options.records.markers.release(item);
    this.#options.items.forget(item.id);
    this.closeFile(item.largeImage.fileId);
    step('removal:released');
    if (removed) await this.#options.cachedFiles.removeAll(item);
    return removed;
  }

  /** What happens when the host has saved a file: its item becomes a large image if it can, or is looked at anew. */
  async fileSaved(doc: Record<string, unknown> & { _id: unknown }, created: boolean): Promise<void> {
    const { records, items, logger } = this.#options;
    const file = records.fileOf(doc);
    if (!created) this.closeFile(file.id);
    if (file.itemId === null) return;
    items.forget(file.itemId);
    const item = await records.findItem(file.itemId);
    if (item === null) return;
    if (item.largeImage !== null) {
      if (!created && item.largeImage.fileId === file.id) await this.#detectAgain(item, file);
      else if (item.largeImage.fileId !== file.id) await this.#companionChanged(item);
      return;
    }
    const main = (await this.#mainFileOf(item)) ?? file;
    if (!(await this.#mayBecomeImage(main))) return;
    try {
      await this.create(item, main);
    } catch (error) {
      if (!(error instanceof LargeImageError)) throw error;
      logger.info({ fileId: main.id, itemId: item.id, reason: error.message }, 'LargeImage:AutoSet:Refused');
    }
  }

  /** The file of an item that reads the others, where it has such a one: pictures beside it only accompany it. */
  async #mainFileOf(item: ItemRecord): Promise<FileRecord | null> {
    const { records, registry } = this.#options;
    const files = await records.filesOfItem(item);
    return files.find((file) => registry.candidates(file)[0]?.readsCompanions === true) ?? null;
  }

  async #mayBecomeImage(file: FileRecord): Promise<boolean> {
    const autoSet = await this.#options.settings.get('large_image.auto_set');
    if (autoSet === 'all') return true;
    return autoSet !== false && this.#options.registry.knows({ name: file.name, mimeType: file.mimeType });
  }

  /** New bytes under an old id: they may need another source, or be no image any more. */
  async #detectAgain(item: ItemRecord, file: FileRecord): Promise<void> {
    await this.remove(item);
    const fresh = await this.#options.records.findItem(item.id);
    if (fresh === null || fresh.largeImage !== null) return;
    try {
      await this.create(fresh, file);
    } catch (error) {
      if (!(error instanceof LargeImageError)) throw error;
      this.#options.logger.warn({ fileId: file.id, itemId: item.id, reason: error.message }, 'LargeImage:Lost');
    }
  }

  /** A file has come to, or gone from, an item whose other file is shown: where that one reads it, too, the image is another one now. */
  async #companionChanged(item: ItemRecord): Promise<void> {
    const { registry } = this.#options;
    const { fileId, sourceName, originalId } = item.largeImage ?? {};
    if (fileId === undefined || sourceName === undefined || originalId !== undefined) return;
    const stored = item.doc.largeImage as Record<string, unknown>;
    if (registry.get(sourceName)?.readsCompanions === true)
      return this.#replaceMarker(item, { ...stored, revision: randomUUID() });
    const main = await this.#mainFileOf(item);
    if (main === null || main.id === fileId || !(await this.#mayBecomeImage(main))) return;
    try {
      await this.#replaceMarker(item, { ...stored, fileId: main.doc._id, sourceName: await this.findSource(main) });
    } catch (error) {
      if (!(error instanceof LargeImageError)) throw error;
      this.#options.logger.info({ fileId: main.id, itemId: item.id, reason: error.message }, 'LargeImage:AutoSet:Refused');
    }
  }

  async #replaceMarker(item: ItemRecord, marker: Record<string, unknown>): Promise<void> {
    await this.#options.records.markers.replace(item, marker);
    this.#options.items.forget(item.id);
    await this.replaced(item);
  }

  /** What happens when the host has removed a file: no item is served from it any more. */
  async fileRemoved(doc: Record<string, unknown> & { _id: unknown }): Promise<void> {
    const file = this.#options.records.fileOf(doc);
    // Attached files, of which there may be many, serve nobody.
    if (file.itemId === null) return;
    const served = await this.#options.records.markers.itemsServing(file);
    for (const item of served) await this.remove(item);
    this.closeFile(file.id);
    const item = await this.#options.records.findItem(file.itemId);
    if (item === null) return;
    if (item.largeImage !== null) return this.#companionChanged(item);
    await this.#options.records.markers.refuse(item, null);
    if (served.length > 0) await this.#serveAnother(item);
  }

  /** The rest of an image of several files is shown when the file that stood for it has gone. */
  async #serveAnother(item: ItemRecord): Promise<void> {
    const file = await this.#mainFileOf(item);
    if (file !== null) await this.fileSaved(file.doc, true);
  }

  /** Lets go of an item that is no more, and of what is kept for it. */
  async itemRemoved(doc: Record<string, unknown> & { _id: unknown }): Promise<void> {
    const id = idText(doc._id);
    this.#options.items.forget(id);
    await this.#options.cachedFiles.removeAll({ id, doc });
  }

  /**
   * The copy of an item is served from its own copies of the files. One whose file was not copied, because it was never finished,
   * is no large image.
   */
  async itemCopied(doc: Record<string, unknown> & { _id: unknown }, fileIds: ReadonlyMap<string, string>): Promise<void> {
    const { records, items } = this.#options;
    const item = records.itemOf(doc);
    if (item.largeImage === null) return;
    const copyOf = async (id: string | undefined) => {
      const copied = id === undefined ? undefined : fileIds.get(id);
      return copied === undefined ? null : records.findFile(copied);
    };
    const [file, original] = await Promise.all([copyOf(item.largeImage.fileId), copyOf(item.largeImage.originalId)]);
    const { originalId: _of, expected: _pending, ...stored } = doc.largeImage as Record<string, unknown>;
    const marker = file && { ...stored, fileId: file.doc._id, ...(original && { originalId: original.doc._id }) };
    await records.setItemField(item, 'largeImage', marker ?? undefined);
    items.forget(item.id);
  }

  /** Lets go of everything that was made of the large image that an item had. */
  async replaced(before: ItemRecord): Promise<void> {
    this.closeFile(before.largeImage?.fileId);
    await this.#options.cachedFiles.removeAll(before);
  }

  /** Lets go of a file that is open for requests to come. */
  closeFile(fileId: string | undefined): void {
    if (fileId === undefined) return;
    this.#stamps.forget(fileId);
    this.#options.forgetFile(fileId);
  }
}

/** @throws BadParameterError when the item is a large image, or is to become one, or the file is another item's. */
export function assertCreatable(item: ItemRecord, file: FileRecord): void {
  if (item.largeImage?.fileId !== undefined) throw new BadParameterError('Item already has largeImage set.');
  if (file.itemId !== item.id) throw new BadParameterError('The provided file must be in the provided item.');
  if (item.largeImage !== null) throw new BadParameterError('Item is scheduled to generate a largeImage.');
}

function servedFile(item: ItemRecord): ServedFile {
  const { largeImage } = item;
  if (largeImage === null) throw new NoLargeImageError();
  if (largeImage.fileId === undefined) {
    throw new NoLargeImageError(
      largeImage.expected === true ? 'The large image file for this item is still pending creation.' : undefined,
    );
  }
  return { fileId: largeImage.fileId, ...(largeImage.sourceName !== undefined && { sourceName: largeImage.sourceName }) };
}
