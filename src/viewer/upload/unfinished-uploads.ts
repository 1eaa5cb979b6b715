import { del, entries, set } from 'idb-keyval';
import { ApiError, request } from '../api.js';
import { lockPage, pageKey, pageStore, pageName, pageNameOf, userKeyPrefix, callWithOpenPages } from '../page-store.js';

/** An upload that the server can continue, as the browser stores it. After a reload, the browser gives no access to the file, so the user must choose it again. */
export interface UnfinishedUpload {
  uploadId: string;
  folderId: string;
  /** path of the target folder, for display */
  place: string;
  name: string;
  size: number;
  lastModified: number;
}

const openDatabase = () => pageStore('large-image-uploads');

/** Whether a file is the file of an unfinished upload, by its name, size and date. */
export function isSameFile({ name, size, lastModified }: UnfinishedUpload, file: File) {
  return file.name === name && file.size === size && file.lastModified === lastModified;
}

/** Records in the browser that an upload has begun. If the record cannot be stored, the upload continues nevertheless. */
export async function recordUpload(upload: UnfinishedUpload) {
  const prefix = userKeyPrefix();
  if (prefix === null) return;
  await lockPage();
  await tryStorage(() => set(pageKey(prefix, upload.uploadId), upload, openDatabase()));
}

/** Removes the record of an upload that has ended. */
export async function forgetUpload(uploadId: string) {
  await tryStorage(async () => {
    const keys = (await entries<string, UnfinishedUpload>(openDatabase())).flatMap(([key, upload]) =>
      upload.uploadId === uploadId ? [key] : [],
    );
    for (const key of keys) await del(key, openDatabase());
  });
}

/** Takes over the user's unfinished uploads, except the uploads of open pages. @returns the uploads, each with the number of bytes that the server has */
export async function takeOverUploads(): Promise<(UnfinishedUpload & { sentBytes: number })[]> {
  const prefix = userKeyPrefix();
  if (prefix === null) return [];
  const takenOverUploads = await tryStorage(() =>
    callWithOpenPages(async (isOpen) => {
      const storedUploads: UnfinishedUpload[] = [];
      for (const [key, upload] of await entries<string, UnfinishedUpload>(openDatabase())) {
        if (!key.startsWith(prefix) || pageNameOf(key) === pageName || isOpen(pageNameOf(key))) continue;
        // If the new record cannot be stored, the record of the closed page stays.
        const isStored = await tryStorage(
          async () => (await set(pageKey(prefix, upload.uploadId), upload, openDatabase()), true),
        );
        if (isStored) await del(key, openDatabase());
        storedUploads.push(upload);
      }
      return storedUploads;
    }),
  );
  const uploads = [];
  for (const upload of takenOverUploads ?? []) {
    const { uploadId } = upload;
    try {
      const { offset } = await request('GET', 'file/offset', { query: { uploadId } });
      uploads.push({ ...upload, sentBytes: offset });
    } catch (error) {
      // The upload was finished or discarded, or the server has removed it.
      if (error instanceof ApiError && error.status === 400) await forgetUpload(uploadId);
    }
  }
  return uploads;
}

async function tryStorage<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch {
    // The storage of the browser is full or forbidden.
    return undefined;
  }
}
