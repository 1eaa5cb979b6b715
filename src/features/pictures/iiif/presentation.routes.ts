import { enqueueFor } from '../../../core/concurrency/queues.js';
import type { FolderRecord, ItemRecord } from '../../../core/host/records.js';
import { LargeImageError } from '../../../errors.js';
import type { Caller } from '../../../host.js';
import { id, required } from '../../../http/parameters.js';
import { defineRoute, type PictureContext } from '../context.js';
import { iiifRoot, iiifRoute, imagePath, loadReadableImage } from './identifier.js';
import { replyWithJsonLd, jsonLdTypes } from './json-ld.js';
import { folderCollection, folderManifest, itemManifest, presentationContext, type PresentedImage } from './presentation.js';
import { maxCollectionEntries, findReadableFolders, findReadableImages } from './readable-contents.js';
import { rightsOf } from './rights.js';
import { collectionSchema, manifestSchema } from './schemas.js';

/** Maximum number of images in the manifest of a folder, because each of them must be opened. */
const maxCanvases = 100;

/** Loads what a manifest says about the image of an item. */
async function loadPresentedImage(
  { images, records }: PictureContext,
  item: ItemRecord,
  signal?: AbortSignal,
): Promise<PresentedImage> {
  const metadata = await images.use(item, (image) => image.metadata(), signal);
  return { itemId: item.id, name: item.name, metadata, ...rightsOf(records.metadataOf(item)) };
}

const manifestOfItem = defineRoute({
  ...iiifRoute,
  path: '/iiif/:identifier/manifest.json',
  summary: 'Describe an image with the IIIF Presentation API 3.',
  description: 'A canvas for each position in depth, time and so on; the channels of a position are a choice.',
  params: imagePath,
  returns: { schema: manifestSchema, types: jsonLdTypes },
  errors: ['unknown-id', 'not-found', 'access-denied', 'no-large-image', 'tile-source'],
  authorize: loadReadableImage,
  async handle(input, services) {
    const image = await loadPresentedImage(services, input.authorized);
    return replyWithJsonLd(input.headers, presentationContext, itemManifest(iiifRoot(input), image));
  },
});

const folderPath = { folderId: required(id({ description: 'The id of the folder.' })) };
const folderErrors = ['unknown-id', 'access-denied', 'busy'] as const;

function loadReadableFolder(
  { params, caller }: { params: { folderId: string }; caller: Caller | null },
  { items }: Pick<PictureContext, 'items'>,
): Promise<FolderRecord> {
  return items.loadFolder(params.folderId, 0, caller);
}

const collection = defineRoute({
  ...iiifRoute,
  path: '/iiif/folder/:folderId/collection.json',
  summary: 'List the images and subfolders of a folder, with the IIIF Presentation API 3.',
  description: `At most ${maxCollectionEntries} of each.`,
  params: folderPath,
  returns: { schema: collectionSchema, types: jsonLdTypes },
  errors: folderErrors,
  authorize: loadReadableFolder,
  async handle(input, services) {
    const { authorized: folder, caller } = input;
    const items = await findReadableImages(services, folder, caller);
    const folders = await findReadableFolders(services, folder, caller);
    return replyWithJsonLd(input.headers, presentationContext, folderCollection(iiifRoot(input), folder, { folders, items }));
  },
});

const manifestOfFolder = defineRoute({
  ...iiifRoute,
  path: '/iiif/folder/:folderId/manifest.json',
  summary: 'Describe the images of a folder as one manifest of the IIIF Presentation API 3, with a canvas for each image.',
  description: `The first ${maxCanvases} images; images that cannot be opened are omitted.`,
  params: folderPath,
  returns: { schema: manifestSchema, types: jsonLdTypes },
  errors: folderErrors,
  authorize: loadReadableFolder,
  async handle(input, services) {
    const { authorized: folder, caller, signal } = input;
    const items = await findReadableImages(services, folder, caller);
    const images: PresentedImage[] = [];
    const enqueue = enqueueFor(services.queues.pictures, input);
    for (const item of items.slice(0, maxCanvases)) {
      const loadItem = () => services.images.load(item.id, caller);
      const image = await enqueue(async () => loadPresentedImage(services, await loadItem(), signal)).catch(nullIfUnreadable);
      if (image !== null) images.push(image);
    }
    const omittedCount = Math.max(0, items.length - maxCanvases);
    return replyWithJsonLd(input.headers, presentationContext, folderManifest(iiifRoot(input), folder, images, omittedCount));
  },
});

/** Turns the errors of an image that cannot be opened, or that the caller cannot read completely, into `null`. Other errors are thrown. */
function nullIfUnreadable(error: unknown): null {
  if (error instanceof LargeImageError && ['tile-source', 'no-large-image', 'access-denied'].includes(error.code)) return null;
  throw error;
}

/** Routes of the IIIF Presentation API. */
export const iiifPresentationRoutes = [manifestOfItem, collection, manifestOfFolder];
