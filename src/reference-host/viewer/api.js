// @ts-check

/** Path of the REST API, as the page was served with it. */
const apiRoot = document.documentElement.dataset.apiRoot ?? '/api/v1';

const storageKey = `token ${apiRoot}`;

/** An answer of the server that is not a success, or none at all (`status` 0). */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} message written by the server for people
   * @param {string} [field] the input that the message is about
   */
  constructor(status, message, field) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.field = field;
  }
}

/** @typedef {Record<string, string | number | boolean | null | undefined>} Query */

/**
 * Address of a route of the API. Parameters that are `null` or `undefined` are left out.
 *
 * @param {string} path
 * @param {Query} [query]
 */
export function apiUrl(path, query = {}) {
  const text = toSearch(query).toString();
  return `${apiRoot}/${path}${text === '' ? '' : `?${text}`}`;
}

/** @param {Query} query */
function toSearch(query) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined) search.set(name, String(value));
  }
  return search;
}

/** The token of the signed-in user, or `null`. */
export function token() {
  return localStorage.getItem(storageKey);
}

/**
 * Images and downloads, which the browser fetches by itself, carry the cookie that the server sets beside this.
 *
 * @param {string | null} value
 */
export function setToken(value) {
  if (value === null) localStorage.removeItem(storageKey);
  else localStorage.setItem(storageKey, value);
}

/**
 * Called when another tab signs in or out.
 *
 * @param {() => void} listener
 */
export function onTokenChange(listener) {
  addEventListener('storage', (event) => {
    if (event.key === storageKey || event.key === null) listener();
  });
}

/** @type {Set<() => void>} */
const refusalListeners = new Set();

/**
 * Called when the server does not know the user, although a token was sent.
 *
 * @param {() => void} listener
 */
export function onRefusedToken(listener) {
  refusalListeners.add(listener);
}

/** Headers that say who asks. @returns {Record<string, string>} */
export function authorization() {
  const value = token();
  return value === null ? {} : { Authorization: `Bearer ${value}` };
}

/**
 * Turns the body of a refusal into an error in the server's words.
 *
 * @param {number} status
 * @param {string} body
 */
export function toApiError(status, body) {
  if (status === 0) return new ApiError(0, 'The server cannot be reached. Is the network connection up?');
  try {
    const { message, field } = JSON.parse(body);
    if (typeof message === 'string' && message !== '') return new ApiError(status, message, field);
  } catch {
    // Not one of the API's own errors: a proxy in between, perhaps.
  }
  return new ApiError(status, `The server answered with status ${status}.`);
}

/**
 * @typedef {object} RequestOptions
 * @property {Query} [query]
 * @property {Query} [form] parameters sent in the body, where no log of addresses sees them
 * @property {string} [text] a body that is text in UTF-8
 * @property {unknown} [json] body of the request
 * @property {Record<string, string>} [headers]
 * @property {AbortSignal} [signal]
 */

/**
 * Sends a request and reads the JSON answer.
 *
 * @param {'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} method
 * @param {string} path below the API root, without a leading slash
 * @param {RequestOptions} [options]
 * @returns {Promise<any>} what the route answers, `null` for nothing; each caller knows its shape
 * @throws {ApiError} for every answer that is no success; the abort error of `signal` passes unchanged
 */
export async function request(method, path, options = {}) {
  const response = await send(method, path, options);
  return response.status === 204 ? null : response.json();
}

/**
 * One page of a list, and how many entries there are in all.
 *
 * @template T
 * @param {string} path
 * @param {RequestOptions} [options]
 * @returns {Promise<{ entries: T[], total: number }>}
 */
export async function list(path, options = {}) {
  const response = await send('GET', path, options);
  const entries = await response.json();
  const total = Number(response.headers.get('Girder-Total-Count') ?? entries.length);
  return { entries, total };
}

/**
 * @param {'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} method
 * @param {string} path
 * @param {RequestOptions} options
 */
async function send(method, path, { query, form, text, json, headers, signal }) {
  /** @type {RequestInit} */
  const init = { method, headers: { ...authorization(), ...headers }, credentials: 'same-origin' };
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
  if (response.status === 401 && sent !== null && sent === token()) for (const listener of refusalListeners) listener();
  throw toApiError(response.status, await response.text());
}
