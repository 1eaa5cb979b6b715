import type { StoredDocument } from 'express-large-image';
import type { HostUnderTest } from 'express-large-image/testing';
import type { SpecimenServer } from './host-adapter.js';

/** The functions with which `describeHost` makes users, folders and items on the server in `host-adapter.ts`. */
export function specimenActions(server: SpecimenServer): Omit<HostUnderTest, 'host' | 'countStored' | 'close'> {
  let personCount = 0;
  return {
    async createUser() {
      const user = { id: `person${++personCount}`, token: `secret of person ${personCount}` };
      await server.Badges.create({ secret: user.token, person: user.id });
      return user;
    },
    async createFolder(options) {
      const cabinet = await server.Cabinets.create({ title: 'a cabinet', owner: options.owner.id, open: options.public });
      return cabinet.toObject() as unknown as StoredDocument;
    },
    async createItem({ folder, name }) {
      const specimen = await server.Specimens.create({ title: name, cabinet: folder._id as never });
      return specimen.toObject() as unknown as StoredDocument;
    },
    async renameItem(item, name) {
      await server.Specimens.updateOne({ _id: item._id as never }, { title: name, changedAt: new Date() });
    },
    async removeItem(item) {
      await server.Specimens.findByIdAndDelete(item._id);
    },
    async grant(folder, user, level) {
      const cabinet = await server.Cabinets.findById(folder._id);
      if (level < 0) cabinet!.roles.delete(user.id);
      else cabinet!.roles.set(user.id, level === 0 ? 'viewer' : 'editor');
      await cabinet!.save();
    },
    async revokeToken(user) {
      await server.Badges.deleteMany({ secret: user.token });
    },
  };
}
