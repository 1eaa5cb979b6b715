import { enqueueFor } from '../../core/concurrency/queues.js';
import { create as contentDisposition } from 'content-disposition';
import type { ItemRecord } from '../../core/host/records.js';
import { obtainPicture, type CachedEntry, type ObtainOptions } from './cached/cached-pictures.js';
import type { PictureContext } from './context.js';
import type { EncodedPicture, LargeImage, StreamedPicture } from '../../tilesource/requests.js';
import { answerConditional, cacheHeaders, entityTag } from '../../http/conditional.js';
import type { Parameters } from '../../http/parameters.js';
import { Reply, type ReplyHeaders } from '../../http/reply.js';
import type { RouteInput } from '../../http/route.js';

/** What a picture route knows of its request. */
interface PictureRoute {
  item: ItemRecord;
  /** Which route, in the name of the picture. */
  kind: string;
  /** All that decides how the picture looks; undefined members do not count. */
  request: Readonly<Record<string, unknown>>;
  asked: Asked;
  extraHeaders?: ReplyHeaders;
}

/** Who asks. The signal is looked at only where something has to be made, because looking makes it. */
export type Asked = Pick<RouteInput<Parameters, Parameters, 'none'>, 'caller' | 'headers' | 'signal'>;

/** What holds where a request says nothing: saying it makes no other picture. */
const usual: Readonly<Record<string, unknown>> = { encoding: 'JPEG', jpegQuality: 95, jpegSubsampling: 0, frame: 0, style: '' };

/** The name of a picture, equal for requests that mean the same. */
function keyOf({ images }: PictureContext, { item, kind, request }: PictureRoute): Promise<string> {
  const unusual = Object.entries(request).filter(([name, value]) => usual[name] !== value);
  return images.pictureKey(item, kind, Object.fromEntries(unusual));
}

/**
 * Answers with a picture that is kept in the tile cache: not at all (304) where the client has it, else from the cache, else made.
 */
export async function replyFromTileCache(
  services: PictureContext,
  route: PictureRoute,
  make: (image: LargeImage, signal: AbortSignal) => Promise<EncodedPicture>,
): Promise<Reply> {
  const key = await keyOf(services, route);
  const tag = entityTag(key);
  const headers = cacheHeaders(tag);
  const unchanged = answerConditional(route.asked.headers, tag, headers);
  if (unchanged !== null) return unchanged;
  const picture = await services.images.picture(route.item, key, make, { asked: route.asked, queue: services.queues.tiles });
  return Reply.content(picture.bytes, picture.type, { headers: { ...headers, ...route.extraHeaders } });
}

/** Answers with a picture that is kept as a file of the item: not at all (304) where the client has it, else from the file, else made and kept. */
export async function replyFromCachedFile(services: PictureContext, route: PictureRoute, entry: CachedEntry): Promise<Reply> {
  const key = await services.images.pictureKey(route.item, route.kind, route.request);
  const tag = entityTag(key);
  const headers = cacheHeaders(tag);
  const unchanged = answerConditional(route.asked.headers, tag, headers);
  if (unchanged !== null) return unchanged;
  const { asked } = route;
  const { pictures, keptFiles } = services.queues;
  const obtain = async (options: ObtainOptions) => (await obtainPicture(services, route.item, entry, options)).content;
  // Where no files are kept, the tile cache is better than nothing.
  const keepsFiles = (await services.cachedFiles.maxThumbnails()) > 0;
  const { bytes, type } = keepsFiles
    ? await obtain({ signal: asked.signal, enqueue: enqueueFor(keptFiles, asked), drawing: enqueueFor(pictures, asked) })
    : await services.images.picture(route.item, key, (_image, signal) => obtain({ signal }), { asked, queue: pictures });
  return Reply.content(bytes, safeType(type), { headers: { ...headers, ...route.extraHeaders } });
}

/** Files may have been stored by clients with any type: what browsers would run as a page of this server is only bytes. */
function safeType(type: string): string {
  return /^image\/(?!svg)[\w.+-]+$/i.test(type) ? type : 'application/octet-stream';
}

/** Answers with a picture that is made for this request: it may be large, so it is not kept. */
export async function replyFreshlyMade(
  services: PictureContext,
  route: PictureRoute,
  make: (image: LargeImage, signal: AbortSignal) => Promise<EncodedPicture | StreamedPicture>,
): Promise<Reply> {
  const tag = entityTag(await keyOf(services, route));
  const headers = cacheHeaders(tag);
  const unchanged = answerConditional(route.asked.headers, tag, headers);
  if (unchanged !== null) return unchanged;
  const { signal } = route.asked;
  const use = () => services.images.use(route.item, (image) => make(image, signal), signal);
  const picture = await enqueueFor(services.queues.pictures, route.asked)(use);
  const all = { ...headers, ...route.extraHeaders };
  return picture.kind === 'bytes'
    ? Reply.content(picture.bytes, picture.type, { headers: all })
    : Reply.stream(picture.stream, picture.type, { headers: { ...all, 'Content-Length': picture.size } });
}

const extensions: Readonly<Record<string, string>> = { JPEG: 'jpg', JFIF: 'jpg', PNG: 'png', TIFF: 'tiff', TILED: 'tiff' };

/** The header that names a download, where the request asks for one. Other words than inline and attachment ask for none. */
export function dispositionHeader(
  item: ItemRecord,
  suffix: string,
  query: {
    contentDisposition?: string | undefined;
    contentDispositionFilename?: string | undefined;
    encoding?: string | undefined;
  },
): ReplyHeaders {
  const type = query.contentDisposition;
  if (type !== 'inline' && type !== 'attachment') return {};
  const encoding = query.encoding ?? 'JPEG';
  const extension = extensions[encoding] ?? encoding.toLowerCase();
  const name = query.contentDispositionFilename ?? `${item.name.replace(/\.[^.]*$/, '')}-${suffix}.${extension}`;
  return { 'Content-Disposition': contentDisposition(name, { type }) };
}
