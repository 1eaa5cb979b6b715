import { randomBytes } from 'node:crypto';
import mongoose from 'mongoose';
import { inject } from 'vitest';
import { withDatabaseName } from '../../../src/reference-host/database/uri.js';
import type {} from '../run/global-setup.js';

/**
 * A new, empty database on the server of this run: the server of `MONGODB_URI`, or one started as by `npm start`. `stop` drops it:
 * close your own connections first.
 */
export async function startTestDatabase(): Promise<{ uri: string; stop: () => Promise<void> }> {
  const database = inject('database');
  if ('failure' in database) throw new Error(database.failure);
  const uri = withDatabaseName(database.uri, `test_${process.pid}_${randomBytes(5).toString('hex')}`);
  return {
    uri,
    async stop() {
      const client = new mongoose.mongo.MongoClient(uri, { serverSelectionTimeoutMS: 300_000 });
      try {
        await client.db().dropDatabase();
      } finally {
        await client.close();
      }
    },
  };
}
