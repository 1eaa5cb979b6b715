import { ApiError, apiUrl, authorization, errorHeader, pause, request, toApiError } from '../api.js';
import type { Answer } from '../answers.js';
import { uploadTexts } from '../texts.js';
import { forgetUpload, recordUpload } from './unfinished-uploads.js';

/** Number of bytes in one request. The server refuses small chunks; with large chunks, more is lost if a connection breaks. */
const chunkBytes = 32 * 1024 * 1024;
/** Delays before each attempt after a lost connection. When bytes have arrived, the delays begin again with the first. */
const retryDelaysMs = [1000, 2000, 4000, 8000, 15_000, 30_000];
/** Status codes of temporary errors. 0: there was no response. 401: the session has ended, and the user may sign in again. 409: the server is still writing bytes of a request whose connection was lost. */
const temporaryStatuses = new Set([0, 401, 409, 502, 503, 504]);

export interface Progress {
  /** number of bytes that the server has or that are being sent */
  sentBytes: number;
  /** why nothing is being sent, as text for the user */
  waitingReason?: string;
}

export interface UploadOptions {
  folderId: string;
  /** path of the target folder, for display */
  place: string;
  file: File;
  /** the upload on the server; this object keeps it after a temporary error, so that the next attempt continues it */
  serverUpload: { uploadId?: string };
  onProgress: (progress: Progress) => void;
  /** cancels the upload, which the server then discards */
  signal: AbortSignal;
}

/** The server's record of an upload or, after the last chunk, of the complete file. */
type UploadAnswer = Answer<'POST file/chunk'>;

/**
 * Uploads a file into a folder in chunks. After a lost connection, or when the user has signed in again, the upload continues where it stopped.
 *
 * @returns id of the item with the file; `null` if the response with the id was lost
 * @throws if the server refuses the file, or cannot be reached for about a minute
 */
export async function uploadFile(options: UploadOptions): Promise<string | null> {
  const { serverUpload, folderId, place, file } = options;
  const isNew = serverUpload.uploadId === undefined;
  if (serverUpload.uploadId === undefined) {
    const answer = await startUpload(options);
    // The server completes an empty file immediately.
    if (file.size === 0) return itemIdOf(answer);
    serverUpload.uploadId = answer._id;
    const { name, size, lastModified } = file;
    await recordUpload({ uploadId: answer._id, folderId, place, name, size, lastModified });
  }
  const { uploadId } = serverUpload;
  try {
    const itemId = await sendChunks(uploadId, isNew, options);
    await forgetUpload(uploadId);
    return itemId;
  } catch (error) {
    if (isTemporary(error)) throw error;
    delete serverUpload.uploadId;
    await discardUpload(uploadId);
    throw error;
  }
}

/** Discards an unfinished upload on the server. Errors are ignored, because the server removes abandoned uploads anyway. */
export async function discardUpload(uploadId: string) {
  await request('DELETE', `file/upload/${uploadId}`).catch(() => undefined);
  await forgetUpload(uploadId);
}

/** The id of the item of a complete file; `null` if the file is not complete. */
function itemIdOf(answer: UploadAnswer) {
  return 'exts' in answer ? answer.itemId : null;
}

/** Sends the first request, and repeats it while the server cannot be reached. */
async function startUpload(options: UploadOptions): Promise<UploadAnswer> {
  const { folderId, file, signal } = options;
  const query = { parentType: 'folder', parentId: folderId, name: file.name, size: file.size, mimeType: file.type || null };
  for (let failureCount = 0; ; failureCount += 1) {
    try {
      return await request('POST', 'file', { query, signal });
    } catch (error) {
      await waitBeforeRetry(error, { failureCount, sentBytes: 0 }, options);
    }
  }
}

