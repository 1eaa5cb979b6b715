import type { IncomingMessage } from 'node:http';
import { UnsatisfiableRangeError } from '../errors.js';
import { Reply, type ReplyHeaders } from './reply.js';

/** Bytes from `start` to `end`, not including `end`. */
export interface ByteRange {
  start: number;
  end: number;
}

/** The form of a range in a header. `parseInt`, which range-parser uses, would read `1x` as 1. */
const rangePattern = /^(\d*)-(\d*)$/;

/**
 * Returns the requested range (RFC 9110, 14.2), or `null` for the whole content. A response has only one part, so only the first of
 * several ranges that overlaps the content counts. A header with a malformed or reversed range is ignored, and so is every range if
 * `If-Range` names another state of the content.
 *
 * @param tag the strong entity tag of the content; `null` if the content has none, so that no `If-Range` is met.
 * @throws UnsatisfiableRangeError if no range overlaps the content.
 */
export function requestedRange(
  { range, 'if-range': condition }: IncomingMessage['headers'],
  { size, tag }: { size: number; tag: string | null },
): ByteRange | null {
  if (range === undefined || (condition !== undefined && condition !== tag)) return null;
  const [, list] = /^bytes=(.*)$/i.exec(range.trim()) ?? [];
  if (list === undefined) return null;
  let overlapping: ByteRange | null = null;
  let hasRange = false;
  for (const rangeText of list.split(',')) {
    if (rangeText.trim() === '') continue;
    const [, first, last] = rangePattern.exec(rangeText.trim()) ?? [];
    if (first === undefined || last === undefined || first + last === '') return null;
    if (first !== '' && last !== '' && Number(last) < Number(first)) return null;
    hasRange = true;
    const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
    const end = first === '' || last === '' ? size : Math.min(size, Number(last) + 1);
    if (start < end) overlapping ??= { start, end };
    // `Content-Range` cannot describe a part of an empty content, so the empty content is sent whole.
    else if (size === 0 && (first === '' ? Number(last) > 0 : Number(first) === 0)) return null;
  }
  if (hasRange && overlapping === null) throw new UnsatisfiableRangeError(size);
  return overlapping;
}

/** The headers about ranges, for a response with a range or with the whole content. */
export function rangeHeaders(range: ByteRange | null, size: number): ReplyHeaders {
  if (range === null) return { 'Accept-Ranges': 'bytes' };
  return { 'Accept-Ranges': 'bytes', 'Content-Range': `bytes ${range.start}-${range.end - 1}/${size}` };
}

/** Answers with all bytes, or with the requested range. @throws UnsatisfiableRangeError */
export function replyWithRange(
  requestHeaders: IncomingMessage['headers'],
  bytes: Uint8Array,
  { type, tag, headers }: { type: string; tag: string; headers: ReplyHeaders },
): Reply {
  const size = bytes.length;
  const range = requestedRange(requestHeaders, { size, tag });
  const content = range === null ? bytes : bytes.subarray(range.start, range.end);
  return Reply.content(content, type, {
    status: range === null ? 200 : 206,
    headers: { ...headers, ...rangeHeaders(range, size) },
  });
}
