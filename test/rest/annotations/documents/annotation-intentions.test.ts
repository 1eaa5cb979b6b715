/** A process has left a change of all annotations of a folder unfinished. Another continues it, and undoes no later changes. */
import { Mongoose, Types } from 'mongoose';
import { expect, it } from 'vitest';
import { createReferenceHost } from '../../../../src/reference-host/index.js';
import { Client, startHost } from '../../../support/hosts/reference-host.js';
import { newFolder } from '../../../support/images/images.js';
import { until } from '../../../support/run/until.js';

it('a server resumes a change of permissions for those annotations whose access list has not changed since', async () => {
  const started = await startHost();
  const connection = await new Mongoose().createConnection(started.databaseUri).asPromise();
  const log: { event: string; fields: object }[] = [];
  let second: Awaited<ReturnType<typeof createReferenceHost>> | undefined;
  try {
    const admin = await started.register('admin');
    const folder = await newFolder(admin, 'Private', false);
    const item = await admin.create('/item', { folderId: folder, name: 'item' });
    const annotate = async (name: string) =>
      String((await admin.ok('POST', '/annotation', { query: { itemId: item }, json: { name } }))._id);
    const before = [await annotate('first'), await annotate('second'), await annotate('set later')];
    const access = { users: [{ id: admin.id, level: 2, flags: [] }], groups: [] };

    // Everything from here on happens after the change.
    const sequence = connection.collection<{ _id: string; next: number }>('large_image_annotation_sequence');
    const { next: version } = (await sequence.findOneAndUpdate({ _id: 'version' }, { $inc: { next: 1 } }))!;
    const query = { access: JSON.stringify(access), public: false };
    await admin.ok('PUT', `/annotation/${before[2]!}/access`, { query });
    await annotate('made later');
    // The state after a process was killed when it had recorded what it was about to do. No other process exists that could
    // continue it.
    await started.host.close();
    await connection.collection<{ _id: string; [field: string]: unknown }>('large_image_annotation_intention').insertOne({
      _id: `another machine:${new Types.ObjectId().toHexString()}`,
      plugin: 'large_image',
      at: new Date(0),
      version,
      selection: { folderId: folder, recurse: false },
      change: { kind: 'access', access: { access, public: true } },
    });

    const write = (fields: object, event: string) => void log.push({ event, fields });
    second = await createReferenceHost({
      mongoUri: started.databaseUri,
      dataDirectory: started.dataDirectory,
      brand: 'girder',
      passwordMemoryKiB: 8,
      logger: { debug() {}, info: write, warn: write, error: write },
    });
    await until('the sweep has ended', () => log.some(({ event }) => event === 'Sweep:Done'));
    expect(log.find(({ event }) => event === 'Sweep:Done')!.fields).toMatchObject({ removed: { annotationChanges: 1 } });
    const { url } = await second.listen();
    const listed = await new Client(url, admin.token, admin.id).ok('GET', '/annotation', { query: { itemId: item, limit: 0 } });
    const publicOnes = (listed as { public?: boolean; annotation: { name: string } }[]).filter((each) => each.public === true);
    expect(publicOnes.map(({ annotation }) => annotation.name).toSorted()).toEqual(['first', 'second']);
    expect(await connection.collection('large_image_annotation_intention').countDocuments()).toBe(0);
  } finally {
    await second?.close();
    await connection.close();
    await started.close();
  }
});
