import { InvalidError, UnknownIdError } from '../errors.js';
import type { Caller, HostDirectory } from '../host.js';
import { isId } from './parameters.js';

/**
 * Checks that a user exists and that the caller can see them. Without `directory` of the host nothing is checked.
 *
 * @throws InvalidError for a malformed id, UnknownIdError for an id without such a user.
 */
export async function requireUser(directory: HostDirectory | undefined, id: string, caller: Caller | null): Promise<void> {
  if (directory === undefined || (await directory.users([id], caller)).length > 0) return;
  if (!isId(id)) throw new InvalidError(`Invalid ObjectId: ${id}`, 'id');
  throw new UnknownIdError('user', id);
}
