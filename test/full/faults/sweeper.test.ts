import { mongo, Mongoose, type Connection } from 'mongoose';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { OwnCollections } from '../../../src/core/database/own-collections.js';
import { ScheduleModel } from '../../../src/core/database/schedule.js';
import { Sweeper } from '../../../src/core/database/sweeper.js';
import { startTestDatabase } from '../../support/hosts/database.js';
import { until } from '../../support/run/until.js';

let database: Awaited<ReturnType<typeof startTestDatabase>>;
let connection: Connection;

beforeAll(async () => {
  database = await startTestDatabase();
  connection = await new Mongoose().createConnection(database.uri).asPromise();
});
afterAll(async () => {
  await connection?.close();
  await database?.stop();
});

it('a process that only sweeps a part at its start does the daily full sweep when that is due', async () => {
  const sweeps: object[] = [];
  const collections = new OwnCollections(connection);
  const logger = { debug() {}, info: (fields: object) => void sweeps.push(fields), warn() {}, error() {} };
  const options = { collections, schedule: new ScheduleModel(collections), fullAtStart: false, logger };
  const newSweeper = () => new Sweeper({ ...options, sweeps: [() => Promise.resolve({})] });
  await connection.collection('large_image_schedule').deleteMany({});
  const first = newSweeper();
  const second = newSweeper();
  try {
    await until('both sweeps', () => sweeps.length === 2);
    expect(sweeps).toEqual(
      expect.arrayContaining([expect.objectContaining({ full: true }), expect.objectContaining({ full: false })]),
    );
  } finally {
    await Promise.all([first.close(), second.close()]);
  }
});

it('the sweeper repeats a sweep that failed while the database was unreachable', async () => {
  const sweeps: object[] = [];
  const fullSweeps: boolean[] = [];
  const collections = new OwnCollections(connection);
  const sweeper = new Sweeper({
    collections,
    schedule: new ScheduleModel(collections),
    fullAtStart: true,
    logger: { debug() {}, info: (fields) => void sweeps.push(fields), warn() {}, error() {} },
    sweeps: [
      ({ full }) => {
        fullSweeps.push(full);
        if (fullSweeps.length === 1) return Promise.reject(new mongo.MongoNetworkError('read ECONNRESET'));
        return Promise.resolve({ things: 2 });
      },
    ],
  });
  try {
    await until('the second sweep', () => sweeps.length === 2);
    expect(fullSweeps).toEqual([true, true]);
    expect(sweeps[1]).toEqual({ why: 'again', full: true, removed: { things: 2 } });
  } finally {
    await sweeper.close();
  }
});
