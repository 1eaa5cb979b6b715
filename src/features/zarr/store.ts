import { answerConditional, cacheHeaders, entityTag } from '../../http/conditional.js';
import { replyWithRange } from '../../http/ranges.js';
import type { Reply } from '../../http/reply.js';
import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../host.js';
import { shapeOf, type ArrayImage, type Plane } from './arrays.js';
import { noSuchKeyError, parseIndex } from './keys.js';
import type { ZarrVersion } from './nodes.js';

/** A request for a key of a store. */
export interface StoreRequest {
  version: ZarrVersion;
  headers: IncomingMessage['headers'];
  /** The caller whose permissions apply. */
  caller: Caller | null;
  /** The caller who counts in queues: the link for a request through a link, otherwise `caller`. */
  queuedAs: Caller | null;
  /** Whether the caller can see associated images. */
  showsAssociated: boolean;
  readonly signal: AbortSignal;
}

/** Answers with a document. */
export function replyWithText({ headers }: StoreRequest, text: string, type = 'application/json'): Reply {
  const bytes = Buffer.from(text);
  const tag = entityTag(bytes);
  return (
    answerConditional(headers, tag, cacheHeaders(tag)) ??
    replyWithRange(headers, bytes, { type, tag, headers: cacheHeaders(tag) })
  );
}

/**
 * Answers with a chunk. If the client already has the chunk, it is not made.
 *
 * @param key identifies the bytes of the chunk, and changes whenever they do.
 * @param make returns no bytes if the chunk contains only the fill value.
 */
export async function replyWithChunk({ headers }: StoreRequest, key: string, make: () => Promise<Uint8Array>): Promise<Reply> {
  const tag = entityTag(key);
  const notModifiedReply = answerConditional(headers, tag, cacheHeaders(tag));
  if (notModifiedReply !== null) return notModifiedReply;
  const bytes = await make();
  if (bytes.length === 0) throw noSuchKeyError();
  return replyWithRange(headers, bytes, { type: 'application/octet-stream', tag, headers: cacheHeaders(tag) });
}

/** A chunk of a dataset. */
export interface ChunkAddress {
  level: number;
  plane: Plane;
  row: number;
  column: number;
}

/** The chunk named by the segments of a key; `null` if there is none. */
export function parseChunkKey(
  image: Pick<ArrayImage, 'axes' | 'lengths' | 'levels' | 'chunkSide'>,
  segments: readonly string[],
  version: ZarrVersion,
): ChunkAddress | null {
  const [levelSegment, ...indexSegments] = segments;
  const level = parseIndex(levelSegment);
  if (level === null || level >= image.levels.length) return null;
  if (version === 3 && indexSegments.shift() !== 'c') return null;
  const shape = shapeOf(image, level);
  if (indexSegments.length !== shape.length) return null;
  const indexByAxis = { t: 0, c: 0, z: 0, y: 0, x: 0 };
  for (const [position, axis] of image.axes.entries()) {
    const index = parseIndex(indexSegments[position]);
    const chunkLength = axis === 'x' || axis === 'y' ? image.chunkSide : 1;
    if (index === null || index * chunkLength >= shape[position]!) return null;
    indexByAxis[axis] = index;
  }
  const { y: row, x: column, ...plane } = indexByAxis;
  return { level, plane, row, column };
}
