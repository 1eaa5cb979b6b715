import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { atMost } from '../../core/concurrency/at-most.js';
import {
  AccessDeniedError,
  BadParameterError,
  InvalidError,
  LargeImageError,
  MissingPartsError,
  NoLargeImageError,
  TileSourceError,
} from '../../errors.js';
import { callerName } from '../../core/concurrency/queues.js';
import type { WorkQueue } from '../../core/concurrency/work-queue.js';
import type { Caller, HostFiles, HostLogger } from '../../host.js';
import type { CachedTile, TileCache } from '../caches/contract.js';
import type { OpenImage } from '../caches/open-image.js';
import type { SourceCache } from '../caches/source-cache.js';
import type { ItemFile } from '../../core/host/folder-contents.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { FileRecord, ItemRecord } from '../../core/host/records.js';
import { needsConversion } from '../../tilesource/convert/needs-conversion.js';
import type { BorrowedImage } from '../../tilesource/contract.js';
import { step } from '../../core/steps.js';
import { SharedWork } from '../../tilesource/process/shared-work.js';
import type { BlockCache } from '../../tilesource/block-reader.js';
import type { TileSourceRegistry } from '../../tilesource/registry/registry.js';
import type { IccOption, LargeImage } from '../../tilesource/requests.js';
import { FileStamps } from './file-stamps.js';
import { hostFileInput, storedPicture } from './file-input.js';
import type { Callers } from '../../core/host/callers.js';
import { idText } from '../../core/database/id-text.js';
import type { Sight } from './host-folder.js';
import { ImageOpener, sourceOf, type OpenOptions } from './image-opener.js';
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
  /** Blocks of files that do not lie on this machine. */
  blocks: BlockCache;
  registry: TileSourceRegistry;
  sources: SourceCache<OpenImage>;
  tiles: TileCache;
  /** Closes a file that changed or went, here and in other processes that have it open. */
  forgetFile: (fileId: string) => void;
  settings: Settings;
  callers: Pick<Callers, 'asker'>;
  logger: HostLogger;
  temporaryDirectory: string;
}

interface ServedFile {
  fileId: string;
  sourceName?: string;
}

/** Images made of several files of which it is remembered what they are made of. */
const maxKnownParts = 10_000;
/** How often an image is opened to see what it is made of, while that changes. */
const maxLooks = 4;

/** Large images of items: made, removed, and opened for the requests that show them. */
export class Images {
  /** Pictures being made now, so that the same one is made once for all who ask at the same time. */
  readonly #underWay = new SharedWork<CachedTile>();

  readonly #stamps: FileStamps;
  readonly #opener: ImageOpener;
  /** What images are made of, by their states: known without opening them again. */
  readonly #parts = new LRUCache<string, OpenImage['parts']>(atMost(maxKnownParts));
  /** The items that images name by their ids, by the states of their own files: the state of an image is that of these, too. */
  readonly #named = new LRUCache<string, OpenImage['parts']['named']>(atMost(maxKnownParts));

  constructor(private readonly options: ImagesOptions) {
    this.#opener = new ImageOpener({ ...options, share: (...sharing) => this.#share(...sharing) });
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
    return this.options.registry;
  }

  /**
   * The item, when the caller may read it and all that its large image is made of.
   *
   * @throws UnknownIdError, AccessDeniedError; TileSourceError where what it is made of cannot be found out
   */
  async load(itemId: string, caller: Caller | null): Promise<ItemRecord> {
    const { items, registry } = this.options;
    const item = await items.load(itemId, 0, caller);
    const { fileId, sourceName } = item.largeImage ?? {};
    if (fileId === undefined || sourceName === undefined || registry.get(sourceName)?.readsFolder === undefined) return item;
    const { state } = await this.#state(item);
    const known = this.#parts.get(state);
    const look = () => this.#lookAtParts(item).catch((error: unknown) => this.#tellFailure(item, state, error, caller));
    const found = known === undefined ? await look() : { state, parts: known };
    await items.requireParts(item, found.state, found.parts, caller);
    return item;
  }

