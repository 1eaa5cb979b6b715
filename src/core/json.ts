import { isAscii, isUtf8 } from 'node:buffer';
import { BadParameterError } from '../errors.js';
import { JsonLimitError, parseInSlices } from './concurrency/json-slices.js';

/** How many characters of a malformed text are inspected to find the error. */
const probedCharacters = 64 * 1024;
/** Maximum nesting of JSON to parse. The limit for stored values is lower. */
export const maxJsonDepth = 500;
/** Maximum number of lists and objects in JSON to parse: more than a body of 1 MiB can contain. */
const maxJsonContainers = 600_000;

/** Texts of at least this many bytes are parsed in slices or in a thread. */
const longTextBytes = 256 * 1024;

/** Whether parsing a text at once would block the event loop for long. */
export function isLongText(byteLength: number): boolean {
  return byteLength >= longTextBytes;
}

/** Decodes UTF-8. @throws BadParameterError for bytes that are not UTF-8. */
export function decodeUtf8(bytes: Buffer): string {
  // Most bodies are ASCII, which needs no decoding.
  if (isAscii(bytes)) return bytes.toString('latin1');
  if (!isUtf8(bytes)) throw new BadParameterError('The request body must be UTF-8 text.');
  return bytes.toString('utf8');
}

/**
 * Parses JSON of any length, in slices. Errors have the messages that existing clients expect.
 *
 * @throws BadParameterError for invalid JSON, and for JSON that is nested too deep or has too many lists and objects.
 */
export async function parseJsonText(
  content: string,
  { signal, maxContainers = maxJsonContainers }: { signal?: AbortSignal | undefined; maxContainers?: number } = {},
): Promise<unknown> {
  try {
    return await parseInSlices(content, { maxDepth: maxJsonDepth, maxContainers, signal });
  } catch (cause) {
    if (cause instanceof JsonLimitError) throw new BadParameterError(`The JSON ${cause.message}.`, { cause });
    if (cause instanceof SyntaxError) throw invalidJsonError(content, cause);
    throw cause;
  }
}

/**
 * Parses a short JSON text without a pause. Errors have the messages of {@link parseJsonText}. The caller must have checked the
 * depth.
 *
 * @throws BadParameterError
 */
export function parseShortJson(content: string): unknown {
  try {
    return JSON.parse(content) as unknown;
  } catch (cause) {
    throw invalidJsonError(content, cause);
  }
}

/** The error for JSON that is nested deeper than {@link maxJsonDepth}. */
export function nestedTooDeepError(): BadParameterError {
  return new BadParameterError(`The JSON is nested deeper than ${maxJsonDepth} levels.`);
}

function invalidJsonError(content: string, cause: unknown): BadParameterError {
  // Some JSON writers emit NaN or Infinity, outside strings, for numbers that JSON cannot express.
  const outsideStrings = content.slice(0, probedCharacters).replace(/"[^"\\]*(?:\\.[^"\\]*)*"?/gs, '""');
  const constant = /(?<![\w.])(NaN|-?Infinity)(?![\w.])/.exec(outsideStrings);
  if (constant) return new BadParameterError(`Error: "${constant[1]}" is not valid JSON.`, { cause });
  const extra = encodingHint(content) ?? (cause as Error).message;
  return new BadParameterError('Invalid JSON passed in request body.', { cause, details: { extra } });
}

/**
 * Describes the encoding problem of an invalid JSON text, which a quotation of the text would not show; `null` if there is none.
 */
function encodingHint(content: string): string | null {
  if (content.startsWith('\ufeff')) return 'it begins with a byte order mark; send UTF-8 without one';
  return content.slice(0, 2).includes('\0') ? 'it looks like UTF-16 or UTF-32; send UTF-8' : null;
}
