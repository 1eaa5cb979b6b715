import type { IncomingMessage } from 'node:http';
import { parse as parseQuery } from 'node:querystring';
import { Readable } from 'node:stream';
import busboy from 'busboy';
import { BadParameterError, LargeImageError } from '../../errors.js';
import { isSliceOver, nextSlice } from '../../core/concurrency/slices.js';
import { parseJsonText, decodeUtf8 } from '../../core/json.js';
import type { RouteBody, RouteOutline } from '../route.js';

/** The members of an Express request that are used here. */
export interface HttpRequest extends IncomingMessage {
  originalUrl: string;
  /** The part of the path at which the router is mounted. */
  baseUrl: string;
  /** Set if a body parser of the host has run. */
  body?: unknown;
}

/** Maximum size of a form. The fields of a form become parameters. */
const maxFormBytes = 1024 * 1024;
/** Maximum number of fields of a form or a query string. */
const maxFields = 1000;
/** Maximum size of a JSON or text body, unless the route has another limit. */
const defaultMaxBodyBytes = 1024 * 1024;
const bodyAdvice =
  'Send the body itself, with its Content-Type (application/json, text/plain or application/octet-stream), ' +
  'and parameters in the query string.';

type SentParameters = Record<string, string>;

/**
 * Parses the parameters of the query string.
 *
 * @param options with `repeatable`, a name can be repeated, and its first value counts.
 * @throws BadParameterError if a name is repeated without `repeatable`, or if there are too many parameters.
 */
export function parseQueryParameters(url: string, { repeatable = false } = {}): SentParameters {
  const start = url.indexOf('?');
  const sentParameters: SentParameters = Object.create(null) as SentParameters;
  if (start < 0) return sentParameters;
  const fields = parseFields(url.slice(start + 1));
  addParameters(
    sentParameters,
    repeatable ? Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, [value].flat()[0]])) : fields,
  );
  return sentParameters;
}

/** @throws BadParameterError for too many fields. */
function parseFields(text: string): NodeJS.Dict<unknown> {
  // All fields are counted before any is parsed.
  let count = 1;
  for (let at = text.indexOf('&'); at >= 0; at = text.indexOf('&', at + 1)) count += 1;
  if (count > maxFields) throw tooManyFieldsError();
  return parseQuery(text, '&', '=', { maxKeys: 0 });
}

function tooManyFieldsError(): BadParameterError {
  return new BadParameterError(`A request may have at most ${maxFields} parameters.`);
}

function addParameters(sentParameters: SentParameters, values: NodeJS.Dict<unknown>): void {
  for (const [name, value] of Object.entries(values)) {
    if (Array.isArray(value) || name in sentParameters) {
      throw new BadParameterError(`Parameter "${name}" must not be specified multiple times.`);
    }
    if (typeof value === 'string') sentParameters[name] = value;
    else if (typeof value === 'number' || typeof value === 'boolean') sentParameters[name] = String(value);
  }
}

