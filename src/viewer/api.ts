import { accountTexts } from './texts.js';

/** Path or address of the REST API. */
let apiRoot = '/api/v1';

/** The token that the page around an element gave; `null`: it gave none; `undefined`: this is the page that keeps its own. */
let given: string | null | undefined;

/** Says which server all requests go to, and as whom, where that is not kept by this page. */
export function useServer(server: { apiRoot: string; token?: string | null }) {
  apiRoot = server.apiRoot.replace(/\/$/, '');
  given = server.token;
}

/** Where a signed-in user's token is kept. */
function storageKey() {
  return `token ${apiRoot}`;
}

/** An answer of the server that is not a success, or none at all (`status` 0). */
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

/** The server does not know the token that was sent. */
export class SessionEndedError extends ApiError {}

export type Query = Record<string, string | number | boolean | null | undefined>;

/** Address of a route of the API. Parameters that are `null` or `undefined` are left out. */
export function apiUrl(path: string, query: Query = {}) {
  const text = toSearch(query).toString();
  return `${apiRoot}/${path}${text === '' ? '' : `?${text}`}`;
}

function toSearch(query: Query) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined) search.set(name, String(value));
  }
  return search;
}

/** The token of the signed-in user, or `null`. */
export function token() {
  return given === undefined ? localStorage.getItem(storageKey()) : given;
}

/** Images and downloads, which the browser fetches by itself, carry the cookie that the server sets beside this. */
export function setToken(value: string | null) {
  if (given !== undefined) given = value;
  else if (value === null) localStorage.removeItem(storageKey());
  else localStorage.setItem(storageKey(), value);
}

/** Called when another tab signs in or out. */
export function onTokenChange(listener: () => void) {
  addEventListener('storage', (event) => {
    if (event.key === storageKey() || event.key === null) listener();
  });
}

const refusalListeners: Set<() => void> = new Set();

/** Called when the server does not know the user, although a token was sent. */
export function onRefusedToken(listener: () => void) {
  refusalListeners.add(listener);
}

/** Headers that say who asks. */
export function authorization(): Record<string, string> {
  const value = token();
  return value === null ? {} : { Authorization: `Bearer ${value}` };
}

/** The server names what is refused by ids, which say nothing to people. */
function humanSentence(message: string) {
  const action = accountTexts.actions[/^(\w+) access denied/i.exec(message)?.[1] ?? ''];
  if (action && token() === null) return accountTexts.signInTo(action);
  if (action) return accountTexts.mayNot(action);
  const isGone = /^(Invalid \w+ id \(|Invalid ObjectId: |No such \w+: )/.test(message);
  return isGone ? accountTexts.gone : message;
}

/** Turns the body of a refusal into an error in the server's words. */
export function toApiError(status: number, body: string) {
  if (status === 0) return new ApiError(0, accountTexts.unreachable);
  try {
    const { message, field } = JSON.parse(body);
    if (typeof message === 'string' && message !== '') return new ApiError(status, humanSentence(message), field);
  } catch {
    // Not one of the API's own errors: a proxy in between, perhaps.
  }
  return new ApiError(status, accountTexts.status(status));
}

export interface RequestOptions {
  query?: Query;
  /** parameters sent in the body, where no log of addresses sees them */
  form?: Query;
  /** a body that is text in UTF-8 */
  text?: string | Blob;
  /** body of the request */
  json?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/**
 * Sends a request and reads the JSON answer.
 *
 * @param path below the API root, without a leading slash
 * @returns what the route answers, `null` for nothing; each caller knows its shape
 * @throws for every answer that is no success; the abort error of `signal` passes unchanged
 */
export async function request<T = unknown>(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  options: RequestOptions = {},
): Promise<T> {
  const response = await send(method, path, options);
  return (response.status === 204 ? null : await response.json()) as T;
}

/** One page of a list, and how many entries there are in all. */
export async function list<T>(path: string, options: RequestOptions = {}): Promise<{ entries: T[]; total: number }> {
  const response = await send('GET', path, options);
  const entries = await response.json();
  const total = Number(response.headers.get('Girder-Total-Count') ?? entries.length);
  return { entries, total };
}

async function send(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  { query, form, text, json, headers, signal }: RequestOptions,
) {
  const init: RequestInit = { method, headers: { ...authorization(), ...headers }, credentials: 'same-origin' };
  if (form) init.body = toSearch(form);
  if (text !== undefined) init.body = text;
  if (json !== undefined) {
    init.body = JSON.stringify(json);
    init.headers = { ...authorization(), ...headers, 'Content-Type': 'application/json' };
  }
  if (signal) init.signal = signal;
  const sent = token();
  let response;
  try {
    response = await fetch(apiUrl(path, query), init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw toApiError(0, '');
  }
  if (response.ok) return response;
  const refusal = toApiError(response.status, await response.text());
  if (response.status !== 401 || sent === null || headers?.Authorization) throw refusal;
  if (sent === token()) for (const listener of refusalListeners) listener();
  throw new SessionEndedError(401, `${accountTexts.sessionEnded}. ${accountTexts.sessionEndedMore}`);
}

/**
 * Follows an event stream of the server until it ends or breaks off. Read by `fetch`, as an EventSource can send no token. Broken off where the page
 * is hidden: a stream takes up one of the few connections that a browser has.
 *
 * @param onEvent called for each event
 * @throws when the server refuses it, or is away
 */
export async function followStream(path: string, { query, signal, onEvent }: FollowOptions) {
  const end = new AbortController();
  const onHidden = () => document.hidden && end.abort();
  document.addEventListener('visibilitychange', onHidden);
  try {
    const ended = AbortSignal.any([signal, end.signal]);
    const response = await send('GET', path, { ...(query && { query }), signal: ended });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      // The server gives signs of life; a connection without any is gone, whatever the browser says.
      const timer = setTimeout(() => void reader?.cancel(), silenceMs);
      const part = await reader?.read().finally(() => clearTimeout(timer));
      if (!part || part.done) return;
      const blocks = (text + part.value).split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) if (block.startsWith('data:')) onEvent(block.slice(5));
    }
  } finally {
    document.removeEventListener('visibilitychange', onHidden);
  }
}

/** Waits, unless the signal aborts. */
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

/** How long a stream may be silent, in milliseconds. */
const silenceMs = 45_000;

type FollowOptions = { query?: Query; signal: AbortSignal; onEvent: (data: string) => void };

async function fetchBlob(url: string, signal: AbortSignal | null) {
  const response = await fetch(url, { headers: authorization(), credentials: 'same-origin', signal });
  if (!response.ok) throw toApiError(response.status, await response.text());
  return response.blob();
}

/** A picture, asked for with the user's token: for what is drawn on a canvas. */
export async function requestPicture(url: string, signal: AbortSignal | null): Promise<ImageBitmap> {
  return createImageBitmap(await fetchBlob(url, signal));
}

/** Has the browser keep something as a file: what a script has made, or what is at an address of the API. */
export async function save(what: Blob | string, name: string) {
  const blob = typeof what === 'string' ? await fetchBlob(what, null) : what;
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The browser has begun by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Whether this page keeps the token by itself, so that somebody who signs in on another tab is signed in here. */
export function keepsToken() {
  return given === undefined;
}
