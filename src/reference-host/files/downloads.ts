import type { IncomingMessage } from 'node:http';
import {
  integer,
  oneOf,
  rangeHeaders,
  Reply,
  requestedRange,
  UnsatisfiableRangeError,
  withDefault,
  type ByteRange,
} from '../../larger-host.js';
import type { HostContext } from '../context.js';
import type { FileDocument } from './file.model.js';
import { readFile, readCurrentSize } from './files.js';

/** Parameters of downloads of one file. */
export const downloadQuery = {
  offset: withDefault(integer({ minimum: 0, description: 'First byte.' }), 0),
  endByte: integer({ minimum: 0, description: 'The byte after the last one to send.' }),
  contentDisposition: withDefault(
    oneOf(['inline', 'attachment'], { description: 'Whether browsers show the file or save it.' }),
    'attachment',
  ),
};

/** Options for sending a file. */
export interface DownloadRequest {
  /** A header `Range` overrides `offset` and `endByte`. */
  headers: IncomingMessage['headers'];
  offset: number;
  /** The byte after the last one to send. */
  endByte: number | undefined;
  disposition: 'inline' | 'attachment';
}

/** The response to a download: the bytes or a part of them, or a redirect for a link. */
export async function downloadFile(context: HostContext, file: FileDocument, request: DownloadRequest): Promise<Reply> {
  if (file.linkUrl !== undefined) return Reply.redirect(file.linkUrl);
  const size = await readCurrentSize(file);
  const range = requestedRange(request.headers, { size, tag: null }) ?? readParameterRange(request, size);
  const { start, end } = range ?? { start: 0, end: size };
  const body = await readFile(context, file, { start, end });
  return Reply.stream(body, toSafeContentType(file.mimeType), {
    status: range === null ? 200 : 206,
    headers: {
      ...rangeHeaders(range, size),
      'Content-Length': end - start,
      'Content-Disposition': createContentDisposition(file.name, request.disposition),
      // Stored files come from users, so browsers must not show them as pages of this site.
      'X-Content-Type-Options': 'nosniff',
      ...(request.disposition === 'inline' && {
        'Content-Security-Policy': "sandbox; default-src 'none'; style-src 'unsafe-inline'",
      }),
    },
  });
}

/** The bytes between `offset` and `endByte`; `null` for all. @throws UnsatisfiableRangeError */
function readParameterRange({ offset, endByte = Infinity }: DownloadRequest, size: number): ByteRange | null {
  const end = Math.min(endByte, size);
  if (offset === 0 && end === size) return null;
  if (offset >= end) throw new UnsatisfiableRangeError(size);
  return { start: offset, end };
}

function toSafeContentType(mimeType: string): string {
  // The text becomes part of a header, so anything other than a media type is replaced.
  if (!/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;\s*[\w-]+=("[^"\\\r\n]*"|[\w.+-]+))*$/.test(mimeType))
    return 'application/octet-stream';
  return /^text\//i.test(mimeType) && !/charset/i.test(mimeType) ? `${mimeType};charset=utf-8` : mimeType;
}

/** Creates the header `Content-Disposition` of RFC 6266 for any name, also for names with quotes, line breaks or other alphabets. */
export function createContentDisposition(name: string, disposition: 'inline' | 'attachment'): string {
  // Lone surrogates have no UTF-8 form.
  const validName = name.replace(/\p{Surrogate}/gu, '\ufffd');
  // The first form of the name is ASCII, because Node garbles other characters in this header if the length of the body is known.
  // eslint-disable-next-line no-control-regex -- control characters are replaced
  const asciiName = validName.replace(/[\u0000-\u001f\u007f]/g, '_').replace(/[^\u0020-\u007e]/g, '?');
  const quotedName = asciiName.replace(/[\\"]/g, '\\$&');
  const encodedName = encodeURIComponent(validName).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const extendedParameter = asciiName === validName ? '' : `; filename*=UTF-8''${encodedName}`;
  return `${disposition}; filename="${quotedName}"${extendedParameter}`;
}
