import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAnnotated, type Annotated } from '../../support/hosts/annotated.js';
import type { Client } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

let at: Annotated;
/** A job of the writer about the private item, whose name is in the title. */
let job: string;
const title = 'Large Image Conversion: secret_slide.svs';
const type = 'large_image_tiff';

beforeAll(async () => {
  at = await startAnnotated({ checksAnswers: true });
  const { jobs } = at.host.host;
  const created = await jobs.create({
    title,
    type,
    userId: at.writer.id,
    itemId: at.privateItem,
    meta: { itemId: at.privateItem },
  });
  job = created.id;
  await jobs.update(job, { status: 2, log: 'Reading secret_slide.svs\n', progress: { total: 3, current: 1 } });
});
afterAll(() => at?.close());

const everybody = () => ({
  anonymous: at.host.anonymous,
  stranger: at.stranger,
  reader: at.reader,
  writer: at.writer,
  admin: at.admin,
});

async function idsOf(client: Client, path: string, query: Record<string, string> = {}): Promise<unknown[]> {
  const { status, body } = await client.send('GET', path, { query: { limit: '0', ...query } });
  return status === 401 ? [] : body.map((entry) => (entry as { _id: unknown })._id);
}

describe('a job about a private item', () => {
  it.each(['reader', 'writer', 'admin'] as const)('is visible to the %s', async (caller) => {
    const client = everybody()[caller];
    expect(await client.ok('GET', `/job/${job}`)).toMatchObject({
      title,
      log: ['Reading secret_slide.svs\n'],
      progress: { total: 3 },
    });
    expect(await idsOf(client, '/job/all')).toEqual([job]);
    expect(await idsOf(client, '/job', { userId: at.writer.id! })).toEqual([job]);
    expect(await client.ok('GET', '/job/typeandstatus/all')).toEqual({ types: [type], statuses: [2] });
  });

  it.each(['anonymous', 'stranger'] as const)('is hidden from the %s: no title, no type, no count', async (caller) => {
    const client = everybody()[caller];
    const status = caller === 'anonymous' ? 401 : 403;
    for (const path of [`/job/${job}`, `/job/${job}/events`]) {
      const answer = await client.send('GET', path);
      expect(answer.status).toBe(status);
      expect(answer.bytes.toString()).not.toMatch(/secret|tiff/);
    }
    const queries: Record<string, string>[] = [{}, { types: `["${type}"]` }, { statuses: '[2]' }, { offset: '0' }];
    for (const query of queries) {
      expect(await idsOf(client, '/job/all', query)).toEqual([]);
      expect(await idsOf(client, '/job', { ...query, userId: at.writer.id! })).toEqual([]);
    }
    expect((await client.send('GET', '/job', { query: { parentId: job } })).status).toBe(status);
    if (caller === 'stranger') expect(await client.ok('GET', '/job/typeandstatus/all')).toEqual({ types: [], statuses: [] });
  });

  it('is changed and removed by its owner only, not by others who can access the item', async () => {
    for (const client of [at.reader, at.stranger]) {
      expect((await client.send('PUT', `/job/${job}/cancel`)).status).toBe(403);
      expect((await client.send('PUT', `/job/${job}`, { query: { log: 'x' } })).status).toBe(403);
      expect((await client.send('DELETE', `/job/${job}`)).status).toBe(403);
    }
  });

  it('stays visible only to its owner when the item is removed', async () => {
    const { jobs } = at.host.host;
    const item = await at.admin.create('/item', { folderId: at.privateFolder, name: 'short' });
    const job = await jobs.create({ title: 'about short', type: 'short', userId: at.writer.id, itemId: item });
    expect((await at.reader.send('GET', `/job/${job.id}`)).status).toBe(200);
    await at.admin.ok('DELETE', `/item/${item}`);
    expect((await at.reader.send('GET', `/job/${job.id}`)).status).toBe(403);
    expect((await at.writer.send('GET', `/job/${job.id}`)).status).toBe(200);
    await jobs.remove(job.id);
  });

  it('is paged as if hidden jobs did not exist', async () => {
    const { jobs } = at.host.host;
    const jobIds: string[] = [];
    for (let i = 0; i < 6; i++) {
      const itemId = i % 2 === 0 ? at.privateItem : at.item;
      jobIds.unshift((await jobs.create({ title: `${i}`, type: 'paged', userId: null, itemId })).id);
    }
    const types = '["paged"]';
    const visible = jobIds.filter((_, i) => i % 2 === 0);
    expect(await idsOf(at.stranger, '/job/all', { types })).toEqual(visible);
    expect(await idsOf(at.stranger, '/job/all', { types, limit: '1', offset: '1' })).toEqual([visible[1]]);
    expect(await idsOf(at.host.anonymous, '/job', { types, userId: 'None', limit: '2' })).toEqual(visible.slice(0, 2));
    expect(await idsOf(at.admin, '/job/all', { types, limit: '2', offset: '1' })).toEqual(jobIds.slice(1, 3));
    for (const id of jobIds) await jobs.remove(id);
  });

  it('ends its events for followers who lose access to the item', async () => {
    const path = `/job/${job}/events`;
    const headers = { 'Girder-Token': at.reader.token! };
    const answer = await fetch(`${at.host.url}/api/v1${path}`, { headers });
    expect(answer.status).toBe(200);
    const ended = answer.text().catch(() => 'cut off');
    // The folder is changed as by another process.
    const { folder } = at.host.host.context.models;
    const { access } = (await folder.findById(at.privateFolder).lean())!;
    await folder.updateOne(
      { _id: at.privateFolder },
      { $set: { 'access.users': access.users.filter(({ level }) => level > 0) } },
    );
    await ended;
    expect((await at.reader.send('GET', path)).status).toBe(403);
    await folder.updateOne({ _id: at.privateFolder }, { $set: { access } });
  });
});

describe('the job that makes thumbnails', () => {
  it('is public with title and status, but without log and progress', async () => {
    const started = await at.admin.ok('PUT', '/large_image/thumbnails', { query: { spec: '[]' } });
    expect(started).toMatchObject({ public: true, title: 'Create large image thumbnail files.' });
    const path = `/job/${String(started._id)}`;
    await until('it is over', async () => (await at.admin.ok('GET', path)).status === 3);
    expect((await at.admin.ok('GET', path)).log).not.toEqual([]);
    for (const client of [at.host.anonymous, at.stranger]) {
      expect(await client.ok('GET', path)).toMatchObject({ title: started.title, status: 3, progress: null, log: [] });
      const events = (await client.send('GET', `${path}/events`)).bytes.toString();
      expect(events).toContain('job_status');
      expect(events).not.toMatch(/job_log|"progress",|"type":"progress"|Checked/);
    }
  });
});
