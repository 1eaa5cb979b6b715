import { isSliceOver, nextSlice } from '../../core/concurrency/slices.js';
import { LRUCache } from 'lru-cache';
import { limitEntries } from '../../core/concurrency/lru-options.js';
import { callerName } from '../../core/concurrency/queues.js';
import type { WorkQueue } from '../../core/concurrency/work-queue.js';
import type { ItemFile } from '../../core/host/folder-contents.js';
import type { HostRecords } from '../../core/host/host-records.js';
import { limitsOf } from '../../core/host/link-holder.js';
import type { FileRecord, ItemRecord } from '../../core/host/records.js';
import { LargeImageError, TileSourceError } from '../../errors.js';
import type { Caller, HostFiles, HostLogger } from '../../host.js';
import type { BlockCache } from './block-cache.js';
import type { BorrowedImage, ByteReader } from '../../tilesource/tile-source.js';
import { SharedWork } from '../../tilesource/process/shared-work.js';
import type { TileSourceRegistry } from '../../tilesource/registry/registry.js';
import { declaredParameters } from '../../tilesource/picture-parameters.js';
import { rendering, type EncodedPicture, type LargeImage } from '../../tilesource/requests.js';
import type { TileCache } from '../caches/tile-cache.js';
import type { OpenImage } from '../caches/open-image.js';
import type { SourceCache } from '../caches/source-cache.js';
import type { Items } from '../items/items.js';
import type { Settings } from '../settings/settings.js';
import { hostFileInput, detectWebPicture } from './file-input.js';
import type { ImageChanges } from './image-changes.js';
import { ImageOpener, sourceNameOf, type OpenOptions } from './image-opener.js';
import { ImageStates, type ImageState } from './image-states.js';

/** A picture that was just made or comes from the tile cache. Pictures with corrupt tiles are not cached. */
type MadePicture = Pick<EncodedPicture, 'bytes' | 'type' | 'corruptTiles'>;

/** Options of {@link Images}. */
export interface ImagesOptions {
  records: HostRecords;
  items: Items;
  changes: ImageChanges;
  files: HostFiles;
  /** Blocks of remote files. */
  blocks: BlockCache;
  registry: TileSourceRegistry;
  sources: SourceCache<OpenImage>;
  tiles: TileCache;
  /** Closes a file that has changed or was removed, in this process and in others that have it open. */
  forgetFile: (fileId: string) => void;
  settings: Settings;
  logger: HostLogger;
  temporaryDirectory: string;
}

/** The caller for whom a picture is made, and the queue in which the work waits. */
interface MakeOptions {
  /** `signal` may be a getter that creates the signal. It is read only if the picture is not cached. */
  requester: { caller: Caller | null; readonly signal: AbortSignal };
  queue: WorkQueue;
}

/** Maximum number of images whose parts are remembered. Only images of several files have parts. */
const maxImagesWithParts = 10_000;
/** Maximum number of times that an image is opened to find its parts, because the parts may keep changing. */
const maxInspections = 4;

/** Opens the large images of items for the requests that show them. */
export class Images {
  /** Pictures that are being made. Requests for the same picture share the work. */
  readonly #picturesInProgress = new SharedWork<MadePicture>();
  readonly #states: ImageStates;
  readonly #opener: ImageOpener;
  /** The parts of images, by the keys of the images' states. They are kept so that images need not be opened again to find them. */
  readonly #parts = new LRUCache<string, OpenImage['parts']>(limitEntries(maxImagesWithParts));

  constructor(private readonly options: ImagesOptions) {
    this.#opener = new ImageOpener({ ...options, usePart: (...args) => this.#usePart(...args) });
    this.#states = new ImageStates({ ...options, onChangedOnDisk: (fileId) => this.#handleChangeOnDisk(fileId) });
  }

  /** The sources that read files. */
  get registry(): TileSourceRegistry {
    return this.options.registry;
  }

