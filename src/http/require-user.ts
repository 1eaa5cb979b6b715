import { InvalidError, UnknownIdError } from '../errors.js';
import type { Caller, HostDirectory } from '../host.js';
import { isId } from './parameters.js';

/**
 * That a user exists of whom the caller may know, as far as the host tells.
 *
 * @throws InvalidError for what is no id, UnknownIdError where nobody has it.
 */
export async function requireUser(directory: HostDirectory | undefined, id: string, caller: Caller | null): Promise<void> {
  if (directory === undefined || (await directory.users([id], caller)).length > 0) return;
  if (!isId(id)) throw new InvalidError(`Invalid ObjectId: ${id}`, 'id');
  throw new UnknownIdError('user', id);
}