  /** Why an image cannot be opened, for those who may read what it names. @throws AccessDeniedError, or the error itself. */
  async #tellFailure(item: ItemRecord, state: string, error: unknown, caller: Caller | null): Promise<never> {
    const parts = this.#opener.partsOfFailure(error);
    if (parts !== undefined) await this.options.items.requireParts(item, `failure:${state}`, parts, caller);
    throw error;
  }

  /** Opens an image to see what it is made of. */
  async #lookAtParts(item: ItemRecord): Promise<{ state: string; parts: OpenImage['parts'] }> {
    for (let tries = 0; tries < maxLooks; tries++) {
      const { state, own, served, icc } = await this.#state(item);
      const { fileId, sourceName } = served;
      const open = (wanted: AbortSignal) => this.#open(item, fileId, { sourceName, icc, signal: wanted });
      const parts = await this.options.sources.use(state, open, (opened) => opened.parts);
      this.#named.set(own, parts.named);
      // Items that it names change its state as soon as they are known.
      if ((await this.#state(item)).state !== state) continue;
      this.#parts.set(state, parts);
      return { state, parts };
    }
    throw new LargeImageError('unavailable', 'What this image is made of was changed while it was read. Please try again.');
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
    const cached = this.options.tiles.get(key);
    const found = cached instanceof Promise ? await cached : cached;
    if (found !== undefined) return found;
    return this.#underWay.join(
      key,
      async (wanted) => {
        const waiting = { signal: wanted, caller: callerName(asked.caller) };
        const tile = await queue.run(() => this.use(item, (image) => make(image, wanted), wanted), waiting);
        // Keeping it is nobody's wait: a cache answers for its own errors.
        Promise.resolve(this.options.tiles.set(key, tile)).catch(() => {});
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
    const result = await this.options.sources.use(
      state,
      (wanted) => this.#open(item, fileId, { sourceName, icc, signal: wanted }),
      (open) => use(open.image),
      signal,
    );
    if (state === (await this.#state(item)).state) return result;
    throw new LargeImageError('unavailable', 'The file of this image was replaced while it was read. Please try again.');
  }

  /** Names the file that an item is served from, in the state that its pictures depend on; begins with the id of the file. */
  async #state(item: ItemRecord): Promise<{ state: string; own: string; served: ServedFile; icc: IccOption }> {
    const served = servedFile(item);
    const icc = await this.#icc();
    const checked = this.#stamps.of(served.fileId);
    const stamp = typeof checked === 'string' ? checked : await checked;
    const { sourceName = '', revision = '' } = item.largeImage ?? {};
    const own = `${served.fileId}:${item.changed}:${sourceName}:${revision}:${String(icc)}:${stamp}`;
    const named = this.#named.get(own);
    if (named === undefined || named.size === 0) return { state: own, own, served, icc };
    return { state: `${own}:${await this.#stateOfItems(named)}`, own, served, icc };
  }

  /** Another text when the image of one of the items has changed. */
  async #stateOfItems(ids: ReadonlySet<string>): Promise<string> {
    const digest = createHash('sha256');
    for (const id of ids) {
      const item = await this.options.items.known(id);
      const { fileId = '', sourceName = '', revision = '' } = item?.largeImage ?? {};
      digest.update(`${id}:${item?.changed ?? ''}:${fileId}:${sourceName}:${revision};`);
    }
    return digest.digest('base64url').slice(0, 22);
  }

  /** Somebody has replaced a file where it lies: what was made of it goes. */
  async #changedOnDisk(fileId: string): Promise<void> {
    const { records, cachedFiles, logger } = this.options;
    this.options.sources.evict((key) => key.startsWith(`${fileId}:`));
    const file = await records.findFile(fileId);
    if (file === null) return;
    logger.info({ fileId }, 'LargeImage:File:Changed');
    for (const item of await records.markers.itemsServing(file)) await cachedFiles.removeAll(item);
  }

  async #open(item: ItemRecord, fileId: string, options: OpenOptions): Promise<OpenImage> {
    const file = await this.options.records.findFile(fileId);
    if (file === null) throw new TileSourceError(`No large image file in this item: file ${fileId} of item ${item.id} is gone.`);
    return this.#opener.open(file, options);
  }

  /** Uses the image of a file for another image; it stays open for the next. */
  async #share<R>(
    { file, item }: ItemFile,
    sourceName: string | undefined,
    use: (image: BorrowedImage, parts: OpenImage['parts']) => Promise<R> | R,
    signal?: AbortSignal,
  ): Promise<R> {
    const own = sourceOf(item, file);
    const isServed = own !== undefined && (sourceName === undefined || sourceName === own);
    const icc = await this.#icc();
    const looked = await this.#stamps.of(file.id);
    const key = isServed ? (await this.#state(item)).state : `${file.id}:part:${sourceName ?? ''}:${String(icc)}:${looked}`;
    const open = (wanted: AbortSignal) => this.#opener.open(file, { sourceName: sourceName ?? own, icc, signal: wanted });
    return this.options.sources.use(key, open, ({ borrowed, parts }) => use(borrowed, parts), signal);
  }

  async #icc(): Promise<IccOption> {
    return (await this.options.settings.get('large_image.icc_correction')) as IccOption;
  }

  /**
   * What whoever has brought a file may see around it. What is hidden from them is not there, or they would learn of it by whether the file becomes
   * an image. Where nobody knows who that was, items that are named by their ids must be everybody's.
   */
  async #sightOf(file: FileRecord): Promise<Sight> {
    const { items, callers } = this.options;
    const creator = idText(file.doc.creatorId);
    let caller: Caller | null = null;
    try {
      if (creator !== '') caller = await callers.asker({ id: creator, admin: false });
    } catch (error) {
      if (!(error instanceof AccessDeniedError)) throw error;
    }
    return {
      item: async (id) => (await items.readableItems([id], caller)).has(id),
      folders: async (ids) => (caller === null ? new Set(ids) : items.readableFolders(ids, caller)),
    };
  }

  /** Name of the first source that can read a file, by trying. @throws TileSourceError that says why none can. */
  async findSource(file: FileRecord): Promise<string> {
    const opened = await this.#opener.open(file, { icc: false, sight: await this.#sightOf(file) });
    // Nobody has to wait for it, however long a source takes.
    opened.close().catch((err: unknown) => {
      this.options.logger.warn({ err, fileId: file.id, sourceName: opened.sourceName }, 'TileSource:Close:Failed');
    });
    return opened.sourceName;
  }

  /**
   * Opens a file for a conversion, where a source reads it that needs more than the file, or that the process of a conversion does not know.
   *
   * @returns `null` where the file alone says all. The caller closes the image.
   * @throws AccessDeniedError where the caller may not read all that the image is made of.
   */
  async openForConversion(item: ItemRecord, file: FileRecord, caller: Caller | null): Promise<OpenImage | null> {
    let opened: OpenImage;
    try {
      opened = await this.#opener.open(file, { sourceName: sourceOf(item, file), icc: false });
    } catch (error) {
      // It may be too large for all sources: then the conversion says what it is.
      if (error instanceof TileSourceError) return null;
      throw error;
    }
    const isPlain = opened.sourceName === 'tiff' || opened.sourceName === 'sharp';
    try {
      if (isPlain) await opened.close();
      else await this.options.items.requireParts(item, `conversion:${file.id}:${item.changed}`, opened.parts, caller);
    } catch (error) {
      await opened.close();
      throw error;
    }
    return isPlain ? null : opened;
  }

  /**
   * {@link Images.findSource} of a file of an item, which notes what it waits for when files that belong to the image are missing.
   *
   * @throws TileSourceError that says why none can.
   */
  async sourceFor(item: ItemRecord, file: FileRecord): Promise<string> {
    const { dependants, markers } = this.options.records;
    try {
      const sourceName = await this.findSource(file);
      await dependants.setWaiting(item, null);
      return sourceName;
    } catch (error) {
      this.options.items.forget(item.id);
      if (error instanceof MissingPartsError) await dependants.setWaiting(item, { file, missing: error.missing });
      else if (item.waiting?.fileId === file.id) await dependants.setWaiting(item, null);
      if (error instanceof TileSourceError) await markers.refuse(item, error.reason);
      throw error;
    }
  }

  /** Whether a file that no source opens is an image that is only too large for them. */
  async needsConversion(file: FileRecord): Promise<boolean> {
    return needsConversion(await hostFileInput(file, this.options), this.options.temporaryDirectory);
  }

  /** What a file is that browsers show as it is; `null` for all others. */
  storedPicture(file: FileRecord): ReturnType<typeof storedPicture> {
    return storedPicture(file, this.options);
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
      const files = await this.options.records.filesOfItem(item);
      if (files.length !== 1) throw new BadParameterError('Missing "fileId" parameter.');
      return files[0]!;
    }
    const file = await this.options.records.findFile(fileId);
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
    const { records, items } = this.options;
    const sourceName = await this.sourceFor(item, file);
    const claimed = await records.markers.claim(item, { fileId: file.doc._id, sourceName });
    items.forget(item.id);
    if (claimed === null) throw new BadParameterError('Item already has largeImage set.');
    return claimed;
  }

  /** Takes the large image off an item; the file stays. @returns false when there was none. */
  async remove(item: ItemRecord): Promise<boolean> {
    if (item.largeImage === null) return false;
    const removed = await this.options.records.markers.release(item);
    this.options.items.forget(item.id);
    this.closeFile(item.largeImage.fileId);
    step('removal:released');
    if (removed) await this.options.cachedFiles.removeAll(item);
    return removed;
  }

  /** Lets go of everything that was made of the large image that an item had. */
  async replaced(before: ItemRecord): Promise<void> {
    this.closeFile(before.largeImage?.fileId);
    await this.options.cachedFiles.removeAll(before);
  }

  /** Lets go of a file that is open for requests to come. */
  closeFile(fileId: string | undefined): void {
    if (fileId === undefined) return;
    this.#stamps.forget(fileId);
    this.options.forgetFile(fileId);
  }
}

