import type { S3Client } from '@aws-sdk/client-s3';
import mongoose from 'mongoose';
import type { HostFiles, StoredDocument } from '../../../src/index.js';
import { s3Files } from '../../../src/s3/index.js';

/** The steps of storing and removing a file in a bucket (`test/rest/kills/bucket-kills.test.ts`). */
export const bucketSteps = ['bucket:written', 'bucket:unrecorded'] as const;

/** Files in the bucket `bucket` with records on a database, as each process sees them. */
export async function openBucketFiles(databaseUri: string, client: S3Client) {
  const connection = await mongoose.createConnection(databaseUri).asPromise();
  const records = connection.collection<{ key: string; etag: string; name: string }>('file');
  const keyOf = ({ key, etag }: StoredDocument) => ({ key: String(key), etag: String(etag) });
  const files: HostFiles = s3Files({
    client,
    bucket: 'bucket',
    prefix: 'killed/',
    owner: 'this database',
    graceMs: 0,
    records: {
      object: keyOf,
      async insert({ name }, object) {
        const { insertedId } = await records.insertOne({ name, ...object });
        return { _id: insertedId, name, ...object };
      },
      async remove(file) {
        await records.deleteOne({ _id: file._id as mongoose.Types.ObjectId });
      },
      known: (keys) => records.distinct('key', { key: { $in: [...keys] } }),
    },
  });
  return { files, close: () => connection.close() };
}
