import { rangeHeaders, requestedRange } from '../../../http/ranges.js';
import { Reply, type ReplyHeaders } from '../../../http/reply.js';
import type { RouteRequest } from '../../../http/route.js';
import { matchesType, throwNotAcceptable, parseAccept, type AcceptedType } from '../format/accept.js';
import { lastBoundary, multipartType, newBoundary, partHeader, singlePartBody } from './multipart.js';
import { streamBytes, sizeOf, type StreamedFile } from './streamed-file.js';

/** The parts of a request that determine the form of the response. */
export type AcceptRequest = Pick<RouteRequest, 'headers' | 'sent'>;

/** The types that a client accepts. */
export function acceptedTypes({ headers, sent }: AcceptRequest): AcceptedType[] {
  return parseAccept(headers.accept, sent.accept);
}

/** Answers with bytes, alone or as the only part of a multipart response. @throws LargeImageError `not-acceptable` */
export function valueReply(request: AcceptRequest, bytes: Uint8Array, type = 'application/octet-stream'): Reply {
  const form = acceptedTypes(request).find((acceptedType) => matchesType(acceptedType.type, type));
  if (form === undefined) return throwNotAcceptable('This value', [type, `multipart/related; type="${type}"`]);
  if (!form.isMultipart) return Reply.content(bytes, type);
  const boundary = newBoundary();
  return Reply.content(singlePartBody({ type, body: bytes }, boundary), multipartType(type, boundary));
}

/** Answers with a streamed file, or with the requested range of it. @throws UnsatisfiableRangeError */
export function fileReply(
  request: Pick<RouteRequest, 'headers'>,
  file: StreamedFile,
  type: string,
  headers: ReplyHeaders,
): Reply {
  const size = sizeOf(file);
  if (size === null) return Reply.stream(streamBytes(file), type, { headers });
  const range = requestedRange(request.headers, { size, tag: null });
  const { start, end } = range ?? { start: 0, end: size };
  return Reply.stream(streamBytes(file, start, end), type, {
    status: range === null ? 200 : 206,
    headers: { ...headers, ...rangeHeaders(range, size), 'Content-Length': end - start },
  });
}

/** Like {@link valueReply}, for a long value that is streamed. @throws LargeImageError `not-acceptable` */
export function streamedValueReply(request: AcceptRequest, file: StreamedFile): Reply {
  const type = 'application/octet-stream';
  const form = acceptedTypes(request).find((acceptedType) => matchesType(acceptedType.type, type));
  if (form === undefined) return throwNotAcceptable('This value', [type, `multipart/related; type="${type}"`]);
  const headers = { 'Cache-Control': 'private, no-cache' };
  if (!form.isMultipart) return fileReply(request, file, type, headers);
  const boundary = newBoundary();
  return fileReply({ headers: {} }, wrapInPart(file, type, boundary), multipartType(type, boundary), headers);
}

/** A file as the only part of a multipart response. */
export function wrapInPart(file: StreamedFile, type: string, boundary: string): StreamedFile {
  return {
    ...file,
    head: Buffer.concat([Buffer.from(partHeader({ type }, boundary, true)), file.head]),
    tail: Buffer.concat([file.tail, Buffer.from(lastBoundary(boundary))]),
  };
}
