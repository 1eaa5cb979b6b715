import { afterAll, beforeAll, describe, it } from 'vitest';
import type { StoredDocument } from '../../src/index.js';
import { describeHost, type HostUnderTest } from '../../src/testing/host.js';
import { startTestDatabase } from '../support/database.js';
import { closeSpecimenServer, openSpecimenServer, specimenHost } from '../support/specimen-host.js';

async function makeSpecimenHost(): Promise<HostUnderTest> {
  const database = await startTestDatabase();
  const server = await openSpecimenServer(database.uri);
  let people = 0;
  return {
    host: specimenHost(server),
    async createUser() {
      const user = { id: `person${++people}`, token: `secret of person ${people}` };
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
    async close() {
      await closeSpecimenServer(server);
      await database.stop();
    },
  };
}

describeHost('a server of another shape', makeSpecimenHost, { describe, it, beforeAll, afterAll });
