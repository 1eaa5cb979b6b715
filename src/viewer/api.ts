import type { AnswerTo } from './answers.js';
import { formatBytes } from './format.js';
import { accountTexts } from './texts.js';
import { siteStorage } from './storage.js';

/** Path or address of the REST API. */
let apiRoot = '/api/v1';

/**
 * The token that the page around a viewer element, or a link, has passed. `null`: no token was passed. `undefined`: this is the server's own
 * page, which stores the token in the browser.
 */
let passedToken: string | null | undefined;

/** Whether the token comes from a link that opens one image. */
let isTokenFromLink = false;

/** Sets the server and the token for all requests of this page. */
export function useServer(server: { apiRoot: string; token?: string | null; isTokenFromLink?: boolean }) {
  apiRoot = server.apiRoot.replace(/\/$/, '');
  passedToken = server.token;
  isTokenFromLink = server.isTokenFromLink ?? false;
}

/** Whether this page was opened through a link, without an account. The page then only shows the image. */
export function isOpenedByLink() {
  return isTokenFromLink;
}

/** The complete address of the API. It is part of the keys under which the browser stores data about this server. */
export function apiAddress() {
  return new URL(apiRoot, location.href).href;
}

/** Key under which the token of the signed-in user is stored in the browser. */
function tokenKey() {
  return `token ${apiRoot}`;
}

/** An error response from the server, or no response at all (`status` 0). */
export class ApiError extends Error {
  /**
   * @param message written by the server for people
   * @param field the input that the message is about
   */
  constructor(
    readonly status: number,
    message: string,
    readonly field?: string,
  ) {
    super(message);
    this.name = 'ApiError';
  }
}

/** Whether an error means that the document does not exist, or that the user cannot see it. */
export function isGoneOrForbidden(error: unknown) {
  // Requests of this page are valid, so 400 means that an id no longer exists.
  return error instanceof ApiError && [400, 403, 404].includes(error.status);
}

/** Whether the same request may succeed later, because the user gets access or the server comes back. */
export function maySucceedLater(error: unknown) {
  return error instanceof ApiError && ![400, 401, 404, 422].includes(error.status);
}

/** The server no longer accepts the token of a request. */
export class SessionEndedError extends ApiError {}

export type Query = Record<string, string | number | boolean | null | undefined>;

/** Address of a route of the API. Parameters that are `null` or `undefined` are left out. */
export function apiUrl(path: string, query: Query = {}) {
  const text = toSearch(query).toString();
  return `${apiRoot}/${path}${text === '' ? '' : `?${text}`}`;
}

export function toSearch(query: Query) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined) search.set(name, String(value));
  }
  return search;
}

/** The token of the signed-in user, or `null`. */
export function readToken() {
  return passedToken === undefined ? siteStorage.get(tokenKey()) : passedToken;
}

/**
 * Stores the signed-in user's token in the browser; `null` removes it. Images and downloads need no token, because the browser sends the server's
 * cookie with them.
 */
export function storeToken(token: string | null) {
  siteStorage.set(tokenKey(), token);
}

/** Calls the listener when another tab signs in or out. */
export function onTokenChange(listener: () => void) {
  addEventListener('storage', (event) => {
    if (event.key === tokenKey() || event.key === null) listener();
  });
}

const refusalListeners: Set<() => void> = new Set();

/** Calls the listener when the server refuses a token. */
export function onRefusedToken(listener: () => void) {
  refusalListeners.add(listener);
}

/** Request headers with the token. */
export function authorization(): Record<string, string> {
  const token = readToken();
  return token === null ? {} : { Authorization: `Bearer ${token}` };
}

/** The response header that contains an error's code, such as `unknown-id` or `access-denied; level=1`. */
export const errorHeader = 'Large-Image-Error';

/**
 * The message to show for an error: the page's own message for some codes, otherwise the server's message, with sizes formatted as on the rest of the page. The page's own messages do not contain ids, which mean nothing to users.
 */
function messageToShow(message: string, code: string, field: unknown) {
  const [kind = '', level = ''] = code.split('; level=');
  const permissionText = readToken() === null ? accountTexts.signInTo[level] : accountTexts.mayNot[level];
  if (permissionText) return permissionText;
  const isGone = kind === 'unknown-id' || (kind === 'invalid' && field === 'id');
  if (isGone) return accountTexts.gone;
  return accountTexts.errors[kind] ?? message.replaceAll(/\b(\d+) bytes/g, (_all, size) => formatBytes(Number(size)));
}