function contentType(request: IncomingMessage): string {
  return (request.headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase();
}

/** Whether the body is a form, whose fields are parameters. */
export function isForm(request: IncomingMessage): boolean {
  const type = contentType(request);
  return type === 'application/x-www-form-urlencoded' || type === 'multipart/form-data';
}

/** Adds the fields of a form to the parameters. Does nothing if the body is not a form. */
export async function addFormParameters(request: HttpRequest, sentParameters: SentParameters): Promise<void> {
  if (!isForm(request)) return;
  requireUncompressed(request);
  if (request.readableEnded || wasReadByHost(request)) {
    if (typeof request.body === 'object' && request.body !== null)
      addParameters(sentParameters, request.body as NodeJS.Dict<unknown>);
    return;
  }
  if (contentType(request) === 'multipart/form-data') return addMultipartFields(request, sentParameters);
  const body = await readBody(request, maxFormBytes);
  addParameters(sentParameters, parseFields(body.toString('utf8')));
}

/** Whether a body parser of the host has already read the body. */
function wasReadByHost(request: HttpRequest): boolean {
  return request.body !== undefined && request.readableDidRead;
}

/** @throws LargeImageError `unsupported-encoding` for a compressed body, unless a parser of the host has decompressed it. */
function requireUncompressed(request: HttpRequest): void {
  const coding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (coding === 'identity' || coding === '' || wasReadByHost(request)) return;
  throw new LargeImageError('unsupported-encoding', `Send the request body without Content-Encoding ${coding}.`);
}

function addMultipartFields(request: HttpRequest, sentParameters: SentParameters): Promise<void> {
  return new Promise((resolve, reject) => {
    let parser: busboy.Busboy;
    try {
      parser = busboy({
        headers: request.headers,
        limits: { fieldSize: maxFormBytes, fields: maxFields, parts: maxFields + 100 },
      });
    } catch (cause) {
      reject(new BadParameterError('The multipart body has no valid boundary.', { cause }));
      return;
    }
    let length = 0;
    parser.on('fieldsLimit', () => reject(tooManyFieldsError()));
    parser.on('field', (name, value) => {
      try {
        length += name.length + value.length;
        if (length > maxFormBytes) throw tooLargeError(maxFormBytes);
        addParameters(sentParameters, { [name]: name in sentParameters ? [value] : value });
      } catch (error) {
        reject(error as Error);
      }
    });
    // If a file ends halfway, its stream emits an error too, which would end the process without a listener.
    parser.on('file', (_name, stream) => stream.on('error', () => undefined).resume());
    parser.on('error', (cause) => reject(new BadParameterError('The multipart body is malformed.', { cause })));
    parser.on('close', () => resolve());
    request.on('error', reject).on('aborted', () => reject(new BadParameterError('The request body is incomplete.')));
    request.on('data', (chunk: Buffer) => {
      parser.write(chunk);
      pauseBetweenSlices(request);
    });
    request.once('end', () => parser.end());
  });
}

function tooLargeError(maxBytes: number): LargeImageError {
  return new LargeImageError('too-large', `The request body is longer than ${maxBytes} bytes.`);
}

/**
 * Pauses the stream of a body until the next slice if the current time slice is over. Called after each chunk, because hundreds of
 * thousands of one-byte chunks could otherwise be processed in one turn of the event loop.
 */
function pauseBetweenSlices(request: IncomingMessage): void {
  if (!isSliceOver()) return;
  request.pause();
  void nextSlice().then(() => request.resume());
}

/** Initial size of the buffer for a body. The buffer grows as bytes arrive. */
const initialBufferBytes = 4096;

/**
 * Reads a body into memory. Each chunk is copied into one buffer as soon as it arrives, because a packet may contain thousands of
 * one-byte chunks. An async iterator would keep each chunk as an object, and wake up for each.
 *
 * @throws LargeImageError `too-large` if the body has more than `maxBytes`. The caller drops the remaining bytes with
 * {@link dropRemainingBody}.
 */
function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const announcedBytes = Number(request.headers['content-length'] ?? 0);
  return new Promise((resolve, reject) => {
    let body = Buffer.allocUnsafe(initialBufferBytes);
    let bodyBytes = 0;
    const appendChunk = (chunk: Buffer): void => {
      const neededBytes = bodyBytes + chunk.length;
      if (neededBytes > maxBytes) {
        rejectBody(tooLargeError(maxBytes));
        return;
      }
      if (neededBytes > body.length) {
        const largerBuffer = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(neededBytes, announcedBytes, 2 * body.length)));
        body.copy(largerBuffer, 0, 0, bodyBytes);
        body = largerBuffer;
      }
      chunk.copy(body, bodyBytes);
      bodyBytes = neededBytes;
      pauseBetweenSlices(request);
    };
    const finishBody = (): void => {
      removeListeners();
      resolve(body.subarray(0, bodyBytes));
    };
    const rejectIncomplete = (cause?: unknown): void =>
      rejectBody(new BadParameterError('The request body is incomplete.', { cause }));
    const removeListeners = (): void => {
      request.off('data', appendChunk).off('end', finishBody).off('error', rejectIncomplete).off('close', rejectIncomplete);
    };
    const rejectBody = (error: LargeImageError): void => {
      removeListeners();
      reject(error);
    };
    if (announcedBytes > maxBytes) rejectBody(tooLargeError(maxBytes));
    else if (request.readableEnded) finishBody();
    else if (request.destroyed) rejectIncomplete();
    else request.on('data', appendChunk).once('end', finishBody).once('error', rejectIncomplete).once('close', rejectIncomplete);
  });
}

