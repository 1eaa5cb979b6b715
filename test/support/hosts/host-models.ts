import mongoose from 'mongoose';
import { compileModels, type Models } from '../../../src/reference-host/models.js';
import { startTestDatabase } from './database.js';

/** The models of the reference host, without the host, on a database. */
export async function connectHostModels(uri: string): Promise<{ models: Models; close: () => Promise<void> }> {
  const connection = await mongoose.createConnection(uri).asPromise();
  return { models: await compileModels(connection), close: () => connection.close() };
}

/** The same on a fresh database, which `stop` drops. */
export async function startHostModels(): Promise<{ models: Models; stop: () => Promise<void> }> {
  const database = await startTestDatabase();
  const { models, close } = await connectHostModels(database.uri);
  return {
    models,
    async stop() {
      await close();
      await database.stop();
    },
  };
}
