import { JsonLimitError, parseInSlices } from '../../../core/concurrency/json-slices.js';
import { TileSourceError } from '../../../errors.js';
import type { FileTree } from '../../tile-source.js';

/** Maximum number of bytes of one metadata document. */
const maxJsonBytes = 2 ** 22;
/** Maximum depth of nested objects and lists. */
const maxDepth = 100;
/** Maximum number of objects and lists in a document. */
const maxContainers = 600_000;

/** An object of a JSON document. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a value is an object with members. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The member of that name if it is an object; otherwise an empty object. */
export function objectMember(value: unknown, name: string): JsonObject {
  const memberValue = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return isObject(memberValue) ? memberValue : {};
}

/** The member of that name if it is a list; otherwise an empty list. */
export function listMember(value: unknown, name: string): readonly unknown[] {
  const memberValue = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return Array.isArray(memberValue) ? (memberValue as unknown[]) : [];
}

/** The member of that name if it is a text; otherwise `null`. */
export function textMember(value: unknown, name: string): string | null {
  const memberValue = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return typeof memberValue === 'string' ? memberValue : null;
}

/** Reads a JSON document; `null` if it does not exist. @throws TileSourceError if it is too long or not an object. */
export async function readJson(tree: FileTree, path: string, signal?: AbortSignal): Promise<JsonObject | null> {
  const file = await tree.file(path);
  if (file === null) return null;
  if (file.size > maxJsonBytes)
    throw new TileSourceError(`${path} of the Zarr has ${file.size} bytes; at most ${maxJsonBytes} are supported.`);
  const bytes = await file.read(0, file.size, signal && { signal });
  try {
    // Some programs write numbers that are not valid JSON, such as NaN.
    const text = Buffer.from(bytes)
      .toString('utf8')
      .replaceAll(/([[:,]\s{0,200})(-?Infinity|NaN)(?=\s{0,200}[,\]}])/g, '$1"$2"');
    const value = await parseInSlices(text, { maxDepth, maxContainers, signal });
    if (isObject(value)) return value;
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof JsonLimitError) throw new TileSourceError(`${path} of the Zarr ${cause.message}.`, { cause });
    throw new TileSourceError(`${path} of the Zarr is not JSON.`, { cause });
  }
  throw new TileSourceError(`${path} of the Zarr is not a JSON object.`);
}
