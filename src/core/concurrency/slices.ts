import { AsyncResource } from 'node:async_hooks';

/** How long work can occupy the event loop before it lets other work run, in milliseconds. */
const sliceMs = 8;

/**
 * In each turn of the event loop new requests start first, and then waiting work has its slice. New requests get as much time as
 * everything else has taken since their last time, within these limits in milliseconds.
 */
const [minArrivalsMs, maxArrivalsMs] = [16, 40];

/** Requests that have not started, and work that waits for its next slice, both in order of arrival. */
const arrivals = new Set<() => void>();
const waiting = new Set<() => void>();
let isScheduled = false;
/** When no more requests start in this turn, and when the last request of the previous turn started. */
let arrivalsUntil = 0;
let lastArrivalsEnd = 0;
/** When the slice of this turn ends; `null` if none has started. */
let sliceEndsAt: number | null = null;

function endSlice(): void {
  sliceEndsAt = null;
}

function scheduleTurn(): void {
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(beginTurn);
}

function beginTurn(): void {
  isScheduled = false;
  const now = performance.now();
  arrivalsUntil = now + Math.min(maxArrivalsMs, Math.max(minArrivalsMs, now - lastArrivalsEnd));
  beginNext();
}

/**
 * Calls the first function of a set, and `next` when its work has ended or waits for something: a tick comes after all settled
 * promises.
 *
 * @returns whether there was one
 */
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
  if (now < arrivalsUntil && callFirst(arrivals, beginNext)) return;
  lastArrivalsEnd = now;
  endSlice();
  // This starts the slice.
  isSliceOver();
  resumeNext();
}

/** Resumes waiting work, one piece after the other, until the slice is over. Most pieces have little left to do, so one slice serves many. */
function resumeNext(): void {
  if (!callFirst(waiting, afterResumed) && arrivals.size > 0) scheduleTurn();
}

function afterResumed(): void {
  if (isSliceOver()) scheduleTurn();
  else resumeNext();
}

/**
 * Starts a request: now, or in a later turn of the event loop. Otherwise, requests that arrive together would make one long turn,
 * and all other requests would wait for such turns at each of their steps.
 */
export function beginInTurn(begin: () => void): void {
  if (arrivals.size === 0 && !isSliceOver()) {
    begin();
    return;
  }
  // The request keeps its own asynchronous context, instead of that of the previous request.
  arrivals.add(AsyncResource.bind(begin));
  scheduleTurn();
}

/**
 * Whether work on the event loop should call {@link nextSlice} now. All work in one iteration of the loop shares one slice, so that
 * many requests together occupy the loop no longer than a single one does.
 */
export function isSliceOver(): boolean {
  const now = performance.now();
  if (sliceEndsAt !== null) return now >= sliceEndsAt;
  sliceEndsAt = now + sliceMs;
  setImmediate(endSlice);
  return false;
}

/**
 * Waits for a later iteration of the event loop, so that other work runs in between. @throws the signal's reason if it is aborted
 * by then.
 */
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

/** Makes a set in slices, because making a set of 300,000 texts at once takes a third of a second. */
export async function setInSlices<T>(values: Iterable<T>, signal?: AbortSignal): Promise<Set<T>> {
  const set = new Set<T>();
  for (const value of values) {
    set.add(value);
    if (set.size % 1024 === 0 && isSliceOver()) await nextSlice(signal);
  }
  return set;
}
