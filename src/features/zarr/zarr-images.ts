import { LRUCache } from 'lru-cache';
import { limitEntries } from '../../core/concurrency/lru-options.js';
import type { ItemRecord } from '../../core/host/records.js';
import { enqueueFor, type Queues } from '../../core/concurrency/queues.js';
import { FailedReadError, LargeImageError, NoLargeImageError, TileSourceError } from '../../errors.js';
import type { Reply } from '../../http/reply.js';
import type { BorrowedImage } from '../../tilesource/tile-source.js';
import type { Images } from '../images/images.js';
import { imagesOf, type ArrayImage } from './arrays.js';
import { AssociatedSources } from './associated-sources.js';
import { DecodedTileCache } from './decoded-tile-cache.js';
import { toChunkBytes, compressChunk } from './chunk-bytes.js';
import { imageNodes } from './image-nodes.js';
import { noSuchKeyError, parseIndex } from './keys.js';
import type { ZarrLabels } from './labels/zarr-labels.js';
import { measureImage, type Measurements, type ReadBox } from './measure.js';
import { moveBelow, documentNames, documentOf, type ZarrNode, type ZarrNodes } from './nodes.js';
import { writeOmeXml } from './ome-xml.js';
import { parseChunkKey, replyWithChunk, replyWithText, type StoreRequest } from './store.js';

/** Maximum number of images in a store. */
export const maxImages = 500;

/** Maximum number of images whose arrays and windows are remembered. */
const maxRememberedImages = 1000;

/** The parts of an image file that a store is made of, in one state of the file. */
interface Layout {
  /** A text that changes whenever samples of the image may change. */
  state: string;
  images: readonly ArrayImage[];
  populatedLevels: readonly number[];
  associatedNames: readonly string[];
}

/** An image with everything that is needed to read it. */
export interface ReadableImage {
  /** Identifies the image and its state. */
  state: string;
  image: ArrayImage;
  populatedLevels: readonly number[];
  /** Calls `work` with a function that reads boxes of the image. */
  use<R>(work: (read: ReadBox) => Promise<R>, signal: AbortSignal): Promise<R>;
}

/** Large images of items as OME-Zarr. */
export class ZarrImages {
  readonly #layouts = new LRUCache<string, Layout>(limitEntries(maxRememberedImages));
  readonly #measurements = new LRUCache<string, Measurements>(limitEntries(maxRememberedImages));
  readonly #decodedTiles = new DecodedTileCache();
  readonly #associatedSources = new AssociatedSources();

  constructor(private readonly options: { images: Images; queues: Queues; labels: ZarrLabels }) {}

