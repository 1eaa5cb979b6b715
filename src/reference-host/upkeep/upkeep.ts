import pLimit from 'p-limit';
import { answerInTime } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import { sweep } from './sweep.js';

const recoverEveryMs = 30_000;
const sweepEveryMs = 24 * 60 * 60 * 1000;

const sweepFailedEvent = 'Host:Sweep:Failed';

/** Thrown if another process is doing the same work right now. */
class DoneByAnotherProcess extends Error {}

/**
 * Recovers interrupted undertakings, immediately and then every half minute, and sweeps, immediately and then daily. These are not jobs of
 * Agenda, because Agenda watches the lock of a job with a timer that runs for minutes and would keep a closed process running.
 *
 * @param options `recoveryWaitMs`: how long to wait for the first recovery, in milliseconds. By default as long as clients wait.
 * @returns a function that stops recovery and sweeps
 */
export async function startUpkeep(
  context: HostContext,
  { recoveryWaitMs, ...options }: { uploadLifetimeMs: number; recoveryWaitMs?: number },
): Promise<() => Promise<void>> {
  const { claims, journal, logger } = context;
  const closeController = new AbortController();
  const runOneByOne = pLimit(1);
  /** Whether a sweep is due but has not been done, for example because the database failed. */
  let isSweepDue = true;
  const runInTurn = (work: () => Promise<void>, event: string) =>
    runOneByOne(work).catch((err: unknown) => {
      if (err instanceof DoneByAnotherProcess && event === sweepFailedEvent) isSweepDue = false;
      if (!(err instanceof DoneByAnotherProcess) && !closeController.signal.aborted) logger.warn({ err }, event);
    });
  const runUnlessClaimed = (key: string, work: () => Promise<void>) =>
    claims.run(key, { patienceMs: 0, createBusyError: () => new DoneByAnotherProcess() }, work);
  const runRecovery = () =>
    runInTurn(
      () =>
        runUnlessClaimed('recovery', async () => {
          const count = await journal.recoverInterrupted();
          if (count > 0) logger.info({ count }, 'Host:Recovered');
        }),
      'Host:Recovery:Failed',
    );
  const runSweep = async () => {
    // The bytes of this database are in another folder, so this process cannot tell which of them are missing.
    if (context.otherFolder !== null) return;
    await runInTurn(
      () =>
        runUnlessClaimed('sweep', async () => {
          const { missing, ...sweepCounts } = await sweep(context, { ...options, signal: closeController.signal });
          isSweepDue = false;
          logger.info(sweepCounts, 'Host:Swept');
          if (missing > 0) logger.error({ missing, folder: context.store.root }, 'Host:BytesMissing');
        }),
      sweepFailedEvent,
    );
  };
  // Recovery happens before requests are served, so that nobody sees unfinished work. Recovery that takes longer, such as removing a trash of
  // 100,000 items, continues while requests are served. The client that requested this work got its response before the interruption.
  await answerInTime(runRecovery(), {
    interimAnswer: () => undefined,
    onLateError: () => undefined,
    ...(recoveryWaitMs !== undefined && { ms: recoveryWaitMs }),
  });
  void runSweep();
  const recoveryTimer = setInterval(() => {
    void runRecovery();
    if (isSweepDue) void runSweep();
  }, recoverEveryMs);
  const sweepTimer = setInterval(() => {
    isSweepDue = true;
    void runSweep();
  }, sweepEveryMs);
  const timers = [recoveryTimer, sweepTimer];
  for (const timer of timers) timer.unref();
  return async () => {
    for (const timer of timers) clearInterval(timer);
    closeController.abort();
    // This waits for work that has started.
    await runOneByOne(() => undefined);
  };
}