  /**
   * The item, if the caller can read it and all parts of its large image.
   *
   * @throws UnknownIdError, AccessDeniedError; TileSourceError if the parts cannot be determined
   */
  async load(itemId: string, caller: Caller | null): Promise<ItemRecord> {
    const { items, registry } = this.options;
    const item = await items.load(itemId, 0, caller);
    const { fileId, sourceName } = item.largeImage ?? {};
    if (fileId === undefined || sourceName === undefined || registry.get(sourceName)?.readsFolder === undefined) return item;
    const { key } = await this.#states.stateOf(item);
    const cachedParts = this.#parts.get(key);
    const inspect = () => this.#findParts(item).catch((error: unknown) => this.#rethrowIfReadable(error, item, key, caller));
    const { stateKey, parts } = cachedParts === undefined ? await inspect() : { stateKey: key, parts: cachedParts };
    await items.requireParts(item, stateKey, parts, caller);
    return item;
  }

  /** Whether the caller can see the label, macro and other associated images of an item that they can read. */
  async showsAssociated(item: ItemRecord, caller: Caller | null): Promise<boolean> {
    const limits = limitsOf(caller);
    if (limits !== null) return limits.allowsAssociated;
    const requiredLevel = await this.options.settings.get('large_image.associated_images');
    if (requiredLevel !== 'WRITE' && requiredLevel !== 'ADMIN') return true;
    try {
      await this.options.items.load(item.id, requiredLevel === 'WRITE' ? 1 : 2, caller);
      return true;
    } catch (error) {
      if (error instanceof LargeImageError && error.code === 'access-denied') return false;
      throw error;
    }
  }

