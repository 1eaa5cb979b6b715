import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { elementId, point, startAnnotated, type Annotated } from '../../support/hosts/annotated.js';
import { Client } from '../../support/hosts/reference-host.js';

type Json = Record<string, unknown>;
type Comment = Json & { _id: string };

let scene: Annotated;
/** Another user who may write to the private item. */
let colleague: Client;

beforeAll(async () => {
  scene = await startAnnotated({ checksAnswers: true });
  colleague = await scene.host.register('colleague');
  await allow({ writer: 1, reader: 0, colleague: 1 });
});
afterAll(() => scene?.close());

const clients = () => ({ writer: scene.writer, reader: scene.reader, colleague });

/** Sets the rights in the private folder. */
async function allow(levels: Partial<Record<'writer' | 'reader' | 'colleague', 0 | 1>>, flags: Record<string, string[]> = {}) {
  const users = Object.entries(levels).map(([name, level]) => ({
    id: clients()[name as 'writer'].id,
    level,
    flags: flags[name] ?? [],
  }));
  users.push({ id: scene.admin.id, level: 2 as never, flags: [] });
  const access = JSON.stringify({ users, groups: [] });
  await scene.admin.ok('PUT', `/folder/${scene.privateFolder}/access`, { query: { access, public: false } });
}

const newItem = (name = 'slide.svs') => scene.admin.create('/item', { folderId: scene.privateFolder, name });

async function write(itemId: string, json: Json | string, as: Client = scene.writer): Promise<Comment> {
  const body = typeof json === 'string' ? { text: json } : json;
  return (await as.ok('POST', `/item/${itemId}/comment`, { json: body })) as unknown as Comment;
}

async function reply(id: string, text: string, as: Client = scene.writer): Promise<Comment> {
  return (await as.ok('POST', `/comment/${id}/reply`, { json: { text } })) as unknown as Comment;
}

const threads = async (itemId: string, query: Record<string, string | number> = {}, as: Client = scene.reader) =>
  (await as.ok('GET', `/item/${itemId}/comment`, { query })) as unknown as Comment[];
const texts = (comments: readonly Json[]) => comments.map(({ text }) => text);
const inbox = async (as: Client, query: Record<string, string | boolean> = {}) =>
  (await as.ok('GET', '/comment/inbox', { query })) as unknown as Comment[];
const unread = async (as: Client) => (await as.ok('GET', '/comment/inbox/count')).unread;

