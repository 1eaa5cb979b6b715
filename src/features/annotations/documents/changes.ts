import { setTimeout as wait } from 'node:timers/promises';
import { eventStream } from '../../../http/event-stream.js';
import type { Reply } from '../../../http/reply.js';
import type { Caller } from '../../../host.js';
import type { AnnotationLists } from './lists.js';

/** How often the annotations are looked at, in milliseconds. */
const intervalMs = 2000;

/** What is followed, by whom, and until when. */
export interface FollowedItem {
  itemId: string;
  caller: Caller | null;
  /** Whether the caller may still see the item. */
  mayFollow: () => Promise<boolean>;
  /** When it ends by itself, in milliseconds from now. */
  durationMs: number;
  /** Each of them ends it. */
  signals: readonly AbortSignal[];
}

/** The number of an item's annotations, their newest version and the caller's rights, now and whenever these are others, as `text/event-stream`. */
export function annotationEventStream(lists: AnnotationLists, followed: FollowedItem): Reply {
  return eventStream(changesOf(lists, followed));
}

async function* changesOf(lists: AnnotationLists, { itemId, caller, mayFollow, durationMs, signals }: FollowedItem) {
  const until = Math.min(Date.now() + durationMs, caller?.expires?.getTime() ?? Infinity);
  const ended = AbortSignal.any([...signals]);
  let told = '';
  while (!ended.aborted && Date.now() < until) {
    if (!(await mayFollow())) return;
    const data = JSON.stringify(await lists.stateOf(itemId, caller));
    if (data !== told) yield `data: ${data}\n\n`;
    told = data;
    await wait(Math.min(intervalMs, Math.max(0, until - Date.now())), undefined, { signal: ended }).catch(() => undefined);
  }
}