  /** Answers a key of the store of an item. */
  async answerKey(item: ItemRecord, segments: readonly string[], request: StoreRequest): Promise<Reply> {
    const layout = await this.loadLayout(item, segments, request);
    const { images } = layout;
    if (segments[0] === 'associated') return this.#answerAssociatedKey(item, layout, segments.slice(1), request);
    if (images.length === 1) return this.answerImageKey(item, layout, 0, segments, request);
    if (images.length > maxImages) throw tooManyImagesError(images.length);
    const [firstSegment, ...remainingSegments] = segments;
    const requestedIndex = parseIndex(firstSegment);
    if (requestedIndex !== null) return this.answerImageKey(item, layout, requestedIndex, remainingSegments, request);
    const nodes = collectionNodes(images.length);
    if (firstSegment === 'OME' && remainingSegments.length === 1 && remainingSegments[0] === 'METADATA.ome.xml') {
      return replyWithText(
        request,
        writeOmeXml(images.map((image) => ({ name: imageNameOf(item, image), image }))),
        'application/xml',
      );
    }
    const makeAllNodes = async (): Promise<ZarrNodes> => {
      const entries: [string, ZarrNode][] = [...nodes];
      for (const imageIndex of images.keys())
        entries.push(...moveBelow(String(imageIndex), await this.#makeNodes(item, layout, imageIndex, request)));
      return new Map(entries);
    };
    return this.#answerDocument(nodes, segments, request, makeAllNodes);
  }

  /** The layout of the store of an item. @param segments the requested key, on which the status of errors depends. */
  async loadLayout(item: ItemRecord, segments: readonly string[], request: StoreRequest): Promise<Layout> {
    try {
      const state = await this.options.images.pictureKey(item, 'zarr', {});
      const cachedLayout = this.#layouts.get(state);
      if (cachedLayout !== undefined) return cachedLayout;
      const layout = await this.options.images.useStored(
        item,
        ({ source }): Layout => ({
          state,
          images: imagesOf(source.metadata),
          populatedLevels: source.populatedLevels,
          associatedNames: source.associatedImages ?? [],
        }),
        request.signal,
      );
      this.#layouts.set(state, layout);
      return layout;
    } catch (error) {
      const isChunk = parseIndex(segments.at(-1)) !== null;
      // A program that requests a chunk has seen an image, and would treat 404 as samples that are zero.
      if (error instanceof NoLargeImageError && isChunk) throw new LargeImageError('conflict', error.message, { cause: error });
      // A failed read may succeed the next time, but a file that was read and is not an image stays that way.
      if (error instanceof TileSourceError && !(error instanceof FailedReadError)) {
        throw new LargeImageError('corrupt-tile', error.message, { cause: error });
      }
      throw error;
    }
  }

  /** Answers a key of one image of an item. */
  async answerImageKey(
    item: ItemRecord,
    layout: Layout,
    imageIndex: number,
    segments: readonly string[],
    request: StoreRequest,
  ): Promise<Reply> {
    const readableImage = this.#readableImageAt(item, layout, imageIndex);
    if (readableImage === null) throw noSuchKeyError();
    const isDocument = documentNames[request.version].includes(segments.at(-1) ?? '');
    if (!isDocument && segments[0] === 'labels')
      return this.options.labels.answerChunk(item, readableImage.image, segments.slice(1), request);
    const chunk = parseChunkKey(readableImage.image, segments, request.version);
    if (chunk !== null) return this.#answerChunk(readableImage, chunk, request);
    if (!isDocument) throw noSuchKeyError();
    const nodes = await this.#makeNodes(item, layout, imageIndex, request);
    return this.#answerDocument(nodes, segments, request, async () => nodes);
  }

  /** The nodes of an image, with its labels below it. */
  async #makeNodes(item: ItemRecord, layout: Layout, imageIndex: number, request: StoreRequest): Promise<ZarrNodes> {
    const readableImage = this.#readableImageAt(item, layout, imageIndex)!;
    const name = imageNameOf(item, readableImage.image);
    const ownNodes = imageNodes(readableImage.image, await this.#measure(readableImage, request), name);
    return new Map([
      ...ownNodes,
      ...moveBelow('labels', await this.options.labels.makeNodes(item, readableImage.image, request)),
    ]);
  }

  #answerDocument(
    nodes: ZarrNodes,
    segments: readonly string[],
    request: StoreRequest,
    consolidate: () => Promise<ZarrNodes>,
  ): Promise<Reply> | Reply {
    const path = segments.slice(0, -1).join('/');
    const name = segments.at(-1) ?? '';
    const { version } = request;
    if (!documentNames[version].includes(name)) throw noSuchKeyError();
    const isConsolidated = path === '' && (version === 3 || name === '.zmetadata');
    const write = (consolidated: ZarrNodes | null): Reply => {
      const document = documentOf(nodes, path, name, { version, consolidated });
      if (document === null) throw noSuchKeyError();
      return replyWithText(request, JSON.stringify(document));
    };
    return isConsolidated ? consolidate().then(write) : write(null);
  }

  #readableImageAt(item: ItemRecord, { state, images, populatedLevels }: Layout, imageIndex: number): ReadableImage | null {
    const image = images[imageIndex];
    if (image === undefined) return null;
    const use: ReadableImage['use'] = async (work, signal) => {
      const result = await this.options.images.useStored(
        item,
        (borrowedImage: BorrowedImage) =>
          work((frameBox) => borrowedImage.samples({ ...frameBox, nearest: image.metadata.indexed === true }, signal)),
        signal,
      );
      if ((await this.options.images.pictureKey(item, 'zarr', {})) === state) return result;
      throw new LargeImageError('unavailable', 'The file of this image was replaced while it was read. Try again.');
    };
    return { state: `${state}#${imageIndex}`, image, populatedLevels, use };
  }