describe('comments on an item', () => {
  it('are written on the image, at a place and at a shape, and listed newest first', async () => {
    const item = await newItem();
    const element = point(30, { id: elementId(7) });
    const annotation = await scene.annotate({ name: 'Tumor', elements: [element] }, { as: scene.writer, on: item });
    await write(item, 'The whole image');
    await write(item, { text: 'Here', place: { x: 10.5, y: 20, frame: 3 } });
    const shape = { annotationId: annotation._id, elementId: elementId(7) };
    const atShape = await write(item, { text: 'This one', shape });
    expect(atShape).toMatchObject({
      itemId: item,
      threadId: null,
      place: { x: 30, y: 30 },
      shape: { ...shape, available: true },
      author: { id: scene.writer.id, login: 'writer', name: 'First writer' },
      edited: null,
      version: 1,
      state: 'open',
      resolved: null,
      deleted: false,
      replies: 0,
      mentions: [],
      own: true,
      unread: false,
    });
    const listed = await threads(item);
    expect(texts(listed)).toEqual(['This one', 'Here', 'The whole image']);
    expect(listed.map(({ place }) => place)).toEqual([{ x: 30, y: 30 }, { x: 10.5, y: 20, frame: 3 }, null]);
    expect(await scene.reader.ok('GET', `/item/${item}/comment/places`)).toEqual([
      { _id: atShape._id, place: { x: 30, y: 30 }, state: 'open' },
      { _id: listed[1]!._id, place: { x: 10.5, y: 20, frame: 3 }, state: 'open' },
    ]);
    expect(await scene.reader.ok('GET', `/comment/${atShape._id}`)).toEqual({ ...atShape, own: false });
  });

  it('stay when their shape is deleted, and say so', async () => {
    const item = await newItem();
    const annotation = await scene.annotate({ name: 'Tumor', elements: [point(5, { id: elementId(1) })] }, { on: item });
    const shape = { annotationId: annotation._id, elementId: elementId(1) };
    const { _id } = await write(item, { text: 'Mitosis?', shape }, scene.admin);
    await scene.admin.ok('DELETE', `/annotation/${annotation._id}/elements/${elementId(1)}`);
    const withoutShape = { text: 'Mitosis?', place: { x: 5, y: 5 }, shape: { ...shape, available: false } };
    expect(await scene.admin.ok('GET', `/comment/${_id}`)).toMatchObject(withoutShape);
    await scene.admin.ok('DELETE', `/annotation/${annotation._id}`);
    expect(await scene.admin.ok('GET', `/comment/${_id}`)).toMatchObject(withoutShape);
  });

  it('do not reveal whether a shape exists that the caller cannot see', async () => {
    const item = await newItem();
    const annotation = await scene.annotate({ name: 'Secret', elements: [point(5, { id: elementId(1) })] }, { on: item });
    const access = JSON.stringify({ users: [{ id: scene.admin.id, level: 2 }], groups: [] });
    await scene.admin.ok('PUT', `/annotation/${annotation._id}/access`, { query: { access, public: false } });
    const shape = { annotationId: annotation._id, elementId: elementId(1) };
    const { _id } = await write(item, { text: 'Look', shape }, scene.admin);
    expect(await scene.admin.ok('GET', `/comment/${_id}`)).toMatchObject({ shape: { available: true } });
    expect(await scene.reader.ok('GET', `/comment/${_id}`)).toMatchObject({ text: 'Look', shape: { available: false } });
    expect(await scene.writer.fails('POST', `/item/${item}/comment`, { json: { text: 'a', shape } })).toMatchObject({
      status: 403,
    });
  });

  it('are paged and filtered by state', async () => {
    const item = await newItem();
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1) ids.push((await write(item, `${i}`))._id);
    const state = { json: { state: 'resolved' } };
    expect(await scene.writer.ok('PUT', `/comment/${ids[1]}/state`, state)).toMatchObject({
      state: 'resolved',
      resolved: { by: { login: 'writer' } },
    });
    // The user who resolved it first stays recorded.
    const repeated = await colleague.ok('PUT', `/comment/${ids[1]}/state`, state);
    expect(repeated).toMatchObject({ resolved: { by: { login: 'writer' } } });
    expect(texts(await threads(item, { limit: 2, offset: 1 }))).toEqual(['3', '2']);
    expect(texts(await threads(item, { state: 'open' }))).toEqual(['4', '3', '2', '0']);
    expect(texts(await threads(item, { state: 'resolved' }))).toEqual(['1']);
    const { headers } = await scene.reader.send('GET', `/item/${item}/comment`, { query: { state: 'open', limit: 1 } });
    expect(headers.get('Girder-Total-Count')).toBe('4');
    await scene.writer.ok('PUT', `/comment/${ids[1]}/state`, { json: { state: 'open' } });
    expect(texts(await threads(item, { state: 'resolved' }))).toEqual([]);
  });

  it('have replies, oldest first, to whichever comment of the thread they are sent', async () => {
    const item = await newItem();
    const { _id } = await write(item, 'Question');
    const first = await reply(_id, 'Answer', colleague);
    expect(first).toMatchObject({ threadId: _id, text: 'Answer' });
    expect(await reply(first._id, 'Thanks')).toMatchObject({ threadId: _id });
    expect(texts((await scene.reader.ok('GET', `/comment/${_id}/reply`)) as never)).toEqual(['Answer', 'Thanks']);
    const part = await scene.reader.send('GET', `/comment/${first._id}/reply`, { query: { limit: 1, offset: 1 } });
    expect(texts(part.body as never)).toEqual(['Thanks']);
    expect(part.headers.get('Girder-Total-Count')).toBe('2');
    expect(await threads(item)).toMatchObject([{ text: 'Question', replies: 2 }]);
  });

  it('stay without a text when they are deleted but have replies, and go with the last reply', async () => {
    const item = await newItem();
    const { _id } = await write(item, { text: 'Question @colleague', place: { x: 1, y: 2 } });
    const answer = await reply(_id, 'Answer', colleague);
    await scene.writer.ok('DELETE', `/comment/${_id}`);
    expect(await threads(item)).toMatchObject([
      { text: '', deleted: true, replies: 1, mentions: [], place: { x: 1, y: 2 }, author: { login: 'writer' } },
    ]);
    expect(texts(await inbox(colleague))).not.toContain('');
    expect(await scene.writer.fails('PUT', `/comment/${_id}`, { json: { text: 'Back' } })).toMatchObject({ status: 409 });
    await colleague.ok('DELETE', `/comment/${answer._id}`);
    expect(await threads(item)).toEqual([]);
    expect(await scene.writer.fails('GET', `/comment/${_id}`)).toMatchObject({
      status: 400,
      message: `Invalid comment id (${_id}).`,
    });
  });

  it('are changed by their author, each version once', async () => {
    const item = await newItem();
    const { _id } = await write(item, 'Tumour');
    const edited = await scene.writer.ok('PUT', `/comment/${_id}`, { json: { text: 'Tumor', version: 1 } });
    expect(edited).toMatchObject({ text: 'Tumor', version: 2 });
    expect(edited.edited).not.toBeNull();
    const stale = { json: { text: 'Other', version: 1 } };
    expect(await scene.writer.fails('PUT', `/comment/${_id}`, stale)).toMatchObject({ status: 409, code: 'conflict' });
    const json = (text: string) => ({ json: { text, version: 2 } });
    const answers = await Promise.all(['a', 'b'].map((text) => scene.writer.send('PUT', `/comment/${_id}`, json(text))));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    expect(await scene.admin.fails('PUT', `/comment/${_id}`, { json: { text: 'Mine' } })).toMatchObject({ status: 403 });
  });

  it('lose no reply when the thread is deleted at the same moment', async () => {
    const item = await newItem();
    for (let i = 0; i < 10; i += 1) {
      const { _id } = await write(item, `${i}`);
      const [answered] = await Promise.all([
        colleague.send('POST', `/comment/${_id}/reply`, { json: { text: 'Answer' } }),
        scene.writer.ok('DELETE', `/comment/${_id}`),
      ]);
      const listed = await threads(item);
      if (answered.status === 200) {
        expect(listed).toMatchObject([{ _id, deleted: true, replies: 1 }]);
        await scene.admin.ok('DELETE', `/comment/${String(answered.body._id)}`);
      } else expect([answered.status, listed]).toEqual([400, []]);
    }
  });

  it('are removed with the item, hidden in the trash, and not copied', async () => {
    const item = await newItem();
    const { _id } = await write(item, 'Look @reader');
    const before = await unread(scene.reader);
    const copy = await scene.admin.create(`/item/${item}/copy`, {});
    expect(await threads(copy)).toEqual([]);
    const resources = JSON.stringify({ item: [item] });
    await scene.admin.ok('POST', '/resource/trash', { query: { resources } });
    expect(await scene.reader.fails('GET', `/comment/${_id}`)).toMatchObject({ status: 400, code: 'unknown-id' });
    expect(await unread(scene.reader)).toBe((before as number) - 1);
    await scene.admin.ok('POST', '/resource/restore', { query: { resources } });
    expect(texts(await threads(item))).toEqual(['Look @reader']);
    expect(await unread(scene.reader)).toBe(before);
    await scene.admin.ok('DELETE', `/item/${item}`);
    expect(await scene.reader.fails('GET', `/comment/${_id}`)).toMatchObject({ status: 400, code: 'unknown-id' });
    const stored = scene.host.host.context.models.item.db.collection('large_image_comment');
    expect(await stored.countDocuments({ itemId: item })).toBe(0);
  });

  it('stay without an author when the account is removed', async () => {
    const item = await newItem();
    const guest = await scene.host.register('guest');
    const query = { access: JSON.stringify({ users: [{ id: guest.id, level: 1 }], groups: [] }), public: false };
    const folder = await scene.admin.create('/folder', { parentType: 'folder', parentId: scene.privateFolder, name: 'guests' });
    await scene.admin.ok('PUT', `/item/${item}`, { query: { folderId: folder } });
    await scene.admin.ok('PUT', `/folder/${folder}/access`, { query });
    const { _id } = await write(item, 'I, @guest, was here', guest);
    await write(item, 'Hello @guest', scene.admin);
    await scene.admin.ok('DELETE', `/user/${guest.id}`);
    expect(await threads(item, {}, scene.admin)).toMatchObject([
      { text: 'Hello @guest', mentions: [] },
      { _id, text: 'I, @guest, was here', author: null, mentions: [] },
    ]);
  });
});

