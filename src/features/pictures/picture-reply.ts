import { enqueueFor } from '../../core/concurrency/queues.js';
import { create as contentDisposition } from 'content-disposition';
import type { ItemRecord } from '../../core/host/records.js';
import { obtainPicture, type CachedFileSpec, type ObtainPictureOptions } from '../cached-files/cached-pictures.js';
import type { PictureContext } from './context.js';
import { pictureDefaults } from '../../tilesource/picture-parameters.js';
import type { EncodedPicture, LargeImage, StreamedPicture } from '../../tilesource/requests.js';
import { answerConditional, cacheHeaders, entityTag } from '../../http/conditional.js';
import type { Parameters } from '../../http/parameters.js';
import { Reply, type ReplyHeaders } from '../../http/reply.js';
import type { RouteInput } from '../../http/route.js';

/** A picture that a route has to answer with. */
interface RequestedPicture {
  item: ItemRecord;
  /** The kind of request (`tile`, `region`, …), which is a part of the key of the picture. */
  kind: string;
  /** All parameters that determine how the picture looks. Undefined members are ignored. */
  request: Readonly<Record<string, unknown>>;
  input: PictureInput;
  extraHeaders?: ReplyHeaders;
}

/**
 * The parts of a request that are needed to answer it. `signal` is created when it is first read, so it is read only if a picture has
 * to be made.
 */
export type PictureInput = Pick<RouteInput<Parameters, Parameters, 'none'>, 'caller' | 'headers' | 'signal'>;

/** Answers with a picture from the tile cache, or makes and caches it. A client that already has the picture gets status 304. */
export async function replyFromTileCache(
  services: PictureContext,
  requestedPicture: RequestedPicture,
  make: (image: LargeImage, signal: AbortSignal) => Promise<EncodedPicture>,
): Promise<Reply> {
  const key = await services.images.pictureKey(requestedPicture.item, requestedPicture.kind, requestedPicture.request);
  const tag = entityTag(key);
  const headers = cacheHeaders(tag);
  const notModifiedReply = answerConditional(requestedPicture.input.headers, tag, headers);
  if (notModifiedReply !== null) return notModifiedReply;
  const picture = await services.images.makeCachedPicture(requestedPicture.item, key, make, {
    requester: requestedPicture.input,
    queue: services.queues.tiles,
  });
  return Reply.content(picture.bytes, picture.type, {
    headers: addCorruptTileHeader(picture, { ...headers, ...requestedPicture.extraHeaders }),
  });
}

/**
 * Answers with a picture that is stored as a cached file of the item, or makes and stores it. A client that already has the picture
 * gets status 304.
 */
export async function replyFromCachedFile(
  services: PictureContext,
  requestedPicture: RequestedPicture,
  spec: CachedFileSpec,
): Promise<Reply> {
  const key = await services.images.pictureKey(requestedPicture.item, requestedPicture.kind, requestedPicture.request);
  const tag = entityTag(key);
  const headers = cacheHeaders(tag);
  const notModifiedReply = answerConditional(requestedPicture.input.headers, tag, headers);
  if (notModifiedReply !== null) return notModifiedReply;
  const { input } = requestedPicture;
  const { pictures, keptFiles } = services.queues;
  const obtain = async (options: ObtainPictureOptions) =>
    (await obtainPicture(services, requestedPicture.item, spec, options)).content;
  // If the settings allow no cached files, the picture is kept in the tile cache.
  const storesFiles = (await services.cachedFiles.readMaxThumbnails()) > 0;
  const content = storesFiles
    ? await obtain({ signal: input.signal, enqueue: enqueueFor(keptFiles, input), enqueueRendering: enqueueFor(pictures, input) })
    : await services.images.makeCachedPicture(requestedPicture.item, key, (_image, signal) => obtain({ signal }), {
        requester: input,
        queue: pictures,
      });
  const allHeaders = addCorruptTileHeader(content, { ...headers, ...requestedPicture.extraHeaders });
  return Reply.content(content.bytes, toSafeType(content.type), { headers: allHeaders });
}

