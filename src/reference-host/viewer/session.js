// @ts-check
import { onRefusedToken, onTokenChange, request, setToken, token } from './api.js';

/**
 * @typedef {object} User
 * @property {string} _id
 * @property {string} login
 * @property {string} firstName
 * @property {string} lastName
 * @property {boolean} admin
 */

/** @type {User | null} */
let user = null;

let ended = false;
let isChecking = false;

/** @type {Set<() => void>} */
const listeners = new Set();

/** Who is signed in, or `null`. */
export function currentUser() {
  return user;
}

/** Whether the server has ended the session, and nobody has signed in since. */
export function hasEnded() {
  return ended;
}

/**
 * Called whenever somebody signs in or out.
 *
 * @param {() => void} listener
 */
export function onSession(listener) {
  listeners.add(listener);
}

/** @param {User | null} next */
function become(next) {
  user = next;
  if (next !== null) ended = false;
  for (const listener of listeners) listener();
}

/** Takes up the session of an earlier visit. A token that is no longer valid is forgotten. */
export async function resumeSession() {
  const kept = token() === null ? null : await request('GET', 'user/me');
  if (kept === null) setToken(null);
  become(kept);
}

/**
 * Asks the server whether the session goes on, where something was refused that the user could see before. Where it has expired, or was
 * ended elsewhere, nobody is signed in any more.
 */
export async function checkSession() {
  if (user === null || isChecking) return;
  isChecking = true;
  try {
    const asked = token();
    const known = await request('GET', 'user/me');
    if (known !== null || token() !== asked) return;
    ended = true;
    setToken(null);
    become(null);
  } catch {
    // The server is away: that is another matter, which every request tells of.
  } finally {
    isChecking = false;
  }
}

onRefusedToken(() => void checkSession());

/** Follows sign-ins and sign-outs of other tabs. @param {(error: unknown) => void} report */
export function followOtherTabs(report) {
  onTokenChange(() => void resumeSession().catch(report));
}

/**
 * @param {string} login login or e-mail address
 * @param {string} password
 */
export async function signIn(login, password) {
  // Basic authentication is defined over bytes; `btoa` takes one character per byte.
  const bytes = new TextEncoder().encode(`${login}:${password}`);
  const credentials = btoa(String.fromCharCode(...bytes));
  const answer = await request('GET', 'user/authentication', { headers: { Authorization: `Basic ${credentials}` } });
  setToken(answer.authToken.token);
  become(answer.user);
}

/** @param {{ login: string, email: string, firstName: string, lastName: string, password: string }} fields */
export async function register(fields) {
  const { authToken, ...created } = await request('POST', 'user', { form: fields });
  // A server that wants the address confirmed, or an administrator's approval, gives no token yet.
  if (!authToken) return null;
  setToken(authToken.token);
  become(created);
  return user;
}

/** Ends the session here and on the server. */
export async function signOut() {
  try {
    await request('DELETE', 'user/authentication');
  } finally {
    setToken(null);
    become(null);
  }
}
