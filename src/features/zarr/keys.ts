import { NotFoundError } from '../../errors.js';

/** Maximum length of a key. The keys of stores are far shorter. */
const maxKey = 2000;
const maxSegments = 16;

/**
 * The segments of a key below the name of the store; an empty list is the root itself. @throws NotFoundError if no store has such a
 * key.
 */
export function segmentsOf(key: string): string[] {
  const sent = key.length > maxKey ? [] : key.split('/').filter((segment) => segment !== '');
  const [name, ...segments] = sent.length > maxSegments ? [] : sent.map(decoded);
  if (name === undefined || !/.\.zarr$/i.test(name)) throw absent();
  return segments;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw absent();
  }
}

/** Parses the index of an image, level or chunk; `null` for anything else. */
export function indexOf(segment: string | undefined): number | null {
  return segment !== undefined && /^(?:0|[1-9]\d{0,8})$/.test(segment) ? Number(segment) : null;
}

/** The error for every key that a store does not have. */
export function absent(): NotFoundError {
  return new NotFoundError('The store has no such key.');
}
