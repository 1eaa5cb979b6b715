import { MissingPartsError } from '../../errors.js';

/** Maximum number of missing files that a message names. */
const maxNamedFiles = 20;

/**
 * The error for an image of several files, some of which are missing.
 *
 * @param messageStart the start of the message, such as `Files of the slide are missing`.
 * @param missingPaths paths relative to the file that refers to the missing files.
 */
export function missingPartsError(messageStart: string, missingPaths: readonly string[]): MissingPartsError {
  const andMore = missingPaths.length > maxNamedFiles ? ` and ${missingPaths.length - maxNamedFiles} more` : '';
  return new MissingPartsError(`${messageStart}: ${missingPaths.slice(0, maxNamedFiles).join(', ')}${andMore}.`, missingPaths);
}
