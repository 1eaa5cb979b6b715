import { mongo } from 'mongoose';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import sharp from 'sharp';
import { elementsOf, point, startAnnotated, type Annotated } from '../../../support/hosts/annotated.js';
import type { HostLogger } from '../../../../src/host.js';
import type { Client } from '../../../support/hosts/reference-host.js';
import { until } from '../../../support/run/until.js';

type Json = Record<string, unknown>;
const identifier = 'LargeImageAnnotationUpload';
const maxBytes = 200_000;
const unendedStatuses = [0, 1, 2];

describe('the job that reads uploaded annotations', () => {
  let at: Annotated;
  const events: Json[] = [];
  const env = { LARGE_IMAGE_MAX_ANNOTATION_INPUT_FILE_LENGTH: String(maxBytes) };

  beforeAll(async () => {
    // Many are uploaded at once, so the limit of uploads is off.
    const log = (fields: Json, event: string) => void events.push({ ...fields, event });
    const logger = { debug() {}, info: log, warn: log, error: log } as HostLogger;
    at = await startAnnotated({ install: { env }, settings: { 'core.user_maximum_uploads': 0 }, logger });
  });
  afterAll(() => at?.close());

  /** Uploads in two chunks, as clients do. @returns the file record. */
  async function upload(
    content: unknown,
    options: { reference: Json | string; as?: Client; to?: { parentType: string; parentId: string }; name?: string },
  ): Promise<Json & { _id: string; itemId: string }> {
    const { reference, as = at.admin, to = { parentType: 'item', parentId: at.item }, name = 'annotation.json' } = options;
    const bytes = Buffer.isBuffer(content)
      ? content
      : Buffer.from(typeof content === 'string' ? content : JSON.stringify(content));
    const query = {
      ...to,
      name,
      size: bytes.length,
      mimeType: 'application/json',
      reference: typeof reference === 'string' ? reference : JSON.stringify(reference),
    };
    const started = await as.ok('POST', '/file', { query });
    return (await as.ok('POST', '/file/chunk', {
      query: { uploadId: String(started._id), offset: 0 },
      body: bytes,
    })) as unknown as Json & { _id: string; itemId: string };
  }

  /** Resolves with the job of a file when it has ended. */
  async function ended(file: { _id: string }, count = 1): Promise<Json> {
    return until(`${count} jobs of file ${file._id} to end`, async () => {
      const query = { userId: 'None', types: '["large_image_annotation_upload"]', limit: 0 };
      const jobs = (await at.admin.ok('GET', '/job/all', { query })) as unknown as Json[];
      const jobsOfFile = jobs.filter(({ kwargs }) => (kwargs as Json).fileId === file._id);
      if (jobsOfFile.length < count || jobsOfFile.some(({ status }) => unendedStatuses.includes(Number(status)))) return null;
      jobsOfFile.sort((a, b) => String(a._id).localeCompare(String(b._id)));
      return at.admin.ok('GET', `/job/${String(jobsOfFile[count - 1]!._id)}`) as unknown as Promise<Json>;
    });
  }

  const annotationsOf = async (item: string, as = at.admin) =>
    (await as.ok('GET', `/annotation/item/${item}`)) as unknown as (Json & { _id: string; annotation: Json })[];
  const newItem = (name: string, folderId = at.publicFolder) => at.admin.create('/item', { folderId, name });
  const exists = async (file: { _id: string }) => (await at.admin.send('GET', `/file/${file._id}`)).status === 200;
  const target = (itemId: string, more: Json = {}) => ({
    reference: { identifier, itemId, ...more },
    to: { parentType: 'item', parentId: itemId },
  });

  it('creates an annotation from a document, owned by the uploader, and removes the file if it is in the item of the image', async () => {
    const item = await newItem('one');
    const file = await upload({ name: 'nuclei', elements: [point(1), point(2)] }, target(item));
    const job = await ended(file);
    expect(job).toMatchObject({
      status: 3,
      title: 'Create annotations from an uploaded file.',
      log: [expect.stringContaining('Reading annotation.json'), expect.stringContaining('Created 1 annotation')],
    });
    const [annotation, ...others] = await annotationsOf(item);
    expect(others).toEqual([]);
    expect(annotation).toMatchObject({ creatorId: at.admin.id, _elementCount: 2, annotation: { name: 'nuclei' } });
    expect(await exists(file)).toBe(false);
  });

  /** Uploads a file that the database is too busy to remove, the first time or each time. */
  async function uploadWhileBusy(isAlways: boolean) {
    const busy = new mongo.MongoServerError({ message: 'WriteConflict', code: 112 });
    const removing = vi.spyOn(at.host.host.host.files, 'remove');
    if (isAlways) removing.mockRejectedValue(busy);
    else removing.mockRejectedValueOnce(busy);
    const item = await newItem(isAlways ? 'always busy' : 'busy');
    const file = await upload({ name: 'once' }, target(item));
    const job = await ended(file);
    const removals = removing.mock.calls.length;
    removing.mockRestore();
    expect(await annotationsOf(item)).toHaveLength(1);
    return { file, job, removals };
  }

  it('is restarted when the database was too busy to remove the file, and creates nothing twice', async () => {
    const { file, job } = await uploadWhileBusy(false);
    const restartMessage = 'The database was too busy for a part of the work; the job is restarted.\n';
    expect(job).toMatchObject({ status: 3, log: expect.arrayContaining([restartMessage]) });
    expect(await exists(file)).toBe(false);
  });

  it('succeeds and keeps the file when the database is always too busy to remove it', async () => {
    const { file, job, removals } = await uploadWhileBusy(true);
    expect(removals, String(job.log)).toBe(3);
    expect(job).toMatchObject({ status: 3 });
    expect(await exists(file)).toBe(true);
  });

  const feature = (x: number) => ({
    type: 'Feature',
    geometry: {
      type: 'Polygon',
      coordinates: [
        [
          [x, 0],
          [x + 9, 0],
          [x, 9],
          [x, 0],
        ],
      ],
    },
    properties: { objectType: 'annotation', classification: { name: 'Tumor', color: [200, 0, 0] } },
  });
  const forms: [what: string, content: unknown, expected: Json[]][] = [
    ['a list', [{ name: 'a', elements: [point(1)] }, { name: 'b' }], [{ name: 'a' }, { name: 'b' }]],
    ['a record', { _id: 'x', itemId: 'y', annotation: { name: 'c', elements: [point(1)] } }, [{ name: 'c' }]],
    [
      'a list of records',
      [{ annotation: { name: 'd', elements: [] } }, { annotation: { name: 'e' } }],
      [{ name: 'd' }, { name: 'e' }],
    ],
    ['GeoJSON', { type: 'FeatureCollection', features: [feature(0), feature(20)] }, [{ elements: [{ group: 'Tumor' }, {}] }]],
    ['a list of features', [feature(0), feature(20), feature(40)], [{ elements: [{ lineColor: 'rgb(200, 0, 0)' }, {}, {}] }]],
    ['a feature', feature(3), [{ elements: [{ type: 'polyline' }] }]],
    ['a byte order mark', `\ufeff${JSON.stringify({ name: 'f' })}`, [{ name: 'f' }]],
  ];
  it('reads lists, records, GeoJSON, also of QuPath, and lists of features', async () => {
    const sent = forms.map(async ([name, content, expected]) => {
      const item = await newItem(name);
      const job = await ended(await upload(content, target(item)));
      expect(job, name).toMatchObject({ status: 3 });
      const annotations = await annotationsOf(item);
      expect(
        annotations.map(({ annotation }) => annotation),
        name,
      ).toMatchObject(expected);
    });
    await Promise.all(sent);
  });

  it('keeps a file that was uploaded elsewhere', async () => {
    const item = await newItem('target');
    const to = { parentType: 'folder', parentId: at.publicFolder };
    const file = await upload({ name: 'elsewhere' }, { reference: { identifier: `my${identifier}`, itemId: item }, to });
    expect(await ended(file)).toMatchObject({ status: 3 });
    expect(await annotationsOf(item)).toHaveLength(1);
    expect(await exists(file)).toBe(true);
  });

  const refusals: [what: string, content: unknown, text: string][] = [
    ['broken JSON', '{"name": "a", "elements": [', 'JSON'],
    ['no object', '5', 'must be an object'],
    ['a list of numbers', '[5]', 'must be JSON objects'],
    [
      'a second entry that is bad',
      [
        { name: 'good', elements: [point(1)] },
        { name: 'bad', elements: [{ type: 'point' }] },
      ],
      'center',
    ],
    ['an overlay of an unknown item', { elements: [{ type: 'image', girderId: 'myImage' }] }, '"myImage"'],
    ['an overlay of an item that is gone', { elements: [{ type: 'image', girderId: 'f'.repeat(24) }] }, 'ffff'],
    ['no text', Buffer.from([0xff, 0xfe, 0x00, 0x7b]), 'The file must be UTF-8 text.'],
    ['a repeated key', '{"elements": [], "elements": []}', 'is repeated in one object of the file.'],
    ['too many bytes', `{"name": "${'x'.repeat(maxBytes)}"}`, String(maxBytes)],
    ['an open brace', '{', ''],
  ];
  it('refuses invalid files: reports the reason, stores nothing, keeps the file', async () => {
    const sent = refusals.map(async ([name, content, text]) => {
      const item = await newItem(`refused ${name}`);
      const file = await upload(content, target(item));
      const job = await ended(file);
      expect(job, name).toMatchObject({ status: 4 });
      expect(String(job.log), name).toContain(text);
      const notifications = (await at.admin.ok('GET', '/notification')) as unknown as { type: string; data: Json }[];
      expect(
        notifications.filter(({ data }) => data.fileId === file._id),
        name,
      ).toMatchObject([
        {
          type: 'large_image_annotation.upload_failed',
          data: { itemId: item, jobId: job._id, message: expect.stringContaining(text) as string },
        },
      ]);
      expect(await annotationsOf(item), name).toEqual([]);
      expect(await exists(file), name).toBe(true);
      const logged = events.filter(({ jobId }) => jobId === job._id);
      expect(logged, name).toMatchObject([{ event: 'Job:Refused', reason: expect.stringContaining(text) as string }]);
      expect(logged[0], name).not.toHaveProperty('err');
    });
    await Promise.all(sent);
  });

  it('acts with the permissions of the uploader, whatever the reference claims', async () => {
    const claims = { identifier, userId: at.admin.id, fileId: at.item };
    const cases = [
      [at.privateItem, at.stranger, 'Read access denied'],
      [at.item, at.stranger, 'creation access were denied'],
      [at.privateItem, at.reader, 'creation access were denied'],
      ['f'.repeat(24), at.stranger, 'Invalid item id'],
      ['x', at.stranger, 'Invalid ObjectId'],
    ] as const;
    const sent = cases.map(async ([itemId, client, message], i) => {
      const parent = { parentType: 'user', parentId: client.id!, name: `own ${i}` };
      const to = { parentType: 'folder', parentId: await client.create('/folder', parent) };
      const file = await upload({ name: 'forged' }, { reference: { ...claims, itemId }, as: client, to });
      const job = await ended(file);
      expect(job, message).toMatchObject({ status: 4, log: [expect.stringContaining(message)] });
      expect((await client.ok('GET', `/job/${String(job._id)}`)).title).toBe(job.title);
      const notifications = (await client.ok('GET', '/notification')) as unknown as { type: string; data: Json }[];
      expect(notifications.some(({ type, data }) => type.endsWith('upload_failed') && data.fileId === file._id)).toBe(true);
    });
    await Promise.all(sent);
    expect((await annotationsOf(at.privateItem)).length).toBe(0);
    const file = await upload(
      { name: 'allowed' },
      { reference: { ...claims, itemId: at.privateItem }, as: at.writer, to: { parentType: 'item', parentId: at.privateItem } },
    );
    expect(await ended(file)).toMatchObject({ status: 3 });
    expect(await annotationsOf(at.privateItem)).toMatchObject([{ creatorId: at.writer.id }]);
  });

  it('ignores uploads that do not refer to annotations', async () => {
    const item = await newItem('plain');
    const references = ['', 'text', '{', '[]', '5', 'null', '{"identifier": 5}', '{"identifier": "Other"}', `"${identifier}"`];
    const files: { _id: string }[] = [];
    for (const reference of references) files.push(await upload({ name: 'no' }, { ...target(item), reference }));
    const named = await upload({ name: 'no item' }, { ...target(item), reference: { identifier } });
    expect(await ended(named)).toMatchObject({ status: 4, log: [expect.stringContaining('required information')] });
    const jobs = (await at.admin.ok('GET', '/job/all', { query: { limit: 0 } })) as unknown as { kwargs: Json }[];
    expect(jobs.filter(({ kwargs }) => files.some(({ _id }) => _id === kwargs.fileId))).toEqual([]);
    expect(await annotationsOf(item)).toEqual([]);
  });

  describe('with documents that refer to other uploads', () => {
    const overlay = (girderId: string) => ({ type: 'image', girderId, transform: { xoffset: 5 } });
    const picture = () =>
      sharp({ create: { width: 40, height: 30, channels: 3, background: '#123' } })
        .png()
        .toBuffer();
    const folder = () => ({ parentType: 'folder', parentId: at.publicFolder });

    it('finds earlier uploads by uuid and identifier, and makes them large images', async () => {
      const item = await newItem('overlaid');
      const uuid = 'batch-1';
      const image = await upload(await picture(), {
        reference: { identifier: 'first', uuid },
        to: folder(),
        name: 'picture.dat',
      });
      await upload(await picture(), { reference: { identifier: 'first', uuid: 'other' }, to: folder(), name: 'other.png' });
      const file = await upload(
        { elements: [point(1, { user: { girderId: 'first' } }), overlay('first'), overlay(at.item)] },
        target(item, { uuid }),
      );
      expect(await ended(file)).toMatchObject({ status: 3 });
      const [annotation] = await annotationsOf(item);
      expect(elementsOf(annotation)).toMatchObject([
        { user: { girderId: 'first' } },
        { girderId: image.itemId },
        { girderId: at.item },
      ]);
      expect(await at.admin.ok('GET', `/item/${image.itemId}`)).toMatchObject({ largeImage: { sourceName: expect.any(String) } });
      const boxed = await at.admin.ok('GET', `/annotation/${annotation!._id}`, { query: { bbox: true } });
      expect(elementsOf(boxed)[1]).toMatchObject({ _bbox: { lowx: 5, highx: 45, highy: 30 } });
    });

    it('waits for later uploads, and is not misled by other users', async () => {
      const item = await newItem('waiting');
      const uuid = 'batch-2';
      const file = await upload({ elements: [overlay('late'), overlay('later')] }, target(item, { uuid }));
      const parked = await ended(file);
      expect(parked).toMatchObject({ status: 3 });
      expect(String(parked.log)).toContain('Waiting for other uploads. No item found for "late", "later".');
      expect(await exists(file)).toBe(true);
      const strangersFolder = await at.stranger.create('/folder', {
        parentType: 'user',
        parentId: at.stranger.id!,
        name: 'theirs',
      });
      const theirs = { as: at.stranger, to: { parentType: 'folder', parentId: strangersFolder } };
      for (const name of ['late', 'later']) await upload('x', { reference: { identifier: name, uuid }, name, ...theirs });
      const late = await upload(await picture(), { reference: { identifier: 'late', uuid }, to: folder(), name: 'late.png' });
      expect(await annotationsOf(item)).toEqual([]);
      const later = await upload(await picture(), { reference: { identifier: 'later', uuid }, to: folder(), name: 'later.png' });
      expect(await ended(file, 2)).toMatchObject({ status: 3 });
      const [annotation] = await annotationsOf(item);
      expect(elementsOf(annotation)).toMatchObject([{ girderId: late.itemId }, { girderId: later.itemId }]);
      expect(await exists(file)).toBe(false);
    });
  });
});
