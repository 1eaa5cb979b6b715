import mongoose from 'mongoose';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { answerLimitMs } from '../../../../src/core/concurrency/answer-in-time.js';
import { AnnotationCleanup } from '../../../../src/features/annotations/history/cleanup.js';
import { PackedElementStore } from '../../../../src/features/annotations/elements/store.js';
import { MongoElementRecords } from '../../../../src/features/annotations/elements/element-records.model.js';
import { OwnCollections } from '../../../../src/core/database/own-collections.js';
import { ScheduleModel } from '../../../../src/core/database/schedule.js';
import { point, startAnnotated, type Annotated } from '../../../support/hosts/annotated.js';
import { startTestDatabase } from '../../../support/hosts/database.js';
import { until } from '../../../support/run/until.js';

type Json = Record<string, unknown>;

const dayMs = 24 * 3600 * 1000;

/** The beginning of an ObjectId of this age. */
function idOfAge(ms: number): string {
  const seconds = Math.floor((Date.now() - ms) / 1000);
  return seconds.toString(16).padStart(8, '0') + '0'.repeat(16);
}

/**
 * Creates what killed processes leave: elements without an annotation, a version without an annotation, and an unfinished list.
 */
async function leaveBehind(at: Annotated): Promise<void> {
  const { _id } = await at.annotate({ name: 'pattern', elements: [point(1)] });
  await at.admin.ok('PUT', `/annotation/${_id}`, { json: { name: 'pattern 2' } });
  const connection = await mongoose.createConnection(at.host.databaseUri).asPromise();
  const ownCollections = new OwnCollections(connection);
  try {
    const store = new PackedElementStore({
      records: new MongoElementRecords(ownCollections),
      brand: 'girder',
      overlaySizes: () => Promise.resolve(null),
    });
    const loseConnection = () => Promise.reject(new Error('connection lost'));
    await expect((await store.write([point(1)])).commit(loseConnection)).rejects.toThrow('connection lost');
    const { _id: versionId, ...version } = (await ownCollections
      .collection<Json>('annotation_version')
      .findOne({ annotationId: _id }))!;
    await ownCollections.collection<Json>('annotation_version').insertOne({ ...version, annotationId: 'e'.repeat(24) });
    expect(versionId).toBeDefined();
    const head = (await ownCollections.collection<Json>('annotation').findOne({ name: 'pattern 2' }))!;
    const { _id: headId, ...members } = head;
    expect(headId).toBeDefined();
    const unfinished = { ...members, name: 'half a list', batch: idOfAge(dayMs) };
    await ownCollections.collection<Json>('annotation').insertOne(unfinished);
    // A list that is being written is left alone.
    await ownCollections.collection<Json>('annotation').insertOne({ ...members, name: 'a list to come', batch: idOfAge(0) });
  } finally {
    await connection.close();
  }
}