/** Makes an error from the body of an error response and the value of its {@link errorHeader}. */
export function toApiError(status: number, body: string, code?: string | null) {
  if (status === 0) return new ApiError(0, accountTexts.unreachable);
  try {
    const { message, field, code: bodyCode } = JSON.parse(body);
    if (typeof message === 'string' && message !== '')
      return new ApiError(status, messageToShow(message, code ?? bodyCode ?? '', field), field);
  } catch {
    // The body is not an error of the API; it may come from a proxy.
  }
  return new ApiError(status, accountTexts.status(status));
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface RequestOptions {
  query?: Query;
  /** parameters sent in the body, so that they do not appear in logs */
  form?: Query;
  /** a body that is text in UTF-8 */
  text?: string | Blob;
  json?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/**
 * Sends a request and reads the JSON response.
 *
 * @param path below the API root, without a leading slash
 * @returns the response of the route; `null` for an empty response
 * @throws ApiError for an error response, or if the server cannot be reached. Also throws when `signal` aborts.
 */
export async function request<M extends Method, P extends string>(
  method: M,
  path: P,
  options: RequestOptions = {},
): Promise<AnswerTo<M, P>> {
  const response = await sendRequest(method, path, options);
  const answer: unknown = response.status === 204 ? null : await response.json();
  return answer as AnswerTo<M, P>;
}

type EntryOf<List> = List extends readonly (infer Entry)[] ? Entry : never;

/** Requests one page of a list. `total` is the number of entries on all pages. */
export async function requestList<P extends string>(
  path: P,
  options: RequestOptions = {},
): Promise<{ entries: EntryOf<AnswerTo<'GET', P>>[]; total: number }> {
  const response = await sendRequest('GET', path, options);
  const entries = (await response.json()) as EntryOf<AnswerTo<'GET', P>>[];
  const total = Number(response.headers.get('Girder-Total-Count') ?? entries.length);
  return { entries, total };
}

async function sendRequest(method: Method, path: string, { query, form, text, json, headers, signal }: RequestOptions) {
  const typeHeader: Record<string, string> = json === undefined ? {} : { 'Content-Type': 'application/json' };
  const init: RequestInit = {
    method,
    headers: { ...authorization(), ...headers, ...typeHeader },
    body: json === undefined ? (text ?? (form ? toSearch(form) : null)) : JSON.stringify(json),
    signal: signal ?? null,
    credentials: 'same-origin',
  };
  const sentToken = readToken();
  let response;
  try {
    response = await fetch(apiUrl(path, query), init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw toApiError(0, '');
  }
  if (response.ok) return response;
  const apiError = toApiError(response.status, await response.text(), response.headers.get(errorHeader));
  if (response.status !== 401 || sentToken === null || headers?.Authorization) throw apiError;
  if (sentToken === readToken()) for (const listener of refusalListeners) listener();
  throw new SessionEndedError(401, accountTexts.sessionEndedEntries);
}

/**
 * Follows an event stream of the server until the stream ends or the page is hidden. A hidden page must not occupy one of the few
 * connections of the browser. An EventSource is not used, because it cannot send a token.
 *
 * @param onEvent called for each event
 * @throws if the request fails, and when `signal` aborts or the page is hidden
 */
export async function followStream(path: string, { query, signal, onEvent }: StreamOptions) {
  const hideController = new AbortController();
  const onHidden = () => document.hidden && hideController.abort();
  document.addEventListener('visibilitychange', onHidden);
  try {
    const stopSignal = AbortSignal.any([signal, hideController.signal]);
    const response = await sendRequest('GET', path, { ...(query && { query }), signal: stopSignal });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let incompleteEvent = '';
    for (;;) {
      // The server sends something regularly. If nothing arrives, the connection is lost, even if the browser does not notice.
      const timer = setTimeout(() => void reader?.cancel(), silenceMs);
      const chunk = await reader?.read().finally(() => clearTimeout(timer));
      if (!chunk || chunk.done) return;
      const events = (incompleteEvent + chunk.value).split('\n\n');
      incompleteEvent = events.pop() ?? '';
      for (const event of events) if (event.startsWith('data:')) onEvent(event.slice(5));
    }
  } finally {
    document.removeEventListener('visibilitychange', onHidden);
  }
}

/** Waits until the time has passed or the signal aborts. */
export function pause(milliseconds: number, signal: AbortSignal) {
  return new Promise<void>((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener('abort', done);
    function done() {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
  });
}

/** Interval in milliseconds at which the page looks for changes by others. */
const pollMs = 5000;

/** Calls a function every few seconds while the page is visible, until it returns true or the signal aborts. */
export async function pollUntilTrue(ask: () => Promise<boolean>, signal: AbortSignal) {
  do await pause(pollMs, signal);
  while (!signal.aborted && (document.hidden || !(await ask())));
}

/** Time in milliseconds after which a silent stream counts as lost. */
const silenceMs = 45_000;

type StreamOptions = { query?: Query; signal: AbortSignal; onEvent: (data: string) => void };

/** Requests a file with the user's token. */
export async function fetchBlob(url: string, signal: AbortSignal | null) {
  const response = await fetch(url, { headers: authorization(), credentials: 'same-origin', signal });
  if (!response.ok) throw toApiError(response.status, await response.text(), response.headers.get(errorHeader));
  return response.blob();
}

/** Requests a picture with the user's token, to draw it on a canvas. */
export async function requestPicture(url: string, signal: AbortSignal | null): Promise<ImageBitmap> {
  return createImageBitmap(await fetchBlob(url, signal));
}

/** Saves a blob, or the response at an address of the API, as a file. */
export async function saveFile(source: Blob | string, fileName: string) {
  const blob = typeof source === 'string' ? await fetchBlob(source, null) : source;
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = fileName;
  link.click();
  // After a minute, the browser will have started the download.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Whether this page stores the token, so that a sign-in in another tab applies here too. */
export function storesToken() {
  return passedToken === undefined;
}
