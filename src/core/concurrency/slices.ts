/** How long work on the event loop may go on before others have a turn, in milliseconds. */
const sliceMs = 8;

/** Work that waits for its next slice: one piece in each turn of the loop, however many wait. */
const waiting: (() => void)[] = [];
let isResuming = false;
/** When the slice of this turn of the loop is over; `null`: none has begun. */
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
 * Whether work on the event loop should call {@link nextSlice} now. All work of one turn of the loop shares the slice, so that many requests at the
 * same time hold it no longer than one does.
 */
export function isSliceOver(): boolean {
  const now = performance.now();
  if (sliceEnds !== null) return now >= sliceEnds;
  sliceEnds = now + sliceMs;
  setImmediate(endSlice);
  return false;
}

/** Lets others have the event loop, and goes on in a later turn. @throws the reason of the signal when it is aborted by then. */
export async function nextSlice(signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    waiting.push(resolve);
    if (isResuming) return;
    isResuming = true;
    setImmediate(resumeOne);
  });
  signal?.throwIfAborted();
}

/** Calls `work` for runs of the numbers below `length`, in slices. */
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