/** @param isNew whether the server has no bytes yet; otherwise, the server is first asked how many bytes it has */
async function sendChunks(uploadId: string, isNew: boolean, options: UploadOptions): Promise<string | null> {
  const { file, onProgress, signal } = options;
  let receivedBytes = 0;
  let isOffsetKnown = isNew;
  let isLastChunkSent = false;
  let failureCount = 0;
  let itemId: string | null = null;
  while (receivedBytes < file.size) {
    const sentBytes = receivedBytes;
    const end = Math.min(sentBytes + chunkBytes, file.size);
    try {
      if (!isOffsetKnown) {
        receivedBytes = await requestReceivedBytes(uploadId, isLastChunkSent, options);
        isOffsetKnown = true;
        if (receivedBytes > sentBytes) failureCount = 0;
        continue;
      }
      isLastChunkSent = end === file.size;
      const chunk = { uploadId, offset: sentBytes, bytes: file.slice(sentBytes, end), signal };
      const answer = await sendChunk({ ...chunk, onSent: (bytes) => onProgress({ sentBytes: sentBytes + bytes }) });
      itemId = itemIdOf(answer);
      receivedBytes = end;
      failureCount = 0;
    } catch (error) {
      await waitBeforeRetry(error, { failureCount, sentBytes }, options);
      failureCount += 1;
      isOffsetKnown = false;
    }
  }
  return itemId;
}

/**
 * Number of bytes that the server has received. If the server no longer knows the upload (400) after the last chunk was sent, the upload
 * is complete and only the response was lost.
 */
async function requestReceivedBytes(uploadId: string, isLastChunkSent: boolean, { file: { size }, signal }: UploadOptions) {
  try {
    const { offset } = await request('GET', 'file/offset', { query: { uploadId }, signal });
    if (offset === size) await request('POST', 'file/completion', { query: { uploadId }, signal });
    return offset;
  } catch (error) {
    if (isLastChunkSent && error instanceof ApiError && error.status === 400) return size;
    throw error;
  }
}

function isTemporary(error: unknown): error is ApiError {
  return error instanceof ApiError && temporaryStatuses.has(error.status);
}

/**
 * Waits before the next attempt, longer after more failures, or until the browser reports that the network is back.
 *
 * @param error thrown again if waiting cannot help
 */
async function waitBeforeRetry(
  error: unknown,
  { failureCount, sentBytes }: { failureCount: number; sentBytes: number },
  { onProgress, signal }: UploadOptions,
) {
  const delay = retryDelaysMs[failureCount];
  if (signal.aborted || !isTemporary(error) || delay === undefined) throw error;
  onProgress({ sentBytes, waitingReason: error.status === 401 ? error.message : uploadTexts.connectionLost });
  const delayController = new AbortController();
  addEventListener('online', () => delayController.abort(), { signal: delayController.signal });
  await pause(delay, AbortSignal.any([signal, delayController.signal]));
  delayController.abort();
  signal.throwIfAborted();
}

/** Sends a chunk. It uses an XMLHttpRequest, because `fetch` does not report how much of a body has been sent. */
function sendChunk(options: {
  uploadId: string;
  offset: number;
  bytes: Blob;
  onSent: (bytes: number) => void;
  signal: AbortSignal;
}): Promise<UploadAnswer> {
  const { uploadId, offset, bytes, onSent, signal } = options;
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest();
    const abort = () => xhr.abort();
    xhr.open('POST', apiUrl('file/chunk', { uploadId, offset }));
    for (const [name, value] of Object.entries(authorization())) xhr.setRequestHeader(name, value);
    xhr.setRequestHeader('Content-Type', 'application/octet-stream');
    xhr.upload.addEventListener('progress', (event) => onSent(event.loaded));
    xhr.addEventListener('loadend', () => signal.removeEventListener('abort', abort));
    xhr.addEventListener('load', () => {
      if (xhr.status >= 200 && xhr.status < 300) resolve(JSON.parse(xhr.responseText));
      else reject(toApiError(xhr.status, xhr.responseText, xhr.getResponseHeader(errorHeader)));
    });
    xhr.addEventListener('error', () => reject(toApiError(0, '')));
    xhr.addEventListener('abort', () => reject(signal.reason));
    signal.addEventListener('abort', abort, { once: true });
    xhr.send(bytes);
  });
}
