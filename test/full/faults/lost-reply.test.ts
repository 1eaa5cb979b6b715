/** The database has carried out a command, but its reply is lost. No file may be stored partly. */
import { mongo, type Model } from 'mongoose';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { newFolder } from '../../support/images/images.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

let started: TestHost;
let admin: Client;
let folder: string;

beforeAll(async () => {
  started = await startHost();
  admin = await started.register('admin');
  folder = await newFolder(admin, 'Files');
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => started?.close());

/** Makes the next call do its work, and then fail as if the connection was lost before the reply. */
function loseReply<M extends 'insertMany' | 'deleteMany'>(model: Model<never>, method: M, does = true): void {
  const original = model[method].bind(model) as (...words: unknown[]) => Promise<unknown>;
  const callAndLoseReply = async (...words: unknown[]): Promise<never> => {
    if (does) await original(...words);
    throw new mongo.MongoBulkWriteError(new mongo.MongoNetworkError('connection closed'), {} as mongo.BulkWriteResult);
  };
  vi.spyOn(model, method).mockImplementationOnce(callAndLoseReply as never);
}

const files = () => started.host.context.models.file as unknown as Model<never>;

describe('when the reply of the database is lost', () => {
  it('an uploaded file is complete or missing', async () => {
    loseReply(files(), 'insertMany');
    const query = { parentType: 'folder', parentId: folder, name: 'a.txt', size: 5 };
    expect((await admin.send('POST', '/file', { query, body: 'hello' })).status).toBe(503);
    // The record was written before its item, so nobody has seen it. It is removed with its bytes.
    expect(await files().find({ name: 'a.txt' }).lean()).toEqual([]);
    expect(await admin.ok('GET', '/item', { query: { folderId: folder } })).toEqual([]);
    expect(await started.host.context.models.blob.countDocuments()).toBe(0);
    const file = await admin.ok('POST', '/file', { query, body: 'hello' });
    expect((await admin.send('GET', `/file/${String(file._id)}/download`)).bytes.toString()).toBe('hello');
  });

  it('a folder configuration is complete or missing, and can be written again', async () => {
    const path = `/folder/${folder}/yaml_config/x.yaml`;
    loseReply(files(), 'insertMany');
    loseReply(files(), 'deleteMany', false);
    expect((await admin.send('PUT', path, { body: 'a: 1' })).status).toBe(503);
    // A new file is removed with its item, which was not reported to anyone.
    expect(await admin.ok('GET', path)).toEqual({});
    await admin.ok('PUT', path, { body: 'a: 1' });
    await admin.ok('PUT', path, { query: { user_context: true }, body: 'b: 2' });
    expect(await admin.ok('GET', path)).toEqual({ a: 1, b: 2 });

    // If the record can be removed, the former text stays.
    loseReply(files(), 'insertMany');
    expect((await admin.send('PUT', path, { body: 'a: 3' })).status).toBe(503);
    expect(await admin.ok('GET', path)).toEqual({ a: 1, b: 2 });
  });
});
