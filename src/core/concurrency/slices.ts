import { AsyncResource } from 'node:async_hooks';

/** How long work may keep the event loop before it lets other work run, in milliseconds. */
const sliceMs = 8;

/**
 * How long requests that have come begin, in each turn of the loop, before work that goes on has its slice: as long as all else has taken since,
 * within these limits.
 */
const [leastArrivalsMs, mostArrivalsMs] = [16, 40];

/** Requests that have not begun, and work that waits for its next slice: each first come first served. */
const arrivals = new Set<() => void>();
const waiting = new Set<() => void>();
let isScheduled = false;
/** When requests are to stop beginning in this turn, and when they have in the last one. */
let arrivalsEnd = 0;
let arrivalsEnded = 0;
/** When the slice of this turn of the loop is over; `null`: none has begun. */
let sliceEnds: number | null = null;

function endSlice(): void {
  sliceEnds = null;
}

function scheduleTurn(): void {
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(beginTurn);
}

function beginTurn(): void {
  isScheduled = false;
  const now = performance.now();
  arrivalsEnd = now + Math.min(mostArrivalsMs, Math.max(leastArrivalsMs, now - arrivalsEnded));
  beginNext();
}

/** Calls what comes first in a set, and `next` when it has ended or waits for something: ticks come after all promises. */
function callFirst(from: Set<() => void>, next: () => void): boolean {
  const [first] = from;
  if (first === undefined) return false;
  from.delete(first);
  first();
  queueMicrotask(() => process.nextTick(next));
  return true;
}

function beginNext(): void {
  const now = performance.now();
  if (now < arrivalsEnd && callFirst(arrivals, beginNext)) return;
  arrivalsEnded = now;
  endSlice();
  // The slice begins with the first that goes on.
  isSliceOver();
  resumeNext();
}

/** What waits goes on one after another, as long as the slice lasts: most of it has little left to do, and a turn may be long. */
function resumeNext(): void {
  if (!callFirst(waiting, afterResumed) && arrivals.size > 0) scheduleTurn();
}

function afterResumed(): void {
  if (isSliceOver()) scheduleTurn();
  else resumeNext();
}

/**
 * Begins with a request: at once, or when it is its turn. Requests that come together would else make one long turn of the loop, for which all
 * others wait at each of their steps.
 */
export function beginInTurn(begin: () => void): void {
  if (arrivals.size === 0 && !isSliceOver()) {
    begin();
    return;
  }
  // In its own asynchronous context, not that of whoever has the turn before it.
  arrivals.add(AsyncResource.bind(begin));
  scheduleTurn();
}

/**
 * Whether work on the event loop should call {@link nextSlice} now. All work in one iteration of the loop shares one slice, so that many requests
 * together keep the loop no longer than a single one does.
 */
export function isSliceOver(): boolean {
  const now = performance.now();
  if (sliceEnds !== null) return now >= sliceEnds;
  sliceEnds = now + sliceMs;
  setImmediate(endSlice);
  return false;
}

/** Waits for a later iteration of the event loop, so that other work runs in between. @throws the reason of the signal when it is aborted by then. */
export async function nextSlice(signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    waiting.add(resolve);
    scheduleTurn();
  });
  signal?.throwIfAborted();
}

/** Calls `work` for one range of `run` indexes after the other, up to `length`, and lets other work run in between. */
export async function inRuns(
  length: number,
  run: number,
  work: (from: number, to: number) => void,
  signal?: AbortSignal,
): Promise<void> {
  for (let from = 0; from < length; from += run) {
    work(from, Math.min(length, from + run));
    if (isSliceOver()) await nextSlice(signal);
  }
}

/** The set of some values; made at once, a set of 300 000 texts takes a third of a second. */
export async function setInSlices<T>(values: Iterable<T>, signal?: AbortSignal): Promise<Set<T>> {
  const made = new Set<T>();
  for (const value of values) {
    made.add(value);
    if (made.size % 1024 === 0 && isSliceOver()) await nextSlice(signal);
  }
  return made;
}
