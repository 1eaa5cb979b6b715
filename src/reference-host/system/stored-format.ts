import { LargeImageError } from '../../index.js';
import { isDuplicateKey } from '../duplicate-key.js';
import type { Models } from '../models.js';

/**
 * Version of the reference host's own documents. A release that stores documents differently increments the version, and documents
 * how it reads older documents.
 */
const hostFormat = 1;

/**
 * Records in a new database how the host stores its documents, and checks in an existing one whether this release can read them.
 *
 * @throws LargeImageError if a later release has stored them in a different format
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
