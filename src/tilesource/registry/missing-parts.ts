import { MissingPartsError } from '../../errors.js';

/** Missing files that a message names. */
const maxNamed = 20;

/**
 * The error for an image of several files of which some are not there.
 *
 * @param what begins the message: `Files of the slide are not there`.
 * @param missing paths from the file that speaks of them.
 */
export function missingParts(what: string, missing: readonly string[]): MissingPartsError {
  const rest = missing.length > maxNamed ? ` and ${missing.length - maxNamed} more` : '';
  return new MissingPartsError(`${what}: ${missing.slice(0, maxNamed).join(', ')}${rest}.`, missing);
}
