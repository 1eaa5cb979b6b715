import { randomUUID } from 'node:crypto';
import { sharedAbortController } from '../../../core/concurrency/abort.js';
import type { HostLogger } from '../../../host.js';
import type { ScheduleModel } from '../../../core/database/schedule.js';
import type { AnnotationCleanup } from './cleanup.js';
import type { Settings } from '../../settings/settings.js';

/** Options of {@link AnnotationHousekeeping}. */
export interface AnnotationHousekeepingOptions {
  cleanup: AnnotationCleanup;
  schedule: ScheduleModel;
  settings: Settings;
  logger: HostLogger;
  /** Milliseconds between two cleanups, no matter which processes run them. If 0, this process never cleans up. */
  everyMs: number;
}

/** Name of the cleanup in the schedule. */
const scheduleName = 'annotation-cleanup';
/** How many times per interval each process checks whether a cleanup is due. */
const checksPerInterval = 12;
/** The limits of the cleanup, equal to the default parameters of DELETE /annotation/old. */
const defaultLimits = { ageDays: 30, keepCount: 10 };
const cleanupSetting = 'large_image.annotation_cleanup';

/** Cleans up old versions of annotations at regular intervals, in one process at a time. */
export class AnnotationHousekeeping {
  readonly #owner = randomUUID();
  readonly #closing = sharedAbortController();
  readonly #timer: NodeJS.Timeout | null;
  #runningCleanup: Promise<unknown> | null = null;

  constructor(private readonly options: AnnotationHousekeepingOptions) {
    const { everyMs } = options;
    this.#timer = everyMs > 0 ? setInterval(() => void this.cleanUpIfDue(), everyMs / checksPerInterval) : null;
    this.#timer?.unref();
  }

  /** Cleans up if a cleanup is due and no other process is cleaning up. @returns whether this call cleaned up. */
  async cleanUpIfDue(): Promise<boolean> {
    if (this.#runningCleanup !== null || this.#closing.signal.aborted) return false;
    const run = this.#run().finally(() => (this.#runningCleanup = null));
    this.#runningCleanup = run;
    return run;
  }

  #nextDueTime(): Date {
    return new Date(Date.now() + this.options.everyMs);
  }

  async #run(): Promise<boolean> {
    const { schedule, logger, everyMs } = this.options;
    const { signal } = this.#closing;
    let renewal: NodeJS.Timeout | undefined;
    try {
      if (!(await schedule.claim(scheduleName, this.#owner, this.#nextDueTime()))) return false;
      // The claim is renewed, so that no other cleanup begins if this cleanup takes longer than the interval.
      const renew = () => void schedule.renew(scheduleName, this.#owner, this.#nextDueTime()).catch(() => undefined);
      renewal = setInterval(renew, everyMs / checksPerInterval);
      renewal.unref();
      const report = await this.#cleanUp(signal);
      logger.info(report, 'Annotation:Cleanup');
      return true;
    } catch (err) {
      if (!signal.aborted) logger.error({ err }, 'Annotation:Cleanup:Failed');
      return false;
    } finally {
      clearInterval(renewal);
    }
  }

  async #cleanUp(signal: AbortSignal): Promise<object> {
    const { cleanup, settings } = this.options;
    // If the setting is false, versions are kept forever. Unreachable data is removed in any case.
    if ((await settings.get(cleanupSetting)) === false) {
      return { abandonedVersions: await cleanup.cleanUpAbandoned({ shouldRemove: true, signal }) };
    }
    return { ...(await cleanup.cleanUpOldVersions({ ...defaultLimits, shouldRemove: true, signal })) };
  }

  /** Stops. A running cleanup ends at its next step, and is awaited. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#closing.abort();
    await this.#runningCleanup;
  }
}
