import pLimit from 'p-limit';
import { inTime } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import { sweep } from './sweep.js';

const recoverEveryMs = 30_000;
const sweepEveryMs = 24 * 60 * 60 * 1000;

const sweepFailed = 'Host:Sweep:Failed';

/** Thrown if another process is doing the same work right now. */
class DoneByOthers extends Error {}

/**
 * Recovers interrupted undertakings, immediately and then every half minute, and sweeps, immediately and then daily. These are not jobs of
 * Agenda, because Agenda watches the lock of a job with a timer of minutes, which would keep a closed process running.
 *
 * @param options `recoverMs`: how long to wait for the first recovery, in milliseconds. By default as long as clients wait.
 * @returns a function that stops it
 */
export async function startUpkeep(
  context: HostContext,
  { recoverMs, ...options }: { uploadLifetimeMs: number; recoverMs?: number },
): Promise<() => Promise<void>> {
  const { claims, journal, logger } = context;
  const closing = new AbortController();
  const oneByOne = pLimit(1);
  /** Whether a sweep is due but has not been done, for example because the database failed. */
  let isOwed = true;
  const inOrder = (work: () => Promise<void>, event: string) =>
    oneByOne(work).catch((err: unknown) => {
      if (err instanceof DoneByOthers && event === sweepFailed) isOwed = false;
      if (!(err instanceof DoneByOthers) && !closing.signal.aborted) logger.warn({ err }, event);
    });
  const alone = (key: string, work: () => Promise<void>) =>
    claims.run(key, { patienceMs: 0, busy: () => new DoneByOthers() }, work);
  const recover = () =>
    inOrder(
      () =>
        alone('recovery', async () => {
          const count = await journal.recoverAll();
          if (count > 0) logger.info({ count }, 'Host:Recovered');
        }),
      'Host:Recovery:Failed',
    );
  const sweepAll = async () => {
    // The bytes of this database are elsewhere, so nobody can tell here which of them are missing.
    if (context.otherFolder !== null) return;
    await inOrder(
      () =>
        alone('sweep', async () => {
          const { missing, ...swept } = await sweep(context, { ...options, signal: closing.signal });
          isOwed = false;
          logger.info(swept, 'Host:Swept');
          if (missing > 0) logger.error({ missing, folder: context.store.root }, 'Host:BytesMissing');
        }),
      sweepFailed,
    );
  };
  // This happens before requests are served, so that nobody sees unfinished work. What takes very long, as with a trash of 100,000 items,
  // was already answered before it was interrupted.
  await inTime(recover(), {
    answer: () => undefined,
    failed: () => undefined,
    ...(recoverMs !== undefined && { ms: recoverMs }),
  });
  void sweepAll();
  const often = setInterval(() => {
    void recover();
    if (isOwed) void sweepAll();
  }, recoverEveryMs);
  const daily = setInterval(() => {
    isOwed = true;
    void sweepAll();
  }, sweepEveryMs);
  const timers = [often, daily];
  for (const timer of timers) timer.unref();
  return async () => {
    for (const timer of timers) clearInterval(timer);
    closing.abort();
    // Waits for work that has started.
    await oneByOne(() => undefined);
  };
}
