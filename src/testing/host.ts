import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { AccessLevel, Host, HostEventName, NewFile, StoredDocument } from '../host.js';
import { ModelEvents } from '../core/host/host-events.js';
import { HostRecords } from '../core/host/host-records.js';
import { idText } from '../core/database/id-text.js';
import { tokenVerifier } from '../core/host/token-verifier.js';
import type { TestFunctions } from './test-functions.js';

/** A user of the host under test, signed in. */
export interface TestUser {
  id: string;
  token: string;
}

/** A host with nothing in it, and what the suite needs to fill it the way its own users would. */
export interface HostUnderTest {
  host: Host;
  /** Makes a user who is no site administrator, and a token with full rights for them. */
  createUser(): Promise<TestUser>;
  /** Makes a folder owned by a user, readable by everybody or by nobody else. */
  createFolder(options: { owner: TestUser; public: boolean }): Promise<StoredDocument>;
  createItem(options: { owner: TestUser; folder: StoredDocument; name: string }): Promise<StoredDocument>;
  /** Changes the name of an item, as a user of the host would. */
  renameItem(item: StoredDocument, name: string): Promise<void>;
  removeItem(item: StoredDocument): Promise<void>;
  /** Lets a user read, or write, or do nothing in a folder. */
  grant(folder: StoredDocument, user: TestUser, level: AccessLevel): Promise<void>;
  revokeToken(user: TestUser): Promise<void>;
  close(): Promise<void>;
}

const content = Buffer.from('The quick brown fox jumps over the lazy dog.');

