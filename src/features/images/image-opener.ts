import { TileSourceError } from '../../errors.js';
import type { HostFiles, HostLogger } from '../../host.js';
import type { ItemFile } from '../../core/host/folder-contents.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { EnteredScale } from '../../core/entered-scale.js';
import type { FileRecord, ItemRecord } from '../../core/host/records.js';
import type { BorrowedImage, FrameBox, SourceInput, TileSource } from '../../tilesource/tile-source.js';
import { applyEnteredScale } from '../../tilesource/apply-entered-scale.js';
import { openLargeImage } from '../../tilesource/large-image.js';
import type { BlockCache } from './block-cache.js';
import { prepareWireMetadata } from '../../tilesource/metadata.js';
import type { TileSourceRegistry } from '../../tilesource/registry/registry.js';
import { asStored } from '../../tilesource/render/appearance.js';
import { Renderer } from '../../tilesource/render/renderer.js';
import type { IccOption, LargeImage } from '../../tilesource/requests.js';
import type { OpenImage } from '../caches/open-image.js';
import type { Settings } from '../settings/settings.js';
import { hostFileInput } from './file-input.js';
import { HostFolder, type Borrow, type ImageParts, type FileVisibility } from './host-folder.js';

/** Maximum depth of combined images in combined images. */
const maxDepth = 4;
/** Maximum number of combined images that one image contains, at all depths. */
const maxNestedImages = 16;
/** Approximate memory of the description of a frame, in bytes. */
const frameDescriptionBytes = 150;

/** Options of {@link ImageOpener}. */
export interface ImageOpenerOptions {
  records: HostRecords;
  files: HostFiles;
  blocks: BlockCache;
  registry: TileSourceRegistry;
  settings: Settings;
  logger: HostLogger;
  temporaryDirectory: string;
  /** Runs `use` with the image of a file, as a part of another image. The image is opened once for all concurrent uses. */
  usePart<R>(
    itemFile: ItemFile,
    sourceName: string | undefined,
    use: (image: BorrowedImage, parts: OpenImage['parts']) => Promise<R> | R,
    signal?: AbortSignal,
  ): Promise<R>;
}

/** Options for opening a file. */
export interface OpenOptions {
  sourceName?: string | undefined;
  icc: IccOption;
  signal?: AbortSignal;
  /** Restricts the other files that the image may use. By default, the image may use all files. */
  visibility?: FileVisibility | null;
  /** The size of a pixel that a user has entered for the item of the image. */
  scale?: EnteredScale | null;
  /** The item of the file, if it has just been read. */
  item?: ItemRecord;
}

/** Data about an image that is being opened, shared with the images nested in it. */
interface OpeningContext {
  parts: ImageParts;
  visibility: FileVisibility | null;
  /** The item of the file that is opened first, if it has just been read. */
  item: ItemRecord | undefined;
  /**
   * Nested images that are themselves combined from several images, by the chain of file ids that leads to them. They are opened for
   * this image alone: if they were shared, two images could wait for each other.
   */
  combinedImageByChain: Map<string, Promise<BorrowedImage & Pick<TileSource, 'close'>>>;
}

/** Opens files of the host with the sources that read them. */
export class ImageOpener {
  /** The known parts of images that could not be opened, by the error that was thrown. */
  readonly #partsByError = new WeakMap<object, ImageParts>();

  constructor(private readonly options: ImageOpenerOptions) {}

  /** The parts of the image that could not be opened because of this error. */
  partsOfFailure(error: unknown): ImageParts | undefined {
    return error instanceof TileSourceError ? this.#partsByError.get(error) : undefined;
  }

  /** Opens a file. @throws TileSourceError */
  async open(
    file: FileRecord,
    { sourceName, icc, signal, visibility = null, scale = null, item }: OpenOptions,
  ): Promise<OpenImage> {
    const { logger, temporaryDirectory } = this.options;
    const parts = { items: new Set<string>(), folders: new Set<string>(), referencedItems: new Set<string>() };
    const context: OpeningContext = { parts, visibility, item, combinedImageByChain: new Map() };
    const closeNestedImages = async (): Promise<void> => {
      for (const result of await Promise.allSettled(context.combinedImageByChain.values())) {
        if (result.status === 'fulfilled') await result.value.close();
      }
    };
    try {
      const { name, source: openedSource } = await this.#openSource(file, { sourceName, signal }, context, [file.id]);
      const source = applyEnteredScale(openedSource, scale);
      await prepareWireMetadata(source.metadata);
      let image: LargeImage | null = null;
      const makeImage = () =>
        openLargeImage(source, {
          sourceName: name,
          icc,
          warn: (fields, event) => logger.warn({ fileId: file.id, ...fields }, event),
          temporaryDirectory,
        });
      return {
        // The image is created at the first use, because many files are opened only to find out which source reads them.
        get image() {
          return (image ??= makeImage());
        },
        borrowed: makeBorrowedImage(name, source),
        parts: context.parts,
        sourceName: name,
        retainedBytes: (source.retainedBytes ?? 0) + frameDescriptionBytes * (source.metadata.frames?.length ?? 0),
        close: async () => {
          try {
            await source.close();
          } finally {
            await closeNestedImages();
          }
        },
      };
    } catch (error) {
      await closeNestedImages();
      if (error instanceof TileSourceError) this.#partsByError.set(error, context.parts);
      throw error;
    }
  }

