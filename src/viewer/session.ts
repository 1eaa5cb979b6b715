import { onRefusedToken, onTokenChange, request, storeToken, readToken } from './api.js';
import type { Documents } from './answers.js';

export type User = Documents['User'];

let user: User | null = null;
let lastSignedInUser: User | null = null;

let isSessionEnded = false;
let isCheckingSession = false;

const listeners: Set<() => void> = new Set();

/** The signed-in user, or `null`. */
export function currentUser() {
  return user;
}

/** The signed-in user, or the user whose session was ended by the server or in another tab. `null` after the user has signed out here. */
export function lastUser() {
  return user ?? lastSignedInUser;
}

/** The name of a user to display. */
export function nameOf(somebody: Pick<User, 'login' | 'firstName' | 'lastName'> | null) {
  return somebody ? `${somebody.firstName} ${somebody.lastName}`.trim() || somebody.login : '';
}

/** Whether the server has ended the session, and nobody has signed in or dismissed the notice since. */
export function hasSessionEnded() {
  return isSessionEnded;
}

/** Must be called when the user continues without signing in again. */
export function dismissSessionEnd() {
  isSessionEnded = false;
}

/** Calls a function whenever a user signs in or out. */
export function onUserChange(listener: () => void) {
  listeners.add(listener);
}

function setUser(newUser: User | null) {
  user = newUser;
  if (newUser !== null) {
    lastSignedInUser = newUser;
    isSessionEnded = false;
  }
  for (const listener of listeners) listener();
}

/** Continues the session of an earlier visit. A token that is no longer valid is removed. */
export async function resumeSession() {
  const resumedUser = readToken() === null ? null : await request('GET', 'user/me');
  if (resumedUser === null) storeToken(null);
  setUser(resumedUser);
}

/**
 * Asks the server whether the session is still valid, after the server has refused something that the user could see before. Signs the user
 * out here if the session has expired or was ended elsewhere.
 */
export async function checkSession() {
  if (user === null || isCheckingSession) return;
  isCheckingSession = true;
  try {
    const usedToken = readToken();
    const validUser = await request('GET', 'user/me');
    if (validUser !== null || readToken() !== usedToken) return;
    isSessionEnded = true;
    storeToken(null);
    setUser(null);
  } catch {
    // The server cannot be reached, which other requests report.
  } finally {
    isCheckingSession = false;
  }
}

onRefusedToken(() => void checkSession());

/** Follows sign-ins and sign-outs of other tabs. */
export function followOtherTabs(onError: (error: unknown) => void) {
  onTokenChange(() => void resumeSession().catch(onError));
}

/** The public settings; empty if they cannot be read. */
export async function requestPublicSettings() {
  const settings = await request('GET', 'system/public_settings').catch(() => ({}));
  return settings as Record<string, string>;
}

/** @param login login or email address */
export async function signIn(login: string, password: string) {
  // Basic authentication is defined over bytes; `btoa` takes one character per byte.
  const bytes = new TextEncoder().encode(`${login}:${password}`);
  const credentials = btoa(String.fromCharCode(...bytes));
  const answer = await request('GET', 'user/authentication', {
    headers: { Authorization: `Basic ${credentials}` },
  });
  storeToken(answer.authToken.token);
  setUser(answer.user);
}

/** Signs in with the link that the server printed when it started. */
export async function signInByLink(link: string) {
  const answer = await request('POST', 'user/authentication/link', {
    form: { link },
  });
  storeToken(answer.authToken.token);
  setUser(answer.user);
}

/** Creates an account. @returns its user, who is signed in now; `null` if the account cannot be used yet */
export async function register(fields: { login: string; email: string; firstName: string; lastName: string; password: string }) {
  const { authToken, ...createdUser } = await request('POST', 'user', { form: fields });
  // The server gives no token if the email address must be verified or an administrator must approve the account.
  if (!authToken) return null;
  storeToken(authToken.token);
  setUser(createdUser);
  return user;
}

/** Ends the session here and on the server. */
export async function signOut() {
  try {
    await request('DELETE', 'user/authentication');
  } finally {
    storeToken(null);
    lastSignedInUser = null;
    setUser(null);
  }
}
