import { FreshCache } from '../../core/concurrency/fresh-cache.js';
import { enqueueFor, type Queues } from '../../core/concurrency/queues.js';
import { verdictLifetimeMs } from '../../core/host/callers.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { FolderRecord, ItemRecord } from '../../core/host/records.js';
import type { HostAccess } from '../../host.js';
import type { Reply } from '../../http/reply.js';
import type { Images } from '../images/images.js';
import { imagesIn } from '../pictures/iiif/folder-contents.model.js';
import { absent, indexOf } from './keys.js';
import { documentNames, documentOf } from './nodes.js';
import { omeXml, type NamedImage } from './ome-xml.js';
import { replyWithText, type StoreRequest } from './store.js';
import { collectionNodes, maxImages, nameOf, tooMany, type ZarrImages } from './zarr-images.js';

/** Number of lists of images that are remembered. */
const maxLists = 1000;

/**
 * Folders as OME-Zarr: their images as `0/`, `1/` and so on, oldest first. If an item contains several images, the first is shown.
 */
export class ZarrFolders {
  readonly #lists = new FreshCache<ItemRecord[]>({ max: maxLists, lifetimeMs: verdictLifetimeMs });

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
  async file(folder: FolderRecord, segments: readonly string[], request: StoreRequest): Promise<Reply> {
    const { images, zarrImages } = this.options;
    const { caller, version } = request;
    const items = await this.#items(folder, request);
    if (items.length > maxImages) throw tooMany(items.length);
    const [first, ...rest] = segments;
    const index = indexOf(first);
    if (index !== null) {
      const listed = items[index];
      if (listed === undefined) throw absent();
      const item = await images.load(listed.id, caller);
      return zarrImages.imageFile(item, await zarrImages.layout(item, rest, request), 0, rest, request);
    }
    if (segments.join('/') === 'OME/METADATA.ome.xml') {
      return replyWithText(request, omeXml(await this.#described(items, request)), 'application/xml');
    }
    const name = segments.at(-1) ?? '';
    if (!documentNames[version].includes(name)) throw absent();
    const path = segments.slice(0, -1).join('/');
    const document = documentOf(collectionNodes(items.length), path, name, { version, consolidated: null });
    if (document === null) throw absent();
    return replyWithText(request, JSON.stringify(document));
  }

  /** The images that the caller can read, and one more than the limit. */
  #items(folder: FolderRecord, { caller }: StoreRequest): Promise<ItemRecord[]> | ItemRecord[] {
    const { records, access } = this.options;
    const who = caller === null ? '' : `${caller.admin ? 'a' : 'u'}${caller.id ?? ''}`;
    return this.#lists.get(`${folder.id} ${who}`, async () =>
      imagesIn(records, folder, { filter: await access.filter(caller, 'item', 0), limit: maxImages + 1 }),
    );
  }

  /** Opens the images one after another, each after waiting in the queue. */
  async #described(items: readonly ItemRecord[], request: StoreRequest): Promise<NamedImage[]> {
    const enqueue = enqueueFor(this.options.queues.pictures, { caller: request.queuedAs, signal: request.signal });
    const described: NamedImage[] = [];
    for (const { id } of items) {
      const item = await this.options.images.load(id, request.caller);
      const layout = await enqueue(() => this.options.zarrImages.layout(item, [], request));
      const [image] = layout.images;
      if (image !== undefined) described.push({ name: nameOf(item, image), image });
    }
    return described;
  }
}
