import mongoose from 'mongoose';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { point, startAnnotated, type Annotated } from '../../support/hosts/annotated.js';
import { pyramid, uploadItem } from '../../support/images/images.js';
import { until } from '../../support/run/until.js';

const writes = new Set(['insert', 'update', 'delete', 'findAndModify']);
/** The write concern of every write, with its collection. */
const sentWrites: { collection: string; concern: unknown }[] = [];
let started: Annotated;
let undo: () => void;

beforeAll(async () => {
  // The driver reports what it sends only if the connection was opened with this option.
  const { MongoClient } = mongoose.mongo;
  const connect = Reflect.get(MongoClient.prototype, 'connect') as (
    this: object,
  ) => ReturnType<InstanceType<typeof MongoClient>['connect']>;
  MongoClient.prototype.connect = function (this: InstanceType<typeof MongoClient>) {
    Object.assign(this.options, { monitorCommands: true });
    this.on('commandStarted', ({ commandName, command }) => {
      if (!writes.has(commandName)) return;
      const { [commandName]: collection, writeConcern } = command as Record<string, unknown>;
      sentWrites.push({ collection: String(collection), concern: writeConcern });
    });
    return connect.call(this);
  };
  undo = () => {
    MongoClient.prototype.connect = connect;
  };
  started = await startAnnotated();
});
afterAll(async () => {
  undo();
  await started?.close();
});

it('every write of plugin and host is acknowledged only when it is on disk', async () => {
  const { admin, item, publicFolder } = started;
  const { _id } = await started.annotate({ name: 'a', elements: [point(1), point(2)] });
  await admin.ok('POST', `/annotation/${_id}/elements`, { json: [point(3)] });
  await admin.ok('DELETE', `/annotation/${_id}`);
  await admin.ok('POST', '/annotation/item/' + item, { json: [{ name: 'b' }, { name: 'c' }] });
  const image = await uploadItem(admin, publicFolder, 'image.tif', await pyramid());
  await admin.ok('GET', `/item/${image}/tiles/thumbnail`);
  await admin.ok('DELETE', `/item/${image}/tiles`);
  const job = await admin.ok('POST', `/item/${image}/tiles`, { query: { force: true } });
  await until('the conversion', async () => (await admin.ok('GET', `/job/${String(job._id)}`)).status === 3);
  await admin.ok('PUT', '/system/setting', { query: { key: 'large_image.max_thumbnail_files', value: '5' } });

  const collections = new Set(sentWrites.map(({ collection }) => collection));
  for (const name of ['annotation', 'annotation_element_pack', 'annotation_version', 'annotation_batch', 'job', 'setting']) {
    expect(collections).toContain(`large_image_${name}`);
  }
  const wrong = sentWrites.filter(({ concern }) => JSON.stringify(concern) !== JSON.stringify({ w: 'majority', j: true }));
  expect(wrong).toEqual([]);
});