/** @throws BadParameterError when the item is a large image, or is to become one, or the file is another item's. */
export function assertCreatable(item: ItemRecord, file: FileRecord): void {
  if (item.largeImage?.fileId !== undefined) throw new BadParameterError('Item already has largeImage set.');
  if (file.itemId !== item.id) throw new BadParameterError('The provided file must be in the provided item.');
  if (item.largeImage !== null) throw new BadParameterError('Item is scheduled to generate a largeImage.');
}

/** Names told of the files that are missing. */
const maxTold = 20;

/** What an item that is no large image yet waits for. */
function missingText({ waiting }: ItemRecord): string | undefined {
  if (waiting === null) return undefined;
  const { missing } = waiting;
  const rest = missing.length > maxTold ? ` and ${missing.length - maxTold} more` : '';
  const names = missing.map((path) => (path === '*' ? 'a file that fits a pattern' : path));
  return `No large image file in this item. It waits for files that belong to it: ${names.slice(0, maxTold).join(', ')}${rest}.`;
}

function servedFile(item: ItemRecord): ServedFile {
  const { largeImage } = item;
  if (largeImage === null) throw new NoLargeImageError(missingText(item));
  if (largeImage.fileId === undefined) {
    throw new NoLargeImageError(
      largeImage.expected === true ? 'The large image file for this item is still pending creation.' : undefined,
    );
  }
  return { fileId: largeImage.fileId, ...(largeImage.sourceName !== undefined && { sourceName: largeImage.sourceName }) };
}
