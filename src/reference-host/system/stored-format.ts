import { LargeImageError } from '../../index.js';
import { isDuplicateKey } from '../duplicate-key.js';
import type { Models } from '../models.js';

/**
 * Version of the format in which the reference host stores its own documents. A release that stores them differently increments the version
 * and describes here how older documents are read.
 */
const hostFormat = 1;

/**
 * Records the format in a new database, and checks in an existing database whether this release can read the documents.
 *
 * @throws LargeImageError if a later release has stored the documents in a different format
 */
export async function checkStoredFormat({ hostState }: Pick<Models, 'hostState'>): Promise<void> {
  try {
    await hostState.create({ _id: 'format', format: hostFormat });
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
  const { format } = (await hostState.findById('format').lean()) ?? {};
  if (format === undefined || format <= hostFormat) return;
  throw new LargeImageError(
    'conflict',
    `The database contains documents of the reference host in format ${format}, which a later release has written; ` +
      `this release supports formats up to ${hostFormat}. Nothing was changed.`,
  );
}
