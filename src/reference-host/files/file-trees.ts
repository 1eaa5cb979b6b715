import { open, realpath } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { LargeImageError, type HostFileTree } from '../../index.js';
import type { HostContext } from '../context.js';
import type { FileDocument } from './file.model.js';

/**
 * Gives access to all files of a Zarr that is served in place. Takes the record of the Zarr's description, and returns `null` for other
 * files.
 */
export function openFileTree(context: HostContext, { name, storage }: FileDocument): HostFileTree | null {
  if ((storage.kind !== 'in-place' && storage.kind !== 'bucket') || storage.isTree !== true) return null;
  if (storage.kind === 'in-place') return { file: (path) => openDiskFile(dirname(storage.path), path) };
  const prefix = storage.path.slice(0, storage.path.length - name.length);
  return { file: (path) => openObject(context, storage.bucket, `${prefix}${path}`) };
}

type TreeFile = Awaited<ReturnType<HostFileTree['file']>>;

async function openDiskFile(folder: string, path: string): Promise<TreeFile> {
  // Links must not lead out of the folder.
  const realFilePath = await realpath(join(folder, path)).catch(() => null);
  if (realFilePath === null || !realFilePath.startsWith(folder + sep)) return null;
  const read = async (offset: number, length: number) => {
    const handle = await open(realFilePath, 'r');
    try {
      const bytes = new Uint8Array(length);
      let filledLength = 0;
      for (let count = -1; count !== 0 && filledLength < length; filledLength += count) {
        count = (await handle.read(bytes, filledLength, length - filledLength, offset + filledLength)).bytesRead;
      }
      return bytes.subarray(0, filledLength);
    } finally {
      await handle.close();
    }
  };
  const handle = await open(realFilePath, 'r').catch(() => null);
  if (handle === null) return null;
  try {
    const stats = await handle.stat();
    return stats.isFile() ? { size: stats.size, read } : null;
  } finally {
    await handle.close();
  }
}

async function openObject({ buckets }: HostContext, bucketName: string, key: string): Promise<TreeFile> {
  const bucket = await buckets.openBucket(bucketName);
  const objectState = await bucket.state(key).catch((error: { $metadata?: { httpStatusCode?: number } }) => {
    if (error.$metadata?.httpStatusCode === 404) return null;
    throw new LargeImageError('unavailable', `${key} cannot be read from the bucket ${bucketName}.`, { cause: error });
  });
  if (objectState === null) return null;
  return {
    size: objectState.size,
    async read(offset, length, options) {
      const end = Math.min(objectState.size, offset + length);
      if (end <= offset) return new Uint8Array(0);
      const stream = await bucket.read({ key, etag: objectState.etag, name: key }, { start: offset, end }, options?.signal);
      return Buffer.concat(await stream.toArray());
    },
  };
}