  /**
   * Throws the error of an image that could not be opened.
   *
   * @throws AccessDeniedError instead if the caller cannot read all parts of the image, because the error message names the parts.
   */
  async #rethrowIfReadable(error: unknown, item: ItemRecord, stateKey: string, caller: Caller | null): Promise<never> {
    const parts = this.#opener.partsOfFailure(error);
    if (parts !== undefined) await this.options.items.requireParts(item, `failure:${stateKey}`, parts, caller);
    throw error;
  }

  /** Opens an image to find its parts. */
  async #findParts(item: ItemRecord): Promise<{ stateKey: string; parts: OpenImage['parts'] }> {
    for (let attempt = 0; attempt < maxInspections; attempt++) {
      const state = await this.#states.stateOf(item);
      const parts = await this.#useOpen(item, state, (openedImage) => openedImage.parts);
      this.#states.setReferencedItems(state, parts.referencedItems);
      // The state gets another key once the items that the image refers to are known.
      if ((await this.#states.stateOf(item)).key !== state.key) continue;
      this.#parts.set(state.key, parts);
      return { stateKey: state.key, parts };
    }
    throw new LargeImageError('unavailable', 'A file of this image changed while it was read. Try again.');
  }

  /**
   * A key that identifies a picture of an item. It contains the state of the image, the kind of picture, the version of the renderer
   * and the request. Equal keys mean equal bytes, so caches use the key, and entity tags are derived from it.
   *
   * @throws NoLargeImageError
   */
  async pictureKey(item: ItemRecord, kind: string, request: Readonly<Record<string, unknown>>): Promise<string> {
    const { key: stateKey } = await this.#states.stateOf(item);
    const canonicalRequest = Object.keys(request)
      .sort()
      .filter((name) => request[name] !== undefined && request[name] !== declaredParameters.get(name)?.default)
      .map((name) => `${name}=${JSON.stringify(request[name])}`)
      .join('&');
    return `${stateKey}/${kind}/${rendering.version}?${canonicalRequest}`;
  }

  /** A text that changes whenever the image of an item may have changed. @throws NoLargeImageError */
  async stateKey(item: ItemRecord): Promise<string> {
    return (await this.#states.stateOf(item)).key;
  }

  /** The beginning of {@link Images.stateKey}, which depends only on the item. @throws NoLargeImageError */
  stateKeyPrefix(item: ItemRecord): Promise<string> {
    return this.#states.keyPrefixOf(item);
  }

  /**
   * Returns the picture with this key from the cache, or makes and caches it. The work stops when the signals of all requests that
   * wait for the picture are aborted.
   */
  makeCachedPicture(
    item: ItemRecord,
    key: string,
    make: (image: LargeImage, signal: AbortSignal) => Promise<MadePicture>,
    options: MakeOptions,
  ): Promise<MadePicture> {
    return this.makeCached(key, (sharedSignal) => this.use(item, (image) => make(image, sharedSignal), sharedSignal), options);
  }

  /** Like {@link Images.makeCachedPicture}, but `make` opens the images that it needs. */
  async makeCached(
    key: string,
    make: (signal: AbortSignal) => Promise<MadePicture>,
    { requester, queue }: MakeOptions,
  ): Promise<MadePicture> {
    const tileOrPromise = this.options.tiles.get(key);
    const tile = tileOrPromise instanceof Promise ? await tileOrPromise : tileOrPromise;
    if (tile !== undefined) return tile;
    return this.#picturesInProgress.join(
      key,
      async (sharedSignal) => {
        const waitOptions = { signal: sharedSignal, caller: callerName(requester.caller) };
        const picture = await queue.run(() => make(sharedSignal), waitOptions);
        // Nobody waits for the cache, which logs its own errors.
        if (!picture.corruptTiles) Promise.resolve(this.options.tiles.set(key, picture)).catch(() => {});
        return picture;
      },
      requester.signal,
    );
  }

  /**
   * Runs `use` with the large image of an item. The image stays open for later uses.
   *
   * @param signal the caller's signal. Opening stops when the signals of all waiting callers are aborted.
   * @throws NoLargeImageError, TileSourceError; LargeImageError `unavailable` if the file was replaced while it was used
   */
  async use<R>(item: ItemRecord, use: (image: LargeImage) => Promise<R> | R, signal?: AbortSignal): Promise<R> {
    return this.#useUnchanged(item, (openedImage) => use(openedImage.image), signal);
  }

  /** Like {@link Images.use}, but with the samples that the file contains, to which no styles and color profiles are applied. */
  async useStored<R>(item: ItemRecord, use: (image: BorrowedImage) => Promise<R> | R, signal?: AbortSignal): Promise<R> {
    return this.#useUnchanged(item, (openedImage) => use(openedImage.borrowed), signal);
  }

  /** Like {@link Images.use}, for callers that need the image both with and without styles. */
  useOpened<R>(
    item: ItemRecord,
    use: (openedImage: Pick<OpenImage, 'image' | 'borrowed'>) => Promise<R> | R,
    signal?: AbortSignal,
  ): Promise<R> {
    return this.#useUnchanged(item, use, signal);
  }

  async #useUnchanged<R>(item: ItemRecord, use: (openedImage: OpenImage) => Promise<R> | R, signal?: AbortSignal): Promise<R> {
    const state = await this.#states.stateOf(item);
    const result = await this.#useOpen(item, state, use, signal);
    if (state.key === (await this.#states.stateOf(item)).key) return result;
    throw new LargeImageError('unavailable', 'The file of this image was replaced while it was read. Try again.');
  }

  #useOpen<R>(
    item: ItemRecord,
    { key, fileId, sourceName, icc, scale }: ImageState,
    use: (openedImage: OpenImage) => Promise<R> | R,
    signal?: AbortSignal,
  ): Promise<R> {
    const openFile = async (sharedSignal: AbortSignal) => {
      const file = await this.options.records.findFile(fileId);
      if (file === null)
        throw new TileSourceError(`No large image file in this item: file ${fileId} of item ${item.id} no longer exists.`);
      const openedImage = await this.#opener.open(file, { sourceName, icc, scale, signal: sharedSignal });
      // Opening an image with many frames takes a while, and `use` may take a while as well, so other work can run in between.
      if (isSliceOver()) await nextSlice();
      return openedImage;
    };
    return this.options.sources.use(key, openFile, use, signal);
  }

  /** Runs `use` with the image of a file, as a part of another image. The part stays open for later uses. */
  async #usePart<R>(
    { file, item }: ItemFile,
    sourceName: string | undefined,
    use: (image: BorrowedImage, parts: OpenImage['parts']) => Promise<R> | R,
    signal?: AbortSignal,
  ): Promise<R> {
    const sourceOfItem = sourceNameOf(item, file);
    const isImageOfItem = sourceOfItem !== undefined && (sourceName === undefined || sourceName === sourceOfItem);
    const { key, icc, scale } = isImageOfItem
      ? await this.#states.stateOf(item)
      : await this.#states.stateOfPart(file, sourceName);
    const openFile = (sharedSignal: AbortSignal) =>
      this.#opener.open(file, { sourceName: sourceName ?? sourceOfItem, icc, scale, signal: sharedSignal });
    return this.options.sources.use(key, openFile, ({ borrowed, parts }) => use(borrowed, parts), signal);
  }

  /** Opens a file separately from other requests. The caller closes it. @throws TileSourceError */
  openSeparately(file: FileRecord, options: OpenOptions): Promise<OpenImage> {
    return this.#opener.open(file, options);
  }

  /**
   * Opens a file for a conversion, unless the process of the conversion can open it itself.
   *
   * @returns the image, which the caller closes; `null` if the process opens the file itself, or no source can read it.
   * @throws AccessDeniedError if the caller cannot read all parts of the image.
   */
  async openForConversion(item: ItemRecord, file: FileRecord, caller: Caller | null): Promise<OpenImage | null> {
    let openedImage: OpenImage;
    try {
      openedImage = await this.#opener.open(file, { sourceName: sourceNameOf(item, file), icc: false, scale: item.scale });
    } catch (error) {
      // The file may be too large for all sources. If it is not an image, the conversion reports that.
      if (error instanceof TileSourceError) return null;
      throw error;
    }
    const opensInConversion = this.options.registry.get(openedImage.sourceName)?.opensInConversion === true;
    try {
      if (opensInConversion) await openedImage.close();
      else await this.options.items.requireParts(item, `conversion:${file.id}:${item.changedAtMs}`, openedImage.parts, caller);
    } catch (error) {
      await openedImage.close();
      throw error;
    }
    return opensInConversion ? null : openedImage;
  }

  /** Opens the bytes of a file. The caller closes the reader. */
  async openReader(file: FileRecord): Promise<ByteReader> {
    return (await hostFileInput(file, this.options)).open();
  }

  /** The encoding of a file that browsers show directly as a picture; `null` for other files. */
  async detectWebPicture(file: FileRecord, sourceName: string | undefined): ReturnType<typeof detectWebPicture> {
    if (this.options.registry.get(sourceName ?? '')?.readsWebPictures !== true) return null;
    return detectWebPicture(file, this.options);
  }

  /** Closes a file that was kept open for later requests, because it has changed or is no longer served. */
  closeFile(fileId: string | undefined): void {
    if (fileId === undefined) return;
    this.#states.forgetFile(fileId);
    this.options.forgetFile(fileId);
  }

  /** Closes a file that was replaced on disk, and announces that the images made from it have changed. */
  async #handleChangeOnDisk(fileId: string): Promise<void> {
    const { records, changes, sources, logger } = this.options;
    sources.evict((key) => key.startsWith(`${fileId}:`));
    const file = await records.findFile(fileId);
    if (file === null) return;
    logger.info({ fileId }, 'LargeImage:File:Changed');
    await changes.announce(await records.markers.findItemsServedFrom([file]));
  }
}