describe('permission for comments', () => {
  it('follows the item: readers read, those who may annotate write, authors and administrators delete', async () => {
    const item = await newItem();
    const { _id } = await write(item, 'Mine');
    const json = { text: 'a' };
    const cases: [string, string, Json | undefined, Record<string, number>][] = [
      ['GET', `/item/${item}/comment`, undefined, { anonymous: 401, stranger: 403, reader: 200, colleague: 200 }],
      ['GET', `/item/${item}/comment/export`, undefined, { anonymous: 401, stranger: 403, reader: 200 }],
      ['GET', `/comment/${_id}`, undefined, { anonymous: 401, stranger: 403, reader: 200, colleague: 200 }],
      ['POST', `/item/${item}/comment`, json, { anonymous: 401, stranger: 403, reader: 403, colleague: 200 }],
      ['POST', `/comment/${_id}/reply`, json, { anonymous: 401, stranger: 403, reader: 403, colleague: 200 }],
      ['PUT', `/comment/${_id}`, json, { anonymous: 401, stranger: 403, reader: 403, colleague: 403, admin: 403, writer: 200 }],
      ['PUT', `/comment/${_id}/state`, { state: 'resolved' }, { anonymous: 401, stranger: 403, reader: 403, colleague: 200 }],
      ['DELETE', `/comment/${_id}`, undefined, { anonymous: 401, stranger: 403, reader: 403, colleague: 403, admin: 200 }],
    ];
    const { admin, writer, reader, stranger, host } = scene;
    const by: Record<string, Client> = { anonymous: host.anonymous, stranger, reader, colleague, writer, admin };
    for (const [method, path, body, statuses] of cases) {
      for (const [name, status] of Object.entries(statuses)) {
        const answer = await by[name]!.send(method, path, body && { json: body });
        expect([method, path, name, answer.status]).toEqual([method, path, name, status]);
      }
    }
  });

  it('includes writing for readers with the flag for annotations, until it is taken away', async () => {
    const item = await newItem();
    await allow({ writer: 1, reader: 0, colleague: 1 }, { reader: ['large_image_create_annotations'] });
    const { _id } = await write(item, 'By flag', scene.reader);
    await allow({ writer: 1, reader: 0, colleague: 1 });
    expect(await scene.reader.fails('PUT', `/comment/${_id}`, { json: { text: 'b' } })).toMatchObject({ status: 403 });
    expect(await scene.reader.fails('DELETE', `/comment/${_id}`)).toMatchObject({ status: 403 });
  });

  it('is not given by links to the page of an image', async () => {
    const item = await newItem();
    const { _id } = await write(item, 'Between us');
    const link = await scene.admin.ok('POST', `/item/${item}/link`, { json: { opens: ['view'] } });
    const holder = new Client(scene.host.url, `view-link.${String(link.token)}`, null);
    for (const path of [`/item/${item}/comment`, `/item/${item}/comment/places`, `/comment/${_id}`, '/comment/inbox'])
      expect((await holder.send('GET', path)).status, path).toBe(401);
  });
});

