import { AbortMultipartUploadCommand, ListMultipartUploadsCommand, type S3Client } from '@aws-sdk/client-s3';
import { expect, it } from 'vitest';
import { Bucket } from '../../../src/s3/index.js';

/** The gateway of the other tests never divides its list of uploads into pages, as stores do after 1000. */
it('aborts old uploads on every page of the list when a store lists them in pages', async () => {
  const old = new Date('2026-01-01');
  const pages = {
    first: { Uploads: [{ Key: 'a', UploadId: '1', Initiated: new Date('2026-03-01') }], IsTruncated: true, NextKeyMarker: 'a' },
    a: { Uploads: [{ Key: 'b', UploadId: '2', Initiated: old }], IsTruncated: true, NextKeyMarker: 'b', NextUploadIdMarker: '2' },
    b: { Uploads: [{ Key: 'b', UploadId: '3', Initiated: old }], IsTruncated: false },
  };
  const aborted: unknown[] = [];
  const send = async (command: unknown) => {
    if (command instanceof AbortMultipartUploadCommand) aborted.push(command.input.UploadId);
    return command instanceof ListMultipartUploadsCommand
      ? pages[(command.input.KeyMarker ?? 'first') as keyof typeof pages]
      : {};
  };
  const bucket = new Bucket({ send } as unknown as S3Client, 'bucket');
  const { signal } = new AbortController();
  expect(await bucket.endUploads('', new Date('2026-02-01'), signal)).toBe(2);
  expect(aborted).toEqual(['2', '3']);
});
