import { afterAll, beforeAll, describe, it } from 'vitest';
import type { StoredDocument } from '../../src/index.js';
import { describeHost, type HostUnderTest } from '../../src/testing/host.js';
import { startTestDatabase } from '../support/database.js';
import { startHost, type Client } from '../support/reference-host.js';
import { closeSpecimenServer, openSpecimenServer, specimenHost } from '../../examples/host-adapter.js';

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

async function makeReferenceHost(): Promise<HostUnderTest> {
  const started = await startHost();
  // The first to register is the site's administrator, which the suite does not want.
  await started.register('administrator');
  const { models } = started.host.context;
  const clients = new Map<string, Client>();
  const clientOf = (user: { id: string }) => clients.get(user.id)!;
  const owners = new Map<unknown, Client>();
  return {
    host: started.host.host,
    async createUser() {
      const client = await started.register(`person${clients.size + 1}`);
      clients.set(client.id!, client);
      return { id: client.id!, token: client.token! };
    },
    async createFolder(options) {
      const query = { parentType: 'user', parentId: options.owner.id, name: `folder ${owners.size}`, public: options.public };
      const id = await clientOf(options.owner).create('/folder', query);
      const folder = (await models.folder.findById(id).lean()) as unknown as StoredDocument;
      owners.set(String(folder._id), clientOf(options.owner));
      return folder;
    },
    async createItem({ owner, folder, name }) {
      const id = await clientOf(owner).create('/item', { folderId: String(folder._id), name });
      const item = (await models.item.findById(id).lean()) as unknown as StoredDocument;
      owners.set(String(item._id), clientOf(owner));
      return item;
    },
    async renameItem(item, name) {
      await owners.get(String(item._id))!.ok('PUT', `/item/${String(item._id)}`, { query: { name } });
    },
    async removeItem(item) {
      await owners.get(String(item._id))!.ok('DELETE', `/item/${String(item._id)}`);
    },
    async grant(folder, user, level) {
      const owner = owners.get(String(folder._id))!;
      const users = [{ id: owner.id, level: 2 }, ...(level < 0 ? [] : [{ id: user.id, level }])];
      const query = { access: JSON.stringify({ users, groups: [] }) };
      await owner.ok('PUT', `/folder/${String(folder._id)}/access`, { query });
    },
    async revokeToken(user) {
      await clientOf(user).ok('DELETE', '/user/authentication');
    },
    close: () => started.close(),
  };
}

describeHost('the reference host', makeReferenceHost, { describe, it, beforeAll, afterAll });
describeHost('a server of another shape', makeSpecimenHost, { describe, it, beforeAll, afterAll });