describe('the inbox', () => {
  it('lists comments that mention or answer the user, until they are read', async () => {
    const item = await newItem('inbox.svs');
    for (const client of [scene.reader, scene.writer, colleague])
      await client.ok('PUT', '/comment/inbox', { json: { read: true } });
    const thread = await write(item, 'See this, @Reader.');
    expect(thread.mentions).toEqual([{ id: scene.reader.id, login: 'reader', name: 'First reader' }]);
    await reply(thread._id, 'Yes', colleague);
    await reply(thread._id, 'No', scene.admin);
    expect(texts(await inbox(scene.reader, { unread: true }))).toEqual(['See this, @Reader.']);
    expect(texts(await inbox(scene.writer, { unread: true }))).toEqual(['No', 'Yes']);
    expect(texts(await inbox(colleague, { unread: true }))).toEqual(['No']);
    // Users are not notified of their own comments.
    expect(texts(await inbox(scene.admin, { unread: true }))).toEqual([]);
    expect((await inbox(scene.reader))[0]).toMatchObject({
      unread: true,
      item: { _id: item, name: 'inbox.svs', folderId: scene.privateFolder },
    });
    expect(await unread(scene.writer)).toBe(2);
    const [newest] = await inbox(scene.writer);
    expect(await scene.writer.ok('PUT', '/comment/inbox', { json: { read: true, ids: [newest!._id] } })).toMatchObject({
      unread: 1,
    });
    expect(await scene.writer.ok('PUT', '/comment/inbox', { json: { read: true, threadId: thread._id } })).toMatchObject({
      unread: 0,
    });
    await scene.writer.ok('PUT', '/comment/inbox', { json: { read: false, ids: [newest!._id] } });
    expect(texts(await inbox(scene.writer, { unread: true }))).toEqual(['No']);
    // The marks of other users stay.
    expect(await unread(colleague)).toBe(1);
    await scene.writer.ok('PUT', '/comment/inbox', { json: { read: true } });
    expect(await unread(scene.writer)).toBe(0);
    expect(texts(await inbox(scene.writer))).toEqual(expect.arrayContaining(['No', 'Yes']));
  });

  it('lists only comments on items that the user can read now', async () => {
    const item = await newItem();
    await scene.reader.ok('PUT', '/comment/inbox', { json: { read: true } });
    await write(item, 'Hello @reader');
    expect(await unread(scene.reader)).toBe(1);
    await allow({ writer: 1, colleague: 1 });
    expect(await unread(scene.reader)).toBe(0);
    expect(texts(await inbox(scene.reader))).not.toContain('Hello @reader');
    await allow({ writer: 1, reader: 0, colleague: 1 });
    expect(await unread(scene.reader)).toBe(1);
  });

  it('lists comments on an item once the user can read it', async () => {
    const item = await newItem();
    await write(item, 'Hello @stranger');
    expect(await unread(scene.stranger)).toBe(0);
    await scene.admin.ok('PUT', `/item/${item}`, { query: { folderId: scene.publicFolder } });
    expect(texts(await inbox(scene.stranger, { unread: true }))).toEqual(['Hello @stranger']);
  });

  it('follows mentions that are added and taken back', async () => {
    const item = await newItem();
    const { _id } = await write(item, 'Hello');
    const before = (await unread(scene.reader)) as number;
    const change = (text: string) => scene.writer.ok('PUT', `/comment/${_id}`, { json: { text } });
    await change('Hello @reader');
    expect(await unread(scene.reader)).toBe(before + 1);
    await scene.reader.ok('PUT', '/comment/inbox', { json: { read: true, ids: [_id] } });
    await change('Hello again @reader');
    expect(await unread(scene.reader)).toBe(before);
    await change('Hello');
    expect(texts(await inbox(scene.reader))).not.toContain('Hello');
  });

  it('stores no mention of unknown users, of email addresses, or of users that the author cannot see', async () => {
    const item = await newItem();
    await scene.host.register('hidden');
    const { user } = scene.host.host.context.models;
    await user.updateOne({ login: 'hidden' }, { $set: { public: false } });
    const { mentions } = await write(item, 'Hi @nobody, @hidden, me@reader.org @@reader @reader/x and @writer');
    expect((mentions as Json[]).map(({ login }) => login)).toEqual(['reader', 'writer']);
  });
});

