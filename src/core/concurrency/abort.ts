import { setMaxListeners } from 'node:events';

/** A controller whose signal can have many listeners at the same time. Node would warn of a leak from the eleventh on. */
export function sharedAbortController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
