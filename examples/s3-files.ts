/** The files of the server in `host-adapter.ts`, in a bucket of an S3-compatible store in place of a folder: its records, and nothing else. */
import type { S3Client } from '@aws-sdk/client-s3';
import type { HostFiles, StoredDocument } from 'express-large-image';
import { s3Files } from 'express-large-image/s3';
import type { SpecimenServer } from './host-adapter.js';

/** @param swept how objects are known that have no record: what is written with them, and how long they may be without one */
export function specimenFilesInBucket(
  { Blobs }: SpecimenServer,
  client: S3Client,
  bucket: string,
  swept: { owner?: string; graceMs?: number } = {},
): HostFiles {
  // What is stored under a key is known by its entity tag.
  Blobs.schema.add({ etag: String });
  return s3Files({
    client,
    bucket,
    prefix: 'specimens/',
    ...swept,
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
      async replaced(file, now) {
        // The plugin sees what goes through the model, and makes the image anew.
        if (now !== null) await Blobs.findByIdAndUpdate(file._id, { bytes: now.size, etag: now.etag } as object);
      },
    },
  });
}
