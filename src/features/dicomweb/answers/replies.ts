import { LargeImageError } from '../../../errors.js';
import { Reply, type ReplyHeaders } from '../../../http/reply.js';
import type { RouteRequest } from '../../../http/route.js';
import { matchesType, notAcceptable, parseAccept, type Accepted } from '../format/accept.js';
import { lastBoundary, multipartType, newBoundary, partHeader, singlePart } from './multipart.js';
import { bytesOf, sizeOf, streamOf, type StreamedFile } from './streamed-file.js';

/** What of a request says in what form an answer is wanted. */
export type Wanting = Pick<RouteRequest, 'headers' | 'sent'>;

/** The types that a client accepts. */
export function acceptedBy({ headers, sent }: Wanting): Accepted[] {
  return parseAccept(headers.accept, sent.accept);
}

/** Bytes as they are, or as the only part of several, as the client accepts them. @throws LargeImageError `not-acceptable` */
export function bytesReply(asked: Wanting, bytes: Uint8Array, type = 'application/octet-stream'): Reply {
  const form = acceptedBy(asked).find((accepted) => matchesType(accepted.type, type));
  if (form === undefined) return notAcceptable('This value', [type, `multipart/related; type="${type}"`]);
  if (!form.multipart) return Reply.content(bytes, type);
  const boundary = newBoundary();
  return Reply.content(singlePart({ type, body: bytes }, boundary), multipartType(type, boundary));
}

/** A range of bytes that a request asks for: `null` where it asks for all. @throws LargeImageError `unsatisfiable-range` */
function rangeOf({ headers }: Pick<RouteRequest, 'headers'>, size: number): { start: number; end: number } | null {
  const asked = /^bytes=(\d*)-(\d*)$/.exec(headers.range?.trim() ?? '');
  // Several ranges, and units that are not known, are answered with all.
  if (asked === null || (asked[1] === '' && asked[2] === '')) return null;
  const [first, last] = [asked[1]!, asked[2]!];
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size : Math.min(size, Number(last) + 1);
  if (start < end) return { start, end };
  throw new LargeImageError('unsatisfiable-range', `The file has ${size} bytes.`);
}

/** A file in a stream, or the asked range of it. */
export function fileReply(asked: Pick<RouteRequest, 'headers'>, file: StreamedFile, type: string, headers: ReplyHeaders): Reply {
  const size = sizeOf(file);
  if (size === null) return Reply.stream(streamOf(bytesOf(file)), type, { headers });
  const range = rangeOf(asked, size);
  const { start, end } = range ?? { start: 0, end: size };
  const more: Record<string, string | number> = { ...headers, 'Accept-Ranges': 'bytes', 'Content-Length': end - start };
  if (range !== null) more['Content-Range'] = `bytes ${start}-${end - 1}/${size}`;
  return Reply.stream(streamOf(bytesOf(file, start, end)), type, { status: range === null ? 200 : 206, headers: more });
}

/** A long value in a stream, as it is or as the only part of several. @throws LargeImageError `not-acceptable` */
export function bulkReply(asked: Wanting, file: StreamedFile): Reply {
  const type = 'application/octet-stream';
  const form = acceptedBy(asked).find((accepted) => matchesType(accepted.type, type));
  if (form === undefined) return notAcceptable('This value', [type, `multipart/related; type="${type}"`]);
  const headers = { 'Cache-Control': 'private, no-cache' };
  if (!form.multipart) return fileReply(asked, file, type, headers);
  const boundary = newBoundary();
  return fileReply({ headers: {} }, asPart(file, type, boundary), multipartType(type, boundary), headers);
}

/** A file between the lines of its only part. */
export function asPart(file: StreamedFile, type: string, boundary: string): StreamedFile {
  return {
    ...file,
    head: Buffer.concat([Buffer.from(partHeader({ type }, boundary, true)), file.head]),
    tail: Buffer.concat([file.tail, Buffer.from(lastBoundary(boundary))]),
  };
}
