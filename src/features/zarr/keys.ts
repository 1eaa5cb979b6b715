import { NotFoundError } from '../../errors.js';

/** Maximum length of a key. The keys of stores are far shorter. */
const maxKeyLength = 2000;
const maxSegments = 16;

/**
 * The segments of a key below the name of the store; an empty list is the root itself.
 *
 * @throws NotFoundError if no store can have this key.
 */
export function parseKey(key: string): string[] {
  const encodedSegments = key.length > maxKeyLength ? [] : key.split('/').filter((segment) => segment !== '');
  const [name, ...segments] = encodedSegments.length > maxSegments ? [] : encodedSegments.map(decodeSegment);
  if (name === undefined || !/.\.zarr$/i.test(name)) throw noSuchKeyError();
  return segments;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw noSuchKeyError();
  }
}

/** Parses the index of an image, level or chunk; `null` for anything else. */
export function parseIndex(segment: string | undefined): number | null {
  return segment !== undefined && /^(?:0|[1-9]\d{0,8})$/.test(segment) ? Number(segment) : null;
}

/** The error for every key that a store does not have. */
export function noSuchKeyError(): NotFoundError {
  return new NotFoundError('The store has no such key.');
}
