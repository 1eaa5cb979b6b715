import { setTimeout as wait } from 'node:timers/promises';
import { eventStream } from '../../../../http/event-stream.js';
import type { Reply } from '../../../../http/reply.js';
import type { Caller } from '../../../../host.js';
import type { AnnotationLists } from './lists.js';

/** Interval in milliseconds at which the annotations are checked for changes. */
const intervalMs = 2000;

/** A request to follow the annotations of an item. */
export interface FollowRequest {
  itemId: string;
  caller: Caller | null;
  /** Checks whether the caller can still see the item. */
  mayFollow: () => Promise<boolean>;
  /** Duration of the stream in milliseconds. */
  durationMs: number;
  /** Aborting any of these signals ends the stream. */
  signals: readonly AbortSignal[];
}

/**
 * Streams the state of an item's annotations as `text/event-stream`: their number, the newest version and the caller's rights. An event
 * is sent immediately and after each change.
 */
export function annotationEventStream(lists: AnnotationLists, request: FollowRequest): Reply {
  return eventStream(eachChange(lists, request));
}

async function* eachChange(lists: AnnotationLists, { itemId, caller, mayFollow, durationMs, signals }: FollowRequest) {
  const endsAt = Math.min(Date.now() + durationMs, caller?.expires?.getTime() ?? Infinity);
  const endSignal = AbortSignal.any([...signals]);
  let lastText = '';
  while (!endSignal.aborted && Date.now() < endsAt) {
    if (!(await mayFollow())) return;
    const data = JSON.stringify(await lists.readState(itemId, caller));
    if (data !== lastText) yield `data: ${data}\n\n`;
    lastText = data;
    await wait(Math.min(intervalMs, Math.max(0, endsAt - Date.now())), undefined, { signal: endSignal }).catch(() => undefined);
  }
}
