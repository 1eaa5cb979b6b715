import { MissingPartsError } from '../../errors.js';

/** Maximum number of missing files that a message names. */
const maxNamedFiles = 20;

/**
 * The error for an image of several files, some of which are missing.
 *
 * @param what start of the message: `Files of the slide are missing`.
 * @param missing paths relative to the file that refers to them.
 */
export function missingPartsError(what: string, missing: readonly string[]): MissingPartsError {
  const andMore = missing.length > maxNamedFiles ? ` and ${missing.length - maxNamedFiles} more` : '';
  return new MissingPartsError(`${what}: ${missing.slice(0, maxNamedFiles).join(', ')}${andMore}.`, missing);
}
