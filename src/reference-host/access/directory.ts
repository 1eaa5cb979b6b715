import { Types } from 'mongoose';
import type { Caller, HostDirectory } from '../../index.js';
import { isId } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import { createAccessFilter, loadPrincipal } from './access.js';

/** The host's users and groups, as the plugin needs them. */
export function hostDirectory(context: HostContext): HostDirectory {
  const { models } = context;
  /** Matches documents that the asker can see, or all documents if `asker` is undefined. */
  const createVisibilityFilter = async (asker: Caller | null | undefined) =>
    asker === undefined ? {} : createAccessFilter(await loadPrincipal(context, asker), 0);
  const findUsers = async (condition: object, asker: Caller | null | undefined) => {
    const filter = { ...(await createVisibilityFilter(asker)), ...condition };
    const users = await models.user.find(filter, { login: 1, firstName: 1, lastName: 1, status: 1 }).lean();
    return users.map(({ _id, login, firstName, lastName, status }) => ({
      id: _id.toHexString(),
      login,
      name: `${firstName} ${lastName}`,
      isDisabled: status !== 'enabled',
    }));
  };
  return {
    users: (ids, asker) => findUsers({ _id: { $in: toObjectIds(ids) } }, asker),
    usersByLogin: (logins, asker) => findUsers({ login: { $in: [...logins] } }, asker),
    async groups(ids, asker) {
      const filter = { ...(await createVisibilityFilter(asker)), _id: { $in: toObjectIds(ids) } };
      const groups = await models.group.find(filter, { name: 1, description: 1 }).lean();
      const groupIds = groups.map(({ _id }) => _id);
      const groupsWithMembers = new Set(
        (await models.user.distinct('groups', { groups: { $in: groupIds }, status: 'enabled' })).map(String),
      );
      return groups.map(({ _id, name, description }) => {
        const id = _id.toHexString();
        return { id, name, description, hasMembers: groupsWithMembers.has(id) };
      });
    },
    async groupsOf(userId) {
      const user = isId(userId) ? await models.user.findById(userId, { groups: 1 }).lean() : null;
      return (user?.groups ?? []).map((id) => id.toHexString());
    },
  };
}

function toObjectIds(ids: readonly string[]): Types.ObjectId[] {
  return ids.filter(isId).map((id) => new Types.ObjectId(id));
}
