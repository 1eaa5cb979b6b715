import { request } from '../api.js';

/** Interval in milliseconds at which the page asks for the number of unread comments. */
const askIntervalMs = 60_000;

let unreadCount = 0;
let countListener: (count: number) => void = () => {};

/** Calls a function with the number of unread comments, now and whenever it changes. There is only one listener. */
export function onUnreadCount(listener: (count: number) => void) {
  countListener = listener;
  listener(unreadCount);
}

/** Shows another number of unread comments. */
export function setUnreadCount(count: number) {
  unreadCount = count;
  countListener(count);
}

/** Asks the server for the number of unread comments. Errors are ignored, because the page works without this number. */
export async function refreshUnreadCount() {
  const inbox = await request('GET', 'comment/inbox/count').catch(() => null);
  if (inbox) setUnreadCount(inbox.unread);
}

/** Asks for the number of unread comments now, every minute, and when the page is shown again. */
export function followUnread(isSignedIn: () => boolean) {
  const ask = () => {
    if (!document.hidden && isSignedIn()) void refreshUnreadCount();
  };
  ask();
  setInterval(ask, askIntervalMs);
  document.addEventListener('visibilitychange', ask);
}
