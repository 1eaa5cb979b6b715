import { rangeHeaders, requestedRange } from '../../../http/ranges.js';
import { Reply, type ReplyHeaders } from '../../../http/reply.js';
import type { RouteRequest } from '../../../http/route.js';
import { matchesType, notAcceptable, parseAccept, type Accepted } from '../format/accept.js';
import { lastBoundary, multipartType, newBoundary, partHeader, singlePart } from './multipart.js';
import { bytesOf, sizeOf, type StreamedFile } from './streamed-file.js';

/** The parts of a request that determine the form of the response. */
export type AcceptRequest = Pick<RouteRequest, 'headers' | 'sent'>;

/** The types that a client accepts. */
export function acceptedBy({ headers, sent }: AcceptRequest): Accepted[] {
  return parseAccept(headers.accept, sent.accept);
}

/** Bytes alone, or as the only part of a multipart response, as the client accepts. @throws LargeImageError `not-acceptable` */
export function bytesReply(request: AcceptRequest, bytes: Uint8Array, type = 'application/octet-stream'): Reply {
  const form = acceptedBy(request).find((accepted) => matchesType(accepted.type, type));
  if (form === undefined) return notAcceptable('This value', [type, `multipart/related; type="${type}"`]);
  if (!form.multipart) return Reply.content(bytes, type);
  const boundary = newBoundary();
  return Reply.content(singlePart({ type, body: bytes }, boundary), multipartType(type, boundary));
}

/** A streamed file, or the requested range of it. @throws UnsatisfiableRangeError */
export function fileReply(
  request: Pick<RouteRequest, 'headers'>,
  file: StreamedFile,
  type: string,
  headers: ReplyHeaders,
): Reply {
  const size = sizeOf(file);
  if (size === null) return Reply.stream(bytesOf(file), type, { headers });
  const range = requestedRange(request.headers, { size, tag: null });
  const { start, end } = range ?? { start: 0, end: size };
  return Reply.stream(bytesOf(file, start, end), type, {
    status: range === null ? 200 : 206,
    headers: { ...headers, ...rangeHeaders(range, size), 'Content-Length': end - start },
  });
}

/** A streamed long value, alone or as the only part of a multipart response. @throws LargeImageError `not-acceptable` */
export function bulkReply(request: AcceptRequest, file: StreamedFile): Reply {
  const type = 'application/octet-stream';
  const form = acceptedBy(request).find((accepted) => matchesType(accepted.type, type));
  if (form === undefined) return notAcceptable('This value', [type, `multipart/related; type="${type}"`]);
  const headers = { 'Cache-Control': 'private, no-cache' };
  if (!form.multipart) return fileReply(request, file, type, headers);
  const boundary = newBoundary();
  return fileReply({ headers: {} }, asPart(file, type, boundary), multipartType(type, boundary), headers);
}

/** A file as the only part of a multipart response. */
export function asPart(file: StreamedFile, type: string, boundary: string): StreamedFile {
  return {
    ...file,
    head: Buffer.concat([Buffer.from(partHeader({ type }, boundary, true)), file.head]),
    tail: Buffer.concat([file.tail, Buffer.from(lastBoundary(boundary))]),
  };
}
