import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestDatabase } from '../../support/hosts/database.js';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { openInterruptible, type InterruptibleConnection } from '../../support/hosts/interruptible.js';
import { endedJob } from '../../support/jobs/job-status.js';
import { startHost, type Client, type Sending, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

/** Short times, so that the test is short. */
const times = 'serverSelectionTimeoutMS=500&connectTimeoutMS=500&heartbeatFrequencyMS=500';

describe('while the database is unreachable', () => {
  let database: Awaited<ReturnType<typeof startTestDatabase>>;
  let connection: InterruptibleConnection;
  let started: TestHost;
  let admin: Client;
  let folder: string;
  let item: string;
  const events: string[] = [];
  const unexpected: unknown[] = [];

  beforeAll(async () => {
    database = await startTestDatabase();
    const { hostname, port, pathname } = new URL(database.uri.replace('mongodb:', 'http:'));
    connection = await openInterruptible({ host: hostname, port: Number(port) });
    const write = (fields: object, event: string) => {
      events.push(event);
      if (event === 'Request:Failed') unexpected.push(fields);
    };
    started = await startHost({
      mongoUri: `mongodb://127.0.0.1:${connection.port}${pathname}?${times}`,
      logger: { debug() {}, info() {}, warn: write, error: write },
    });
    admin = await started.register('admin');
    folder = await newFolder(admin, 'Images');
    item = await uploadItem(admin, folder, 'image.tif', await pyramid());
  });
  afterAll(async () => {
    connection?.open();
    await started?.close();
    await connection?.close();
    await database?.stop();
  });

  it('requests are refused with a reason, jobs wait, and both continue when it is back', async () => {
    const spec = JSON.stringify(Array.from({ length: 1000 }, (_, i) => ({ width: 100 + i, encoding: 'PNG' })));
    const job = String((await admin.ok('PUT', '/large_image/thumbnails', { form: { spec, concurrent: '1' } }))._id);
    const progressOf = async (id: string) => (await admin.ok('GET', `/job/${id}`)).progress as { current: number } | null;
    await until('some thumbnails', async () => ((await progressOf(job))?.current ?? 0) > 2);

    connection.cut();
    const requests: [string, string, Sending?][] = [
      ['GET', `/item/${item}/tiles`],
      ['GET', `/item/${item}/tiles/region`, { query: { width: 77 } }],
      ['GET', `/item/${item}/tiles/histogram`],
      ['POST', '/annotation', { query: { itemId: item }, json: { name: 'lost', elements: [] } }],
      ['PUT', '/system/setting', { query: { key: 'large_image.show_viewer', value: 'false' } }],
      ['PUT', `/large_image/folder/${folder}/tiles`],
      ['DELETE', '/large_image/tiles/incomplete'],
      ['GET', '/large_image/thumbnails'],
      ['PUT', '/large_image/thumbnails', { form: { spec } }],
      ['PUT', `/folder/${folder}/yaml_config/a.yaml`, { body: 'a: 1' }],
      ['GET', '/job/all'],
      ['POST', '/file', { query: { parentType: 'folder', parentId: folder, name: 'lost.txt', size: 4 }, body: 'lost' }],
      ['GET', '/user/authentication', { headers: { Authorization: `Basic ${btoa('admin:admin.password')}` } }],
    ];
    // The user of the token may be cached for some seconds, but everything after that needs the database.
    const answers = await Promise.all(requests.map((request) => admin.send(...request)));
    expect(unexpected).toEqual([]);
    for (const answer of answers) {
      expect(answer.body).toMatchObject({
        message: 'The database cannot be reached at the moment. Try again later.',
        type: 'rest',
      });
      expect(answer.status).toBe(503);
    }
    await until('the job has noticed', () => events.includes('Job:EndNotWritten'));
    expect(unexpected).toEqual([]);

    connection.open();
    await until('answers again', async () => (await admin.send('GET', `/item/${item}/tiles`)).status === 200);
    expect(await admin.ok('GET', '/item', { query: { folderId: folder } })).toHaveLength(1);
    expect(await admin.ok('GET', '/annotation', { query: { itemId: item } })).toEqual([]);
    const continuedJob = await until('the job goes on', async () => {
      const { log, progress } = await admin.ok('GET', `/job/${job}`);
      const texts = log as unknown as string[];
      const again = texts.indexOf('The database could not be reached; the job is restarted.\n');
      const { current } = progress as { current: number };
      return again >= 0 && texts.slice(again).includes('Started creating large image thumbnails\n') && current > 10 && texts;
    });
    expect(continuedJob.filter((text) => /Failed|Error/.test(text))).toEqual([]);
    await admin.ok('PUT', `/job/${job}/cancel`);
    expect((await endedJob(admin, job)).status).toBe(5);
    expect(
      (await admin.ok('POST', '/annotation', { query: { itemId: item }, json: { name: 'kept', elements: [] } })).groups,
    ).toEqual([]);
  });
});
