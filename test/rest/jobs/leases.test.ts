import { Mongoose, type Connection } from 'mongoose';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LeaseModel } from '../../../src/core/database/leases/lease.model.js';
import { Leases } from '../../../src/core/database/leases/leases.js';
import { OwnCollections } from '../../../src/core/database/own-collections.js';
import { LargeImageError } from '../../../src/errors.js';
import { startTestDatabase } from '../../support/hosts/database.js';
import { until } from '../../support/run/until.js';

let database: Awaited<ReturnType<typeof startTestDatabase>>;
let connection: Connection;
let model: LeaseModel;
const logger = { debug() {}, info() {}, warn() {}, error() {} };
/** A second lease service on the same database, as another process has one. */
const another = (leaseMs?: number) => new Leases({ model, logger, ...(leaseMs !== undefined && { leaseMs }) });

beforeAll(async () => {
  database = await startTestDatabase();
  connection = await new Mongoose().createConnection(database.uri).asPromise();
  model = new LeaseModel(new OwnCollections(connection));
  await model.createIndexes();
});
afterAll(async () => {
  await connection?.close();
  await database?.stop();
});

it('a lease runs work of the same name one at a time, across processes', async () => {
  const [first, second] = [another(), another()];
  let running = 0;
  let most = 0;
  let runCount = 0;
  const work = async () => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    runCount += 1;
  };
  await Promise.all([first, second, first, second].map((leases) => leases.run('a configuration', { subject: 'folder' }, work)));
  expect([most, runCount]).toEqual([1, 4]);
});

it('a lease is taken over from a silent process, whose work then stays hidden', async () => {
  // The lease is renewed every 30 s, so a process that waits only 1 ms regards it as silent.
  const slow = (await another(120_000).acquire('a picture', { subject: 'item' }))!;
  const fast = (await another(1).acquire('a picture', { subject: 'item' }))!;
  expect(fast).not.toBeNull();
  expect(await slow.release()).toBe(false);
  expect(await fast.release()).toBe(true);
});

it('a lease is renewed as long as its owner lives', async () => {
  const leases = another(400);
  const lease = (await leases.acquire('long work', { subject: 'item' }))!;
  const waiting = new AbortController();
  const stolen = another(60_000).acquire('long work', { subject: 'item', signal: waiting.signal });
  // The waiting process sees signs of life, so it never regards the lease as silent.
  await until(
    'some renewals',
    async () => (await connection.collection('large_image_lease').findOne({ beat: { $gte: 2 } })) !== null,
  );
  await lease.confirm();
  waiting.abort();
  await expect(stolen).rejects.toThrow();
  expect(await lease.release()).toBe(true);
});

it('a lease tells its owner when it is revoked', async () => {
  const leases = another(4);
  const lease = (await leases.acquire('a thumbnail', { subject: 'gone' }))!;
  await leases.revoke(['gone']);
  await until('the loss is seen', () =>
    lease.confirm().then(
      () => false,
      (error: unknown) => error instanceof LargeImageError && error.code === 'unavailable',
    ),
  );
  expect(await lease.release()).toBe(false);
});

it('a lease is no longer needed when its file exists', async () => {
  const [maker, reader] = [another(), another()];
  const lease = (await maker.acquire('a histogram', { subject: 'item' }))!;
  expect(await reader.acquire('a histogram', { subject: 'item', isDone: () => Promise.resolve(true) })).toBeNull();
  await lease.release();
});

it('a lease of a process that has ended is released', async () => {
  const { processName } = await import('../../../src/core/database/leases/process-name.js');
  // The id of a process that cannot exist.
  const ended = processName().replace(/-\d+-\d+$/, '-4194999-1');
  await model.insert('left', 'item', `${ended}:x`);
  await model.insert('kept', 'item', `${processName()}:x`);
  expect(await model.removeEnded()).toBe(1);
  expect([await model.find('left'), (await model.find('kept'))?.beat]).toEqual([null, 0]);
});