/** Adds a header with the number of corrupt tiles if a picture has any. Caches must not store such a picture. */
function addCorruptTileHeader({ corruptTiles = 0 }: { corruptTiles?: number }, headers: ReplyHeaders): ReplyHeaders {
  if (corruptTiles === 0) return headers;
  const { ETag: _tag, ...headersWithoutTag } = headers;
  return { ...headersWithoutTag, 'Cache-Control': 'no-store', 'Large-Image-Corrupt-Tiles': corruptTiles };
}

/**
 * The media type to answer with. Clients can store a cached file with any type. Types that a browser could run as a page of this
 * server (HTML, SVG and everything else except plain images) are replaced by the type of arbitrary bytes.
 */
function toSafeType(type: string): string {
  return /^image\/(?!svg)[\w.+-]+$/i.test(type) ? type : 'application/octet-stream';
}

/** Answers with a picture that is made for this request only. It is not cached, because it may be large. */
export async function replyWithNewPicture(
  services: PictureContext,
  requestedPicture: RequestedPicture,
  make: (image: LargeImage, signal: AbortSignal) => Promise<EncodedPicture | StreamedPicture>,
): Promise<Reply> {
  const tag = entityTag(await services.images.pictureKey(requestedPicture.item, requestedPicture.kind, requestedPicture.request));
  const headers = cacheHeaders(tag);
  const notModifiedReply = answerConditional(requestedPicture.input.headers, tag, headers);
  if (notModifiedReply !== null) return notModifiedReply;
  const { signal } = requestedPicture.input;
  const use = () => services.images.use(requestedPicture.item, (image) => make(image, signal), signal);
  const picture = await enqueueFor(services.queues.pictures, requestedPicture.input)(use);
  const allHeaders = { ...headers, ...requestedPicture.extraHeaders };
  const replyHeaders = addCorruptTileHeader(picture, allHeaders);
  return picture.kind === 'bytes'
    ? Reply.content(picture.bytes, picture.type, { headers: replyHeaders })
    : Reply.stream(picture.stream, picture.type, { headers: { ...replyHeaders, 'Content-Length': picture.size } });
}

/** File name extensions by encoding. For all other encodings, the extension is the name of the encoding in lower case. */
const extensionByEncoding: Readonly<Record<string, string>> = {
  JPEG: 'jpg',
  JFIF: 'jpg',
  PNG: 'png',
  TIFF: 'tiff',
  TILED: 'tiff',
};

/** The parameters on which the name of a download depends. */
interface DispositionQuery {
  contentDisposition?: string | undefined;
  contentDispositionFilename?: string | undefined;
  encoding?: string | undefined;
}

/**
 * The header `Content-Disposition`, with a file name, if the request has `contentDisposition` with `inline` or `attachment`. Other
 * values are ignored.
 */
export function dispositionHeader(item: ItemRecord, suffix: string, query: DispositionQuery): ReplyHeaders {
  const type = query.contentDisposition;
  if (type !== 'inline' && type !== 'attachment') return {};
  const encoding = query.encoding ?? pictureDefaults.encoding;
  const extension = extensionByEncoding[encoding] ?? encoding.toLowerCase();
  const name = query.contentDispositionFilename ?? `${item.name.replace(/\.[^.]*$/, '')}-${suffix}.${extension}`;
  return { 'Content-Disposition': contentDisposition(name, { type }) };
}

/** File name extensions of regions, where they differ from {@link extensionByEncoding}. */
const regionExtensionByEncoding: Readonly<Record<string, string>> = { TIFF: 'tif', TILED: 'tif', OMETIFF: 'ome.tif' };

/** Like {@link dispositionHeader}, but the file name says where the region is: `slide_region_4000_3000.tif`. */
export function regionDispositionHeader(
  item: ItemRecord,
  query: DispositionQuery & { left?: number | undefined; top?: number | undefined },
): ReplyHeaders {
  const { left = 0, top = 0, encoding = pictureDefaults.encoding } = query;
  const extension = regionExtensionByEncoding[encoding] ?? extensionByEncoding[encoding] ?? encoding.toLowerCase();
  const name = `${item.name.replace(/(\.ome)?\.[^.]*$/i, '')}_region_${left}_${top}.${extension}`;
  return dispositionHeader(item, 'region', {
    ...query,
    contentDispositionFilename: query.contentDispositionFilename ?? name,
  });
}