/**
 * Reads and drops the rest of a body that nobody needs. Otherwise a client that is still sending would never read the response, and
 * the connection could not be used for another request. The server's `requestTimeout` limits the duration.
 */
export function dropRemainingBody(request: IncomingMessage): void {
  if (!request.complete && !request.destroyed) request.on('data', () => pauseBetweenSlices(request)).resume();
}

/**
 * Reads the body of a request as the type that the route declares in `body`.
 *
 * @param sentParameters Query parameters, and the fields of a form.
 */
export async function readRouteBody(
  request: HttpRequest,
  route: RouteOutline,
  sentParameters: Readonly<SentParameters>,
): Promise<unknown> {
  const kind: RouteBody = route.body ?? 'none';
  if (kind === 'none') return undefined;
  requireUncompressed(request);
  const bodyIsForm = isForm(request);
  if (bodyIsForm) refuseAccidentalForm(request, route, sentParameters);
  if (kind === 'stream') {
    if (bodyIsForm) return Readable.from([]);
    return wasReadByHost(request) ? Readable.from([bytesOfParsedBody(request)]) : request;
  }
  const bytes = bodyIsForm
    ? Buffer.alloc(0)
    : wasReadByHost(request)
      ? bytesOfParsedBody(request)
      : await readBody(request, route.maxBodyBytes ?? defaultMaxBodyBytes);
  const content = decodeUtf8(bytes);
  return kind === 'text' ? content : parseJsonBody(content, kind, route);
}

/**
 * Refuses a form that was meant as the route's body, because its text would be lost. Some clients send every body as a form by
 * default.
 *
 * @throws BadParameterError if the route requires a body, or the form contains a field that is not a parameter of the route.
 */
function refuseAccidentalForm(request: HttpRequest, route: RouteOutline, sentParameters: Readonly<SentParameters>): void {
  if (!route.bodyOptional)
    throw new BadParameterError(`A form (${contentType(request)}) is not the body of this request. ${bodyAdvice}`);
  if (route.body === 'text') return;
  const undeclaredName = Object.keys(sentParameters).find((name) => !(name in (route.query ?? {})));
  if (undeclaredName === undefined) return;
  const shownName = undeclaredName.length > 40 ? `${undeclaredName.slice(0, 40)}…` : undeclaredName;
  throw new BadParameterError(`The form contains "${shownName}", which is not a parameter of this request. ${bodyAdvice}`);
}

/** Turns a body that a parser of the host has already parsed into bytes again. */
function bytesOfParsedBody(request: HttpRequest): Buffer {
  const { body } = request;
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

async function parseJsonBody(
  content: string,
  kind: 'json' | 'json-object' | 'json-array',
  route: RouteOutline,
): Promise<unknown> {
  const name = route.bodyName ?? 'body';
  if (!/\S/.test(content)) {
    if (route.bodyOptional) return undefined;
    throw new BadParameterError(`JSON parameter ${name} must be passed in request body.`);
  }
  const value = await parseJsonText(content);
  if (kind === 'json-array' && !Array.isArray(value)) throw new BadParameterError(`Parameter ${name} must be a JSON array.`);
  if (kind === 'json-object' && (typeof value !== 'object' || value === null || Array.isArray(value))) {
    throw new BadParameterError(`Parameter ${name} must be a JSON object.`);
  }
  return value;
}
