import { ApiError, apiUrl, authorization, pause, request, toApiError } from '../api.js';
import { uploadTexts } from '../texts.js';

/** Bytes sent in one request. The server refuses small ones; what a broken connection loses grows with it. */
const chunkBytes = 32 * 1024 * 1024;
/** Waiting times before a lost connection is tried again, in milliseconds; bytes that arrive start the list anew. */
const retryDelays = [1000, 2000, 4000, 8000, 15_000, 30_000];
/** Answers that may well be different a little later; 409: the request that was lost is still being written by the server. */
const passingStatuses = new Set([0, 409, 502, 503, 504]);

export interface Progress {
  /** bytes that are on the server or on their way */
  sent: number;
  /** why nothing moves at the moment */
  waiting?: string;
}

/**
 * Uploads a file into a folder, in chunks, going on where it stopped after the connection was lost.
 *
 * @returns id of the item that holds it; `null` where the answer that says it was lost
 * @throws when the server refuses, or cannot be reached for about a minute
 */
export async function uploadFile(options: {
  folderId: string;
  file: File;
  onProgress: (progress: Progress) => void;
  /** cancels: the server then drops what it has */
  signal: AbortSignal;
}): Promise<string | null> {
  const { folderId, file, onProgress, signal } = options;
  const query = { parentType: 'folder', parentId: folderId, name: file.name, size: file.size, mimeType: file.type || null };
  const upload = await retrying(() => request<{ _id: string; itemId?: string }>('POST', 'file', { query, signal }), {
    onProgress,
    sent: 0,
    signal,
  });
  // The server makes an empty file at once.
  if (file.size === 0) return upload.itemId ?? null;
  try {
    return await sendChunks(upload._id, { file, onProgress, signal });
  } catch (error) {
    await discard(upload._id);
    throw error;
  }
}

async function sendChunks(
  uploadId: string,
  { file, onProgress, signal }: { file: File; onProgress: (progress: Progress) => void; signal: AbortSignal },
): Promise<string | null> {
  let offset = 0;
  let failures = 0;
  let itemId: string | null = null;
  while (offset < file.size) {
    const start = offset;
    const end = Math.min(start + chunkBytes, file.size);
    try {
      const answer = await sendChunk({
        uploadId,
        offset: start,
        bytes: file.slice(start, end),
        onSent: (sent) => onProgress({ sent: start + sent }),
        signal,
      });
      itemId = answer.itemId ?? null;
      offset = end;
      failures = 0;
    } catch (error) {
      await waitBeforeRetry(error, failures, { onProgress, sent: start, signal });
      failures += 1;
      const received = await receivedBytes(uploadId, { lastChunkSent: end === file.size, size: file.size, signal });
      // Nothing is known while the server is out of reach; the chunk is sent again from where it began.
      if (received === null) continue;
      if (received > start) failures = 0;
      offset = received;
    }
  }
  return itemId;
}

/**
 * How much of an upload the server has; `null` while it cannot be reached. An upload that is no longer known after its last
 * chunk went out has ended well: only the answer was lost.
 */
async function receivedBytes(
  uploadId: string,
  { lastChunkSent, size, signal }: { lastChunkSent: boolean; size: number; signal: AbortSignal },
): Promise<number | null> {
  try {
    const { offset } = await request<{ offset: number }>('GET', 'file/offset', { query: { uploadId }, signal });
    if (offset === size) await request('POST', 'file/completion', { query: { uploadId }, signal });
    return offset;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (passingStatuses.has(error.status)) return null;
    if (lastChunkSent && error.status === 400 && /upload id/i.test(error.message)) return size;
    throw error;
  }
}

/** Repeats a request while the server cannot be reached. */
async function retrying<T>(
  ask: () => Promise<T>,
  options: { onProgress: (progress: Progress) => void; sent: number; signal: AbortSignal },
): Promise<T> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await ask();
    } catch (error) {
      await waitBeforeRetry(error, failures, options);
    }
  }
}

/**
 * Waits as long as befits the number of failures; the browser's word that the network is back ends the wait.
 *
 * @param error is thrown again when waiting cannot help
 */
async function waitBeforeRetry(
  error: unknown,
  failures: number,
  { onProgress, sent, signal }: { onProgress: (progress: Progress) => void; sent: number; signal: AbortSignal },
) {
  const delay = retryDelays[failures];
  if (signal.aborted || !(error instanceof ApiError) || !passingStatuses.has(error.status) || delay === undefined) throw error;
  onProgress({ sent, waiting: uploadTexts.connectionLost });
  const end = new AbortController();
  addEventListener('online', () => end.abort(), { signal: end.signal });
  await pause(delay, AbortSignal.any([signal, end.signal]));
  end.abort();
  signal.throwIfAborted();
}

/**
 * Sends one chunk. An XMLHttpRequest, because `fetch` does not tell how much of a body has gone out.
 *
 * @returns the upload so far, or the file that it has become
 */
function sendChunk(options: {
  uploadId: string;
  offset: number;
  bytes: Blob;
  onSent: (bytes: number) => void;
  signal: AbortSignal;
}): Promise<{ itemId?: string }> {
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
      else reject(toApiError(xhr.status, xhr.responseText));
    });
    xhr.addEventListener('error', () => reject(toApiError(0, '')));
    xhr.addEventListener('abort', () => reject(signal.reason));
    signal.addEventListener('abort', abort, { once: true });
    xhr.send(bytes);
  });
}

/**
 * Tells the server that nothing more will come. The upload has failed already and the first error is the one to show; the server
 * removes forgotten uploads by itself.
 */
async function discard(uploadId: string) {
  await request('DELETE', `file/upload/${uploadId}`).catch(() => undefined);
}