  async #openSource(
    file: FileRecord,
    { sourceName, signal }: { sourceName?: string | undefined; signal?: AbortSignal | undefined },
    context: OpeningContext,
    fileIdChain: readonly string[],
  ): Promise<{ name: string; source: TileSource }> {
    const { registry, settings, temporaryDirectory } = this.options;
    const maxSmallImageSize = Number(await settings.get('large_image.max_small_image_size'));
    return registry.open(await this.#makeInput(file, context, fileIdChain), {
      maxSmallImageSize,
      ...(sourceName !== undefined && { sourceName }),
      temporaryDirectory,
      ...(signal && { signal }),
    });
  }

  async #makeInput(file: FileRecord, context: OpeningContext, fileIdChain: readonly string[]): Promise<SourceInput> {
    const { records, files, blocks, logger } = this.options;
    const { itemId } = file;
    const isItemKnown = context.item !== undefined && context.item.id === itemId;
    const item = isItemKnown ? context.item! : itemId === null ? null : await records.findItem(itemId);
    const listOwnFiles = async () => (item === null ? [] : records.findFilesOfItem(item));
    const input = await hostFileInput(file, this.options, async () => (await listOwnFiles()).filter(({ id }) => id !== file.id));
    if (item === null) return input;
    let ownFilesPromise: ReturnType<typeof listOwnFiles> | null = null;
    let folderPromise: ReturnType<HostRecords['findFolder']> | null = null;
    const borrow: Borrow = (itemFile, use, options) => this.#borrow(itemFile, use, options, context, fileIdChain);
    return {
      ...input,
      folder: () =>
        new HostFolder({
          contents: records.contents,
          files,
          blocks,
          logger,
          file,
          item,
          findFolder: () => (folderPromise ??= records.findFolder(item.folderId)),
          listOwnFiles: () => (ownFilesPromise ??= listOwnFiles()),
          findImageFile: (id) => this.#findImageFile(id),
          parts: context.parts,
          visibility: context.visibility,
          borrow,
        }),
    };
  }

  async #borrow<R>(
    itemFile: ItemFile,
    use: (image: BorrowedImage) => Promise<R> | R,
    { sourceName, signal }: { sourceName?: string; signal?: AbortSignal | undefined },
    context: OpeningContext,
    fileIdChain: readonly string[],
  ): Promise<R> {
    const { registry } = this.options;
    const { file, item } = await this.#toServedFile(itemFile);
    const name = sourceName ?? sourceNameOf(item, file) ?? registry.candidates(file)[0]?.name;
    const isCombined = name !== undefined && registry.get(name)?.readsFolder === 'images';
    if (!isCombined) {
      const useShared = (image: BorrowedImage, { items, folders }: OpenImage['parts']): Promise<R> | R => {
        for (const id of items) context.parts.items.add(id);
        for (const id of folders) context.parts.folders.add(id);
        return use(image);
      };
      return this.options.usePart({ file, item }, sourceName, useShared, signal);
    }
    if (fileIdChain.includes(file.id))
      throw new TileSourceError(`Multi source specification is self-referential: ${file.name} contains itself.`);
    if (fileIdChain.length >= maxDepth) throw new TileSourceError(`Images are nested more than ${maxDepth} levels deep.`);
    const key = `${fileIdChain.join('>')}>${file.id}/${name}`;
    let imagePromise = context.combinedImageByChain.get(key);
    if (imagePromise === undefined) {
      if (context.combinedImageByChain.size >= maxNestedImages)
        throw new TileSourceError(`The image contains more than ${maxNestedImages} combined images.`);
      imagePromise = this.#openSource(file, { sourceName: name }, context, [...fileIdChain, file.id]).then((opened) => ({
        ...makeBorrowedImage(opened.name, opened.source),
        close: () => opened.source.close(),
      }));
      context.combinedImageByChain.set(key, imagePromise);
    }
    return use(await imagePromise);
  }

  async #findImageFile(itemId: string): Promise<ItemFile | null> {
    const item = await this.options.records.findItem(itemId);
    const fileId = item?.largeImage?.fileId;
    const file = fileId === undefined ? null : await this.options.records.findFile(fileId);
    return item === null || file === null ? null : { file, item };
  }

  /** Replaces an original file by the converted file that its item is served from. Other files are returned unchanged. */
  async #toServedFile(itemFile: ItemFile): Promise<ItemFile> {
    const { fileId, originalId } = itemFile.item.largeImage ?? {};
    if (originalId !== itemFile.file.id || fileId === undefined) return itemFile;
    const file = await this.options.records.findFile(fileId);
    return file === null ? itemFile : { ...itemFile, file };
  }
}

/** The name of the source that reads a file for its item; `undefined` if the item is served from another file. */
export function sourceNameOf({ largeImage }: ItemRecord, file: FileRecord): string | undefined {
  return largeImage?.fileId === file.id ? largeImage.sourceName : undefined;
}

function makeBorrowedImage(sourceName: string, source: TileSource): BorrowedImage {
  let cachedRenderer: Renderer | null = null;
  // Few images are ever borrowed, so the renderer is created at the first use.
  const getRenderer = (): Renderer => (cachedRenderer ??= new Renderer(source, {}));
  return {
    sourceName,
    source,
    samples: (frameBox: FrameBox, signal?: AbortSignal) => getRenderer().readSamples(frameBox, asStored, signal),
    styled: async (frameBox: FrameBox, style: object, signal?: AbortSignal) =>
      getRenderer().renderBox(
        frameBox,
        { ...(await getRenderer().appearanceOf(JSON.stringify(style))), mayDropAlpha: true },
        signal,
      ),
  };
}
