import { InvalidError, UnknownIdError } from '../errors.js';
import type { Caller, HostDirectory } from '../host.js';
import { isId } from './parameters.js';

/**
 * Checks that a user exists and that the caller can see them. Nothing is checked if the host has no `directory`.
 *
 * @throws InvalidError for a malformed id, and UnknownIdError if there is no such user.
 */
export async function requireUser(directory: HostDirectory | undefined, id: string, caller: Caller | null): Promise<void> {
  if (directory === undefined || (await directory.users([id], caller)).length > 0) return;
  if (!isId(id)) throw new InvalidError(`Invalid ObjectId: ${id}`, 'id');
  throw new UnknownIdError('user', id);
}
