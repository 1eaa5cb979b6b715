import { AsyncResource } from 'node:async_hooks';

/** How long work can occupy the event loop before it lets other work run, in milliseconds. */
const sliceMs = 8;

/**
 * In each turn of the event loop, new requests start first; then waiting work has its slice. Starting requests may take as much
 * time as everything else took after the requests of the previous turn, within these limits in milliseconds.
 */
const [minRequestsMs, maxRequestsMs] = [16, 40];

/** Requests that have not started, and work that waits for its next slice, both in order of arrival. */
const waitingRequests = new Set<() => void>();
const waitingWork = new Set<() => void>();
let isScheduled = false;
/** Until when requests may start in this turn. */
let requestsUntilMs = 0;
/** When the last turn stopped starting requests. */
let requestPhaseEndMs = 0;
/** When the slice of this turn ends; `null` if no slice has started. */
let sliceEndMs: number | null = null;

function startSlice(): void {
  sliceEndMs = performance.now() + sliceMs;
  setImmediate(endSlice);
}

function endSlice(): void {
  sliceEndMs = null;
}

function scheduleTurn(): void {
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(beginTurn);
}

function beginTurn(): void {
  isScheduled = false;
  const now = performance.now();
  requestsUntilMs = now + Math.min(maxRequestsMs, Math.max(minRequestsMs, now - requestPhaseEndMs));
  startNextRequest();
}

/**
 * Removes the first function of a set and calls it. Calls `next` after all callbacks of promises that are due; by then, the work of
 * the function has ended or waits for something.
 *
 * @returns whether the set had a function.
 */
function callFirst(functions: Set<() => void>, next: () => void): boolean {
  const [first] = functions;
  if (first === undefined) return false;
  functions.delete(first);
  first();
  queueMicrotask(() => process.nextTick(next));
  return true;
}

/** Starts waiting requests until their time in this turn is over, then starts the slice and resumes waiting work. */
function startNextRequest(): void {
  const now = performance.now();
  if (now < requestsUntilMs && callFirst(waitingRequests, startNextRequest)) return;
  requestPhaseEndMs = now;
  startSlice();
  resumeNext();
}

/** Resumes pieces of waiting work until the slice is over. Most pieces have little left to do, so one slice is enough for many. */
function resumeNext(): void {
  if (!callFirst(waitingWork, resumeNextOrScheduleTurn) && waitingRequests.size > 0) scheduleTurn();
}

function resumeNextOrScheduleTurn(): void {
  if (isSliceOver()) scheduleTurn();
  else resumeNext();
}

/**
 * Starts a request now, or in a later turn of the event loop if the slice of this turn is over. If requests that arrive together
 * all started at once, the turn would be long, and all other requests would wait for it.
 */
export function startRequestInTurn(start: () => void): void {
  if (waitingRequests.size === 0 && !isSliceOver()) {
    start();
    return;
  }
  // This keeps the request's own asynchronous context. Otherwise the request would start in the context of the previous request.
  waitingRequests.add(AsyncResource.bind(start));
  scheduleTurn();
}

/**
 * Whether work on the event loop should call {@link nextSlice} now. Starts a slice if none has started. All work in one iteration
 * of the loop shares one slice, so that many requests together occupy the loop no longer than a single one does.
 */
export function isSliceOver(): boolean {
  if (sliceEndMs !== null) return performance.now() >= sliceEndMs;
  startSlice();
  return false;
}

/**
 * Waits for a later iteration of the event loop, so that other work runs in between.
 *
 * @throws the signal's reason if the signal is aborted by then.
 */
export async function nextSlice(signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    waitingWork.add(resolve);
    scheduleTurn();
  });
  signal?.throwIfAborted();
}

/** Calls `work` for consecutive ranges of at most `rangeLength` indexes, up to `length`, and lets other work run in between. */
export async function forEachRange(
  length: number,
  rangeLength: number,
  work: (from: number, to: number) => void,
  signal?: AbortSignal,
): Promise<void> {
  for (let from = 0; from < length; from += rangeLength) {
    work(from, Math.min(length, from + rangeLength));
    if (isSliceOver()) await nextSlice(signal);
  }
}

/** Makes a set in slices, because making a set of 300,000 texts at once takes a third of a second. */
export async function createSetInSlices<T>(values: Iterable<T>, signal?: AbortSignal): Promise<Set<T>> {
  const set = new Set<T>();
  for (const value of values) {
    set.add(value);
    if (set.size % 1024 === 0 && isSliceOver()) await nextSlice(signal);
  }
  return set;
}
