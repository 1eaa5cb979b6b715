import type { Types } from 'mongoose';
import { LargeImageError, type Caller } from '../../index.js';
import type { HostContext } from '../context.js';
import { loadPrincipal, type Principal } from '../access/access.js';

/** The signed-in caller of a route with access `user`. @throws LargeImageError `login-required` if nobody is signed in */
export async function requireSignedIn(context: HostContext, caller: Caller | null): Promise<Principal & { id: Types.ObjectId }> {
  const principal = await loadPrincipal(context, caller);
  const { id } = principal;
  if (id === null) throw new LargeImageError('login-required', 'You must be logged in.');
  return { ...principal, id };
}
