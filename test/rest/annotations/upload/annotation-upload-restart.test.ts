import { Mongoose, type Connection } from 'mongoose';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { elementsOf, startAnnotated, type Annotated } from '../../../support/hosts/annotated.js';
import { Client, startHost, type TestHost } from '../../../support/hosts/reference-host.js';
import { until } from '../../../support/run/until.js';

type Json = Record<string, unknown>;
interface Told {
  type: string;
  data: Json;
}

describe('uploads that wait for others across a restart of the server', () => {
  let at: Annotated;
  /** The server after the restart. */
  let restarted: TestHost;
  let admin: Client;
  let database: Connection;
  const items: Record<string, string> = {};
  const files: Record<string, string> = {};

  async function upload(as: Client, bytes: Buffer, reference: Json, parent: { parentType: string; parentId: string }) {
    const query = { ...parent, name: 'upload', size: bytes.length, reference: JSON.stringify(reference) };
    return as.ok('POST', '/file', { query, body: bytes });
  }
  const jobsOf = async (as: Client, file: string) => {
    const query = { userId: 'None', types: '["large_image_annotation_upload"]', limit: 0, sortdir: 1 };
    const jobs = (await as.ok('GET', '/job/all', { query })) as unknown as Json[];
    return jobs.filter(({ kwargs }) => (kwargs as Json).fileId === file);
  };
  const waiting = () => database.collection<{ _id: string; task: { fileId: string } }>('large_image_annotation_upload_waiting');

  beforeAll(async () => {
    at = await startAnnotated();
    for (const uuid of ['found', 'given up']) {
      items[uuid] = await at.admin.create('/item', { folderId: at.publicFolder, name: uuid });
      const annotation = Buffer.from(JSON.stringify({ elements: [{ type: 'image', girderId: 'late' }] }));
      const reference = { identifier: 'LargeImageAnnotationUpload', itemId: items[uuid], uuid };
      const file = await upload(at.admin, annotation, reference, { parentType: 'item', parentId: items[uuid] });
      files[uuid] = String(file._id);
    }
    database = await new Mongoose().createConnection(at.host.databaseUri).asPromise();
    await until('both to wait', async () => (await waiting().countDocuments()) === 2);
    await until('their jobs to end', async () => {
      const jobs = await Promise.all(Object.values(files).map((file) => jobsOf(at.admin, file)));
      return jobs.flat().every(({ status }) => status === 3);
    });
    await at.host.host.close();
    // A day and a minute pass.
    const created = new Date(Date.now() - (24 * 60 + 1) * 60_000);
    await waiting().updateOne({ 'task.fileId': files['given up']! }, { $set: { created } });
    const { databaseUri: mongoUri, dataDirectory } = at.host;
    restarted = await startHost({ mongoUri, dataDirectory });
    admin = new Client(restarted.url, at.admin.token, at.admin.id);
  });
  afterAll(async () => {
    await database?.close();
    await restarted?.close();
    await at?.close();
  });

  it('become annotations when the last one arrives', async () => {
    const picture = await sharp({ create: { width: 40, height: 30, channels: 3, background: '#123' } })
      .png()
      .toBuffer();
    const reference = { identifier: 'late', uuid: 'found' };
    const image = await upload(admin, picture, reference, { parentType: 'folder', parentId: at.publicFolder });
    const annotation = await until('the annotation', async () => {
      const listed = (await admin.ok('GET', `/annotation/item/${items.found}`)) as unknown[];
      return listed.length === 1 && listed[0];
    });
    expect(elementsOf(annotation)).toMatchObject([{ girderId: image.itemId }]);
    await until('the file to go', async () => (await admin.send('GET', `/file/${files.found}`)).status === 400);
  });

  it('are abandoned after a day, as job, message and file say', async () => {
    const file = files['given up']!;
    const job = await until('the last job to end', async () => {
      const [, last] = await jobsOf(admin, file);
      return last?.status === 4 && (await admin.ok('GET', `/job/${String(last._id)}`));
    });
    expect(String(job.log)).toMatch(/reading the file one last time[^]*No item found for "late"/);
    const notifications = (await admin.ok('GET', '/notification')) as unknown as Told[];
    expect(notifications.filter(({ type, data }) => type.endsWith('upload_failed') && data.fileId === file)).toMatchObject([
      { data: { itemId: items['given up'], jobId: job._id, message: 'No item found for "late".' } },
    ]);
    expect((await admin.send('GET', `/file/${file}`)).status).toBe(200);
    expect(await admin.ok('GET', `/annotation/item/${items['given up']}`)).toEqual([]);
    await until('nothing waits for it anymore', async () => (await waiting().countDocuments({ 'task.fileId': file })) === 0);
  });
});

it('an upload is read although its annotation is already stored by a late write of a killed process', async () => {
  const at = await startAnnotated();
  try {
    const { models } = at.host.host.host.models.item.db;
    const { collection } = Object.values(models).find((model) => model.collection.name === 'large_image_annotation')!;
    const insertMany = collection.insertMany.bind(collection);
    const late = vi.spyOn(collection, 'insertMany').mockImplementationOnce(async (...args) => {
      await insertMany(...args);
      return insertMany(...args);
    });
    const body = Buffer.from(JSON.stringify({ name: 'a' }));
    const reference = JSON.stringify({ identifier: 'LargeImageAnnotationUpload', itemId: at.item });
    const query = { parentType: 'item', parentId: at.item, name: 'a.json', size: body.length, reference };
    await at.admin.ok('POST', '/file', { query, body });
    const types = '["large_image_annotation_upload"]';
    const job = await until('the job to end', async () => {
      const [only] = (await at.admin.ok('GET', '/job', { query: { types } })) as unknown as Json[];
      return Number(only?.status) > 2 && only;
    });
    expect(late).toHaveBeenCalled();
    expect(job.status).toBe(3);
    const annotations = (await at.admin.ok('GET', `/annotation/item/${at.item}`)) as unknown as {
      annotation: { name: string };
    }[];
    expect(annotations.map(({ annotation }) => annotation.name)).toEqual(['a']);
  } finally {
    await at.close();
  }
});
