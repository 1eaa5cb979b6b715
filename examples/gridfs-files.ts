/** The files of the server in `host-adapter.ts`, in GridFS instead of a folder. */
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import type { HostFiles, StoredDocument } from 'express-large-image';
import type { SpecimenServer } from './host-adapter.js';

export function specimenFilesInGridFs({ Blobs, mongoose }: SpecimenServer): HostFiles {
  const { GridFSBucket, ObjectId } = mongoose.mongo;
  const bucket = new GridFSBucket(mongoose.connection.db!, { bucketName: 'blobs' });
  const idOf = (file: StoredDocument) => new ObjectId(String(file.storedAs));
  const removeBytes = (id: InstanceType<typeof ObjectId>) =>
    bucket.delete(id).catch((error: unknown) => {
      // Another process has removed the bytes at the same time.
      if (!String(error).includes('File not found')) throw error;
    });
  return {
    // There is no local file. The plugin caches parts of remote files, so that GridFS is not read for every tile.
    localPath: async () => null,
    async read(file, { start, end }) {
      return end > start ? bucket.openDownloadStream(idOf(file), { start, end }) : Readable.from([]);
    },
    async create(file, content, options) {
      const upload = bucket.openUploadStream(file.name);
      try {
        await pipeline(content, upload, { ...options });
        if (upload.length !== file.size) throw new Error(`${file.name} should have ${file.size} bytes and has ${upload.length}.`);
        const owner = file.parent.type === 'item' ? { specimen: file.parent.itemId } : {};
        const bytes = { label: file.name, kind: file.mimeType, bytes: file.size, storedAs: upload.id.toHexString() };
        const blob = await new Blobs({ ...bytes, ...owner, ...file.fields }).save();
        return blob.toObject() as StoredDocument;
      } catch (error) {
        // `abort` removes the parts of an incomplete upload, and `removeBytes` removes a complete upload.
        await upload.abort().catch(() => undefined);
        await removeBytes(upload.id);
        throw error;
      }
    },
    async remove(file) {
      await Blobs.findByIdAndDelete(file._id);
      await removeBytes(idOf(file));
    },
  };
}