async function readAll(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/**
 * Checks that an adapter keeps the promises of `Host`. Call it in a test file with the functions of the test runner:
 * `describeHost('my host', makeHost, { describe, it, beforeAll, afterAll })`.
 */
export function describeHost(name: string, makeHost: () => Promise<HostUnderTest>, runner: TestFunctions): void {
  const { describe, it, beforeAll, afterAll } = runner;
  describe(`host contract: ${name}`, () => {
    let made: HostUnderTest;
    let records: HostRecords;
    let verify: ReturnType<typeof tokenVerifier>;
    let owner: TestUser;
    let stranger: TestUser;

    beforeAll(async () => {
      made = await makeHost();
      records = new HostRecords(made.host);
      verify = tokenVerifier(made.host.auth);
      owner = await made.createUser();
      stranger = await made.createUser();
    });
    afterAll(async () => {
      records?.restoreSchemas();
      await made?.close();
    });

    const newItem = async (isPublic: boolean) => {
      const folder = await made.createFolder({ owner, public: isPublic });
      const item = await made.createItem({ owner, folder, name: 'an item' });
      return { folder, item };
    };
    const createFile = (item: StoredDocument, stream: Readable = Readable.from([content])) =>
      made.host.files.create(
        { name: 'fox.txt', mimeType: 'text/plain', size: content.length, parent: { type: 'item', itemId: idText(item._id) } },
        stream,
      );

    it('knows who a token belongs to, and nobody for any other text', async () => {
      const caller = await verify(owner.token);
      assert.equal(caller?.id, owner.id);
      assert.equal(caller?.admin, false);
      assert.ok(caller !== null && caller.scopes.length > 0, 'a sign-in has scopes');
      for (const text of ['', 'x', `${owner.token}x`, '{"$gt":""}']) assert.equal(await verify(text), null);
    });

    it('gives owners at least write, strangers and the anonymous what the folder gives them', async () => {
      const caller = await verify(owner.token);
      const other = await verify(stranger.token);
      for (const isPublic of [false, true]) {
        const { folder, item } = await newItem(isPublic);
        for (const subject of [{ type: 'item', doc: item } as const, { type: 'folder', doc: folder } as const]) {
          assert.ok((await made.host.access.level(caller, subject)) >= 1);
          assert.equal(await made.host.access.level(other, subject), isPublic ? 0 : -1);
          assert.equal(await made.host.access.level(null, subject), isPublic ? 0 : -1);
        }
      }
    });

    it('filters lists by the very same permissions', async () => {
      const shown = await newItem(true);
      const hidden = await newItem(false);
      const ids = [shown.item._id, hidden.item._id];
      const model = made.host.models.item as unknown as { find(filter: object): { lean(): Promise<StoredDocument[]> } };
      const seenBy = async (user: TestUser | null, level: AccessLevel) => {
        const caller = user === null ? null : await verify(user.token);
        const filter = await made.host.access.filter(caller, 'item', level);
        return (await model.find({ $and: [filter, { _id: { $in: ids } }] }).lean()).map((doc) => idText(doc._id)).sort();
      };
      assert.deepEqual(await seenBy(owner, 0), ids.map(idText).sort());
      assert.deepEqual(await seenBy(stranger, 0), [idText(shown.item._id)]);
      assert.deepEqual(await seenBy(null, 0), [idText(shown.item._id)]);
      assert.deepEqual(await seenBy(stranger, 1), []);
    });

    it('stores a stream as a file of the item, and gives its bytes back by range and by path', async () => {
      const { item } = await newItem(false);
      const file = records.fileOf(await createFile(item));
      assert.equal(file.name, 'fox.txt');
      assert.equal(file.mimeType, 'text/plain');
      assert.equal(file.size, content.length);
      const record = records.itemOf(item);
      assert.deepEqual(
        (await records.filesOfItem(record)).map(({ id }) => id),
        [file.id],
      );
      const range = await readAll(await made.host.files.read(file.doc, { start: 4, end: 9 }));
      assert.equal(range.toString(), 'quick');
      const path = await made.host.files.localPath(file.doc);
      if (path !== null) assert.deepEqual(await readFile(path), content);
    });

    const attachedTo = (item: StoredDocument, width: number): NewFile => ({
      name: '_largeImageThumbnail',
      mimeType: 'image/png',
      size: content.length,
      parent: { type: 'attached', itemId: idText(item._id) },
      fields: {
        attachedToType: 'item',
        attachedToId: item._id,
        isLargeImageThumbnail: true,
        thumbnailKey: `{"width":${width}}`,
      },
    });

    it('keeps files attached to an item out of its list, with the fields of the plugin', async () => {
      const { item } = await newItem(false);
      const attached = await made.host.files.create(attachedTo(item, 16), Readable.from([content]));
      const stored = await records.findFile(idText(attached._id));
      assert.equal(stored?.doc.isLargeImageThumbnail, true);
      assert.equal(stored?.doc.thumbnailKey, '{"width":16}');
      assert.deepEqual(await records.filesOfItem(records.itemOf(item)), []);
    });

    it('leaves nothing of a file whose stream fails or is too short', async () => {
      const { item } = await newItem(false);
      const failing = Readable.from(
        (async function* () {
          yield content.subarray(0, 3);
          throw new Error('the other end went away');
        })(),
      );
      await assert.rejects(async () => createFile(item, failing));
      await assert.rejects(async () => createFile(item, Readable.from([content.subarray(0, 3)])));
      assert.deepEqual(await records.filesOfItem(records.itemOf(item)), []);
    });

    it('removes record and bytes of a file', async () => {
      const { item } = await newItem(false);
      const file = await createFile(item);
      const path = await made.host.files.localPath(file);
      await made.host.files.remove(file);
      assert.equal(await records.findFile(idText(file._id)), null);
      if (path !== null) await assert.rejects(async () => readFile(path));
    });

    it('creates several files at once where it offers that, each for itself', async () => {
      const { files, models } = made.host;
      if (!files.createMany) return;
      const { item } = await newItem(false);
      const gone = { ...item, _id: '0123456789abcdef01234567' };
      const entry = (owner: StoredDocument, size: number, stream: Readable) => ({
        file: { ...attachedTo(owner, size), size },
        content: stream,
      });
      const broken = new Readable({ read: () => void broken.destroy(new Error('the disk has gone')) });
      const results = await files.createMany([
        entry(item, content.length, Readable.from([content])),
        entry(item, content.length + 1, Readable.from([content])),
        entry(item, 3, Readable.from([Buffer.from('abc')])),
        entry(item, 3, broken),
        entry(gone, 3, Readable.from([Buffer.from('abc')])),
        entry(item, 0, Readable.from([])),
      ]);
      const states = ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'rejected', 'fulfilled'];
      assert.deepEqual(
        results.map(({ status }) => status),
        states,
      );
      const [first, , third] = results.map((each) => (each.status === 'fulfilled' ? each.value : null));
      assert.deepEqual(await readAll(await files.read(first!, { start: 0, end: content.length })), content);
      assert.deepEqual(await readAll(await files.read(third!, { start: 0, end: 3 })), Buffer.from('abc'));
      assert.equal(await models.file.countDocuments({ attachedToId: item._id } as never), 3);
    });

    it('removes several files at once where it offers that, also some that are gone already', async () => {
      const { files, models } = made.host;
      if (!files.removeMany) return;
      const { item } = await newItem(false);
      const docs = [await createFile(item), await createFile(item)];
      for (let width = 1; width <= 5; width += 1)
        docs.push(await files.create(attachedTo(item, width), Readable.from([content])));
      const paths = await Promise.all(docs.map((doc) => files.localPath(doc)));
      await files.remove(docs[1]!);
      await files.remove(docs[2]!);
      await Promise.all([files.removeMany(docs), files.removeMany(docs)]);
      await files.removeMany([]);
      assert.equal(await models.file.countDocuments({ _id: { $in: docs.map(({ _id }) => _id) } } as never), 0);
      for (const path of paths) if (path !== null) await assert.rejects(readFile(path), { code: 'ENOENT' });
    });

    it('keeps the large-image record of an item, claimed by one of two at a time', async () => {
      const { item } = await newItem(false);
      const file = await createFile(item);
      const record = records.itemOf(item);
      const claims = await Promise.all([1, 2].map(() => records.markers.claim(record, { fileId: file._id, sourceName: 'tiff' })));
      assert.equal(claims.filter((claim) => claim !== null).length, 1);
      assert.equal((await records.findItem(record.id))?.largeImage?.sourceName, 'tiff');
    });

    it('announces what happens: items, files, access, tokens', async () => {
      const modelEvents = made.host.events === undefined ? new ModelEvents(made.host.models) : null;
      const events = made.host.events ?? modelEvents!;
      const heard: HostEventName[] = [];
      const names: HostEventName[] = [
        'item.saved',
        'item.removed',
        'file.saved',
        'file.removed',
        'access.changed',
        'folder.saved',
        'token.revoked',
      ];
      const offs = names.map((event) => events.on(event, () => void heard.push(event)));
      const expectAfter = async (work: () => Promise<unknown>, expected: HostEventName[]) => {
        heard.length = 0;
        await work();
        assert.ok(
          expected.some((event) => heard.includes(event)),
          `one of ${expected.join(', ')}; heard ${heard.join(', ') || 'nothing'}`,
        );
      };
      const { folder, item } = await newItem(false);
      await expectAfter(() => made.renameItem(item, 'another name'), ['item.saved']);
      let file: StoredDocument | undefined;
      await expectAfter(async () => (file = await createFile(item)), ['file.saved']);
      await expectAfter(() => made.host.files.remove(file!), ['file.removed']);
      await expectAfter(() => made.grant(folder, stranger, 0), ['access.changed', 'folder.saved']);
      await expectAfter(() => made.removeItem(item), ['item.removed']);
      if (made.host.events !== undefined) await expectAfter(() => made.revokeToken(stranger), ['token.revoked']);
      else await made.revokeToken(stranger);
      assert.equal(await verify(stranger.token), null);
      for (const off of offs) off();
      modelEvents?.close();
    });
  });
}
