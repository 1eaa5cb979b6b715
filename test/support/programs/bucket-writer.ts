// A process that stores a file in the bucket named in its environment, and its record in a database, and removes it again. A test
// kills it at a step.
import { S3Client } from '@aws-sdk/client-s3';
import { Readable } from 'node:stream';
import { openBucketFiles } from '../kills/bucket-writes.js';

const client = new S3Client({ forcePathStyle: true });
const { files, close } = await openBucketFiles(process.argv[2]!, client);
const file = { name: 'a.txt', mimeType: 'text/plain', size: 3, parent: { type: 'item', itemId: '' } } as const;
await files.remove(await files.create(file, Readable.from([Buffer.from('abc')])));
client.destroy();
await close();
