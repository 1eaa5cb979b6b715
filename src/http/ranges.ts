import type { IncomingMessage } from 'node:http';
import { Reply, type ReplyHeaders } from './reply.js';

/** Bytes from `start` up to, not including, `end`. */
interface ByteRange {
  start: number;
  end: number;
}

/**
 * The range that a request asks for. `null`: the whole, also for headers that are malformed, name several ranges, or depend on another state of the
 * content (`If-Range`), which RFC 9110 has servers ignore.
 */
function requestedRange(
  { range, 'if-range': condition }: IncomingMessage['headers'],
  { size, tag }: { size: number; tag: string },
): ByteRange | 'unsatisfiable' | null {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/i.exec((range ?? '').replaceAll(/\s/g, '')) ?? [];
  if (first === undefined || last === undefined || first + last === '') return null;
  if (typeof condition === 'string' && condition.trim() !== tag) return null;
  if (first === '') {
    const length = Number(last);
    return length === 0 || size === 0 ? 'unsatisfiable' : { start: Math.max(0, size - length), end: size };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return null;
  return start >= size ? 'unsatisfiable' : { start, end: last === '' ? size : Math.min(size, Number(last) + 1) };
}

/** Answers with bytes, or the part of them that the request asks for. */
export function replyWithRange(
  request: IncomingMessage['headers'],
  bytes: Uint8Array,
  { type, tag, headers }: { type: string; tag: string; headers: ReplyHeaders },
): Reply {
  const size = bytes.length;
  const range = requestedRange(request, { size, tag });
  if (range === 'unsatisfiable') {
    const message = `The requested range is outside of the content, which has ${size} bytes.`;
    return Reply.json({ message, type: 'rest' }, { status: 416, headers: { 'Content-Range': `bytes */${size}` } });
  }
  const whole = { ...headers, 'Accept-Ranges': 'bytes' };
  if (range === null) return Reply.content(bytes, type, { headers: whole });
  const { start, end } = range;
  const partial = { ...whole, 'Content-Range': `bytes ${start}-${end - 1}/${size}` };
  return Reply.content(bytes.subarray(start, end), type, { status: 206, headers: partial });
}
