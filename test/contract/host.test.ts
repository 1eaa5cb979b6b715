import { ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { HostFiles, StoredDocument } from '../../src/index.js';
import { describeHost, type HostUnderTest } from '../../src/testing/index.js';
import { startTestDatabase } from '../support/hosts/database.js';
import { startHost, type Client } from '../support/hosts/reference-host.js';
import { specimenActions } from '../../examples/host-test.js';
import { specimenFilesInGridFs } from '../../examples/gridfs-files.js';
import { closeSpecimenServer, openSpecimenServer, specimenHost, type SpecimenServer } from '../../examples/host-adapter.js';
import { specimenFilesInBucket } from '../../examples/s3-files.js';
import { Bucket } from '../../src/s3/index.js';
import { noGateway, startGateway } from '../support/hosts/s3-gateway.js';

/** Where the server with other models stores bytes. */
interface Store {
  files(server: SpecimenServer): HostFiles;
  count(server: SpecimenServer): Promise<number>;
  close?(): Promise<void>;
}

const inFolder: Store = {
  files: (server) => specimenHost(server).files,
  count: async ({ folder }) => (await readdir(folder)).length,
};

const inGridFs: Store = {
  files: specimenFilesInGridFs,
  async count({ mongoose }) {
    const db = mongoose.connection.db!;
    const counts = await Promise.all(['blobs.files', 'blobs.chunks'].map((name) => db.collection(name).countDocuments()));
    return counts[0]! + counts[1]!;
  },
};

async function inBucket(): Promise<Store> {
  const gateway = await startGateway();
  return {
    files: (server) => specimenFilesInBucket(server, gateway.client, 'bucket'),
    async count() {
      let count = 0;
      for await (const _object of new Bucket(gateway.client, 'bucket').list('')) count += 1;
      const { Uploads = [] } = await gateway.client.send(new ListMultipartUploadsCommand({ Bucket: 'bucket' }));
      return count + Uploads.length;
    },
    close: () => gateway.close(),
  };
}

async function makeSpecimenHost(store: Store = inFolder): Promise<HostUnderTest> {
  const database = await startTestDatabase();
  const server = await openSpecimenServer(database.uri);
  return {
    host: { ...specimenHost(server), files: store.files(server) },
    countStored: () => store.count(server),
    ...specimenActions(server),
    async close() {
      await closeSpecimenServer(server);
      await store.close?.();
      await database.stop();
    },
  };
}

async function makeReferenceHost(): Promise<HostUnderTest> {
  const started = await startHost();
  // The first user to register becomes the site administrator, which users of the suite must not be.
  await started.register('administrator');
  const { models } = started.host.context;
  const clients = new Map<string, Client>();
  const clientOf = (user: { id: string }) => clients.get(user.id)!;
  const owners = new Map<unknown, Client>();
  return {
    host: started.host.host,
    async countStored() {
      const entries = await readdir(started.dataDirectory, { recursive: true, withFileTypes: true });
      return entries.filter((entry) => entry.isFile()).length;
    },
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
describeHost('a server of a different shape', () => makeSpecimenHost(), { describe, it, beforeAll, afterAll });
describeHost('a server with its files in GridFS', () => makeSpecimenHost(inGridFs), { describe, it, beforeAll, afterAll });
if (noGateway === null) {
  const make = async () => makeSpecimenHost(await inBucket());
  describeHost('a server with its files in a bucket', make, { describe, it, beforeAll, afterAll });
} else console.warn(`skipped: a server with its files in a bucket, because ${noGateway}`);
