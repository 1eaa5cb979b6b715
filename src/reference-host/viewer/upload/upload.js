// @ts-check
import { ApiError, apiUrl, authorization, request, toApiError } from '../api.js';

/** Bytes sent in one request. The server refuses small ones; what a broken connection loses grows with it. */
const chunkBytes = 32 * 1024 * 1024;
/** Waiting times before a lost connection is tried again, in milliseconds; bytes that arrive start the list anew. */
const retryDelays = [1000, 2000, 4000, 8000, 15_000, 30_000];
/** Answers that may well be different a little later; 409: the request that was lost is still being written by the server. */
const passingStatuses = new Set([0, 409, 502, 503, 504]);

/**
 * @typedef {object} Progress
 * @property {number} sent bytes that are on the server or on their way
 * @property {string} [waiting] why nothing moves at the moment
 */

/**
 * Uploads a file into a folder, in chunks, going on where it stopped after the connection was lost.
 *
 * @param {object} options
 * @param {string} options.folderId
 * @param {File} options.file
 * @param {(progress: Progress) => void} options.onProgress
 * @param {AbortSignal} options.signal cancels: the server then drops what it has
 * @returns {Promise<string | null>} id of the item that holds it; `null` where the answer that says it was lost
 * @throws {ApiError} when the server refuses, or cannot be reached for about a minute
 */
export async function uploadFile({ folderId, file, onProgress, signal }) {
  const query = { parentType: 'folder', parentId: folderId, name: file.name, size: file.size, mimeType: file.type || null };
  const upload = await retrying(() => request('POST', 'file', { query, signal }), { onProgress, sent: 0, signal });
  // The server makes an empty file at once.
  if (file.size === 0) return upload.itemId ?? null;
  try {
    return await sendChunks(upload._id, { file, onProgress, signal });
  } catch (error) {
    await discard(upload._id);
    throw error;
  }
}

/**
 * @param {string} uploadId
 * @param {{ file: File, onProgress: (progress: Progress) => void, signal: AbortSignal }} options
 * @returns {Promise<string | null>}
 */
async function sendChunks(uploadId, { file, onProgress, signal }) {
  let offset = 0;
  let failures = 0;
  /** @type {string | null} */
  let itemId = null;
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
 *
 * @param {string} uploadId
 * @param {{ lastChunkSent: boolean, size: number, signal: AbortSignal }} options
 * @returns {Promise<number | null>}
 */
async function receivedBytes(uploadId, { lastChunkSent, size, signal }) {
  try {
    const { offset } = await request('GET', 'file/offset', { query: { uploadId }, signal });
    if (offset === size) await request('POST', 'file/completion', { query: { uploadId }, signal });
    return offset;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (passingStatuses.has(error.status)) return null;
    if (lastChunkSent && error.status === 400 && /upload id/i.test(error.message)) return size;
    throw error;
  }
}

/**
 * Repeats a request while the server cannot be reached.
 *
 * @template T
 * @param {() => Promise<T>} ask
 * @param {{ onProgress: (progress: Progress) => void, sent: number, signal: AbortSignal }} options
 * @returns {Promise<T>}
 */
async function retrying(ask, options) {
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
 * @param {unknown} error is thrown again when waiting cannot help
 * @param {number} failures
 * @param {{ onProgress: (progress: Progress) => void, sent: number, signal: AbortSignal }} options
 */
async function waitBeforeRetry(error, failures, { onProgress, sent, signal }) {
  const delay = retryDelays[failures];
  if (signal.aborted || !(error instanceof ApiError) || !passingStatuses.has(error.status) || delay === undefined) throw error;
  onProgress({ sent, waiting: 'Connection lost. Trying again…' });
  await new Promise((resolve) => {
    const timer = setTimeout(done, delay);
    addEventListener('online', done, { once: true });
    signal.addEventListener('abort', done, { once: true });
    function done() {
      clearTimeout(timer);
      removeEventListener('online', done);
      signal.removeEventListener('abort', done);
      resolve(undefined);
    }
  });
  signal.throwIfAborted();
}

/**
 * Sends one chunk. An XMLHttpRequest, because `fetch` does not tell how much of a body has gone out.
 *
 * @param {{ uploadId: string, offset: number, bytes: Blob, onSent: (bytes: number) => void, signal: AbortSignal }} chunk
 * @returns {Promise<{ itemId?: string }>} the upload so far, or the file that it has become
 */
function sendChunk({ uploadId, offset, bytes, onSent, signal }) {
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest();
    const abort = () => xhr.abort();
    const settle = () => signal.removeEventListener('abort', abort);
    xhr.open('POST', apiUrl('file/chunk', { uploadId, offset }));
    for (const [name, value] of Object.entries(authorization())) xhr.setRequestHeader(name, value);
    xhr.setRequestHeader('Content-Type', 'application/octet-stream');
    xhr.upload.addEventListener('progress', (event) => onSent(event.loaded));
    xhr.addEventListener('load', () => {
      settle();
      if (xhr.status >= 200 && xhr.status < 300) resolve(JSON.parse(xhr.responseText));
      else reject(toApiError(xhr.status, xhr.responseText));
    });
    xhr.addEventListener('error', () => {
      settle();
      reject(toApiError(0, ''));
    });
    xhr.addEventListener('abort', () => {
      settle();
      reject(signal.reason);
    });
    signal.addEventListener('abort', abort, { once: true });
    xhr.send(bytes);
  });
}

/**
 * Tells the server that nothing more will come. The upload has failed already and the first error is the one to show; the server
 * removes forgotten uploads by itself.
 *
 * @param {string} uploadId
 */
async function discard(uploadId) {
  await request('DELETE', `file/upload/${uploadId}`).catch(() => undefined);
}
