import { randomBytes } from 'node:crypto';

/** A part of a multipart response. */
export interface Part {
  type: string;
  location?: string;
  body: AsyncIterable<Uint8Array> | Uint8Array;
}

/** A boundary that occurs in no part: 128 random bits. */
export function newBoundary(): string {
  return randomBytes(16).toString('hex');
}

/** The media type of a multipart response. */
export function multipartType(type: string, boundary: string): string {
  return `multipart/related; type="${type}"; boundary=${boundary}`;
}

/** The body of a multipart response. Each part is requested only after the previous part was sent. */
export async function* multipartBody(parts: AsyncIterable<Part> | Iterable<Part>, boundary: string): AsyncGenerator<Uint8Array> {
  let isFirst = true;
  for await (const part of parts) {
    yield Buffer.from(partHeader(part, boundary, isFirst));
    isFirst = false;
    if (part.body instanceof Uint8Array) yield part.body;
    else yield* part.body;
  }
  yield Buffer.from(lastBoundary(boundary));
}

/** The body of a multipart response with a single part. */
export function singlePartBody(part: Part & { body: Uint8Array }, boundary: string): Buffer {
  return Buffer.concat([Buffer.from(partHeader(part, boundary, true)), part.body, Buffer.from(lastBoundary(boundary))]);
}

/** The lines before a part. */
export function partHeader({ type, location }: Omit<Part, 'body'>, boundary: string, isFirst: boolean): string {
  const locationLine = location === undefined ? '' : `Content-Location: ${location}\r\n`;
  return `${isFirst ? '' : '\r\n'}--${boundary}\r\nContent-Type: ${type}\r\n${locationLine}\r\n`;
}

/** The lines after the last part. */
export function lastBoundary(boundary: string): string {
  return `\r\n--${boundary}--\r\n`;
}