describe('cleaning up after annotations', () => {
  let at: Annotated;
  beforeAll(async () => {
    at = await startAnnotated({ install: { annotationCleanupMs: 0 } });
    await leaveBehind(at);
  });
  afterAll(() => at?.close());

  const annotations = () => at.host.host.context.models.item.db.collection('large_image_annotation');

  it('counts unreachable data, hides it, and removes it', async () => {
    expect(await at.admin.ok('GET', '/annotation/old')).toMatchObject({ active: 1, abandonedVersions: 3 });
    expect(await at.admin.ok('GET', '/annotation/old')).toMatchObject({ abandonedVersions: 3 });
    const listed = await at.admin.send('GET', '/annotation', { query: { limit: 0 } });
    expect([listed.body.length, listed.headers.get('girder-total-count')]).toEqual([1, '1']);
    const hidden = String((await annotations().findOne({ name: 'half a list' }))!._id);
    expect((await at.admin.send('GET', `/annotation/${hidden}`)).status).toBe(404);
    expect((await at.admin.send('DELETE', `/annotation/${hidden}`)).status).toBe(400);
    expect(await at.admin.ok('GET', '/annotation/counts', { query: { items: at.item } })).toEqual({ [at.item]: 1 });
    const folder = await at.admin.send('GET', `/annotation/folder/${at.publicFolder}`);
    expect([folder.body.length, folder.headers.get('girder-total-count')]).toEqual([1, '1']);

    expect(await at.admin.ok('DELETE', '/annotation/old')).toMatchObject({ abandonedVersions: 3, removedVersions: 0 });
    expect(await at.admin.ok('GET', '/annotation/old')).toMatchObject({ active: 1, recentVersions: 1, abandonedVersions: 0 });
    expect((await annotations().find().toArray()).map(({ name }) => String(name)).toSorted()).toEqual([
      'a list to come',
      'pattern 2',
    ]);
  });

  it('does not count its own removals as abandoned', async () => {
    const item = await at.admin.create('/item', { folderId: at.publicFolder, name: 'to be removed' });
    await at.annotate({ name: 'lost', elements: [point(1)] }, { on: item });
    await at.admin.ok('DELETE', `/item/${item}`);
    const old = new Date(Date.now() - 40 * dayMs);
    await annotations().updateMany({ itemId: item }, { $set: { updated: old } });
    expect(await at.admin.ok('GET', '/annotation/old')).toMatchObject({ fromDeletedItems: 1, abandonedVersions: 0 });
    expect(await at.admin.ok('DELETE', '/annotation/old')).toMatchObject({
      fromDeletedItems: 1,
      removedVersions: 1,
      abandonedVersions: 0,
    });
    expect(await at.admin.ok('GET', '/annotation/old')).toMatchObject({ fromDeletedItems: 0, abandonedVersions: 0 });
  });

  it('answers before clients time out, and continues to the end, with any number of versions', async () => {
    const { _id: annotationId } = await at.annotate({ name: 'often changed', elements: [point(1)] });
    await at.admin.ok('PUT', `/annotation/${annotationId}`, { json: { name: 'often changed 2' } });
    const versions = at.host.host.context.models.item.db.collection('large_image_annotation_version');
    const { _id, ...former } = (await versions.findOne({ annotationId }))!;
    const updated = new Date(Date.now() - 40 * dayMs);
    // Versions before the current one; more than are read at a time.
    const formers = Array.from({ length: 1200 }, (_, i) => ({ ...former, updated, _version: -1 - i }));
    await versions.insertMany(formers);
    expect(_id).toBeDefined();
    const report = await at.admin.ok('GET', '/annotation/old');
    expect(report).toMatchObject({ oldVersions: 1191, abandonedVersions: 0 });
    expect(report).not.toHaveProperty('complete');

    // The time limit passes during the first part of the work.
    const wait = globalThis.setTimeout;
    const shortenAnswerTime = (call: () => void, ms?: number) => wait(call, ms === answerLimitMs ? 1 : ms);
    let continueWork = () => {};
    const waiting = new Promise<void>((resolve) => (continueWork = resolve));
    const timers = vi.spyOn(globalThis, 'setTimeout').mockImplementation(shortenAnswerTime as typeof setTimeout);
    const holding = vi.spyOn(AnnotationCleanup.prototype, 'cleanUpAbandoned').mockImplementationOnce(async () => {
      await waiting;
      return 0;
    });
    const cleanUpWithinLimit = vi.spyOn(AnnotationCleanup.prototype, 'cleanUpOldVersionsInTime');
    try {
      const started = { active: 0, oldVersions: 0, removedVersions: 0, complete: false };
      expect(await at.admin.ok('DELETE', '/annotation/old')).toMatchObject(started);
      timers.mockRestore();
      // A repeated request waits for the same work.
      const repeated = at.admin.ok('DELETE', '/annotation/old');
      await until('the other request', () => cleanUpWithinLimit.mock.calls.length === 2);
      continueWork();
      const { complete, ...ended } = await repeated;
      expect(ended).toMatchObject({ oldVersions: 1191, removedVersions: 1191 });
      expect(complete).toBeUndefined();
      expect(holding).toHaveBeenCalledTimes(1);
    } finally {
      timers.mockRestore();
      holding.mockRestore();
      cleanUpWithinLimit.mockRestore();
      continueWork();
    }
    const left = await versions.find({ annotationId }).toArray();
    expect(left.map(({ _version }) => Number(_version)).toSorted((a, b) => a - b)).toEqual([
      ...Array.from({ length: 9 }, (_, i) => i - 9),
      former._version,
    ]);
    await versions.deleteMany({ annotationId });
  });

  it('leaves a list hidden that is being posted, and then shows all of it', async () => {
    const item = await at.admin.create('/item', { folderId: at.publicFolder, name: 'list' });
    const list = Array.from({ length: 1100 }, (_, i) => ({ name: `entry ${i}` }));
    const posting = at.admin.ok('POST', `/annotation/item/${item}`, { json: list });
    const listed = await until('the list is seen', async () => {
      const { headers } = await at.admin.send('GET', '/annotation', { query: { itemId: item, limit: 1 } });
      return Number(headers.get('girder-total-count'));
    });
    expect(listed).toBe(1100);
    expect(await posting).toBe(1100);
    const versions = (
      await annotations()
        .find({ itemId: item }, { projection: { _version: 1 } })
        .toArray()
    ).map(({ _version }) => Number(_version));
    expect(new Set(versions).size).toBe(1100);
  });
});