describe('bad requests about comments', () => {
  it.each<[string, unknown]>([
    ['no text', {}],
    ['an empty text', { text: ' \n ' }],
    ['a text that is a number', { text: 1 }],
    ['a text that is too long', { text: 'a'.repeat(5001) }],
    ['control characters', { text: 'a\u0000b' }],
    ['half a character', { text: 'a\ud83d' }],
    ['an unknown member', { text: 'a', html: '<b>' }],
    ['a place without y', { text: 'a', place: { x: 1 } }],
    ['a place that is text', { text: 'a', place: '1,2' }],
    ['a place out of range', { text: 'a', place: { x: 1e300, y: 0 } }],
    ['a frame that is no index', { text: 'a', place: { x: 1, y: 1, frame: -1 } }],
    ['an unknown member of place', { text: 'a', place: { x: 1, y: 1, z: 1 } }],
    ['a shape without ids', { text: 'a', shape: {} }],
    ['a shape with a wrong id', { text: 'a', shape: { annotationId: 'x', elementId: elementId(1) } }],
    ['a shape of an unknown annotation', { text: 'a', shape: { annotationId: 'a'.repeat(24), elementId: elementId(1) } }],
  ])('refuse %s', async (_name, json) => {
    const item = scene.privateItem;
    expect((await scene.writer.send('POST', `/item/${item}/comment`, { json })).status).toBe(400);
    expect(await threads(item)).toEqual([]);
  });

  it('refuse shapes of other items and shapes that do not exist', async () => {
    const item = await newItem();
    const annotation = await scene.annotate({ name: 'Other', elements: [point(1, { id: elementId(1) })] });
    const shape = { annotationId: annotation._id, elementId: elementId(1) };
    const send = (on: string, which: Json) =>
      scene.admin.fails('POST', `/item/${on}/comment`, { json: { text: 'a', shape: which } });
    expect(await send(item, shape)).toMatchObject({ status: 400, field: 'shape' });
    expect(await send(scene.item, { ...shape, elementId: elementId(9) })).toMatchObject({ status: 404 });
  });

  it('refuse wrong ids, states, versions and marks', async () => {
    const item = await newItem();
    const { _id } = await write(item, 'a');
    const answer = await reply(_id, 'b');
    const unknown = 'a'.repeat(24);
    const cases: [string, string, Json | undefined, number][] = [
      ['GET', '/comment/x', undefined, 400],
      ['GET', `/comment/${unknown}`, undefined, 400],
      ['DELETE', `/comment/${unknown}`, undefined, 400],
      ['POST', `/comment/${unknown}/reply`, { text: 'a' }, 400],
      ['POST', `/comment/${_id}/reply`, { text: 'a', place: { x: 1, y: 1 } }, 400],
      ['PUT', `/comment/${_id}`, { text: 'a', version: 'x' }, 400],
      ['PUT', `/comment/${_id}/state`, { state: 'done' }, 400],
      ['PUT', `/comment/${answer._id}/state`, { state: 'resolved' }, 400],
      ['PUT', '/comment/inbox', {}, 400],
      ['PUT', '/comment/inbox', { read: true, ids: 'x' }, 400],
      ['PUT', '/comment/inbox', { read: true, ids: [1] }, 400],
      ['PUT', '/comment/inbox', { read: true, ids: Array.from({ length: 1001 }, () => unknown) }, 400],
      ['PUT', '/comment/inbox', { read: true, threadId: { $ne: 1 } }, 400],
      ['PUT', '/comment/inbox', { read: true, all: true }, 400],
      ['GET', `/item/${item}/comment?limit=0`, undefined, 400],
      ['GET', `/item/${item}/comment?limit=101`, undefined, 400],
      ['GET', `/item/${item}/comment?offset=-1`, undefined, 400],
      ['GET', `/item/${item}/comment?state=x`, undefined, 400],
      ['GET', `/item/${item}/comment/export?format=xml`, undefined, 400],
    ];
    for (const [method, path, json, status] of cases) {
      const answered = await scene.writer.send(method, path, json && { json });
      expect([method, path, answered.status]).toEqual([method, path, status]);
    }
  });
});

