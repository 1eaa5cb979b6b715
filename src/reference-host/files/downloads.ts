import { integer, oneOf, Reply, withDefault } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import type { FileDocument } from './file.model.js';
import { readFile, sizeOf } from './files.js';

/** Parameters of downloads of one file. */
export const downloadQuery = {
  offset: withDefault(integer({ minimum: 0, description: 'First byte.' }), 0),
  endByte: integer({ minimum: 0, description: 'Byte after the last one.' }),
  contentDisposition: withDefault(
    oneOf(['inline', 'attachment'], { description: 'Whether browsers show the file or save it.' }),
    'attachment',
  ),
};

/** Options for sending a file. */
export interface DownloadRequest {
  /** The header `Range`. */
  range: string | undefined;
  offset: number;
  /** Exclusive. */
  endByte: number | undefined;
  disposition: 'inline' | 'attachment';
}

/** The answer to a download: the bytes or a part of them, or where a link leads. */
export async function downloadFile(context: HostContext, file: FileDocument, request: DownloadRequest): Promise<Reply> {
  if (file.linkUrl !== undefined) return Reply.redirect(file.linkUrl);
  const size = await sizeOf(file);
  const asked = parseRange(request.range, size);
  if (asked === 'unsatisfiable') return unsatisfiable(size);
  const start = asked?.start ?? request.offset;
  const end = Math.min(asked?.end ?? request.endByte ?? size, size);
  // A range of parameters that ends before it begins is none, as one behind the end of the file.
  if (asked === null && ((start > 0 && start >= size) || (request.endByte ?? Infinity) < request.offset))
    return unsatisfiable(size);
  const isPartial = size > 0 && (asked !== null || start > 0 || end < size);
  const body = await readFile(context, file, { start, end: Math.max(start, end) });
  return Reply.stream(body, contentTypeOf(file.mimeType), {
    status: isPartial ? 206 : 200,
    headers: {
      'Accept-Ranges': 'bytes',
      'Content-Length': Math.max(0, end - start),
      'Content-Disposition': contentDisposition(file.name, request.disposition),
      // Stored files come from users, so browsers must not show them as pages of this site.
      'X-Content-Type-Options': 'nosniff',
      ...(request.disposition === 'inline' && {
        'Content-Security-Policy': "sandbox; default-src 'none'; style-src 'unsafe-inline'",
      }),
      ...(isPartial && { 'Content-Range': `bytes ${start}-${end - 1}/${size}` }),
    },
  });
}

function unsatisfiable(size: number): Reply {
  const message = `The requested range is outside of the file, which has ${size} bytes.`;
  return Reply.json({ message, type: 'rest' }, { status: 416, headers: { 'Content-Range': `bytes */${size}` } });
}

/** The first range of a header, with `end` exclusive; `null` if there is none, or a malformed one, which HTTP requires to be ignored. */
export function parseRange(header: string | undefined, size: number): { start: number; end: number } | 'unsatisfiable' | null {
  const [unit, ranges, ...further] = (header ?? '').split('=').map((part) => part.trim());
  if (unit?.toLowerCase() !== 'bytes' || ranges === undefined || further.length > 0) return null;
  const [first, last, ...others] = ranges
    .split(',', 1)[0]!
    .split('-')
    .map((part) => part.trim());
  if (first === undefined || last === undefined || others.length > 0 || !/^\d*$/.test(first + last)) return null;
  if (first === '' && last === '') return null;
  if (size === 0) return first === '' || Number(first) === 0 ? null : 'unsatisfiable';
  if (first === '') {
    const length = Number(last);
    return length === 0 ? 'unsatisfiable' : { start: Math.max(0, size - length), end: size };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return null;
  if (start >= size) return 'unsatisfiable';
  return { start, end: last === '' ? size : Math.min(Number(last) + 1, size) };
}

function contentTypeOf(mimeType: string): string {
  // Anything else than a media type would be written into the header as it is.
  if (!/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;\s*[\w-]+=("[^"\\\r\n]*"|[\w.+-]+))*$/.test(mimeType))
    return 'application/octet-stream';
  return /^text\//i.test(mimeType) && !/charset/i.test(mimeType) ? `${mimeType};charset=utf-8` : mimeType;
}

/** The header `Content-Disposition` for any name, by RFC 6266, also for names with quotes, line breaks or other alphabets. */
export function contentDisposition(name: string, disposition: 'inline' | 'attachment'): string {
  // Lone surrogates have no UTF-8.
  const text = name.replace(/\p{Surrogate}/gu, '\ufffd');
  // ASCII only: Node takes a header of this name apart as UTF-8 where the length of the body is known.
  // eslint-disable-next-line no-control-regex -- control characters are what must go
  const plain = text.replace(/[\u0000-\u001f\u007f]/g, '_').replace(/[^\u0020-\u007e]/g, '?');
  const quoted = plain.replace(/[\\"]/g, '\\$&');
  const encoded = encodeURIComponent(text).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  const extended = plain === text ? '' : `; filename*=UTF-8''${encoded}`;
  return `${disposition}; filename="${quoted}"${extended}`;
}
