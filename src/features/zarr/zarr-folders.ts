import { FreshCache } from '../../core/concurrency/fresh-cache.js';
import { enqueueFor, type Queues } from '../../core/concurrency/queues.js';
import { verdictLifetimeMs } from '../../core/host/callers.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { FolderRecord, ItemRecord } from '../../core/host/records.js';
import type { HostAccess } from '../../host.js';
import type { Reply } from '../../http/reply.js';
import type { Images } from '../images/images.js';
import { findImagesIn } from '../pictures/iiif/folder-contents.model.js';
import { noSuchKeyError, parseIndex } from './keys.js';
import { documentNames, documentOf } from './nodes.js';
import { writeOmeXml, type NamedImage } from './ome-xml.js';
import { replyWithText, type StoreRequest } from './store.js';
import { collectionNodes, maxImages, imageNameOf, tooManyImagesError, type ZarrImages } from './zarr-images.js';

/** Maximum number of lists of images that are cached. */
const maxLists = 1000;

/**
 * Folders as OME-Zarr: their images as `0/`, `1/` and so on, oldest first. If an item contains several images, the first is shown.
 */
export class ZarrFolders {
  readonly #imageLists = new FreshCache<ItemRecord[]>({ max: maxLists, lifetimeMs: verdictLifetimeMs });

  constructor(
    private readonly options: {
      records: HostRecords;
      access: HostAccess;
      images: Images;
      queues: Queues;
      zarrImages: ZarrImages;
    },
  ) {}

  /** Answers a key of the store of a folder. */
  async answerKey(folder: FolderRecord, segments: readonly string[], request: StoreRequest): Promise<Reply> {
    const { images, zarrImages } = this.options;
    const { caller, version } = request;
    const items = await this.#listReadableItems(folder, request);
    if (items.length > maxImages) throw tooManyImagesError(items.length);
    const [firstSegment, ...remainingSegments] = segments;
    const index = parseIndex(firstSegment);
    if (index !== null) {
      const listedItem = items[index];
      if (listedItem === undefined) throw noSuchKeyError();
      const item = await images.load(listedItem.id, caller);
      return zarrImages.answerImageKey(
        item,
        await zarrImages.loadLayout(item, remainingSegments, request),
        0,
        remainingSegments,
        request,
      );
    }
    if (segments.join('/') === 'OME/METADATA.ome.xml') {
      return replyWithText(request, writeOmeXml(await this.#describeImages(items, request)), 'application/xml');
    }
    const name = segments.at(-1) ?? '';
    if (!documentNames[version].includes(name)) throw noSuchKeyError();
    const path = segments.slice(0, -1).join('/');
    const document = documentOf(collectionNodes(items.length), path, name, { version, consolidated: null });
    if (document === null) throw noSuchKeyError();
    return replyWithText(request, JSON.stringify(document));
  }

  /** The images that the caller can read, at most one more than {@link maxImages}. */
  #listReadableItems(folder: FolderRecord, { caller }: StoreRequest): Promise<ItemRecord[]> | ItemRecord[] {
    const { records, access } = this.options;
    const callerKey = caller === null ? '' : `${caller.admin ? 'a' : 'u'}${caller.id ?? ''}`;
    return this.#imageLists.get(`${folder.id} ${callerKey}`, async () =>
      findImagesIn(records, folder, { filter: await access.filter(caller, 'item', 0), limit: maxImages + 1 }),
    );
  }

  /** Opens the images one after another, each after waiting in the queue. */
  async #describeImages(items: readonly ItemRecord[], request: StoreRequest): Promise<NamedImage[]> {
    const enqueue = enqueueFor(this.options.queues.pictures, { caller: request.queuedAs, signal: request.signal });
    const namedImages: NamedImage[] = [];
    for (const { id } of items) {
      const item = await this.options.images.load(id, request.caller);
      const layout = await enqueue(() => this.options.zarrImages.loadLayout(item, [], request));
      const [image] = layout.images;
      if (image !== undefined) namedImages.push({ name: imageNameOf(item, image), image });
    }
    return namedImages;
  }
}