describe('the export of comments', () => {
  it('has every comment of an item, thread by thread, as CSV, JSON and GeoJSON', async () => {
    const item = await newItem('Slide "1".svs');
    const thread = await write(item, { text: '=1+1 "quoted",\n<script>alert(1)</script>', place: { x: 1, y: 2, frame: 0 } });
    const ofImage = await write(item, 'Whole @reader', colleague);
    const answer = await reply(thread._id, 'Reply', colleague);
    await scene.writer.ok('PUT', `/comment/${thread._id}/state`, { json: { state: 'resolved' } });
    const read = (format: string) => scene.reader.send('GET', `/item/${item}/comment/export`, { query: { format } });
    const csv = await read('csv');
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(csv.headers.get('content-disposition')).toContain('attachment; filename=');
    const lines = csv.bytes.toString().split('\r\n');
    expect(lines).toHaveLength(5);
    expect(lines[0]).toMatch(/^comment,thread,state,author,name,created,/);
    expect(lines[1]).toMatch(new RegExp(`^${thread._id},${thread._id},resolved,writer,First writer,`));
    expect(lines[1]).toContain(`,1,2,0,,,,"'=1+1 ""quoted"",\n<script>alert(1)</script>"`);
    expect(lines[2]).toMatch(new RegExp(`^${answer._id},${thread._id},,colleague,`));
    expect(lines[3]).toMatch(/,reader,Whole @reader$/);
    const json = (await read('json')).body as unknown as Comment[];
    expect(json.map(({ _id }) => _id)).toEqual([thread._id, answer._id, ofImage._id]);
    expect(json[0]).toMatchObject({ text: '=1+1 "quoted",\n<script>alert(1)</script>', state: 'resolved' });
    const geojson = (await read('geojson')).body as unknown as { features: Json[] };
    expect(geojson.features.map(({ geometry }) => geometry)).toEqual([{ type: 'Point', coordinates: [1, 2] }, null, null]);
    expect(geojson.features[0]).toMatchObject({ id: thread._id, properties: { frame: 0, author: { login: 'writer' } } });
    expect(
      (await scene.reader.ok('GET', `/item/${await newItem()}/comment/export`, { query: { format: 'json' } })) as unknown,
    ).toEqual([]);
  });
});
