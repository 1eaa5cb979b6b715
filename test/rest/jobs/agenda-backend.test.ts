import type { MongoJobRepository } from '@agendajs/mongo-backend';
import { Mongoose, Types, type Connection } from 'mongoose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openAgendaBackend } from '../../../src/reference-host/database/agenda-backend.js';
import { startTestDatabase } from '../../support/hosts/database.js';

let database: Awaited<ReturnType<typeof startTestDatabase>>;
let connection: Connection;
const warn = vi.fn<(fields: object, event: string) => void>();
const logger = { debug() {}, info() {}, warn, error() {} };

beforeAll(async () => {
  database = await startTestDatabase();
});
afterAll(() => database?.stop());
beforeEach(async () => {
  connection = await new Mongoose().createConnection(database.uri).asPromise();
});
afterEach(() => connection.close());

describe('the database of the queue', () => {
  it('fails the caller when it cannot be opened, not the process', async () => {
    await connection.getClient().close();
    await expect(openAgendaBackend(connection, logger)).rejects.toThrow();
  });

  it('is opened once for any number of requests', async () => {
    const backend = await openAgendaBackend(connection, logger);
    const created = vi.spyOn(connection.db!, 'collection');
    await Promise.all([backend.connect(), backend.connect()]);
    expect(created).not.toHaveBeenCalled();
  });

  it('is queried once for all due queues', async () => {
    const { repository } = await openAgendaBackend(connection, logger);
    const entry = { data: {}, priority: 0, type: 'normal', nextRunAt: new Date(), lockedAt: null } as const;
    const hour = 3600_000;
    await connection.db!.collection('agendaJobs').insertMany([
      { ...entry, name: 'due' },
      { ...entry, name: 'later', nextRunAt: new Date(Date.now() + hour) },
      { ...entry, name: 'running', lockedAt: new Date() },
      { ...entry, name: 'left', lockedAt: new Date(Date.now() - hour / 2) },
    ]);
    const { collection } = repository as MongoJobRepository;
    const distinct = vi.spyOn(collection, 'distinct');
    const locked = vi.spyOn(collection, 'findOneAndUpdate');
    const ask = (name: string, lockMs = hour) =>
      repository.getNextJobToRun(name, new Date(), new Date(Date.now() - lockMs), undefined, {});
    const names = await Promise.all([ask('none'), ask('due'), ask('later'), ask('running'), ask('left', hour / 4)]);
    expect(names.map((job) => job?.name)).toEqual([undefined, 'due', undefined, undefined, 'left']);
    expect(distinct).toHaveBeenCalledTimes(1);
    expect(locked).toHaveBeenCalledTimes(2);
    expect(await ask('due')).toBeUndefined();
    await collection.insertOne({ ...entry, name: 'due' });
    expect(await ask('due')).toMatchObject({ name: 'due' });
  });

  it('leaves a line in the log when it refuses to unlock an entry', async () => {
    const { repository } = await openAgendaBackend(connection, logger);
    await connection.getClient().close();
    await repository.unlockJob({ _id: String(new Types.ObjectId()), name: 'a', data: {}, priority: 0, type: 'normal' } as never);
    expect(warn).toHaveBeenCalledWith(expect.objectContaining({ err: expect.any(Error) }), 'Job:EntryKept');
  });
});
