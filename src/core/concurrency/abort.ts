import { setMaxListeners } from 'node:events';

/** A controller whose signal many pieces of work listen to at the same time, which Node would take for a leak beyond ten. */
export function sharedAbortController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