  async #answerChunk(
    readableImage: ReadableImage,
    chunk: NonNullable<ReturnType<typeof parseChunkKey>>,
    request: StoreRequest,
  ): Promise<Reply> {
    const { image, state } = readableImage;
    const { level, plane, row, column } = chunk;
    const frameBand = image.frameBandAt(plane);
    if (frameBand === null) throw noSuchKeyError();
    const { codec } = await this.#measure(readableImage, request);
    const key = `${state}/${level}/${frameBand.frame}/${frameBand.band}/${row}/${column}/${codec}`;
    const make = async (signal: AbortSignal): Promise<Uint8Array> => {
      const makeReadBox =
        (sharedSignal: AbortSignal): ReadBox =>
        (frameBox) =>
          readableImage.use((readBox) => readBox(frameBox), sharedSignal);
      const raster = await this.#decodedTiles.readChunk(
        image,
        { state, frame: frameBand.frame, level, row, column },
        makeReadBox,
        signal,
      );
      const bytes = toChunkBytes(raster, frameBand.band, image.chunkSide);
      return codec === 'zstd' ? compressChunk(bytes) : bytes;
    };
    return replyWithChunk(request, key, () => this.#makeCached(key, make, request));
  }

  /** Takes bytes from the tile cache, or makes them after waiting in the queue. */
  async #makeCached(
    key: string,
    make: (signal: AbortSignal) => Promise<Uint8Array>,
    { queuedAs, signal }: StoreRequest,
  ): Promise<Uint8Array> {
    const { images, queues } = this.options;
    const type = 'application/octet-stream';
    const tile = await images.makeCached(key, async (sharedSignal) => ({ bytes: await make(sharedSignal), type }), {
      requester: { caller: queuedAs, signal },
      queue: queues.chunks,
    });
    return tile.bytes;
  }

  /** The contrast windows and codec of an image. They are measured once for each state of the image. */
  async #measure(readableImage: ReadableImage, request: StoreRequest): Promise<Measurements> {
    const { image, populatedLevels, state } = readableImage;
    const cachedMeasurements = this.#measurements.get(state);
    if (cachedMeasurements !== undefined) return cachedMeasurements;
    const make = async (signal: AbortSignal): Promise<Uint8Array> =>
      Buffer.from(JSON.stringify(await readableImage.use((read) => measureImage(image, populatedLevels, read), signal)));
    const measurements = JSON.parse(
      Buffer.from(await this.#makeCached(`${state}/measured`, make, request)).toString(),
    ) as Measurements;
    this.#measurements.set(state, measurements);
    return measurements;
  }

  async #answerAssociatedKey(
    item: ItemRecord,
    layout: Layout,
    segments: readonly string[],
    request: StoreRequest,
  ): Promise<Reply> {
    if (!request.showsAssociated) throw noSuchKeyError();
    const [name = '', ...remainingSegments] = segments;
    if (!layout.associatedNames.includes(name)) {
      if (layout.associatedNames.length === 0) throw noSuchKeyError();
      const nodes: ZarrNodes = new Map([['', { kind: 'group', ome: {} }]]);
      return this.#answerDocument(nodes, segments, request, async () => nodes);
    }
    const { state } = layout;
    const read = async (signal: AbortSignal) =>
      this.options.images.useStored(
        item,
        async ({ source }) => (await source.readAssociatedImage?.(name, { signal })) ?? null,
        signal,
      );
    const enqueue = enqueueFor(this.options.queues.pictures, { caller: request.queuedAs, signal: request.signal });
    const decode = async (signal: AbortSignal) => (await enqueue(() => read(signal), signal))?.raster ?? null;
    const source = await this.#associatedSources.get(`${state}/associated/${name}`, decode, request.signal);
    const [image] = imagesOf(source.metadata);
    const readableImage: ReadableImage = {
      state: `${state}/associated/${name}`,
      image: image!,
      populatedLevels: source.populatedLevels,
      use: (work) => work((frameBox) => source.samples(frameBox)),
    };
    const chunk = parseChunkKey(readableImage.image, remainingSegments, request.version);
    if (chunk !== null) return this.#answerChunk(readableImage, chunk, request);
    if (!documentNames[request.version].includes(remainingSegments.at(-1) ?? '')) throw noSuchKeyError();
    const nodes = imageNodes(readableImage.image, await this.#measure(readableImage, request), name);
    return this.#answerDocument(nodes, remainingSegments, request, async () => nodes);
  }
}

/** The root of several images, and the group that lists them. */
export function collectionNodes(imageCount: number): ZarrNodes {
  return new Map<string, ZarrNode>([
    ['', { kind: 'group', ome: { 'bioformats2raw.layout': 3 } }],
    ['OME', { kind: 'group', ome: { series: Array.from({ length: imageCount }, (_, index) => String(index)) } }],
  ]);
}

export function tooManyImagesError(imageCount: number): LargeImageError {
  return new LargeImageError(
    'too-large',
    `There are ${imageCount} images here; a store can have at most ${maxImages}. Open them one by one.`,
  );
}

export function imageNameOf(item: ItemRecord, { name }: ArrayImage): string {
  return name === null || name === '' ? item.name : `${item.name} (${name})`;
}
