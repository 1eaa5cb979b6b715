/**
 * The files of the server in `host-adapter.ts`, in a bucket of an S3-compatible store instead of a folder. Only the records of the files
 * need code.
 */
import type { S3Client } from '@aws-sdk/client-s3';
import type { HostFiles, StoredDocument } from 'express-large-image';
import { s3Files } from 'express-large-image/s3';
import type { SpecimenServer } from './host-adapter.js';

/** @param sweepOptions `owner` is stored with each object; objects of this owner without a record are removed after `graceMs`. */
export function specimenFilesInBucket(
  { Blobs }: SpecimenServer,
  client: S3Client,
  bucket: string,
  sweepOptions: { owner?: string; graceMs?: number } = {},
): HostFiles {
  // The entity tag shows whether the object of this key has been replaced.
  Blobs.schema.add({ etag: String });
  return s3Files({
    client,
    bucket,
    prefix: 'specimens/',
    ...sweepOptions,
    records: {
      object: ({ storedAs, etag }) => (typeof storedAs === 'string' ? { key: storedAs, etag: etag as string | undefined } : null),
      async insert(file, { key, etag }) {
        const owner = file.parent.type === 'item' ? { specimen: file.parent.itemId } : {};
        const bytes = { label: file.name, kind: file.mimeType, bytes: file.size, storedAs: key, etag };
        const blob = await new Blobs({ ...bytes, ...owner, ...file.fields }).save();
        return blob.toObject() as StoredDocument;
      },
      async remove(file) {
        await Blobs.findByIdAndDelete(file._id);
      },
      async known(keys) {
        return Blobs.distinct('storedAs', { storedAs: { $in: keys } }) as Promise<string[]>;
      },
      async move(file, itemId) {
        await Blobs.findByIdAndUpdate(file._id, { specimen: itemId });
      },
      async replaced(file, current) {
        // The plugin notices changes that are made through the model, and opens the image again.
        if (current !== null) await Blobs.findByIdAndUpdate(file._id, { bytes: current.size, etag: current.etag } as object);
      },
    },
  });
}
