/** How long work may keep the event loop before it lets other work run, in milliseconds. */
const sliceMs = 8;

/** Work that waits for its next slice. One piece is resumed in each iteration of the event loop, however many wait. */
const waiting: (() => void)[] = [];
let isResuming = false;
/** When the slice of this iteration of the loop is over; `null`: none has begun. */
let sliceEnds: number | null = null;

function endSlice(): void {
  sliceEnds = null;
}

function resumeOne(): void {
  const resume = waiting.shift();
  isResuming = waiting.length > 0;
  if (isResuming) setImmediate(resumeOne);
  sliceEnds = null;
  resume?.();
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
    waiting.push(resolve);
    if (isResuming) return;
    isResuming = true;
    setImmediate(resumeOne);
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