describe('the hourly cleanup', () => {
  let at: Annotated;
  beforeAll(async () => {
    at = await startAnnotated({ install: { annotationCleanupMs: 1000 } });
  });
  afterAll(() => at?.close());

  it('removes leftovers of killed processes, and old versions if the setting allows it', async () => {
    const settings = at.host.host.settings;
    await settings.set('large_image.annotation_cleanup', false);
    const db = at.host.host.context.models.item.db;
    const { _id } = await at.annotate({ name: 'aged' });
    for (let n = 0; n < 12; n += 1) await at.admin.ok('PUT', `/annotation/${_id}`, { json: { name: `aged ${n}` } });
    const updated = new Date(Date.now() - 40 * dayMs);
    await db.collection('large_image_annotation_version').updateMany({ annotationId: _id }, { $set: { updated } });
    await leaveBehind(at);
    await until('unreachable elements are removed', async () => {
      const { abandonedVersions } = await at.admin.ok('GET', '/annotation/old');
      return abandonedVersions === 0;
    });
    expect(await at.admin.ok('GET', '/annotation/old')).toMatchObject({ oldVersions: 2 });
    await settings.set('large_image.annotation_cleanup', true);
    await until('old versions are gone', async () => (await at.admin.ok('GET', '/annotation/old')).oldVersions === 0);
    const versions = (await at.admin.ok('GET', `/annotation/${_id}/history`)) as unknown as Json[];
    expect(versions).toHaveLength(11);
  });

  it('is done by one process at a time', async () => {
    const database = await startTestDatabase();
    const connections = await Promise.all([1, 2].map(() => mongoose.createConnection(database.uri).asPromise()));
    try {
      const schedules = connections.map((connection) => new ScheduleModel(new OwnCollections(connection)));
      const claims = (inMs: number, prefix: string) =>
        Promise.all(
          Array.from({ length: 8 }, (_, i) => schedules[i % 2]!.claim('work', `${prefix}${i}`, new Date(Date.now() + inMs))),
        );
      const first = await claims(-1, 'a');
      // The cleanup is due again at once, so each process may do it, one after another.
      expect(first).toContain(true);
      const outcomes = await claims(60_000, 'b');
      expect(outcomes.filter(Boolean)).toHaveLength(1);
      expect(await claims(60_000, 'c')).not.toContain(true);
      const owner = `b${outcomes.indexOf(true)}`;
      expect(await schedules[0]!.renew('work', owner, new Date(Date.now() - 1))).toBe(true);
      expect(await schedules[0]!.renew('work', 'somebody', new Date())).toBe(false);
      expect((await claims(60_000, 'd')).filter(Boolean)).toHaveLength(1);
      expect(await schedules[0]!.renew('work', owner, new Date())).toBe(false);
    } finally {
      await Promise.all(connections.map((connection) => connection.close()));
      await database.stop();
    }
  });
});
