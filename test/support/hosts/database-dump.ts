import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import mongoose from 'mongoose';

const { EJSON } = mongoose.mongo.BSON;

/** A database and a data folder, as text. */
export interface Dump {
  collections: Record<string, unknown[]>;
  /** Contents of the files in Base64, by path. */
  files: Record<string, string>;
}

async function withDatabase<T>(uri: string, work: (db: mongoose.mongo.Db) => Promise<T>): Promise<T> {
  const client = new mongoose.mongo.MongoClient(uri);
  try {
    return await work(client.db());
  } finally {
    await client.close();
  }
}

/** Reads what a host has stored. */
export async function dumpHost(uri: string, dataDirectory: string): Promise<Dump> {
  const dump: Dump = { collections: {}, files: {} };
  await withDatabase(uri, async (db) => {
    for (const { name } of await db.listCollections().toArray()) {
      const documents = await db.collection(name).find().sort({ _id: 1 }).toArray();
      if (documents.length > 0) dump.collections[name] = EJSON.serialize(documents, { relaxed: false }) as unknown as unknown[];
    }
  });
  for (const entry of await readdir(dataDirectory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    dump.files[path.slice(dataDirectory.length + 1)] = (await readFile(path)).toString('base64');
  }
  return dump;
}

/** Writes a dump to an empty database and an empty folder. */
export async function restoreHost({ collections, files }: Dump, uri: string, dataDirectory: string): Promise<void> {
  await withDatabase(uri, async (db) => {
    for (const [name, documents] of Object.entries(collections)) {
      await db.collection(name).insertMany(EJSON.deserialize(documents as never) as unknown as object[]);
    }
  });
  for (const [path, bytes] of Object.entries(files)) {
    await mkdir(dirname(join(dataDirectory, path)), { recursive: true });
    await writeFile(join(dataDirectory, path), Buffer.from(bytes, 'base64'));
  }
}
