import { Types } from 'mongoose';
import { isId, type HostDirectory } from '../../index.js';
import type { HostContext } from '../context.js';

/** The host's users and groups, as the plugin asks for them. */
export function hostDirectory({ models }: HostContext): HostDirectory {
  return {
    async users(ids) {
      const users = await models.user.find({ _id: { $in: objectIds(ids) } }, { login: 1, firstName: 1, lastName: 1 }).lean();
      return users.map(({ _id, login, firstName, lastName }) => ({
        id: _id.toHexString(),
        login,
        name: `${firstName} ${lastName}`,
      }));
    },
    async groups(ids) {
      const known = objectIds(ids);
      const groups = await models.group.find({ _id: { $in: known } }, { name: 1, description: 1 }).lean();
      const filled = new Set((await models.user.distinct('groups', { groups: { $in: known } })).map(String));
      return groups.map(({ _id, name, description }) => {
        const id = _id.toHexString();
        return { id, name, description, hasMembers: filled.has(id) };
      });
    },
    async groupsOf(userId) {
      const user = isId(userId) ? await models.user.findById(userId, { groups: 1 }).lean() : null;
      return (user?.groups ?? []).map((id) => id.toHexString());
    },
  };
}

function objectIds(ids: readonly string[]): Types.ObjectId[] {
  return ids.filter(isId).map((id) => new Types.ObjectId(id));
}
