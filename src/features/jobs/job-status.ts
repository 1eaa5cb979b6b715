import { InvalidError } from '../../errors.js';

/** Numbers of the job statuses, as they are stored and sent. */
export const jobStatus = {
  inactive: 0,
  queued: 1,
  running: 2,
  success: 3,
  error: 4,
  canceled: 5,
  fetchingInput: 820,
  convertingInput: 821,
  convertingOutput: 822,
  pushingOutput: 823,
  canceling: 824,
} as const;

/** Handler of jobs that run in the server's own processes. */
export const localHandler = 'jobs._local';
/** Handler of jobs that run in worker processes, which only run jobs. */
export const workerHandler = 'worker_handler';

const workerHandlers: readonly (string | null)[] = [workerHandler, 'celery_handler'];

/** Whether a job with this handler is run by a worker. Such a job has more statuses, and canceling it is a request to the worker. */
export function isWorkerHandler(handler: string | null): boolean {
  return workerHandlers.includes(handler);
}

type PredecessorsByStatus = ReadonlyMap<number, readonly number[]>;

/** Statuses that may precede each status. */
const localPredecessors: PredecessorsByStatus = new Map([
  [1, [0]],
  [2, [1, 0]],
  [3, [2]],
  [4, [1, 2]],
  [5, [0, 1, 2]],
]);

const workerPredecessors: PredecessorsByStatus = new Map([
  [1, [0]],
  [2, [0, 1, 820]],
  [820, [2]],
  [821, [2, 820]],
  [822, [2]],
  [823, [2, 822]],
  [824, [0, 1, 2]],
  [3, [2, 823]],
  [4, [820, 821, 822, 823, 824, 1, 2]],
  [5, [824, 0, 1, 2]],
]);

/** Statuses of a job that a process works on, or should work on. */
export const activeStatuses: readonly number[] = [2, 820, 821, 822, 823, 824];

const statuses = new Set<number>(Object.values(jobStatus));

/** Whether a job with this status is over and will not change again. */
export function isFinished(status: number): boolean {
  return status === jobStatus.success || status === jobStatus.error || status === jobStatus.canceled;
}

/**
 * Checks a change of status. The same status again is always allowed.
 *
 * @throws InvalidError with field `status`, with the message that existing clients expect.
 */
export function checkTransition(handler: string | null, currentStatus: number, newStatus: number): void {
  if (!statuses.has(newStatus)) throw new InvalidError(`Invalid job status ${newStatus}.`, 'status');
  if (currentStatus === newStatus) return;
  const allowedPredecessors = (isWorkerHandler(handler) ? workerPredecessors : localPredecessors).get(newStatus);
  if (allowedPredecessors === undefined)
    throw new InvalidError(`No valid state transition to '${newStatus}'. Current state is '${currentStatus}'.`, 'status');
  if (!allowedPredecessors.includes(currentStatus))
    throw new InvalidError(`Invalid state transition to '${newStatus}', Current state is '${currentStatus}'.`, 'status');
}
