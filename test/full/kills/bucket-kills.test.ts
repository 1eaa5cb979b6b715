import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Bucket } from '../../../src/s3/index.js';
import { startTestDatabase } from '../../support/hosts/database.js';
import { bucketSteps, openBucketFiles } from '../../support/kills/bucket-writes.js';
import { builtProgram } from '../../support/run/programs.js';
import { noGateway, startGateway, type TestGateway } from '../../support/hosts/s3-gateway.js';
import { stepsEnvironment, stepsWords } from '../../support/run/steps.js';

if (noGateway !== null) console.warn(`skipped: files in a bucket, because ${noGateway}`);

describe.skipIf(noGateway !== null)('files in a bucket', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway?.close());
  const keysLeft = async () => {
    const files: string[] = [];
    for await (const { key } of new Bucket(gateway.client, 'bucket').list('killed/')) files.push(key);
    return files;
  };
  it.each(bucketSteps)('are swept when they were left by a process killed at %s, and no others are', async (step) => {
    const database = await startTestDatabase();
    const mine = await openBucketFiles(database.uri, gateway.client);
    const abc = { name: 'kept.txt', mimeType: '', size: 3, parent: { type: 'item', itemId: '' } } as const;
    const strange = ['killed/readme', `killed/${'0'.repeat(32)}`];
    try {
      const stored = await mine.files.create(abc, Readable.from([Buffer.from('abc')]));
      for (const Key of strange) await gateway.client.send(new PutObjectCommand({ Bucket: 'bucket', Key, Body: 'x' }));
      const child = spawn(process.execPath, [...stepsWords(), builtProgram('bucket-writer'), database.uri], {
        env: { ...process.env, ...gateway.env, ...stepsEnvironment({ killAt: step }) },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
      expect(await keysLeft()).toHaveLength(4);
      expect(await mine.files.sweep!({ signal: new AbortController().signal })).toEqual({ bucketObjects: 1, bucketUploads: 0 });
      expect((await keysLeft()).toSorted()).toEqual([...strange, String(stored.key)].toSorted());
      await mine.files.remove(stored);
    } finally {
      await mine.close();
      await database.stop();
    }
  });
});
